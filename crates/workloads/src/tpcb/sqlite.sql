-- TPC-B for SQLite (the mock takes it, too). Sections are run by name, see crates/workloads/src/sql.rs.
--
-- SQLite adds keys to a table only when it is created. The primary keys are declared as INTEGER
-- PRIMARY KEY: the number of the row itself, the way SQLite's users do it, so that the step "primary
-- keys" has nothing left to do. Foreign keys are declared here and enforced by each session (the
-- engine switches them on, and off while it loads rows); the step "foreign keys" checks that all rows
-- meet them, which is what other engines do when a key is added.
--
-- Widths of the rows (TPC-B wants 100 bytes, history 50): SQLite stores small integers in 0 to 4
-- bytes, so the fillers alone have these widths.

-- name: tables
CREATE TABLE branch (
    bid INTEGER PRIMARY KEY,
    bbalance BIGINT NOT NULL,
    filler TEXT NOT NULL
);
-- next
CREATE TABLE teller (
    tid INTEGER PRIMARY KEY,
    bid INTEGER NOT NULL REFERENCES branch,
    tbalance BIGINT NOT NULL,
    filler TEXT NOT NULL
);
-- next
CREATE TABLE account (
    aid INTEGER PRIMARY KEY,
    bid INTEGER NOT NULL REFERENCES branch,
    abalance BIGINT NOT NULL,
    filler TEXT NOT NULL
);
-- next
CREATE TABLE history (
    tid INTEGER NOT NULL REFERENCES teller,
    bid INTEGER NOT NULL REFERENCES branch,
    aid INTEGER NOT NULL REFERENCES account,
    delta INTEGER NOT NULL,
    mtime INTEGER NOT NULL,
    filler TEXT NOT NULL
);

-- name: foreign_key_faults
SELECT count(*) FROM pragma_foreign_key_check('teller')
-- next
SELECT count(*) FROM pragma_foreign_key_check('account')
-- next
SELECT count(*) FROM pragma_foreign_key_check('history')

-- name: clean
-- Space is reused by itself, and no statement of the load has a choice of plans. No checkpoint: what
-- a cycle costs in checkpoints belongs to the cycles.
PRAGMA optimize;

-- name: update_account
UPDATE account SET abalance = abalance + ? WHERE aid = ?

-- name: select_account
SELECT abalance FROM account WHERE aid = ?

-- name: insert_history
-- mtime: microseconds since 1970, in steps of a millisecond, which is SQLite's own clock.
INSERT INTO history (tid, bid, aid, delta, mtime, filler)
VALUES (?, ?, ?, ?, CAST(unixepoch('subsec') * 1000 AS INTEGER) * 1000,
        'Qm7rT2xWv9LkZp4JhN8sYc3BdF6gQm7rT2xWv9LkZp4JhN8sYc')

-- name: update_teller
UPDATE teller SET tbalance = tbalance + ? WHERE tid = ?

-- name: update_branch
UPDATE branch SET bbalance = bbalance + ? WHERE bid = ?

-- name: totals
-- Rows and sum of each table, and the accounts whose balance is not 0.
SELECT (SELECT count(*) FROM branch), (SELECT coalesce(sum(bbalance), 0) FROM branch),
       (SELECT count(*) FROM teller), (SELECT coalesce(sum(tbalance), 0) FROM teller),
       a.n, a.s, h.n, h.s, a.touched
FROM (SELECT count(*) AS n, coalesce(sum(abalance), 0) AS s,
             count(*) FILTER (WHERE abalance <> 0) AS touched
      FROM account) a,
     (SELECT count(*) AS n, coalesce(sum(delta), 0) AS s FROM history) h

-- name: branches_off
-- Branches whose balance is not the sum of their tellers.
SELECT count(*)
FROM branch b LEFT JOIN (SELECT bid, sum(tbalance) AS s FROM teller GROUP BY bid) t ON t.bid = b.bid
WHERE t.s IS NOT b.bbalance

-- name: tellers_off
-- Tellers whose balance is not the sum of their history.
SELECT count(*)
FROM teller t LEFT JOIN (SELECT tid, sum(delta) AS s FROM history GROUP BY tid) h ON h.tid = t.tid
WHERE coalesce(h.s, 0) IS NOT t.tbalance

-- name: accounts_off
-- Accounts in the history whose balance is not the sum of it, and those whose sum is not 0. Together
-- with the number of touched accounts this says it of all accounts, without reading them once more.
SELECT count(*) FILTER (WHERE a.abalance IS NOT h.s), count(*) FILTER (WHERE h.s <> 0)
FROM (SELECT aid, sum(delta) AS s FROM history GROUP BY aid) h LEFT JOIN account a ON a.aid = h.aid

-- name: history_off
-- Rows of the history that name another branch than their teller's.
SELECT count(*)
FROM history h LEFT JOIN teller t ON t.tid = h.tid
WHERE t.bid IS NOT h.bid

-- name: rows_off
-- Tellers and accounts that are not of the branch that their number says, and fillers that are not as long as they
-- were written. A branch has no other branch to belong to.
SELECT count(CASE WHEN bid < 1 THEN 1 END), count(CASE WHEN length(filler) <> 100 THEN 1 END) FROM branch
-- next
SELECT count(CASE WHEN tid BETWEEN (bid - 1) * 10 + 1 AND bid * 10 THEN NULL ELSE 1 END),
       count(CASE WHEN length(filler) <> 100 THEN 1 END)
FROM teller
-- next
SELECT count(CASE WHEN aid BETWEEN (bid - 1) * 100000 + 1 AND bid * 100000 THEN NULL ELSE 1 END),
       count(CASE WHEN length(filler) <> 100 THEN 1 END)
FROM account
-- next
SELECT count(CASE WHEN bid < 1 THEN 1 END), count(CASE WHEN length(filler) <> 50 THEN 1 END) FROM history

-- name: history_accounts
-- Transactions with an account of another branch, and the sum of the accounts' numbers.
SELECT count(CASE WHEN aid BETWEEN (bid - 1) * 100000 + 1 AND bid * 100000 THEN NULL ELSE 1 END), coalesce(sum(aid), 0)
FROM history
