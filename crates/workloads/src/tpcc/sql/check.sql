-- The consistency conditions of TPC-C (clause 3.3.2), for every dialect: each column counts the rows
-- that are off. NULL is off wherever a row should be there. {orders} and {delivered} are the numbers of a
-- district's orders that were loaded, and of those that were delivered then: 3000 and 2100 by the specification.

-- name: rows
SELECT count(*) FROM item
-- next
SELECT count(*) FROM warehouse
-- next
SELECT count(*) FROM district
-- next
SELECT count(*) FROM stock
-- next
SELECT count(*) FROM customer

-- name: orders
SELECT count(*) FROM orders

-- name: history
SELECT count(*) FROM history

-- name: order_customers
-- NULL, where no order was written, is no number.
SELECT CAST(coalesce(sum(o_c_id), 0) AS DECIMAL(18, 0)), count(*) FROM orders WHERE o_id > {orders}

-- name: delivered
SELECT count(*) FROM orders WHERE o_carrier_id IS NOT NULL

-- name: condition_1
SELECT count(*)
FROM warehouse LEFT JOIN (SELECT d_w_id, sum(d_ytd) AS total FROM district GROUP BY d_w_id) d ON d_w_id = w_id
WHERE total IS NULL OR total <> w_ytd

-- name: condition_2
-- A district may have no orders left to deliver.
SELECT count(*)
FROM district
    LEFT JOIN (SELECT o_w_id, o_d_id, max(o_id) AS last_order FROM orders GROUP BY o_w_id, o_d_id) o
        ON o_w_id = d_w_id AND o_d_id = d_id
    LEFT JOIN (SELECT no_w_id, no_d_id, max(no_o_id) AS last_new FROM new_order GROUP BY no_w_id, no_d_id) n
        ON no_w_id = d_w_id AND no_d_id = d_id
WHERE last_order IS NULL OR last_order <> d_next_o_id - 1 OR last_new <> d_next_o_id - 1

-- name: condition_3
SELECT count(*)
FROM (SELECT no_w_id, no_d_id, max(no_o_id) - min(no_o_id) + 1 AS span, count(*) AS there
      FROM new_order GROUP BY no_w_id, no_d_id) n
WHERE span <> there

-- name: condition_4
SELECT count(*)
FROM district
    LEFT JOIN (SELECT o_w_id, o_d_id, sum(o_ol_cnt) AS wanted FROM orders GROUP BY o_w_id, o_d_id) o
        ON o_w_id = d_w_id AND o_d_id = d_id
    LEFT JOIN (SELECT ol_w_id, ol_d_id, count(*) AS there FROM order_line GROUP BY ol_w_id, ol_d_id) l
        ON ol_w_id = d_w_id AND ol_d_id = d_id
WHERE wanted IS NULL OR there IS NULL OR wanted <> there

-- name: condition_5
SELECT count(*)
FROM orders LEFT JOIN new_order ON no_w_id = o_w_id AND no_d_id = o_d_id AND no_o_id = o_id
WHERE (o_carrier_id IS NULL AND no_o_id IS NULL) OR (o_carrier_id IS NOT NULL AND no_o_id IS NOT NULL)
-- next
SELECT count(*)
FROM new_order LEFT JOIN orders ON no_w_id = o_w_id AND no_d_id = o_d_id AND no_o_id = o_id
WHERE o_id IS NULL

-- name: lines_of_orders
-- Conditions 6 and 7: orders with other lines than they count, orders of which not all lines, or not none,
-- are delivered as the carrier says. And orders that are said to be local and are not, or the other way round, and
-- those whose lines, of which no two have one number, leave one out.
SELECT count(CASE WHEN there IS NULL OR there <> o_ol_cnt THEN 1 END),
       count(CASE WHEN o_carrier_id IS NULL AND delivered > 0 THEN 1
                  WHEN o_carrier_id IS NOT NULL AND delivered <> there THEN 1 END),
       count(CASE WHEN o_all_local = CASE WHEN remote > 0 THEN 0 ELSE 1 END THEN NULL ELSE 1 END),
       count(CASE WHEN first_line <> 1 OR last_line <> there THEN 1 END)
FROM orders
    LEFT JOIN (SELECT ol_w_id, ol_d_id, ol_o_id, count(*) AS there, count(ol_delivery_d) AS delivered,
                      min(ol_number) AS first_line, max(ol_number) AS last_line,
                      count(CASE WHEN ol_supply_w_id = ol_w_id THEN NULL ELSE 1 END) AS remote
               FROM order_line GROUP BY ol_w_id, ol_d_id, ol_o_id) l
        ON ol_w_id = o_w_id AND ol_d_id = o_d_id AND ol_o_id = o_id

-- name: lines_since_the_load
-- What New-Orders wrote; the loaded orders are numbers 1 to {orders}. An item or a stock that is not there is
-- counted once.
SELECT count(CASE WHEN i_id IS NULL OR s_i_id IS NULL THEN 1 END),
       count(CASE WHEN i_id IS NULL OR ol_amount = ol_quantity * i_price THEN NULL ELSE 1 END),
       count(CASE WHEN s_i_id IS NULL OR ol_dist_info =
                       CASE ol_d_id WHEN 1 THEN s_dist_01 WHEN 2 THEN s_dist_02 WHEN 3 THEN s_dist_03
                           WHEN 4 THEN s_dist_04 WHEN 5 THEN s_dist_05 WHEN 6 THEN s_dist_06 WHEN 7 THEN s_dist_07
                           WHEN 8 THEN s_dist_08 WHEN 9 THEN s_dist_09 WHEN 10 THEN s_dist_10 END
                  THEN NULL ELSE 1 END)
