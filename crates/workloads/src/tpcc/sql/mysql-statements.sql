-- TPC-C for MariaDB and MySQL: the statements of the transactions, where they are sent one by one.
-- There is no UPDATE … RETURNING: what is changed and shown takes two statements.

-- word: {now} = CURRENT_TIMESTAMP(6)

-- name: no_district_change
UPDATE district SET d_next_o_id = d_next_o_id + 1
WHERE d_w_id = ? AND d_id = ?

-- name: no_district
SELECT d_next_o_id - 1, d_tax
FROM district WHERE d_w_id = ? AND d_id = ?

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

-- name: dl_oldest
-- Without the lock two deliveries would find the same order: a snapshot does not show what others took.
SELECT no_o_id FROM new_order WHERE no_w_id = ? AND no_d_id = ? ORDER BY no_o_id LIMIT 1 FOR UPDATE

-- name: dl_order_change
UPDATE orders SET o_carrier_id = ?
WHERE o_w_id = ? AND o_d_id = ? AND o_id = ?

-- name: dl_order
SELECT o_c_id
FROM orders WHERE o_w_id = ? AND o_d_id = ? AND o_id = ?
