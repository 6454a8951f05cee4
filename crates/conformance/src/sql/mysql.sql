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

-- name: totals
SELECT CONCAT(count(*), ' ', count(v), ' ', CAST(coalesce(sum(d), 0) * 100 AS SIGNED)) FROM b

-- name: session
SELECT CONNECTION_ID()

-- name: kill
KILL {session}

-- name: sessions
SELECT count(*) FROM information_schema.PROCESSLIST WHERE ID = {session}

-- name: endless
SELECT sleep(120)

-- name: slow
-- MySQL's sleep ends without an error at its limit.
SELECT count(*) FROM information_schema.COLLATIONS a, information_schema.COLLATIONS b, information_schema.COLLATIONS c, information_schema.COLLATIONS d, information_schema.COLLATIONS e

-- name: limit
SET /*M! max_statement_time = 0.05 */ /*!50708 max_execution_time = 50 */