FROM order_line
    LEFT JOIN item ON i_id = ol_i_id
    LEFT JOIN stock ON s_w_id = ol_supply_w_id AND s_i_id = ol_i_id
WHERE ol_o_id > {orders}

-- name: carriers
SELECT count(*) FROM orders WHERE o_carrier_id < 1 OR o_carrier_id > 10

-- name: condition_8
SELECT count(*)
FROM warehouse LEFT JOIN (SELECT h_w_id, sum(h_amount) AS total FROM history GROUP BY h_w_id) h ON h_w_id = w_id
WHERE total IS NULL OR total <> w_ytd

-- name: condition_9
SELECT count(*)
FROM district
    LEFT JOIN (SELECT h_w_id, h_d_id, sum(h_amount) AS total FROM history GROUP BY h_w_id, h_d_id) h
        ON h_w_id = d_w_id AND h_d_id = d_id
WHERE total IS NULL OR total <> d_ytd

-- name: condition_11
-- As many orders were delivered since the load as the customers count.
SELECT count(*)
FROM district
    LEFT JOIN (SELECT o_w_id, o_d_id, count(*) AS ordered FROM orders GROUP BY o_w_id, o_d_id) o
        ON o_w_id = d_w_id AND o_d_id = d_id
    LEFT JOIN (SELECT no_w_id, no_d_id, count(*) AS waiting FROM new_order GROUP BY no_w_id, no_d_id) n
        ON no_w_id = d_w_id AND no_d_id = d_id
    LEFT JOIN (SELECT c_w_id, c_d_id, sum(c_delivery_cnt) AS delivered FROM customer GROUP BY c_w_id, c_d_id) c
        ON c_w_id = d_w_id AND c_d_id = d_id
WHERE ordered IS NULL OR delivered IS NULL OR ordered - coalesce(waiting, 0) <> {delivered} + delivered

-- name: history_texts
-- Rows that Payments wrote have spaces between two names, which hold none themselves; no loaded row has.
SELECT count(*)
FROM history
    LEFT JOIN warehouse ON w_id = h_w_id
    LEFT JOIN district ON d_w_id = h_w_id AND d_id = h_d_id
WHERE h_data LIKE '%    %'
    AND (w_name IS NULL OR d_name IS NULL OR h_data <> replace(replace('<    >', '<', w_name), '>', d_name))

-- name: deliveries
SELECT count(*)
FROM customer
    LEFT JOIN (SELECT o_w_id, o_d_id, o_c_id, count(*) AS there
               FROM orders WHERE o_carrier_id IS NOT NULL AND o_id > {delivered} GROUP BY o_w_id, o_d_id, o_c_id) o
        ON o_w_id = c_w_id AND o_d_id = c_d_id AND o_c_id = c_id
WHERE c_delivery_cnt IS NULL OR c_delivery_cnt <> coalesce(there, 0)

-- name: customers
-- Conditions 10 and 12, and customers whose counters are not those of their history.
SELECT count(CASE WHEN paid IS NULL OR c_balance IS NULL OR coalesce(delivered, 0) - paid <> c_balance THEN 1 END),
       count(CASE WHEN c_balance IS NULL OR c_ytd_payment IS NULL THEN 1
                  WHEN c_balance + c_ytd_payment <> coalesce(delivered, 0) THEN 1 END),
       count(CASE WHEN payments IS NULL OR c_payment_cnt IS NULL OR c_payment_cnt <> payments THEN 1
                  WHEN c_ytd_payment <> paid THEN 1 END)
FROM customer
    LEFT JOIN (SELECT o_w_id, o_d_id, o_c_id, sum(ol_amount) AS delivered
               FROM orders JOIN order_line ON ol_w_id = o_w_id AND ol_d_id = o_d_id AND ol_o_id = o_id
               WHERE ol_delivery_d IS NOT NULL
               GROUP BY o_w_id, o_d_id, o_c_id) o
        ON o_w_id = c_w_id AND o_d_id = c_d_id AND o_c_id = c_id
    LEFT JOIN (SELECT h_c_w_id, h_c_d_id, h_c_id, count(*) AS payments, sum(h_amount) AS paid
               FROM history GROUP BY h_c_w_id, h_c_d_id, h_c_id) h
        ON h_c_w_id = c_w_id AND h_c_d_id = c_d_id AND h_c_id = c_id

-- name: stock
-- Stocks whose counters are not those of the lines ordered since the load, and those out of range. First those with
-- counters; then, of those with lines, more where there are no counters, and less where these are right. (The sums with
-- 0 keep Firebird from reading all lines in the order of an index.)
SELECT count(CASE WHEN s_ytd = 0 AND s_order_cnt = 0 AND s_remote_cnt = 0 THEN NULL ELSE 1 END),
       count(CASE WHEN s_quantity BETWEEN 10 AND 100 THEN NULL ELSE 1 END)
FROM stock
-- next
SELECT count(CASE WHEN s_ytd = 0 AND s_order_cnt = 0 AND s_remote_cnt = 0 THEN 1 END)
           - count(CASE WHEN s_ytd = sold AND s_order_cnt = line_count AND s_remote_cnt = remote THEN 1 END), 0
FROM (SELECT ol_supply_w_id + 0 AS supply, ol_i_id + 0 AS item, count(*) AS line_count, sum(ol_quantity) AS sold,
             sum(CASE WHEN ol_supply_w_id = ol_w_id THEN 0 ELSE 1 END) AS remote
      FROM order_line WHERE ol_o_id > {orders} GROUP BY ol_supply_w_id + 0, ol_i_id + 0) l
    LEFT JOIN stock ON s_w_id = supply AND s_i_id = item
