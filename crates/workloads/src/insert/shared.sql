-- The Insert Benchmark: what products share. A section or a word of a product's own file counts before the one here.
-- {t} is a table, {n} the rows of a transaction, {i} an index, {c} its first column and {k} one that makes no other
-- index of the table cover the count.

-- word: {id} = bigint PRIMARY KEY
-- word: {time} = timestamp
-- word: {charset} =
-- word: {top} =
-- word: {limit} = LIMIT 10
-- word: {market} =
-- word: {register} =
-- word: {pdc} =
-- word: {whole} =
-- word: {by} =
-- word: {plan} =
-- word: {bigint} = bigint

-- name: table
CREATE TABLE {t} (
    transactionid {id},
    dateandtime {time},
    cashregisterid integer NOT NULL,
    customerid integer NOT NULL,
    productid integer NOT NULL,
    price integer NOT NULL,
    data varchar(4000) {charset}
)

-- name: indexes
CREATE INDEX {t}_marketsegment ON {t} (productid, customerid, price);
-- next
CREATE INDEX {t}_registersegment ON {t} (cashregisterid, customerid, price);
-- next
CREATE INDEX {t}_pdc ON {t} (price, dateandtime, customerid);

-- name: insert
INSERT INTO {t} (dateandtime, cashregisterid, customerid, productid, price, data) VALUES

-- name: delete
DELETE FROM {t} WHERE transactionid IN
    (SELECT transactionid FROM {t} WHERE transactionid >= ? ORDER BY transactionid ASC LIMIT {n})

-- name: delete_range
DELETE FROM {t} WHERE transactionid >= ? AND transactionid < ?

-- name: delete_share
-- Of numbers that no other client deletes: those from the first below the second, as many as the third.
DELETE FROM {t} WHERE transactionid IN
    (SELECT transactionid FROM {t} WHERE transactionid >= ? AND transactionid < ? ORDER BY transactionid ASC LIMIT ?)

-- name: oldest
SELECT coalesce(min(transactionid), 0) FROM {t}

-- name: newest
SELECT coalesce(max(transactionid), 0) FROM {t}

-- name: market
SELECT {top} productid, customerid, price FROM {t} {market}
WHERE productid >= ? ORDER BY productid, customerid, price {limit}

-- name: register
SELECT {top} cashregisterid, customerid, price FROM {t} {register}
WHERE cashregisterid > ? ORDER BY cashregisterid, customerid, price {limit}

-- name: pdc
SELECT {top} price, dateandtime, customerid FROM {t} {pdc}
WHERE price >= ? ORDER BY price, dateandtime, customerid {limit}

-- name: point
SELECT transactionid, productid, data FROM {t} WHERE transactionid IN (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)

-- name: rows
-- No secondary index has the column data: the rows themselves are counted.
SELECT count(data), CAST(coalesce(min(transactionid), 0) AS {bigint}), CAST(coalesce(max(transactionid), 0) AS {bigint})
FROM {t} {whole}

-- name: entries
SELECT count({k}) FROM {t} {by} WHERE {c} >= 0 {plan}
