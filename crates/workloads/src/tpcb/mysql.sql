-- TPC-B for MariaDB and MySQL. Sections are run by name, see crates/workloads/src/sql.rs.
--
-- Widths of the rows (user data, TPC-B wants 100 bytes, history 50): branch 4 + 8 + 88, teller and
-- account 4 + 4 + 8 + 84, history 4 * 4 + 8 + 28.
--
-- Tables are of the session's storage engine. InnoDB and MyRocks keep a table in the order of its primary
-- key: adding it to a full table would write all of it once more. So tables have it from the beginning, as
-- their users make them, and rows come in its order; the step "primary keys" has nothing left to do. InnoDB
-- adds an index to every column that refers to another table: the step "foreign keys" takes its time. To
-- test the rows it would copy each table, row by row: the step asks by joins instead whether all rows refer
-- to one, in less than half of the time. MyRocks has no foreign keys: there the step only asks. The history
-- has no key of its own.

-- word: {timestamp} = datetime(6)
-- word: {key} = PRIMARY KEY
-- word: {now} = CURRENT_TIMESTAMP(6)
-- word: {bigint} = signed
-- word: {partitioned} = PARTITION BY HASH (bid) PARTITIONS 16
-- word: {is} = <=>

-- name: procedures
-- The transaction of TPC-B: account, its balance, teller, branch, history. The history comes last, as in
-- pgbench: before the updates its foreign keys would lock teller and branch first (docs/decisions/005).
-- A statement in a procedure is a transaction of its own unless the procedure opens one. Nothing but a
-- handler rolls it back; the error goes on to the client.
CREATE PROCEDURE tpcb_transaction(p_aid {aid}, p_tid int, p_bid int, p_delta int)
MODIFIES SQL DATA
BEGIN
    DECLARE balance bigint;
    DECLARE found int;
    DECLARE EXIT HANDLER FOR SQLEXCEPTION
    BEGIN
        ROLLBACK;
        RESIGNAL;
    END;
    START TRANSACTION;
    UPDATE account SET abalance = abalance + p_delta WHERE aid = p_aid;
    SET found = ROW_COUNT();
    SELECT abalance INTO balance FROM account WHERE aid = p_aid;
    UPDATE teller SET tbalance = tbalance + p_delta WHERE tid = p_tid;
    SET found = found + ROW_COUNT();
    UPDATE branch SET bbalance = bbalance + p_delta WHERE bid = p_bid;
    SET found = found + ROW_COUNT();
    IF found <> 3 THEN
        SIGNAL SQLSTATE '45000' SET MESSAGE_TEXT = 'account, teller or branch is missing';
    END IF;
    INSERT INTO history (tid, bid, aid, delta, mtime, filler)
        VALUES (p_tid, p_bid, p_aid, p_delta, CURRENT_TIMESTAMP(6), '{history text}');
    COMMIT;
    SELECT balance;
END;
-- next
CREATE PROCEDURE tpcb_select(p_aid {aid})
READS SQL DATA
BEGIN
    SELECT abalance FROM account WHERE aid = p_aid;
END;

-- name: populating
-- Writes one branch with its tellers and accounts as one transaction, one INSERT for each row as in seed
-- 000, section 4.3.
CREATE PROCEDURE tpcb_populate(p_bid int)
MODIFIES SQL DATA
BEGIN
    DECLARE number {aid};
    DECLARE EXIT HANDLER FOR SQLEXCEPTION
    BEGIN
        ROLLBACK;
        RESIGNAL;
    END;
    START TRANSACTION;
    INSERT INTO branch (bid, bbalance, filler) VALUES (p_bid, 0, left(sha2(concat('b', p_bid), 512), 88));
    SET number = (p_bid - 1) * 10;
    WHILE number < p_bid * 10 DO
        SET number = number + 1;
        INSERT INTO teller (tid, bid, tbalance, filler)
            VALUES (number, p_bid, 0, left(sha2(concat('t', number), 512), 84));
    END WHILE;
    SET number = (p_bid - 1) * {accounts};
    WHILE number < p_bid * {accounts} DO
        SET number = number + 1;
        INSERT INTO account (aid, bid, abalance, filler)
            VALUES (number, p_bid, 0, left(sha2(concat('a', number), 512), 84));
    END WHILE;
    COMMIT;
    SELECT {made};
END;

-- name: may_refer
SELECT count(*) FROM information_schema.tables
WHERE table_schema = database() AND table_name = 'account' AND engine = 'InnoDB'

-- name: call_populate
CALL tpcb_populate(?)

-- name: reset
-- Balances have a fixed length: rows that are changed back leave their pages as they were.
TRUNCATE TABLE history

-- name: reset_references
ALTER TABLE history DROP FOREIGN KEY history_ibfk_1, DROP FOREIGN KEY history_ibfk_2, DROP FOREIGN KEY history_ibfk_3
-- next
ALTER TABLE history DROP INDEX tid, DROP INDEX bid, DROP INDEX aid
-- next
ALTER TABLE account DROP FOREIGN KEY account_ibfk_1
-- next
ALTER TABLE account DROP INDEX bid
-- next
ALTER TABLE teller DROP FOREIGN KEY teller_ibfk_1
-- next
ALTER TABLE teller DROP INDEX bid

-- name: foreign_keys
SET SESSION foreign_key_checks = 0
-- next
ALTER TABLE teller ADD FOREIGN KEY (bid) REFERENCES branch (bid)
-- next
ALTER TABLE account ADD FOREIGN KEY (bid) REFERENCES branch (bid)
-- next
ALTER TABLE history
    ADD FOREIGN KEY (tid) REFERENCES teller (tid),
    ADD FOREIGN KEY (bid) REFERENCES branch (bid),
    ADD FOREIGN KEY (aid) REFERENCES account (aid)
-- next
SET SESSION foreign_key_checks = 1

-- name: foreign_key_faults
SELECT count(*) FROM teller t LEFT JOIN branch b ON b.bid = t.bid WHERE b.bid IS NULL
-- next
SELECT count(*) FROM account a LEFT JOIN branch b ON b.bid = a.bid WHERE b.bid IS NULL
-- next
SELECT count(*) FROM history h
    LEFT JOIN teller t ON t.tid = h.tid LEFT JOIN branch b ON b.bid = h.bid LEFT JOIN account a ON a.aid = h.aid
    WHERE t.tid IS NULL OR b.bid IS NULL OR a.aid IS NULL

-- name: clean
-- Statistics. Space of dead rows is freed by the server on its own. No OPTIMIZE TABLE, which would write
-- all tables anew.
ANALYZE NO_WRITE_TO_BINLOG TABLE branch, teller, account, history;

-- name: call_transaction
CALL tpcb_transaction(?, ?, ?, ?)

-- name: call_select
CALL tpcb_select(?)
