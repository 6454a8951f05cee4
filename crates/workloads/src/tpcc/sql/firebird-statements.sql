-- TPC-C for Firebird: the statements of the transactions, where they are sent one by one.
-- RETURNING says how many rows were changed; else the server would have to be asked in one more round trip.

-- word: {now} = LOCALTIMESTAMP
-- word: {district number} = CAST(? AS INTEGER)

-- name: no_order
INSERT INTO orders (o_w_id, o_d_id, o_id, o_c_id, o_entry_d, o_ol_cnt, o_all_local)
VALUES (?, ?, ?, ?, LOCALTIMESTAMP, ?, ?)
RETURNING o_id

-- name: no_new_order
INSERT INTO new_order (no_w_id, no_d_id, no_o_id) VALUES (?, ?, ?)
RETURNING no_o_id

-- name: no_line
INSERT INTO order_line (ol_w_id, ol_d_id, ol_o_id, ol_number, ol_i_id, ol_supply_w_id, ol_quantity, ol_amount,
                        ol_dist_info)
VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)
RETURNING ol_number

-- name: pay_history
INSERT INTO history (h_c_id, h_c_d_id, h_c_w_id, h_d_id, h_w_id, h_date, h_amount, h_data)
VALUES (?, ?, ?, ?, ?, LOCALTIMESTAMP, ?, ?)
RETURNING h_c_id

-- name: os_order
SELECT o_id, o_entry_d, o_carrier_id FROM orders
WHERE o_w_id = ? AND o_d_id = ? AND o_c_id = ? ORDER BY o_w_id DESC, o_d_id DESC, o_c_id DESC, o_id DESC ROWS 1

-- name: dl_oldest
SELECT no_o_id FROM new_order WHERE no_w_id = ? AND no_d_id = ? ORDER BY no_w_id, no_d_id, no_o_id ROWS 1

-- name: dl_take
DELETE FROM new_order WHERE no_w_id = ? AND no_d_id = ? AND no_o_id = ?
RETURNING no_o_id

-- name: dl_customer
UPDATE customer SET c_balance = c_balance + ?, c_delivery_cnt = c_delivery_cnt + 1
WHERE c_w_id = ? AND c_d_id = ? AND c_id = ?
RETURNING c_id
