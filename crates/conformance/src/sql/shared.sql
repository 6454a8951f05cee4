-- What most products take as it is. A section of a product's own file counts before the one here.

-- name: reset
DELETE FROM t
-- next
INSERT INTO t VALUES (1, 1)
-- next
INSERT INTO t VALUES (2, 1)

-- name: read
SELECT v FROM t WHERE k = ?

-- name: write
UPDATE t SET v = ? WHERE k = ?

-- name: insert
INSERT INTO t VALUES (?, ?)

-- name: count
SELECT count(*) FROM t WHERE v > 0

-- name: insert values
INSERT INTO v VALUES (?, ?, ?, ?, ?, ?, ?, ?)

-- name: select values
SELECT a, b, c, d, e, f, g FROM v WHERE n = ?

-- name: sum of decimals
SELECT sum(e) FROM v

-- name: duplicate key
INSERT INTO e VALUES (1, 2)

-- name: duplicate value
INSERT INTO e VALUES (2, 1)

-- name: null
INSERT INTO e VALUES (3, NULL)

-- name: no sql
SELEC 1

-- name: no table
UPDATE nowhere SET v = 1

-- name: no column
UPDATE t SET nothing = 1

-- name: empty
DELETE FROM b

-- name: text of a row
SELECT v FROM b WHERE k = 42

-- name: witness
CREATE TABLE witness (a INTEGER)
-- next
INSERT INTO witness VALUES (1)

-- name: witnesses
SELECT count(*) FROM witness

-- name: spoil
DELETE FROM dsbench_mark

-- name: restore
INSERT INTO dsbench_mark VALUES ('conformance suite')

-- name: ledger
CREATE TABLE ledger (writer INTEGER NOT NULL, seq INTEGER NOT NULL, PRIMARY KEY (writer, seq))
-- next
CREATE TABLE twin (writer INTEGER NOT NULL, seq INTEGER NOT NULL, PRIMARY KEY (writer, seq))

-- name: ledger entry
INSERT INTO ledger (writer, seq) VALUES (?, ?)

-- name: twin entry
INSERT INTO twin (writer, seq) VALUES (?, ?)

-- name: ledger rows
SELECT writer, count(*), max(seq) FROM ledger GROUP BY writer

-- name: ledger rows up to
SELECT count(*) FROM ledger WHERE writer = {writer} AND seq <= {seq}

-- name: without twin
SELECT count(*) FROM ledger l LEFT JOIN twin t ON t.writer = l.writer AND t.seq = l.seq WHERE t.seq IS NULL

-- name: without entry
SELECT count(*) FROM twin t LEFT JOIN ledger l ON l.writer = t.writer AND l.seq = t.seq WHERE l.seq IS NULL
