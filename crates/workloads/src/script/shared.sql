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
-- Rows and sum of each table, and sums of the numbers in the history.
SELECT b.n, b.s, t.n, t.s, a.n, a.s, h.n, h.s, h.aids, h.tids, h.bids
FROM (SELECT count(*) AS n, CAST(coalesce(sum(bbalance), 0) AS {bigint}) AS s FROM pgbench_branches) b,
     (SELECT count(*) AS n, CAST(coalesce(sum(tbalance), 0) AS {bigint}) AS s FROM pgbench_tellers) t,
     (SELECT count(*) AS n, CAST(coalesce(sum(abalance), 0) AS {bigint}) AS s FROM pgbench_accounts) a,
     (SELECT count(*) AS n, CAST(coalesce(sum(delta), 0) AS {bigint}) AS s, CAST(coalesce(sum(aid), 0) AS {bigint}) AS aids,
             CAST(coalesce(sum(tid), 0) AS {bigint}) AS tids, CAST(coalesce(sum(bid), 0) AS {bigint}) AS bids
      FROM pgbench_history) h

-- name: accounts_off
-- Accounts whose balance is not the sum of their history.
SELECT count(*)
FROM (SELECT aid FROM (SELECT aid, delta AS d FROM pgbench_history
                       UNION ALL SELECT aid, -abalance FROM pgbench_accounts WHERE abalance <> 0) b
      GROUP BY aid HAVING sum(d) <> 0) o

-- name: tellers_off
SELECT count(*)
FROM (SELECT tid FROM (SELECT tid, delta AS d FROM pgbench_history
                       UNION ALL SELECT tid, -tbalance FROM pgbench_tellers WHERE tbalance <> 0) b
      GROUP BY tid HAVING sum(d) <> 0) o

-- name: branches_off
SELECT count(*)
FROM (SELECT bid FROM (SELECT bid, delta AS d FROM pgbench_history
                       UNION ALL SELECT bid, -bbalance FROM pgbench_branches WHERE bbalance <> 0) b
      GROUP BY bid HAVING sum(d) <> 0) o

-- name: tellers_changed
SELECT count(*) FROM pgbench_tellers WHERE tbalance <> 0

-- name: branches_changed
SELECT count(*) FROM pgbench_branches WHERE bbalance <> 0
