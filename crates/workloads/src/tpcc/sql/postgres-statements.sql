-- TPC-C for PostgreSQL: the statements of the transactions, where they are sent one by one.

-- name: c_load
SELECT c_last FROM load_constants

-- name: no_customer
SELECT c_discount, c_last, c_credit, w_tax FROM customer, warehouse
WHERE w_id = $1 AND c_w_id = $2 AND c_d_id = $3 AND c_id = $4

-- name: no_district
UPDATE district SET d_next_o_id = d_next_o_id + 1 WHERE d_w_id = $1 AND d_id = $2
RETURNING d_next_o_id - 1, d_tax

-- name: no_order
INSERT INTO orders (o_w_id, o_d_id, o_id, o_c_id, o_entry_d, o_ol_cnt, o_all_local)
VALUES ($1, $2, $3, $4, LOCALTIMESTAMP, $5, $6)

-- name: no_new_order
INSERT INTO new_order (no_w_id, no_d_id, no_o_id) VALUES ($1, $2, $3)

-- name: no_lines
-- All lines of a run at once: arrays of items, supplying warehouses and quantities. Items that are not there
-- give no row.
WITH taken AS (
    UPDATE stock
    SET s_quantity = s_quantity - l.q + CASE WHEN s_quantity >= l.q + 10 THEN 0 ELSE 91 END,
        s_ytd = s_ytd + l.q, s_order_cnt = s_order_cnt + 1,
        s_remote_cnt = s_remote_cnt + CASE WHEN l.w = $1 THEN 0 ELSE 1 END
    FROM unnest($5::integer[], $6::integer[], $7::integer[]) WITH ORDINALITY AS l (i, w, q, n)
        JOIN item ON i_id = l.i
    WHERE s_w_id = l.w AND s_i_id = l.i
    RETURNING $4 + l.n::integer AS n, l.i, l.w, l.q, i_name, i_price, i_data, s_quantity, s_data,
        CASE $2 WHEN 1 THEN s_dist_01 WHEN 2 THEN s_dist_02 WHEN 3 THEN s_dist_03 WHEN 4 THEN s_dist_04
            WHEN 5 THEN s_dist_05 WHEN 6 THEN s_dist_06 WHEN 7 THEN s_dist_07 WHEN 8 THEN s_dist_08
            WHEN 9 THEN s_dist_09 ELSE s_dist_10 END AS dist
), added AS (
    INSERT INTO order_line (ol_w_id, ol_d_id, ol_o_id, ol_number, ol_i_id, ol_supply_w_id, ol_quantity, ol_amount,
                            ol_dist_info)
    SELECT $1, $2, $3, n, i, w, q, q * i_price, dist FROM taken
)
SELECT n, i_name, i_price, q * i_price, s_quantity, i_data, s_data FROM taken

-- name: by_name
SELECT c_id FROM customer WHERE c_w_id = $1 AND c_d_id = $2 AND c_last = $3 ORDER BY c_first

-- name: pay_warehouse
UPDATE warehouse SET w_ytd = w_ytd + $1 WHERE w_id = $2
RETURNING w_name, w_street_1, w_street_2, w_city, w_state, w_zip

-- name: pay_district
UPDATE district SET d_ytd = d_ytd + $1 WHERE d_w_id = $2 AND d_id = $3
RETURNING d_name, d_street_1, d_street_2, d_city, d_state, d_zip

-- name: pay_customer
UPDATE customer
SET c_balance = c_balance - $1, c_ytd_payment = c_ytd_payment + $2, c_payment_cnt = c_payment_cnt + 1,
    c_data = CASE c_credit WHEN 'BC' THEN left($3 || c_data, 500) ELSE c_data END
WHERE c_w_id = $4 AND c_d_id = $5 AND c_id = $6
RETURNING c_first, c_middle, c_last, c_street_1, c_street_2, c_city, c_state, c_zip, c_phone, c_since, c_credit,
    c_credit_lim, c_discount, c_balance, CASE c_credit WHEN 'BC' THEN left(c_data, 200) ELSE '' END

-- name: pay_history
INSERT INTO history (h_c_id, h_c_d_id, h_c_w_id, h_d_id, h_w_id, h_date, h_amount, h_data)
VALUES ($1, $2, $3, $4, $5, LOCALTIMESTAMP, $6, $7)

-- name: os_customer
SELECT c_first, c_middle, c_last, c_balance FROM customer WHERE c_w_id = $1 AND c_d_id = $2 AND c_id = $3

-- name: os_order
SELECT o_id, o_entry_d, o_carrier_id FROM orders
WHERE o_w_id = $1 AND o_d_id = $2 AND o_c_id = $3 ORDER BY o_id DESC LIMIT 1

-- name: os_lines
SELECT ol_i_id, ol_supply_w_id, ol_quantity, ol_amount, ol_delivery_d FROM order_line
WHERE ol_w_id = $1 AND ol_d_id = $2 AND ol_o_id = $3

-- name: dl_oldest
SELECT no_o_id FROM new_order WHERE no_w_id = $1 AND no_d_id = $2 ORDER BY no_o_id LIMIT 1

-- name: dl_take
DELETE FROM new_order WHERE no_w_id = $1 AND no_d_id = $2 AND no_o_id = $3

-- name: dl_order
UPDATE orders SET o_carrier_id = $1 WHERE o_w_id = $2 AND o_d_id = $3 AND o_id = $4
RETURNING o_c_id

-- name: dl_lines
UPDATE order_line SET ol_delivery_d = LOCALTIMESTAMP WHERE ol_w_id = $1 AND ol_d_id = $2 AND ol_o_id = $3

-- name: dl_amount
SELECT sum(ol_amount) FROM order_line WHERE ol_w_id = $1 AND ol_d_id = $2 AND ol_o_id = $3

-- name: dl_customer
UPDATE customer SET c_balance = c_balance + $1, c_delivery_cnt = c_delivery_cnt + 1
WHERE c_w_id = $2 AND c_d_id = $3 AND c_id = $4

-- name: stock_level
-- One statement, with procedures and without: it is a transaction of its own.
-- The bounds are values to the planner, which then expects few lines; joined with the district it expects a
-- tenth of the district's, and in the course of a run may come to read the whole stock instead.
SELECT count(DISTINCT s_i_id)
FROM order_line
    JOIN stock ON s_w_id = ol_w_id AND s_i_id = ol_i_id
WHERE ol_w_id = $1 AND ol_d_id = $2
    AND ol_o_id >= (SELECT d_next_o_id - 20 FROM district WHERE d_w_id = $1 AND d_id = $2)
    AND ol_o_id < (SELECT d_next_o_id FROM district WHERE d_w_id = $1 AND d_id = $2)
    AND s_quantity < $3
