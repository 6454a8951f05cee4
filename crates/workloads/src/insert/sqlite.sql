-- The Insert Benchmark for SQLite (the mock takes it, too). Sections are run by name, see
-- crates/core/src/contract/sql.rs.

-- No number twice, not after the deletes have emptied the table, as with every other product.
-- word: {id} = integer PRIMARY KEY AUTOINCREMENT
-- word: {time} = integer
-- word: {now} = unixepoch()
-- word: {whole} = NOT INDEXED
-- word: {by} = INDEXED BY {i}

-- name: present
SELECT count(*) FROM sqlite_schema WHERE type = 'index' AND name = '{i}'

-- name: analyze
ANALYZE {t}

-- name: checkpoint
PRAGMA wal_checkpoint(TRUNCATE)
