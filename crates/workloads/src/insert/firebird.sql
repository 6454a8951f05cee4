-- The Insert Benchmark for Firebird. Sections are run by name, see crates/core/src/contract/sql.rs.
--
-- Numbers of rows come from a sequence, whose last number can be asked for at once: an ascending index of Firebird's
-- gives no maximum. VALUES has one row: a transaction's rows are inserted by a block, in one round trip. The texts are
-- ASCII: of UTF-8 Firebird would keep four bytes for each character in every row that it has in hand.

-- word: {id} = bigint NOT NULL PRIMARY KEY
-- word: {now} = LOCALTIMESTAMP(0)
-- word: {charset} = CHARACTER SET ASCII
-- word: {top} = FIRST 10
-- word: {limit} =
-- word: {whole} = PLAN ({t} NATURAL)
-- word: {plan} = PLAN ({t} INDEX ({i}))

-- name: after_table
CREATE SEQUENCE {t}_ids

-- name: insert
INSERT INTO {t} (transactionid, dateandtime, cashregisterid, customerid, productid, price, data)
VALUES (NEXT VALUE FOR {t}_ids,

-- name: delete
DELETE FROM {t} WHERE transactionid >= ? ORDER BY transactionid ROWS {n}

-- name: delete_share
DELETE FROM {t} WHERE transactionid >= ? AND transactionid < ? ORDER BY transactionid ROWS ?

-- name: newest
SELECT gen_id({t}_ids, 0) FROM rdb$database

-- name: present
SELECT count(*) FROM rdb$indices WHERE rdb$index_name = upper('{i}') AND coalesce(rdb$index_inactive, 0) = 0

-- name: sweep
SWEEP

-- name: statistics
SET STATISTICS INDEX {t}_marketsegment
-- next
SET STATISTICS INDEX {t}_registersegment
-- next
SET STATISTICS INDEX {t}_pdc
