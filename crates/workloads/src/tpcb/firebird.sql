-- TPC-B for Firebird. Sections are run by name, see crates/workloads/src/sql.rs.
--
-- Widths of the rows (user data, TPC-B wants 100 bytes, history 50): branch 4 + 8 + 88, teller and
-- account 4 + 4 + 8 + 84, history 4 * 4 + 8 + 28. The fillers are ASCII: of UTF-8 Firebird would keep
-- four bytes for each character in every row that it has in hand.

-- word: {charset} = CHARACTER SET ASCII
-- word: {now} = LOCALTIMESTAMP

-- name: procedures
-- The transaction of TPC-B: account, teller, branch, history. The history comes last, as in pgbench:
-- before the updates its foreign keys would read teller and branch first (docs/decisions/005).
-- The balance is the one the database holds after the update; it is NULL when there is no such account.
CREATE PROCEDURE tpcb_transaction (p_aid {aid}, p_tid INTEGER, p_bid INTEGER, p_delta INTEGER)
RETURNS (balance BIGINT) AS
BEGIN
    UPDATE account SET abalance = abalance + :p_delta WHERE aid = :p_aid RETURNING abalance INTO :balance;
    UPDATE teller SET tbalance = tbalance + :p_delta WHERE tid = :p_tid;
    UPDATE branch SET bbalance = bbalance + :p_delta WHERE bid = :p_bid;
    INSERT INTO history (tid, bid, aid, delta, mtime, filler)
        VALUES (:p_tid, :p_bid, :p_aid, :p_delta, LOCALTIMESTAMP, '{history text}');
END;
-- next
CREATE FUNCTION tpcb_select (p_aid {aid}) RETURNS BIGINT AS
    DECLARE balance BIGINT;
BEGIN
    SELECT abalance FROM account WHERE aid = :p_aid INTO :balance;
    RETURN balance;
END;

-- name: populating
-- Writes one branch with its tellers and accounts, one INSERT for each row as in the paper, section 4.3.
-- The fillers are of random digits; version 3 has no function that mixes as many out of a number.
CREATE PROCEDURE tpcb_populate (p_bid INTEGER) RETURNS (made BIGINT) AS
    DECLARE number {aid};
BEGIN
    INSERT INTO branch (bid, bbalance, filler)
        VALUES (:p_bid, 0, LEFT(UUID_TO_CHAR(GEN_UUID()) || UUID_TO_CHAR(GEN_UUID()) || UUID_TO_CHAR(GEN_UUID()), 88));
    number = (p_bid - 1) * 10;
    WHILE (number < p_bid * 10) DO
    BEGIN
        number = number + 1;
        INSERT INTO teller (tid, bid, tbalance, filler) VALUES (:number, :p_bid, 0,
            LEFT(UUID_TO_CHAR(GEN_UUID()) || UUID_TO_CHAR(GEN_UUID()) || UUID_TO_CHAR(GEN_UUID()), 84));
    END
    number = (p_bid - 1) * {accounts};
    WHILE (number < p_bid * {accounts}) DO
    BEGIN
        number = number + 1;
        INSERT INTO account (aid, bid, abalance, filler) VALUES (:number, :p_bid, 0,
            LEFT(UUID_TO_CHAR(GEN_UUID()) || UUID_TO_CHAR(GEN_UUID()) || UUID_TO_CHAR(GEN_UUID()), 84));
    END
    made = {made};
END;

-- name: call_populate
EXECUTE PROCEDURE tpcb_populate(?)

-- name: primary_keys
ALTER TABLE branch ADD CONSTRAINT branch_key PRIMARY KEY (bid);
-- next
ALTER TABLE teller ADD CONSTRAINT teller_key PRIMARY KEY (tid);
-- next
ALTER TABLE account ADD CONSTRAINT account_key PRIMARY KEY (aid);

-- name: written
SELECT count(*) FROM (SELECT FIRST 1 tid FROM history) h

-- name: reset
ALTER TABLE history DROP CONSTRAINT history_teller, DROP CONSTRAINT history_branch, DROP CONSTRAINT history_account;
-- next
ALTER TABLE account DROP CONSTRAINT account_branch;
-- next
ALTER TABLE teller DROP CONSTRAINT teller_branch;
-- next
ALTER TABLE account DROP CONSTRAINT account_key;
-- next
ALTER TABLE teller DROP CONSTRAINT teller_key;
-- next
ALTER TABLE branch DROP CONSTRAINT branch_key;

-- name: reset_balances
DELETE FROM history
-- next
UPDATE branch SET bbalance = 0 WHERE bbalance <> 0
-- next
UPDATE teller SET tbalance = 0 WHERE tbalance <> 0
-- next
UPDATE account SET abalance = 0 WHERE abalance <> 0
-- next
SWEEP

-- name: foreign_keys
ALTER TABLE teller ADD CONSTRAINT teller_branch FOREIGN KEY (bid) REFERENCES branch (bid);
-- next
ALTER TABLE account ADD CONSTRAINT account_branch FOREIGN KEY (bid) REFERENCES branch (bid);
-- next
ALTER TABLE history ADD CONSTRAINT history_teller FOREIGN KEY (tid) REFERENCES teller (tid);
-- next
ALTER TABLE history ADD CONSTRAINT history_branch FOREIGN KEY (bid) REFERENCES branch (bid);
-- next
ALTER TABLE history ADD CONSTRAINT history_account FOREIGN KEY (aid) REFERENCES account (aid);

-- name: clean
-- The engine's word for gfix -sweep: old versions of rows are removed, and the oldest interesting
-- transaction moves on, so that no cycle meets the automatic sweep that an earlier one has earned.
-- Statistics stay those of the keys' creation: no statement has a choice of plans.
SWEEP

-- name: call_transaction
EXECUTE PROCEDURE tpcb_transaction(?, ?, ?, ?)

-- name: call_select
SELECT tpcb_select(?) FROM rdb$database

-- name: update_account
-- RETURNING says how many rows were changed; else the server would have to be asked in one more round trip.
UPDATE account SET abalance = abalance + ? WHERE aid = ? RETURNING aid

-- name: insert_history
INSERT INTO history (tid, bid, aid, delta, mtime, filler)
VALUES (?, ?, ?, ?, {now}, '{history text}') RETURNING tid

-- name: update_teller
UPDATE teller SET tbalance = tbalance + ? WHERE tid = ? RETURNING tid

-- name: update_branch
UPDATE branch SET bbalance = bbalance + ? WHERE bid = ? RETURNING bid
