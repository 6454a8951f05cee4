-- The conformance suite on PostgreSQL.

-- name: family
SELECT 'postgresql'

-- name: version
SELECT 'PostgreSQL ' || split_part(current_setting('server_version'), ' ', 1)

-- name: tables
CREATE TABLE t (k int PRIMARY KEY, v int NOT NULL)
-- next
CREATE TABLE e (k int PRIMARY KEY, w int NOT NULL UNIQUE)
-- next
INSERT INTO e VALUES (1, 1)
-- next
CREATE TABLE v (n int, a smallint, b int, c bigint, d float8, e numeric(30, 4), f text, g timestamp)
-- next
CREATE TABLE b (k bigint PRIMARY KEY, v text, d numeric(12, 2))

-- name: totals
SELECT count(*) || ' ' || count(v) || ' ' || (coalesce(sum(d), 0) * 100)::bigint FROM b

-- name: spoil
COMMENT ON SCHEMA dsbench IS 'of somebody else'

-- name: restore
COMMENT ON SCHEMA dsbench IS 'dsbench mark:conformance suite'

-- name: session
SELECT pg_backend_pid()

-- name: kill
SELECT pg_terminate_backend({session})

-- name: sessions
SELECT count(*) FROM pg_stat_activity WHERE pid = {session}

-- name: endless
SELECT pg_sleep(120)

-- name: limit
SET statement_timeout = '50ms'
