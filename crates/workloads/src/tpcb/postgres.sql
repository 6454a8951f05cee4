-- TPC-B for PostgreSQL. Sections are run by name, see crates/workloads/src/sql.rs.
--
-- Widths of the rows (user data, TPC-B wants 100 bytes, history 50): branch 4 + 8 + 88, teller and
-- account 4 + 4 + 8 + 84, history 4 * 4 + 8 + 28.

-- word: {now} = CURRENT_TIMESTAMP
-- word: {partitioned} = PARTITION BY HASH (bid)
-- word: {room} = WITH (fillfactor = 90)

-- name: procedures
-- The transaction of TPC-B: account, teller, branch, history. The history comes last, as in pgbench:
-- before the updates its foreign keys would lock teller and branch first (docs/decisions/005).
-- The balance is the one the database holds after the update; it is NULL when there is no such account.
CREATE FUNCTION tpcb_transaction(p_aid {aid}, p_tid integer, p_bid integer, p_delta integer) RETURNS bigint
LANGUAGE plpgsql AS $$
DECLARE
    balance bigint;
BEGIN
    UPDATE account SET abalance = abalance + p_delta WHERE aid = p_aid RETURNING abalance INTO balance;
    UPDATE teller SET tbalance = tbalance + p_delta WHERE tid = p_tid;
    UPDATE branch SET bbalance = bbalance + p_delta WHERE bid = p_bid;
    INSERT INTO history (tid, bid, aid, delta, mtime, filler)
        VALUES (p_tid, p_bid, p_aid, p_delta, CURRENT_TIMESTAMP, '{history text}');
    RETURN balance;
END;
$$;
-- next
CREATE FUNCTION tpcb_select(p_aid {aid}) RETURNS bigint
LANGUAGE plpgsql STABLE AS $$
DECLARE
    balance bigint;
BEGIN
    SELECT abalance INTO balance FROM account WHERE aid = p_aid;
    RETURN balance;
END;
$$;

-- name: populating
-- Writes one branch with its tellers and accounts, one INSERT for each row as in the paper, section
-- 4.3, but one call for each branch: a transaction of PostgreSQL ends at 2^32 - 2 commands.
CREATE FUNCTION tpcb_populate(p_bid integer) RETURNS bigint
LANGUAGE plpgsql AS $$
DECLARE
    number integer;
    before {aid} := (p_bid - 1)::{aid} * {accounts};
BEGIN
    INSERT INTO branch (bid, bbalance, filler)
        VALUES (p_bid, 0, left(encode(sha512(('b' || p_bid)::bytea), 'hex'), 88));
    FOR number IN (p_bid - 1) * 10 + 1 .. p_bid * 10 LOOP
        INSERT INTO teller (tid, bid, tbalance, filler)
            VALUES (number, p_bid, 0, left(encode(sha512(('t' || number)::bytea), 'hex'), 84));
    END LOOP;
    FOR number IN 1 .. {accounts} LOOP
        INSERT INTO account (aid, bid, abalance, filler)
            VALUES (before + number, p_bid, 0, left(encode(sha512(('a' || before + number)::bytea), 'hex'), 84));
    END LOOP;
    RETURN {made};
END;
$$;

-- name: history_partitioned
CREATE TABLE history_{n} PARTITION OF history FOR VALUES WITH (MODULUS 16, REMAINDER {n});

-- name: history_hashed
CREATE INDEX history_aid ON history USING hash (aid);

-- name: call_populate
SELECT tpcb_populate($1)

-- name: settle
-- Marks the pages as visible to all before the keys read them, as pgbench does it. Else building the keys sets
-- a mark in each row, writes its page for that, and the cleaning after them writes every page once more.
VACUUM branch, teller, account;

-- name: primary_keys
ALTER TABLE branch ADD PRIMARY KEY (bid) {branch key};
-- next
ALTER TABLE teller ADD PRIMARY KEY (tid) {teller key};
-- next
ALTER TABLE account ADD PRIMARY KEY (aid) {account key};

-- name: layout
-- Relations and their primary keys, by the name of the relation; a space of 0 is that of the database.
SELECT t.relname, coalesce(s.spcname, 'pg_default'), coalesce(array_to_string(c.reloptions, ', '), ''), c.relkind::text
FROM pg_class t JOIN pg_class c ON c.oid = t.oid
    OR c.oid IN (SELECT indexrelid FROM pg_index WHERE indrelid = t.oid AND indisprimary)
LEFT JOIN pg_tablespace s ON s.oid = c.reltablespace
WHERE t.relnamespace = current_schema()::regnamespace AND t.relkind IN ('r', 'p')
    AND t.relname IN ('branch', 'teller', 'account', 'history')
ORDER BY t.relname, c.relkind DESC

-- name: reset
ALTER TABLE history DROP CONSTRAINT history_tid_fkey, DROP CONSTRAINT history_bid_fkey, DROP CONSTRAINT history_aid_fkey;
-- next
TRUNCATE history;
-- next
ALTER TABLE account DROP CONSTRAINT account_bid_fkey, DROP CONSTRAINT account_pkey;
-- next
ALTER TABLE teller DROP CONSTRAINT teller_bid_fkey, DROP CONSTRAINT teller_pkey;
-- next
ALTER TABLE branch DROP CONSTRAINT branch_pkey;

-- name: reset_balances
-- A change of type writes a table anew, without the space that updates left in it; it costs less than an UPDATE and
-- the versions that one would leave.
ALTER TABLE branch ALTER COLUMN bbalance TYPE bigint USING 0;
-- next
ALTER TABLE teller ALTER COLUMN tbalance TYPE bigint USING 0;
-- next
ALTER TABLE account ALTER COLUMN abalance TYPE bigint USING 0;

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
