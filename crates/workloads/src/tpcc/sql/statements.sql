-- TPC-C: the statements of the transactions, where they are sent one by one; a section of a product's own file counts
-- before the one here.

-- word: {district number} = ?

-- name: c_load
SELECT c_last FROM load_constants

-- name: no_customer
SELECT c_discount, c_last, c_credit, w_tax FROM customer, warehouse
WHERE w_id = ? AND c_w_id = ? AND c_d_id = ? AND c_id = ?

-- name: no_district
UPDATE district SET d_next_o_id = d_next_o_id + 1 WHERE d_w_id = ? AND d_id = ?
RETURNING d_next_o_id - 1, d_tax

-- name: no_order
INSERT INTO orders (o_w_id, o_d_id, o_id, o_c_id, o_entry_d, o_ol_cnt, o_all_local)
VALUES (?, ?, ?, ?, {now}, ?, ?)

-- name: no_new_order
INSERT INTO new_order (no_w_id, no_d_id, no_o_id) VALUES (?, ?, ?)

-- name: no_item
SELECT i_price, i_name, i_data FROM item WHERE i_id = ?

-- name: no_stock
UPDATE stock
SET s_quantity = s_quantity - ? + CASE WHEN s_quantity >= ? THEN 0 ELSE 91 END,
    s_ytd = s_ytd + ?, s_order_cnt = s_order_cnt + 1, s_remote_cnt = s_remote_cnt + ?
WHERE s_w_id = ? AND s_i_id = ?
RETURNING s_quantity,
    CASE {district number} WHEN 1 THEN s_dist_01 WHEN 2 THEN s_dist_02 WHEN 3 THEN s_dist_03 WHEN 4 THEN s_dist_04
        WHEN 5 THEN s_dist_05 WHEN 6 THEN s_dist_06 WHEN 7 THEN s_dist_07 WHEN 8 THEN s_dist_08
        WHEN 9 THEN s_dist_09 ELSE s_dist_10 END,
    s_data

-- name: no_line
INSERT INTO order_line (ol_w_id, ol_d_id, ol_o_id, ol_number, ol_i_id, ol_supply_w_id, ol_quantity, ol_amount,
                        ol_dist_info)
VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)

-- name: by_name
SELECT c_id FROM customer WHERE c_w_id = ? AND c_d_id = ? AND c_last = ? ORDER BY c_first

-- name: pay_warehouse
UPDATE warehouse SET w_ytd = w_ytd + ? WHERE w_id = ?
RETURNING w_name, w_street_1, w_street_2, w_city, w_state, w_zip

-- name: pay_district
UPDATE district SET d_ytd = d_ytd + ? WHERE d_w_id = ? AND d_id = ?
RETURNING d_name, d_street_1, d_street_2, d_city, d_state, d_zip

-- name: pay_customer
UPDATE customer
SET c_balance = c_balance - ?, c_ytd_payment = c_ytd_payment + ?, c_payment_cnt = c_payment_cnt + 1,
    c_data = CASE c_credit WHEN 'BC' THEN left(? || c_data, 500) ELSE c_data END
WHERE c_w_id = ? AND c_d_id = ? AND c_id = ?
RETURNING c_first, c_middle, c_last, c_street_1, c_street_2, c_city, c_state, c_zip, c_phone, c_since, c_credit,
    c_credit_lim, c_discount, c_balance, CASE c_credit WHEN 'BC' THEN left(c_data, 200) ELSE '' END

-- name: pay_history
INSERT INTO history (h_c_id, h_c_d_id, h_c_w_id, h_d_id, h_w_id, h_date, h_amount, h_data)
VALUES (?, ?, ?, ?, ?, {now}, ?, ?)

-- name: os_customer
SELECT c_first, c_middle, c_last, c_balance FROM customer WHERE c_w_id = ? AND c_d_id = ? AND c_id = ?

-- name: os_order
SELECT o_id, o_entry_d, o_carrier_id FROM orders
WHERE o_w_id = ? AND o_d_id = ? AND o_c_id = ? ORDER BY o_id DESC LIMIT 1

-- name: os_lines
SELECT ol_i_id, ol_supply_w_id, ol_quantity, ol_amount, ol_delivery_d FROM order_line
WHERE ol_w_id = ? AND ol_d_id = ? AND ol_o_id = ?

-- name: dl_oldest
SELECT no_o_id FROM new_order WHERE no_w_id = ? AND no_d_id = ? ORDER BY no_o_id LIMIT 1

-- name: dl_take
DELETE FROM new_order WHERE no_w_id = ? AND no_d_id = ? AND no_o_id = ?

-- name: dl_order
UPDATE orders SET o_carrier_id = ? WHERE o_w_id = ? AND o_d_id = ? AND o_id = ?
RETURNING o_c_id

-- name: dl_lines
UPDATE order_line SET ol_delivery_d = {now} WHERE ol_w_id = ? AND ol_d_id = ? AND ol_o_id = ?

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
