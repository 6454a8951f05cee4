-- pgbench's tables for SQLite (the mock takes it, too). The keys are the numbers of the rows themselves.

-- word: {aid} = integer
-- word: {key} = PRIMARY KEY

-- name: tables
CREATE TABLE pgbench_history (tid int, bid int, aid int, delta int, mtime timestamp, filler char(22));
-- next
CREATE TABLE pgbench_tellers (tid integer PRIMARY KEY, bid int, tbalance int, filler char(84));
-- next
CREATE TABLE pgbench_accounts (aid integer PRIMARY KEY, bid int, abalance int, filler char(84));
-- next
CREATE TABLE pgbench_branches (bid integer PRIMARY KEY, bbalance int, filler char(88));

-- name: clean
PRAGMA optimize;

