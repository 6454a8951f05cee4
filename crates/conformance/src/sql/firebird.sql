-- The conformance suite on Firebird 3, 4 and 5.

-- name: family
SELECT trim(TRAILING FROM 'firebird' || CASE WHEN rdb$get_context('SYSTEM', 'ENGINE_VERSION') STARTING WITH '3.' THEN ' 3'
  ELSE '' END) FROM rdb$database

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

-- name: totals
SELECT count(*) || ' ' || count(v) || ' ' || CAST(coalesce(sum(d), 0) * 100 AS BIGINT) FROM b

-- name: session
SELECT CURRENT_CONNECTION FROM rdb$database

-- name: kill
DELETE FROM mon$attachments WHERE mon$attachment_id = {session}

-- name: sessions
SELECT count(*) FROM mon$attachments WHERE mon$attachment_id = {session}

-- Some 10^12 rows.
-- name: endless
SELECT count(*) FROM rdb$types a CROSS JOIN rdb$types b CROSS JOIN rdb$types c CROSS JOIN rdb$types d CROSS JOIN rdb$types e
