-- The bank: what products share. A section or a word of a product's own file counts before the one here, and what a
-- workload says of it before both: {accounts} of a branch, {made} rows for each, the ends of tables and keys.

-- word: {charset} =
-- word: {timestamp} = timestamp
-- word: {key} = NOT NULL
-- word: {to branch} =
-- word: {to teller} =
-- word: {to account} =
-- word: {bigint} = bigint
-- word: {aid} = integer
-- word: {is} = IS NOT DISTINCT FROM
-- word: {length} = char_length
-- word: {branch filler} = 88
-- word: {filler} = 84
-- word: {history text} = Qm7rT2xWv9LkZp4JhN8sYc3BdF6g
-- word: {end of branch} =
-- word: {end of teller} =
-- word: {end of account} =
-- word: {branch key} =
-- word: {teller key} =
-- word: {account key} =
-- word: {room} =
-- word: {end of history} =

-- name: tables
CREATE TABLE branch (
    bid integer {key},
    bbalance bigint NOT NULL,
    filler varchar(100) {charset} NOT NULL
) {end of branch};
-- next
CREATE TABLE teller (
    tid integer {key},
    bid integer NOT NULL {to branch},
    tbalance bigint NOT NULL,
    filler varchar(100) {charset} NOT NULL
) {end of teller};
-- next
CREATE TABLE account (
    aid {aid} {key},
    bid integer NOT NULL {to branch},
    abalance bigint NOT NULL,
    filler varchar(100) {charset} NOT NULL
) {end of account};
-- next
CREATE TABLE history (
    tid integer NOT NULL {to teller},
    bid integer NOT NULL {to branch},
    aid {aid} NOT NULL {to account},
    delta integer NOT NULL,
    mtime {timestamp} NOT NULL,
    filler varchar(100) {charset} NOT NULL
) {end of history};

-- name: written
-- Whether a transaction has changed balances: 1 or 0.
SELECT count(*) FROM (SELECT tid FROM history LIMIT 1) h

-- name: reset_balances
UPDATE branch SET bbalance = 0 WHERE bbalance <> 0
-- next
UPDATE teller SET tbalance = 0 WHERE tbalance <> 0
-- next
UPDATE account SET abalance = 0 WHERE abalance <> 0

-- name: history_indexed
CREATE INDEX history_aid ON history (aid);

-- name: history_rows
-- Rows that were there before: of accounts 1 to {n}, with which nothing was done.
INSERT INTO history (tid, bid, aid, delta, mtime, filler)
SELECT bid * 10, bid, aid, 0, {now}, '{history text}' FROM account WHERE aid <= {n}

-- name: update_account
UPDATE account SET abalance = abalance + ? WHERE aid = ?

-- name: select_account
SELECT abalance FROM account WHERE aid = ?

-- name: insert_history
INSERT INTO history (tid, bid, aid, delta, mtime, filler)
VALUES (?, ?, ?, ?, {now}, '{history text}')

-- name: update_teller
UPDATE teller SET tbalance = tbalance + ? WHERE tid = ?

-- name: update_branch
UPDATE branch SET bbalance = bbalance + ? WHERE bid = ?

-- name: totals
-- Rows and sum of each table, and the accounts whose balance is not 0.
SELECT (SELECT count(*) FROM branch), (SELECT CAST(coalesce(sum(bbalance), 0) AS {bigint}) FROM branch),
       (SELECT count(*) FROM teller), (SELECT CAST(coalesce(sum(tbalance), 0) AS {bigint}) FROM teller),
       a.n, a.s, h.n, h.s, a.touched
FROM (SELECT count(*) AS n, CAST(coalesce(sum(abalance), 0) AS {bigint}) AS s,
             count(CASE WHEN abalance <> 0 THEN 1 END) AS touched
      FROM account) a,
     (SELECT count(*) AS n, CAST(coalesce(sum(delta), 0) AS {bigint}) AS s FROM history) h

-- name: amended
-- Each transaction of T1 adds one to an account.
SELECT CAST(coalesce(sum(abalance * aid), 0) AS {bigint}) FROM account WHERE abalance <> 0

-- name: branches_off
-- Branches whose balance is not the sum of their tellers.
SELECT count(*)
FROM branch b LEFT JOIN (SELECT bid, sum(tbalance) AS s FROM teller GROUP BY bid) t ON t.bid = b.bid
WHERE NOT (t.s {is} b.bbalance)

-- name: tellers_off
-- Tellers whose balance is not the sum of their history, with one reading of it: Firebird would join it anew to each
-- teller where no foreign key brings an index.
SELECT count(*)
FROM (SELECT tid FROM (SELECT tid, delta AS d FROM history UNION ALL SELECT tid, -tbalance FROM teller) b
      GROUP BY tid HAVING sum(d) <> 0) o

-- name: accounts_off
-- Accounts in the history whose balance is not the sum of it, and those whose sum is not 0. Together
-- with the number of touched accounts this says it of all accounts, without reading them once more.
SELECT count(CASE WHEN NOT (a.abalance {is} h.s) THEN 1 END), count(CASE WHEN h.s <> 0 THEN 1 END)
FROM (SELECT aid, sum(delta) AS s FROM history GROUP BY aid) h LEFT JOIN account a ON a.aid = h.aid

-- name: history_off
-- Rows of the history that name another branch than their teller's.
SELECT count(*)
FROM history h LEFT JOIN teller t ON t.tid = h.tid
WHERE NOT (t.bid {is} h.bid)

-- name: rows_off
-- Tellers and accounts that are not of the branch that their number says, and fillers that are not as long as they
-- were written. A branch has no other branch to belong to.
SELECT count(CASE WHEN bid < 1 THEN 1 END), count(CASE WHEN {length}(filler) <> {branch filler} THEN 1 END) FROM branch
-- next
SELECT count(CASE WHEN tid BETWEEN (bid - 1) * 10 + 1 AND bid * 10 THEN NULL ELSE 1 END),
       count(CASE WHEN {length}(filler) <> {filler} THEN 1 END)
FROM teller
-- next
SELECT count(CASE WHEN aid BETWEEN (CAST(bid AS {bigint}) - 1) * {accounts} + 1 AND CAST(bid AS {bigint}) * {accounts} THEN NULL ELSE 1 END),
       count(CASE WHEN {length}(filler) <> {filler} THEN 1 END)
FROM account
-- next
SELECT count(CASE WHEN bid < 1 THEN 1 END), count(CASE WHEN filler <> '{history text}' THEN 1 END)
FROM history

-- name: history_accounts
-- Transactions with an account of another branch, and the sum of the accounts' numbers.
SELECT count(CASE WHEN aid BETWEEN (CAST(bid AS {bigint}) - 1) * {accounts} + 1 AND CAST(bid AS {bigint}) * {accounts} THEN NULL ELSE 1 END),
       CAST(coalesce(sum(aid), 0) AS {bigint})
FROM history
