-- TPC-H-like: what products share. The functional definitions of the queries are those of the specification (clause 2.4);
-- the names in braces are their parameters, which parameters.rs draws, and words of a dialect.

-- word: {money} = decimal(15, 2)
-- word: {day} = date
-- word: {key of region} = )
-- word: {key of nation} = )
-- word: {key of part} = )
-- word: {key of supplier} = )
-- word: {key of partsupp} = )
-- word: {key of customer} = )
-- word: {key of orders} = )
-- word: {key of lineitem} = )
-- word: {o_orderdate} = ?
-- word: {l_date} = ?
-- word: {exact} =
-- word: {once} = AS
-- word: {begin of 1995} = DATE '1995-01-01'
-- word: {end of 1996} = DATE '1996-12-31'
-- word: {year of l_shipdate} = extract(year FROM l_shipdate)
-- word: {year of o_orderdate} = extract(year FROM o_orderdate)
-- word: {supplier of line} = l_suppkey
-- word: {part of line} = l_partkey
-- word: {nations apart} =
-- word: {country} = substring(c_phone FROM 1 FOR 2)
-- word: {top 10} = LIMIT 10
-- word: {top 20} = LIMIT 20
-- word: {top 100} = LIMIT 100

-- name: tables
CREATE TABLE region (r_regionkey integer NOT NULL, r_name char(25) NOT NULL, r_comment varchar(152) NOT NULL
    {key of region}
-- next
CREATE TABLE nation (n_nationkey integer NOT NULL, n_name char(25) NOT NULL, n_regionkey integer NOT NULL,
    n_comment varchar(152) NOT NULL {key of nation}
-- next
CREATE TABLE part (p_partkey integer NOT NULL, p_name varchar(55) NOT NULL, p_mfgr char(25) NOT NULL,
    p_brand char(10) NOT NULL, p_type varchar(25) NOT NULL, p_size integer NOT NULL, p_container char(10) NOT NULL,
    p_retailprice {money} NOT NULL, p_comment varchar(23) NOT NULL {key of part}
-- next
CREATE TABLE supplier (s_suppkey integer NOT NULL, s_name char(25) NOT NULL, s_address varchar(40) NOT NULL,
    s_nationkey integer NOT NULL, s_phone char(15) NOT NULL, s_acctbal {money} NOT NULL,
    s_comment varchar(101) NOT NULL {key of supplier}
-- next
CREATE TABLE partsupp (ps_partkey integer NOT NULL, ps_suppkey integer NOT NULL, ps_availqty integer NOT NULL,
    ps_supplycost {money} NOT NULL, ps_comment varchar(199) NOT NULL {key of partsupp}
-- next
CREATE TABLE customer (c_custkey integer NOT NULL, c_name varchar(25) NOT NULL, c_address varchar(40) NOT NULL,
    c_nationkey integer NOT NULL, c_phone char(15) NOT NULL, c_acctbal {money} NOT NULL,
    c_mktsegment char(10) NOT NULL, c_comment varchar(117) NOT NULL {key of customer}
-- next
CREATE TABLE orders (o_orderkey bigint NOT NULL, o_custkey integer NOT NULL, o_orderstatus char(1) NOT NULL,
    o_totalprice {money} NOT NULL, o_orderdate {day} NOT NULL, o_orderpriority char(15) NOT NULL,
    o_clerk char(15) NOT NULL, o_shippriority integer NOT NULL, o_comment varchar(79) NOT NULL {key of orders}
-- next
CREATE TABLE lineitem (l_orderkey bigint NOT NULL, l_partkey integer NOT NULL, l_suppkey integer NOT NULL,
    l_linenumber integer NOT NULL, l_quantity {money} NOT NULL, l_extendedprice {money} NOT NULL,
    l_discount {money} NOT NULL, l_tax {money} NOT NULL, l_returnflag char(1) NOT NULL, l_linestatus char(1) NOT NULL,
    l_shipdate {day} NOT NULL, l_commitdate {day} NOT NULL, l_receiptdate {day} NOT NULL,
    l_shipinstruct char(25) NOT NULL, l_shipmode char(10) NOT NULL, l_comment varchar(44) NOT NULL {key of lineitem}

-- name: indexes
-- On foreign keys alone, as clause 1.5 allows.
CREATE INDEX lineitem_of_partsupp ON lineitem (l_partkey, l_suppkey)
-- next
CREATE INDEX lineitem_of_supplier ON lineitem (l_suppkey)
-- next
CREATE INDEX orders_of_customer ON orders (o_custkey)
-- next
CREATE INDEX partsupp_of_supplier ON partsupp (ps_suppkey)
-- next
CREATE INDEX customer_of_nation ON customer (c_nationkey)
-- next
CREATE INDEX supplier_of_nation ON supplier (s_nationkey)

-- name: insert_order
INSERT INTO orders (o_orderkey, o_custkey, o_orderstatus, o_totalprice, o_orderdate, o_orderpriority, o_clerk,
    o_shippriority, o_comment) VALUES (?, ?, ?, ?, {o_orderdate}, ?, ?, ?, ?)

-- name: insert_line
INSERT INTO lineitem (l_orderkey, l_partkey, l_suppkey, l_linenumber, l_quantity, l_extendedprice, l_discount, l_tax,
    l_returnflag, l_linestatus, l_shipdate, l_commitdate, l_receiptdate, l_shipinstruct, l_shipmode, l_comment)
    VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, {l_date}, {l_date}, {l_date}, ?, ?, ?)

-- name: delete_lines
DELETE FROM lineitem WHERE l_orderkey = ?

-- name: delete_order
DELETE FROM orders WHERE o_orderkey = ?

-- name: count
SELECT count(*) FROM {t}

-- name: stray_lines
SELECT count(*) FROM lineitem WHERE NOT EXISTS (SELECT 1 FROM orders WHERE o_orderkey = l_orderkey)

-- name: Q1
SELECT l_returnflag, l_linestatus, sum(l_quantity) AS sum_qty, sum(l_extendedprice) AS sum_base_price,
    sum(l_extendedprice * (1 - l_discount)) AS sum_disc_price,
    sum(l_extendedprice * (1 - l_discount) * (1 + l_tax)) AS sum_charge, avg({exact} l_quantity) AS avg_qty,
    avg({exact} l_extendedprice) AS avg_price, avg({exact} l_discount) AS avg_disc, count(*) AS count_order
FROM lineitem
WHERE l_shipdate <= {date}
GROUP BY l_returnflag, l_linestatus
ORDER BY l_returnflag, l_linestatus

-- name: Q2
SELECT s_acctbal, s_name, n_name, p_partkey, p_mfgr, s_address, s_phone, s_comment
FROM part, supplier, partsupp, nation, region
WHERE p_partkey = ps_partkey AND s_suppkey = ps_suppkey AND p_size = {size} AND p_type LIKE '%{type}'
    AND s_nationkey = n_nationkey AND n_regionkey = r_regionkey AND r_name = '{region}'
    AND ps_supplycost = (SELECT min(ps_supplycost) FROM partsupp, supplier, nation, region
        WHERE p_partkey = ps_partkey AND s_suppkey = ps_suppkey AND s_nationkey = n_nationkey
            AND n_regionkey = r_regionkey AND r_name = '{region}')
ORDER BY s_acctbal DESC, n_name, s_name, p_partkey {top 100}

-- name: Q3
SELECT l_orderkey, sum(l_extendedprice * (1 - l_discount)) AS revenue, o_orderdate, o_shippriority
FROM customer, orders, lineitem
WHERE c_mktsegment = '{segment}' AND c_custkey = o_custkey AND l_orderkey = o_orderkey AND o_orderdate < {date}
    AND l_shipdate > {date}
GROUP BY l_orderkey, o_orderdate, o_shippriority
ORDER BY revenue DESC, o_orderdate {top 10}

-- name: Q4
SELECT o_orderpriority, count(*) AS order_count
FROM orders
WHERE o_orderdate >= {date} AND o_orderdate < {end}
    AND EXISTS (SELECT * FROM lineitem WHERE l_orderkey = o_orderkey AND l_commitdate < l_receiptdate)
GROUP BY o_orderpriority
ORDER BY o_orderpriority

-- name: Q5
SELECT n_name, sum(l_extendedprice * (1 - l_discount)) AS revenue
FROM customer, orders, lineitem, supplier, nation, region
WHERE c_custkey = o_custkey AND l_orderkey = o_orderkey AND l_suppkey = s_suppkey AND c_nationkey = s_nationkey
    AND s_nationkey = n_nationkey AND n_regionkey = r_regionkey AND r_name = '{region}'
    AND o_orderdate >= {date} AND o_orderdate < {end}
GROUP BY n_name
ORDER BY revenue DESC

-- name: Q6
SELECT sum(l_extendedprice * l_discount) AS revenue
FROM lineitem
WHERE l_shipdate >= {date} AND l_shipdate < {end} AND l_discount BETWEEN {least} AND {most} AND l_quantity < {quantity}

-- name: Q7
SELECT supp_nation, cust_nation, l_year, sum(volume) AS revenue
FROM (SELECT n1.n_name AS supp_nation, n2.n_name AS cust_nation, {year of l_shipdate} AS l_year,
        l_extendedprice * (1 - l_discount) AS volume
    FROM supplier, lineitem, orders, customer, nation n1, nation n2
    WHERE s_suppkey = l_suppkey AND o_orderkey = l_orderkey AND c_custkey = o_custkey AND s_nationkey = n1.n_nationkey
        AND c_nationkey = n2.n_nationkey AND ((n1.n_name = '{nation}' AND n2.n_name = '{nation2}')
            OR (n1.n_name = '{nation2}' AND n2.n_name = '{nation}'))
        {nations apart} AND l_shipdate BETWEEN {begin of 1995} AND {end of 1996}) shipping
GROUP BY supp_nation, cust_nation, l_year
ORDER BY supp_nation, cust_nation, l_year

-- name: Q8
SELECT o_year, {exact} sum(CASE WHEN nation = '{nation}' THEN volume ELSE 0 END) / sum(volume) AS mkt_share
FROM (SELECT {year of o_orderdate} AS o_year, l_extendedprice * (1 - l_discount) AS volume, n2.n_name AS nation
    FROM part, supplier, lineitem, orders, customer, nation n1, nation n2, region
    WHERE p_partkey = l_partkey AND s_suppkey = l_suppkey AND l_orderkey = o_orderkey AND o_custkey = c_custkey
        AND c_nationkey = n1.n_nationkey AND n1.n_regionkey = r_regionkey AND r_name = '{region}'
        AND s_nationkey = n2.n_nationkey AND o_orderdate BETWEEN {begin of 1995} AND {end of 1996}
        AND p_type = '{type}') all_nations
GROUP BY o_year
ORDER BY o_year

-- name: Q9
SELECT nation, o_year, sum(amount) AS sum_profit
FROM (SELECT n_name AS nation, {year of o_orderdate} AS o_year,
        l_extendedprice * (1 - l_discount) - ps_supplycost * l_quantity AS amount
    FROM part, supplier, lineitem, partsupp, orders, nation
    WHERE s_suppkey = l_suppkey AND ps_suppkey = l_suppkey AND ps_partkey = l_partkey AND p_partkey = l_partkey
        AND o_orderkey = l_orderkey AND s_nationkey = n_nationkey AND p_name LIKE '%{color}%') profit
GROUP BY nation, o_year
ORDER BY nation, o_year DESC

-- name: Q10
SELECT c_custkey, c_name, sum(l_extendedprice * (1 - l_discount)) AS revenue, c_acctbal, n_name, c_address, c_phone,
    c_comment
FROM customer, orders, lineitem, nation
WHERE c_custkey = o_custkey AND l_orderkey = o_orderkey AND o_orderdate >= {date} AND o_orderdate < {end}
    AND l_returnflag = 'R' AND c_nationkey = n_nationkey
GROUP BY c_custkey, c_name, c_acctbal, c_phone, n_name, c_address, c_comment
ORDER BY revenue DESC {top 20}

-- name: Q11
SELECT ps_partkey, sum(ps_supplycost * ps_availqty) AS stock_value
FROM partsupp, supplier, nation
WHERE ps_suppkey = s_suppkey AND s_nationkey = n_nationkey AND n_name = '{nation}'
GROUP BY ps_partkey
HAVING sum(ps_supplycost * ps_availqty) > (SELECT sum(ps_supplycost * ps_availqty) * {exact} {fraction}
    FROM partsupp, supplier, nation
    WHERE ps_suppkey = s_suppkey AND s_nationkey = n_nationkey AND n_name = '{nation}')
ORDER BY stock_value DESC

-- name: Q12
SELECT l_shipmode,
    sum(CASE WHEN o_orderpriority = '1-URGENT' OR o_orderpriority = '2-HIGH' THEN 1 ELSE 0 END) AS high_line_count,
    sum(CASE WHEN o_orderpriority <> '1-URGENT' AND o_orderpriority <> '2-HIGH' THEN 1 ELSE 0 END) AS low_line_count
FROM orders, lineitem
WHERE o_orderkey = l_orderkey AND l_shipmode IN ('{mode}', '{mode2}') AND l_commitdate < l_receiptdate
    AND l_shipdate < l_commitdate AND l_receiptdate >= {date} AND l_receiptdate < {end}
GROUP BY l_shipmode
ORDER BY l_shipmode

-- name: Q13
SELECT c_count, count(*) AS custdist
FROM (SELECT c_custkey, count(o_orderkey) AS c_count
    FROM customer LEFT OUTER JOIN orders ON c_custkey = o_custkey AND o_comment NOT LIKE '%{word}%{word2}%'
    GROUP BY c_custkey) c_orders
GROUP BY c_count
ORDER BY custdist DESC, c_count DESC

-- name: Q14
SELECT 100.00 * {exact} sum(CASE WHEN p_type LIKE 'PROMO%' THEN l_extendedprice * (1 - l_discount) ELSE 0 END)
    / sum(l_extendedprice * (1 - l_discount)) AS promo_revenue
FROM lineitem, part
WHERE p_partkey = {part of line} AND l_shipdate >= {date} AND l_shipdate < {end}

-- name: Q15
WITH revenue {once} (
    SELECT {supplier of line} AS supplier_no, sum(l_extendedprice * (1 - l_discount)) AS total_revenue
    FROM lineitem
    WHERE l_shipdate >= {date} AND l_shipdate < {end}
    GROUP BY {supplier of line})
SELECT s_suppkey, s_name, s_address, s_phone, total_revenue
FROM supplier, revenue
WHERE s_suppkey = supplier_no AND total_revenue = (SELECT max(total_revenue) FROM revenue)
ORDER BY s_suppkey

-- name: Q16
SELECT p_brand, p_type, p_size, count(DISTINCT ps_suppkey) AS supplier_cnt
FROM partsupp, part
WHERE p_partkey = ps_partkey AND p_brand <> '{brand}' AND p_type NOT LIKE '{type}%' AND p_size IN ({sizes})
    AND ps_suppkey NOT IN (SELECT s_suppkey FROM supplier WHERE s_comment LIKE '%Customer%Complaints%')
GROUP BY p_brand, p_type, p_size
ORDER BY supplier_cnt DESC, p_brand, p_type, p_size

-- name: Q17
SELECT {exact} sum(l_extendedprice) / 7.0 AS avg_yearly
FROM lineitem, part
WHERE p_partkey = l_partkey AND p_brand = '{brand}' AND p_container = '{container}'
    AND l_quantity < (SELECT 0.2 * avg({exact} l_quantity) FROM lineitem WHERE l_partkey = p_partkey)

-- name: Q18
SELECT c_name, c_custkey, o_orderkey, o_orderdate, o_totalprice, sum(l_quantity) AS sum_qty
FROM customer, orders, lineitem
WHERE o_orderkey IN (SELECT l_orderkey FROM lineitem GROUP BY l_orderkey HAVING sum(l_quantity) > {quantity})
    AND c_custkey = o_custkey AND o_orderkey = l_orderkey
GROUP BY c_name, c_custkey, o_orderkey, o_orderdate, o_totalprice
ORDER BY o_totalprice DESC, o_orderdate {top 100}

-- name: Q19
SELECT sum(l_extendedprice * (1 - l_discount)) AS revenue
FROM lineitem, part
WHERE p_partkey = l_partkey AND l_shipmode IN ('AIR', 'AIR REG') AND l_shipinstruct = 'DELIVER IN PERSON'
    AND ((p_brand = '{brand}' AND p_container IN ('SM CASE', 'SM BOX', 'SM PACK', 'SM PKG')
            AND l_quantity >= {quantity} AND l_quantity <= {quantity} + 10 AND p_size BETWEEN 1 AND 5)
        OR (p_brand = '{brand2}' AND p_container IN ('MED BAG', 'MED BOX', 'MED PKG', 'MED PACK')
            AND l_quantity >= {quantity2} AND l_quantity <= {quantity2} + 10 AND p_size BETWEEN 1 AND 10)
        OR (p_brand = '{brand3}' AND p_container IN ('LG CASE', 'LG BOX', 'LG PACK', 'LG PKG')
            AND l_quantity >= {quantity3} AND l_quantity <= {quantity3} + 10 AND p_size BETWEEN 1 AND 15))

-- name: Q20
SELECT s_name, s_address
FROM supplier, nation
WHERE s_suppkey IN (SELECT ps_suppkey FROM partsupp
        WHERE ps_partkey IN (SELECT p_partkey FROM part WHERE p_name LIKE '{color}%')
            AND ps_availqty > (SELECT 0.5 * sum(l_quantity) FROM lineitem
                WHERE l_partkey = ps_partkey AND l_suppkey = ps_suppkey AND l_shipdate >= {date} AND l_shipdate < {end}))
    AND s_nationkey = n_nationkey AND n_name = '{nation}'
ORDER BY s_name

-- name: Q21
SELECT s_name, count(*) AS numwait
FROM supplier, lineitem l1, orders, nation
WHERE s_suppkey = l1.l_suppkey AND o_orderkey = l1.l_orderkey AND o_orderstatus = 'F'
    AND l1.l_receiptdate > l1.l_commitdate
    AND EXISTS (SELECT * FROM lineitem l2 WHERE l2.l_orderkey = l1.l_orderkey AND l2.l_suppkey <> l1.l_suppkey)
    AND NOT EXISTS (SELECT * FROM lineitem l3 WHERE l3.l_orderkey = l1.l_orderkey AND l3.l_suppkey <> l1.l_suppkey
        AND l3.l_receiptdate > l3.l_commitdate)
    AND s_nationkey = n_nationkey AND n_name = '{nation}'
GROUP BY s_name
ORDER BY numwait DESC, s_name {top 100}

-- name: Q22
SELECT cntrycode, count(*) AS numcust, sum(c_acctbal) AS totacctbal
FROM (SELECT {country} AS cntrycode, c_acctbal
    FROM customer
    WHERE {country} IN ({codes})
        AND c_acctbal > (SELECT avg({exact} c_acctbal) FROM customer WHERE c_acctbal > 0.00 AND {country} IN ({codes}))
        AND NOT EXISTS (SELECT * FROM orders WHERE o_custkey = c_custkey)) custsale
GROUP BY cntrycode
ORDER BY cntrycode
