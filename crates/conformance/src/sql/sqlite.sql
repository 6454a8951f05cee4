-- The conformance suite on SQLite. There is no server that could end a session.

-- name: family
SELECT 'sqlite'

-- name: version
SELECT 'SQLite ' || sqlite_version()

-- name: tables
CREATE TABLE t (k INTEGER PRIMARY KEY, v INTEGER NOT NULL)
-- next
CREATE TABLE e (k INTEGER PRIMARY KEY, w INTEGER NOT NULL UNIQUE)
-- next
INSERT INTO e VALUES (1, 1)
-- next
CREATE TABLE v (n INTEGER, a INTEGER, b INTEGER, c INTEGER, d REAL, e INTEGER, f TEXT, g INTEGER)
-- next
CREATE TABLE b (k INTEGER PRIMARY KEY, v TEXT, d INTEGER)

-- name: totals
SELECT count(*) || ' ' || count(v) || ' ' || coalesce(sum(d), 0) FROM b

-- name: endless
WITH RECURSIVE n (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n) SELECT count(*) FROM n
