-- TPC-B for PostgreSQL. Sections are run by name, see crates/workloads/src/sql.rs.
--
-- Widths of the rows (user data, TPC-B wants 100 bytes, history 50): branch 4 + 8 + 88, teller and
-- account 4 + 4 + 8 + 84, history 4 * 4 + 8 + 28.

-- name: tables
CREATE TABLE branch (
    bid integer NOT NULL,
    bbalance bigint NOT NULL,
    filler varchar(100) NOT NULL
);
-- next
CREATE TABLE teller (
    tid integer NOT NULL,
    bid integer NOT NULL,
    tbalance bigint NOT NULL,
    filler varchar(100) NOT NULL
);
-- next
CREATE TABLE account (
    aid integer NOT NULL,
    bid integer NOT NULL,
    abalance bigint NOT NULL,
    filler varchar(100) NOT NULL
);
-- next
CREATE TABLE history (
    tid integer NOT NULL,
    bid integer NOT NULL,
    aid integer NOT NULL,
    delta integer NOT NULL,
    mtime timestamp NOT NULL,
    filler varchar(100) NOT NULL
);

-- name: procedures
-- The transaction of TPC-B: account, teller, branch, history. The history comes last, as in pgbench:
-- before the updates its foreign keys would lock teller and branch first (docs/decisions/005).
-- The balance is the one the database holds after the update; it is NULL when there is no such account.
CREATE FUNCTION tpcb_transaction(p_aid integer, p_tid integer, p_bid integer, p_delta integer) RETURNS bigint
LANGUAGE plpgsql AS $$
DECLARE
    balance bigint;
BEGIN
    UPDATE account SET abalance = abalance + p_delta WHERE aid = p_aid RETURNING abalance INTO balance;
    UPDATE teller SET tbalance = tbalance + p_delta WHERE tid = p_tid;
    UPDATE branch SET bbalance = bbalance + p_delta WHERE bid = p_bid;
    INSERT INTO history (tid, bid, aid, delta, mtime, filler)
        VALUES (p_tid, p_bid, p_aid, p_delta, CURRENT_TIMESTAMP, 'Qm7rT2xWv9LkZp4JhN8sYc3BdF6g');
    RETURN balance;
END;
$$;
-- next
CREATE FUNCTION tpcb_select(p_aid integer) RETURNS bigint
LANGUAGE plpgsql STABLE AS $$
DECLARE
    balance bigint;
BEGIN
    SELECT abalance INTO balance FROM account WHERE aid = p_aid;
    RETURN balance;
END;
$$;
-- next
-- Writes one branch with its tellers and accounts, one INSERT for each row as in the paper, section
-- 4.3, but one call for each branch: a transaction of PostgreSQL ends at 2^32 - 2 commands.
CREATE FUNCTION tpcb_populate(p_bid integer) RETURNS bigint
LANGUAGE plpgsql AS $$
DECLARE
    number integer;
BEGIN
    INSERT INTO branch (bid, bbalance, filler)
        VALUES (p_bid, 0, left(encode(sha512(('b' || p_bid)::bytea), 'hex'), 88));
    FOR number IN (p_bid - 1) * 10 + 1 .. p_bid * 10 LOOP
        INSERT INTO teller (tid, bid, tbalance, filler)
            VALUES (number, p_bid, 0, left(encode(sha512(('t' || number)::bytea), 'hex'), 84));
    END LOOP;
    FOR number IN (p_bid - 1) * 100000 + 1 .. p_bid * 100000 LOOP
        INSERT INTO account (aid, bid, abalance, filler)
            VALUES (number, p_bid, 0, left(encode(sha512(('a' || number)::bytea), 'hex'), 84));
    END LOOP;
    RETURN 100011;
END;
$$;

-- name: call_populate
SELECT tpcb_populate($1)

-- name: settle
-- Marks the pages as visible to all before the keys read them, as pgbench does it. Else building the keys sets
-- a mark in each row, writes its page for that, and the cleaning after them writes every page once more.
VACUUM branch, teller, account;

-- name: primary_keys
ALTER TABLE branch ADD PRIMARY KEY (bid);
-- next
ALTER TABLE teller ADD PRIMARY KEY (tid);
-- next
ALTER TABLE account ADD PRIMARY KEY (aid);

-- name: foreign_keys
ALTER TABLE teller ADD FOREIGN KEY (bid) REFERENCES branch;
-- next
ALTER TABLE account ADD FOREIGN KEY (bid) REFERENCES branch;
-- next
ALTER TABLE history ADD FOREIGN KEY (tid) REFERENCES teller;
-- next
ALTER TABLE history ADD FOREIGN KEY (bid) REFERENCES branch;
-- next
ALTER TABLE history ADD FOREIGN KEY (aid) REFERENCES account;

