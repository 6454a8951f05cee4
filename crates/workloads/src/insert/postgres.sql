-- The Insert Benchmark for PostgreSQL. Sections are run by name, see crates/core/src/contract/sql.rs.

-- word: {id} = bigserial PRIMARY KEY
-- word: {now} = LOCALTIMESTAMP(0)

-- name: after_table
-- A session takes a thousand numbers at once: those that it leaves over are given to no row.
ALTER SEQUENCE {t}_transactionid_seq CACHE 1000

-- name: before_entries
-- No index can be named in a query: the planner is left no other way to count the entries of one.
SET enable_seqscan = off;
-- next
SET enable_bitmapscan = off;

-- name: after_entries
RESET enable_seqscan;
-- next
RESET enable_bitmapscan;

-- name: present
SELECT count(*) FROM pg_indexes WHERE schemaname = current_schema AND indexname = '{i}'

-- name: vacuum
-- By itself it may leave the entries of deleted rows in the indexes.
VACUUM (ANALYZE, INDEX_CLEANUP ON) {t}

-- name: checkpoint
CHECKPOINT
