-- TPC-C for MariaDB and MySQL: the statements of the transactions, where they are sent one by one.
-- There is no UPDATE … RETURNING: what is changed and shown takes two statements.

-- name: c_load
SELECT c_last FROM load_constants

-- name: no_customer
SELECT c_discount, c_last, c_credit, w_tax FROM customer, warehouse
WHERE w_id = ? AND c_w_id = ? AND c_d_id = ? AND c_id = ?

-- name: no_district_change
UPDATE district SET d_next_o_id = d_next_o_id + 1
WHERE d_w_id = ? AND d_id = ?

-- name: no_district
SELECT d_next_o_id - 1, d_tax
FROM district WHERE d_w_id = ? AND d_id = ?

-- name: no_order
INSERT INTO orders (o_w_id, o_d_id, o_id, o_c_id, o_entry_d, o_ol_cnt, o_all_local)
VALUES (?, ?, ?, ?, CURRENT_TIMESTAMP(6), ?, ?)

-- name: no_new_order
INSERT INTO new_order (no_w_id, no_d_id, no_o_id) VALUES (?, ?, ?)

-- name: no_item
SELECT i_price, i_name, i_data FROM item WHERE i_id = ?

-- name: no_stock_change
UPDATE stock
SET s_quantity = s_quantity - ? + CASE WHEN s_quantity >= ? THEN 0 ELSE 91 END,
    s_ytd = s_ytd + ?, s_order_cnt = s_order_cnt + 1, s_remote_cnt = s_remote_cnt + ?
WHERE s_w_id = ? AND s_i_id = ?

-- name: no_stock
SELECT s_quantity,
    CASE ? WHEN 1 THEN s_dist_01 WHEN 2 THEN s_dist_02 WHEN 3 THEN s_dist_03 WHEN 4 THEN s_dist_04
        WHEN 5 THEN s_dist_05 WHEN 6 THEN s_dist_06 WHEN 7 THEN s_dist_07 WHEN 8 THEN s_dist_08
        WHEN 9 THEN s_dist_09 ELSE s_dist_10 END,
    s_data
FROM stock WHERE s_w_id = ? AND s_i_id = ?

-- name: no_line
INSERT INTO order_line (ol_w_id, ol_d_id, ol_o_id, ol_number, ol_i_id, ol_supply_w_id, ol_quantity, ol_amount,
                        ol_dist_info)
VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)

-- name: by_name
SELECT c_id FROM customer WHERE c_w_id = ? AND c_d_id = ? AND c_last = ? ORDER BY c_first

-- name: pay_warehouse_change
UPDATE warehouse SET w_ytd = w_ytd + ?
WHERE w_id = ?

-- name: pay_warehouse
SELECT w_name, w_street_1, w_street_2, w_city, w_state, w_zip
FROM warehouse WHERE w_id = ?

-- name: pay_district_change
UPDATE district SET d_ytd = d_ytd + ?
WHERE d_w_id = ? AND d_id = ?

-- name: pay_district
SELECT d_name, d_street_1, d_street_2, d_city, d_state, d_zip
FROM district WHERE d_w_id = ? AND d_id = ?

-- name: pay_customer_change
UPDATE customer
SET c_balance = c_balance - ?, c_ytd_payment = c_ytd_payment + ?, c_payment_cnt = c_payment_cnt + 1,
    c_data = CASE c_credit WHEN 'BC' THEN left(concat(?, c_data), 500) ELSE c_data END
WHERE c_w_id = ? AND c_d_id = ? AND c_id = ?

-- name: pay_customer
SELECT c_first, c_middle, c_last, c_street_1, c_street_2, c_city, c_state, c_zip, c_phone, c_since, c_credit,
    c_credit_lim, c_discount, c_balance, CASE c_credit WHEN 'BC' THEN left(c_data, 200) ELSE '' END
FROM customer WHERE c_w_id = ? AND c_d_id = ? AND c_id = ?

-- name: pay_history
INSERT INTO history (h_c_id, h_c_d_id, h_c_w_id, h_d_id, h_w_id, h_date, h_amount, h_data)
VALUES (?, ?, ?, ?, ?, CURRENT_TIMESTAMP(6), ?, ?)

-- name: os_customer
SELECT c_first, c_middle, c_last, c_balance FROM customer WHERE c_w_id = ? AND c_d_id = ? AND c_id = ?

-- name: os_order
SELECT o_id, o_entry_d, o_carrier_id FROM orders
WHERE o_w_id = ? AND o_d_id = ? AND o_c_id = ? ORDER BY o_id DESC LIMIT 1

-- name: os_lines
SELECT ol_i_id, ol_supply_w_id, ol_quantity, ol_amount, ol_delivery_d FROM order_line
WHERE ol_w_id = ? AND ol_d_id = ? AND ol_o_id = ?

-- name: dl_oldest
-- Without the lock two deliveries would find the same order: a snapshot does not show what others took.
SELECT no_o_id FROM new_order WHERE no_w_id = ? AND no_d_id = ? ORDER BY no_o_id LIMIT 1 FOR UPDATE

-- name: dl_take
DELETE FROM new_order WHERE no_w_id = ? AND no_d_id = ? AND no_o_id = ?

-- name: dl_order_change
UPDATE orders SET o_carrier_id = ?
WHERE o_w_id = ? AND o_d_id = ? AND o_id = ?

-- name: dl_order
SELECT o_c_id
FROM orders WHERE o_w_id = ? AND o_d_id = ? AND o_id = ?

-- name: dl_lines
UPDATE order_line SET ol_delivery_d = CURRENT_TIMESTAMP(6) WHERE ol_w_id = ? AND ol_d_id = ? AND ol_o_id = ?

-- name: dl_amount
SELECT sum(ol_amount) FROM order_line WHERE ol_w_id = ? AND ol_d_id = ? AND ol_o_id = ?

-- name: dl_customer
UPDATE customer SET c_balance = c_balance + ?, c_delivery_cnt = c_delivery_cnt + 1
WHERE c_w_id = ? AND c_d_id = ? AND c_id = ?

-- name: stock_level
-- One statement, with procedures and without: it is a transaction of its own.
SELECT count(DISTINCT s_i_id)
FROM district
    JOIN order_line ON ol_w_id = d_w_id AND ol_d_id = d_id AND ol_o_id >= d_next_o_id - 20 AND ol_o_id < d_next_o_id
    JOIN stock ON s_w_id = d_w_id AND s_i_id = ol_i_id
WHERE d_w_id = ? AND d_id = ? AND s_quantity < ?
