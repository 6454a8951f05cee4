-- CH-benCHmark: what products share. The three tables that TPC-C lacks, and the 22 queries: their subjects are those of the
-- benchmark (Cole et al. 2011), their texts our own. Names in braces are words of a dialect.

-- word: {rest of region} = )
-- word: {rest of nation} = )
-- word: {rest of supplier} = )
-- word: {charset} =
-- word: {order of line} = ol_w_id = o_w_id AND ol_d_id = o_d_id AND ol_o_id = o_id
-- word: {customer of order} = c_w_id = o_w_id AND c_d_id = o_d_id AND c_id = o_c_id
-- word: {stock of line} = ol_supply_w_id = s_w_id AND ol_i_id = s_i_id
-- word: {supplier} = mod(s_w_id * s_i_id, 10000)
-- word: {nation of customer} = ascii(substr(c_state, 1, 1))
-- word: {exact} =
-- word: {cents} =
-- word: {once} = AS
-- word: {begin} = TIMESTAMP '2007-01-01 00:00:00'
-- word: {end} = TIMESTAMP '2100-01-01 00:00:00'
-- word: {year of order} = extract(year FROM o_entry_d)
-- word: {day of order} = CAST(o_entry_d AS date)
-- word: {first of phone} = substr(c_phone, 1, 1)
-- word: {brand} = substr(i_data, 1, 3)
-- word: {data ends in a} = i_data LIKE '%a'
-- word: {data ends in b} = i_data LIKE '%b'
-- word: {data ends in c} = i_data LIKE '%c'
-- word: {data begins with P} = i_data LIKE 'P%'
-- word: {data begins with c} = i_data LIKE 'c%'
-- word: {data begins with z} = i_data LIKE 'z%'
-- word: {state begins with A} = c_state LIKE 'A%'
-- word: {comment is bad} = su_comment LIKE '%bad%'

