-- The conformance suite on MariaDB and MySQL.

-- name: family
SHOW VARIABLES WHERE Variable_name IN ('default_storage_engine', 'innodb_snapshot_isolation')

-- name: version
SELECT CONCAT(IF(VERSION() LIKE '%MariaDB%', 'MariaDB ', 'MySQL '), SUBSTRING_INDEX(VERSION(), '-', 1), ' ',
  @@default_storage_engine)

-- name: tables
CREATE TABLE t (k int PRIMARY KEY, v int NOT NULL)
-- next
CREATE TABLE e (k int PRIMARY KEY, w int NOT NULL UNIQUE)
-- next
INSERT INTO e VALUES (1, 1)
-- next
CREATE TABLE v (n int PRIMARY KEY, a smallint, b int, c bigint, d double, e decimal(30, 4), f text, g datetime(6))
-- next
CREATE TABLE b (k bigint PRIMARY KEY, v varchar(40), d decimal(12, 2))

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
SELECT CONCAT(count(*), ' ', count(v), ' ', CAST(coalesce(sum(d), 0) * 100 AS SIGNED)) FROM b

-- name: text of a row
SELECT v FROM b WHERE k = 42

-- name: witness
CREATE TABLE witness (a int)
-- next
INSERT INTO witness VALUES (1)

-- name: witnesses
SELECT count(*) FROM witness

-- name: spoil
DELETE FROM dsbench_mark

-- name: restore
INSERT INTO dsbench_mark VALUES ('conformance suite')

-- name: session
SELECT CONNECTION_ID()

-- name: kill
KILL {session}

-- name: sessions
SELECT count(*) FROM information_schema.PROCESSLIST WHERE ID = {session}

-- name: endless
SELECT sleep(120)
