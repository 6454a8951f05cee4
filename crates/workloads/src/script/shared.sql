-- pgbench's tables: what products share. A section or a word of a product's own file counts before the one here.
--
-- The columns are those that pgbench -i makes. The fillers of branches, tellers and history stay NULL as there, so that
-- only accounts have the 100 bytes that TPC-B asks for.

-- word: {timestamp} = timestamp
-- word: {key} = NOT NULL
-- word: {charset} =
-- word: {with} =
-- word: {aid} = int
-- word: {bigint} = bigint

-- name: tables
CREATE TABLE pgbench_history (
    tid int, bid int, aid {aid}, delta int, mtime {timestamp}, filler char(22) {charset}
);
-- next
CREATE TABLE pgbench_tellers (tid int {key}, bid int, tbalance int, filler char(84) {charset}){with};
-- next
CREATE TABLE pgbench_accounts (aid {aid} {key}, bid int, abalance int, filler char(84) {charset}){with};
-- next
CREATE TABLE pgbench_branches (bid int {key}, bbalance int, filler char(88) {charset}){with};

-- name: totals
-- Rows and sum of each table.
SELECT b.n, b.s, t.n, t.s, a.n, a.s, h.n, h.s
FROM (SELECT count(*) AS n, CAST(coalesce(sum(bbalance), 0) AS {bigint}) AS s FROM pgbench_branches) b,
     (SELECT count(*) AS n, CAST(coalesce(sum(tbalance), 0) AS {bigint}) AS s FROM pgbench_tellers) t,
     (SELECT count(*) AS n, CAST(coalesce(sum(abalance), 0) AS {bigint}) AS s FROM pgbench_accounts) a,
     (SELECT count(*) AS n, CAST(coalesce(sum(delta), 0) AS {bigint}) AS s FROM pgbench_history) h