-- name: clean
-- No CHECKPOINT: what a cycle costs in checkpoints belongs to the cycles.
VACUUM (ANALYZE) branch;
-- next
VACUUM (ANALYZE) teller;
-- next
VACUUM (ANALYZE) account;
-- next
VACUUM (ANALYZE) history;

-- name: call_transaction
SELECT tpcb_transaction($1, $2, $3, $4)

-- name: call_select
SELECT tpcb_select($1)

-- name: update_account
UPDATE account SET abalance = abalance + $1 WHERE aid = $2

-- name: select_account
SELECT abalance FROM account WHERE aid = $1

-- name: insert_history
INSERT INTO history (tid, bid, aid, delta, mtime, filler)
VALUES ($1, $2, $3, $4, CURRENT_TIMESTAMP, 'Qm7rT2xWv9LkZp4JhN8sYc3BdF6g')

-- name: update_teller
UPDATE teller SET tbalance = tbalance + $1 WHERE tid = $2

-- name: update_branch
UPDATE branch SET bbalance = bbalance + $1 WHERE bid = $2

-- name: totals
-- Rows and sum of each table, and the accounts whose balance is not 0.
SELECT (SELECT count(*) FROM branch), (SELECT coalesce(sum(bbalance), 0)::bigint FROM branch),
       (SELECT count(*) FROM teller), (SELECT coalesce(sum(tbalance), 0)::bigint FROM teller),
       a.n, a.s, h.n, h.s, a.touched
FROM (SELECT count(*) AS n, coalesce(sum(abalance), 0)::bigint AS s,
             count(*) FILTER (WHERE abalance <> 0) AS touched
      FROM account) a,
     (SELECT count(*) AS n, coalesce(sum(delta), 0)::bigint AS s FROM history) h

-- name: branches_off
-- Branches whose balance is not the sum of their tellers.
SELECT count(*)
FROM branch b LEFT JOIN (SELECT bid, sum(tbalance) AS s FROM teller GROUP BY bid) t ON t.bid = b.bid
WHERE t.s IS DISTINCT FROM b.bbalance

-- name: tellers_off
-- Tellers whose balance is not the sum of their history.
SELECT count(*)
FROM teller t LEFT JOIN (SELECT tid, sum(delta) AS s FROM history GROUP BY tid) h ON h.tid = t.tid
WHERE coalesce(h.s, 0) IS DISTINCT FROM t.tbalance

-- name: accounts_off
-- Accounts in the history whose balance is not the sum of it, and those whose sum is not 0. Together
-- with the number of touched accounts this says it of all accounts, without reading them once more.
SELECT count(*) FILTER (WHERE a.abalance IS DISTINCT FROM h.s), count(*) FILTER (WHERE h.s <> 0)
FROM (SELECT aid, sum(delta) AS s FROM history GROUP BY aid) h LEFT JOIN account a ON a.aid = h.aid

-- name: history_off
-- Rows of the history that name another branch than their teller's.
SELECT count(*)
FROM history h LEFT JOIN teller t ON t.tid = h.tid
WHERE t.bid IS DISTINCT FROM h.bid

-- name: rows_off
-- Tellers and accounts that are not of the branch that their number says, and fillers that are not as long as they
-- were written. A branch has no other branch to belong to.
SELECT count(CASE WHEN bid < 1 THEN 1 END), count(CASE WHEN char_length(filler) <> 88 THEN 1 END) FROM branch
-- next
SELECT count(CASE WHEN tid BETWEEN (bid - 1) * 10 + 1 AND bid * 10 THEN NULL ELSE 1 END),
       count(CASE WHEN char_length(filler) <> 84 THEN 1 END)
FROM teller
-- next
SELECT count(CASE WHEN aid BETWEEN (bid - 1) * 100000 + 1 AND bid * 100000 THEN NULL ELSE 1 END),
       count(CASE WHEN char_length(filler) <> 84 THEN 1 END)
FROM account
-- next
SELECT count(CASE WHEN bid < 1 THEN 1 END), count(CASE WHEN char_length(filler) <> 28 THEN 1 END) FROM history

-- name: history_accounts
-- Transactions with an account of another branch, and the sum of the accounts' numbers.
SELECT count(CASE WHEN aid BETWEEN (bid - 1) * 100000 + 1 AND bid * 100000 THEN NULL ELSE 1 END), coalesce(sum(aid), 0)::bigint
FROM history