-- name: tables
CREATE TABLE region (r_regionkey integer NOT NULL, r_name varchar(25) {charset} NOT NULL {rest of region}
-- next
CREATE TABLE nation (n_nationkey integer NOT NULL, n_name varchar(25) {charset} NOT NULL, n_regionkey integer NOT NULL
    {rest of nation}
-- next
CREATE TABLE supplier (su_suppkey integer NOT NULL, su_name varchar(25) {charset} NOT NULL,
    su_address varchar(40) {charset} NOT NULL, su_nationkey integer NOT NULL, su_phone varchar(15) {charset} NOT NULL,
    su_acctbal numeric(12, 2) NOT NULL, su_comment varchar(100) {charset} NOT NULL {rest of supplier}

-- name: counts
SELECT (SELECT count(*) FROM region), (SELECT count(*) FROM nation), (SELECT count(*) FROM supplier)
FROM region WHERE r_regionkey = 0

-- name: Q1
SELECT ol_number, sum(ol_quantity) AS sum_qty, sum(ol_amount) {cents} AS sum_amount, avg({exact} ol_quantity) AS avg_qty,
    avg({exact} ol_amount) {cents} AS avg_amount, count(*) AS count_line
FROM order_line
WHERE ol_delivery_d > {begin}
GROUP BY ol_number
ORDER BY ol_number

-- name: Q2
SELECT su_suppkey, su_name, n_name, i_id, i_name, su_address, su_phone, su_comment
FROM item, stock, supplier, nation, region,
    (SELECT s_i_id AS least_i_id, min(s_quantity) AS least_quantity
    FROM stock, supplier, nation, region
    WHERE su_suppkey = {supplier} AND su_nationkey = n_nationkey AND n_regionkey = r_regionkey AND r_name = 'Europe'
    GROUP BY s_i_id) scarce
WHERE i_id = s_i_id AND su_suppkey = {supplier} AND su_nationkey = n_nationkey AND n_regionkey = r_regionkey
    AND {data ends in b} AND r_name = 'Europe' AND s_i_id = least_i_id AND s_quantity = least_quantity
ORDER BY n_name, su_name, i_id

-- name: Q3
SELECT ol_w_id, ol_d_id, ol_o_id, sum(ol_amount) {cents} AS revenue, {day of order} AS entered
FROM customer, new_order, orders, order_line
WHERE {state begins with A} AND {customer of order} AND no_w_id = o_w_id AND no_d_id = o_d_id AND no_o_id = o_id
    AND {order of line} AND o_entry_d > {begin}
GROUP BY ol_w_id, ol_d_id, ol_o_id, {day of order}
ORDER BY revenue DESC, entered

-- name: Q4
SELECT o_ol_cnt, count(*) AS order_count
FROM orders
WHERE o_entry_d >= {begin} AND o_entry_d < {end}
    AND EXISTS (SELECT * FROM order_line WHERE {order of line} AND ol_delivery_d >= o_entry_d)
GROUP BY o_ol_cnt
ORDER BY o_ol_cnt

-- name: Q5
SELECT n_name, sum(ol_amount) {cents} AS revenue
FROM customer, orders, order_line, stock, supplier, nation, region
WHERE {customer of order} AND {order of line} AND {stock of line} AND su_suppkey = {supplier}
    AND su_nationkey = {nation of customer} AND su_nationkey = n_nationkey AND n_regionkey = r_regionkey
    AND r_name = 'Europe' AND o_entry_d >= {begin}
GROUP BY n_name
ORDER BY revenue DESC

-- name: Q6
SELECT sum(ol_amount) {cents} AS revenue
FROM order_line
WHERE ol_delivery_d >= {begin} AND ol_delivery_d < {end} AND ol_quantity BETWEEN 1 AND 8

-- name: Q7
SELECT su_nationkey, {nation of customer} AS cust_nation, {year of order} AS l_year, sum(ol_amount) {cents} AS revenue
FROM supplier, stock, order_line, orders, customer, nation n1, nation n2
WHERE {stock of line} AND su_suppkey = {supplier} AND {order of line} AND {customer of order}
    AND su_nationkey = n1.n_nationkey AND n2.n_nationkey = {nation of customer}
    AND ((n1.n_name = 'Germany' AND n2.n_name = 'Cambodia') OR (n1.n_name = 'Cambodia' AND n2.n_name = 'Germany'))
    AND ol_delivery_d BETWEEN {begin} AND {end}
GROUP BY su_nationkey, {nation of customer}, {year of order}
ORDER BY su_nationkey, cust_nation, l_year

-- name: Q8
SELECT {year of order} AS l_year,
    {exact} sum(CASE WHEN n2.n_name = 'Germany' THEN ol_amount ELSE 0 END) / nullif(sum(ol_amount), 0) AS mkt_share
FROM item, supplier, stock, order_line, orders, customer, nation n1, nation n2, region
WHERE i_id = ol_i_id AND {stock of line} AND su_suppkey = {supplier} AND {order of line} AND {customer of order}
    AND n1.n_nationkey = {nation of customer} AND n1.n_regionkey = r_regionkey AND r_name = 'Europe'
    AND su_nationkey = n2.n_nationkey AND o_entry_d BETWEEN {begin} AND {end} AND {data ends in b}
GROUP BY {year of order}
ORDER BY l_year

-- name: Q9
SELECT n_name, {year of order} AS l_year, sum(ol_amount) {cents} AS sum_profit
FROM item, stock, supplier, order_line, orders, nation
WHERE i_id = ol_i_id AND {stock of line} AND su_suppkey = {supplier} AND {order of line}
    AND su_nationkey = n_nationkey AND {data ends in b}
GROUP BY n_name, {year of order}
ORDER BY n_name, l_year DESC

-- name: Q10
SELECT c_w_id, c_d_id, c_id, c_last, sum(ol_amount) {cents} AS revenue, c_city, c_phone, n_name
FROM customer, orders, order_line, nation
WHERE {customer of order} AND {order of line} AND o_entry_d >= {begin} AND o_entry_d <= ol_delivery_d
    AND n_nationkey = {nation of customer}
GROUP BY c_w_id, c_d_id, c_id, c_last, c_city, c_phone, n_name
ORDER BY revenue DESC

-- name: Q11
SELECT s_i_id, sum(s_order_cnt) AS ordercount
FROM stock, supplier, nation
WHERE su_suppkey = {supplier} AND su_nationkey = n_nationkey AND n_name = 'Germany'
GROUP BY s_i_id
HAVING sum(s_order_cnt) > (SELECT sum(s_order_cnt) * 0.005
    FROM stock, supplier, nation
    WHERE su_suppkey = {supplier} AND su_nationkey = n_nationkey AND n_name = 'Germany')
ORDER BY ordercount DESC

-- name: Q12
SELECT o_ol_cnt, sum(CASE WHEN o_carrier_id IN (1, 2) THEN 1 ELSE 0 END) AS high_line_count,
    sum(CASE WHEN o_carrier_id NOT IN (1, 2) THEN 1 ELSE 0 END) AS low_line_count
FROM orders, order_line
WHERE {order of line} AND o_entry_d <= ol_delivery_d AND ol_delivery_d < {end}
GROUP BY o_ol_cnt
ORDER BY o_ol_cnt

-- name: Q13
SELECT c_count, count(*) AS custdist
FROM (SELECT c_w_id, c_d_id, c_id, count(o_id) AS c_count
    FROM customer LEFT OUTER JOIN orders ON {customer of order} AND o_carrier_id > 8
    GROUP BY c_w_id, c_d_id, c_id) c_orders
GROUP BY c_count
ORDER BY custdist DESC, c_count DESC

-- name: Q14
SELECT 100.00 * {exact} sum(CASE WHEN {data begins with P} THEN ol_amount ELSE 0 END) / nullif(sum(ol_amount), 0)
    AS promo_revenue
FROM order_line, item
WHERE ol_i_id = i_id AND ol_delivery_d >= {begin} AND ol_delivery_d < {end}

-- name: Q15
WITH revenue {once} (
    SELECT {supplier} AS supplier_no, sum(ol_amount) AS total_revenue
    FROM order_line, stock
    WHERE {stock of line} AND ol_delivery_d >= {begin}
    GROUP BY {supplier})
SELECT su_suppkey, su_name, su_address, su_phone, total_revenue {cents} AS total_revenue
FROM supplier, revenue
WHERE su_suppkey = supplier_no AND total_revenue = (SELECT max(total_revenue) FROM revenue)
ORDER BY su_suppkey

-- name: Q16
SELECT i_name, {brand} AS brand, i_price {cents} AS price, count(DISTINCT {supplier}) AS supplier_cnt
FROM stock, item
WHERE i_id = s_i_id AND NOT {data begins with z}
    AND NOT EXISTS (SELECT * FROM supplier WHERE su_suppkey = {supplier} AND {comment is bad})
GROUP BY i_name, {brand}, i_price
ORDER BY supplier_cnt DESC

-- name: Q17
SELECT sum(ol_amount) {cents} / 2.0 AS avg_yearly
FROM order_line, (SELECT i_id, avg({exact} ol_quantity) AS average
    FROM item, order_line
    WHERE {data ends in b} AND ol_i_id = i_id
    GROUP BY i_id) usual
WHERE ol_i_id = usual.i_id AND ol_quantity < usual.average

-- name: Q18
SELECT c_last, c_id, o_w_id, o_d_id, o_id, {day of order} AS entered, o_ol_cnt, sum(ol_amount) {cents} AS amount
FROM customer, orders, order_line
WHERE {customer of order} AND {order of line}
GROUP BY c_last, c_id, o_w_id, o_d_id, o_id, {day of order}, o_ol_cnt
HAVING sum(ol_amount) {cents} > 200
ORDER BY amount DESC, entered

-- name: Q19
SELECT sum(ol_amount) {cents} AS revenue
FROM order_line, item
WHERE ol_i_id = i_id AND i_price {cents} BETWEEN 1 AND 400000 AND ol_quantity BETWEEN 1 AND 10
    AND (({data ends in a} AND ol_w_id IN (1, 2, 3)) OR ({data ends in b} AND ol_w_id IN (1, 2, 4))
        OR ({data ends in c} AND ol_w_id IN (1, 5, 3)))

-- name: Q20
SELECT su_name, su_address
FROM supplier, nation, (SELECT DISTINCT supplier_no
    FROM (SELECT {supplier} AS supplier_no, s_w_id, s_i_id
        FROM item, stock, order_line
        WHERE i_id = s_i_id AND {data begins with c} AND {stock of line} AND ol_delivery_d > {begin}
        GROUP BY {supplier}, s_w_id, s_i_id, s_quantity
        HAVING 2 * s_quantity > sum(ol_quantity)) rich) chosen
WHERE su_suppkey = supplier_no AND su_nationkey = n_nationkey AND n_name = 'Germany'
ORDER BY su_name

-- name: Q21
SELECT su_name, count(*) AS numwait
FROM supplier, order_line l1, orders, stock, nation
WHERE l1.ol_w_id = o_w_id AND l1.ol_d_id = o_d_id AND l1.ol_o_id = o_id AND l1.ol_supply_w_id = s_w_id
    AND l1.ol_i_id = s_i_id AND su_suppkey = {supplier} AND l1.ol_delivery_d >= o_entry_d
    AND NOT EXISTS (SELECT * FROM order_line l2 WHERE l2.ol_w_id = l1.ol_w_id AND l2.ol_d_id = l1.ol_d_id
        AND l2.ol_o_id = l1.ol_o_id AND l2.ol_delivery_d > l1.ol_delivery_d)
    AND su_nationkey = n_nationkey AND n_name = 'Germany'
GROUP BY su_name
ORDER BY numwait DESC, su_name

-- name: Q22
SELECT {nation of customer} AS country, count(*) AS numcust, sum(c_balance) {cents} AS totacctbal
FROM customer
WHERE {first of phone} IN ('1', '2', '3', '4', '5', '6', '7')
    AND c_balance >= (SELECT avg({exact} c_balance) FROM customer
        WHERE {first of phone} IN ('1', '2', '3', '4', '5', '6', '7'))
    AND NOT EXISTS (SELECT * FROM orders WHERE {customer of order} AND o_carrier_id IS NULL)
GROUP BY {nation of customer}
ORDER BY country
