
-- What is the same on all of them.

-- name: tables
CREATE TABLE lists (id int NOT NULL PRIMARY KEY, items {list} NOT NULL)

-- name: add
INSERT INTO lists (id, items) VALUES (?, ?)

-- name: read
SELECT items FROM lists WHERE id = ?

-- name: all
SELECT id, items FROM lists ORDER BY id
