-- The conformance suite on Firebird 3, 4 and 5.

-- name: family
SELECT 'firebird' FROM rdb$database

-- name: version
SELECT 'Firebird ' || trim(rdb$get_context('SYSTEM', 'ENGINE_VERSION'))
  || trim(TRAILING FROM CASE WHEN mon$remote_protocol IS NULL THEN ' embedded' ELSE '' END)
FROM mon$attachments WHERE mon$attachment_id = CURRENT_CONNECTION

-- name: tables
CREATE TABLE t (k INTEGER NOT NULL PRIMARY KEY, v INTEGER NOT NULL)
-- next
CREATE TABLE e (k INTEGER NOT NULL PRIMARY KEY, w INTEGER NOT NULL UNIQUE)
-- next
INSERT INTO e VALUES (1, 1)
-- next
CREATE TABLE v (n INTEGER, a SMALLINT, b INTEGER, c BIGINT, d DOUBLE PRECISION, e NUMERIC(18, 4), f VARCHAR(8000),
  g TIMESTAMP)
-- next
CREATE TABLE b (k BIGINT NOT NULL PRIMARY KEY, v VARCHAR(40), d NUMERIC(12, 2))

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

-- name: totals
SELECT count(*) || ' ' || count(v) || ' ' || CAST(coalesce(sum(d), 0) * 100 AS BIGINT) FROM b

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
INSERT INTO dsbench_mark (mark) VALUES ('conformance suite')

-- name: session
SELECT CURRENT_CONNECTION FROM rdb$database

-- name: kill
DELETE FROM mon$attachments WHERE mon$attachment_id = {session}

-- name: sessions
SELECT count(*) FROM mon$attachments WHERE mon$attachment_id = {session}

-- Some 10^12 rows.
-- name: endless
SELECT count(*) FROM rdb$types a CROSS JOIN rdb$types b CROSS JOIN rdb$types c CROSS JOIN rdb$types d CROSS JOIN rdb$types e
