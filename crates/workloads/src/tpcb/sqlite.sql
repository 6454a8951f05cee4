-- TPC-B for SQLite (the mock takes it, too). Sections are run by name, see crates/workloads/src/sql.rs.
--
-- SQLite adds keys to a table only when it is created. The primary keys are declared as INTEGER
-- PRIMARY KEY: the number of the row itself, the way SQLite's users do it, so that the step "primary
-- keys" has nothing left to do. Foreign keys are declared here and enforced by each session (the
-- engine switches them on, and off while it loads rows); the step "foreign keys" checks that all rows
-- meet them, which is what other engines do when a key is added.
--
-- Widths of the rows (TPC-B wants 100 bytes, history 50): SQLite stores small integers in 0 to 4
-- bytes, so the fillers alone have these widths. The time of a row of history is in microseconds since 1970, in
-- steps of a millisecond, which is SQLite's own clock.

-- word: {key} = PRIMARY KEY
-- word: {to branch} = REFERENCES branch
-- word: {to teller} = REFERENCES teller
-- word: {to account} = REFERENCES account
-- word: {is} = IS
-- word: {length} = length
-- word: {branch filler} = 100
-- word: {filler} = 100
-- word: {history text} = Qm7rT2xWv9LkZp4JhN8sYc3BdF6gQm7rT2xWv9LkZp4JhN8sYc
-- word: {now} = CAST(unixepoch('subsec') * 1000 AS INTEGER) * 1000

-- name: foreign_key_faults
SELECT count(*) FROM pragma_foreign_key_check('teller')
-- next
SELECT count(*) FROM pragma_foreign_key_check('account')
-- next
SELECT count(*) FROM pragma_foreign_key_check('history')

-- name: reset
DELETE FROM history

-- name: reset_balances
-- A balance of 0 takes no byte and any other one some: pages that changes split are only full again once they are
-- written anew, and the log with them emptied.
UPDATE branch SET bbalance = 0 WHERE bbalance <> 0
-- next
UPDATE teller SET tbalance = 0 WHERE tbalance <> 0
-- next
UPDATE account SET abalance = 0 WHERE abalance <> 0
-- next
VACUUM
-- next
PRAGMA wal_checkpoint(TRUNCATE)

-- name: clean
-- Space is reused by itself, and no statement of the load has a choice of plans. No checkpoint: what
-- a cycle costs in checkpoints belongs to the cycles.
PRAGMA optimize;
