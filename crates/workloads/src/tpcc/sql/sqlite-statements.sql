-- TPC-C for SQLite: the statements of the transactions.
-- Points in time are microseconds since 1970, in steps of a millisecond, which is the clock of SQLite.

-- word: {now} = CAST(unixepoch('subsec') * 1000 AS INTEGER) * 1000

-- name: pay_customer
UPDATE customer
SET c_balance = c_balance - ?, c_ytd_payment = c_ytd_payment + ?, c_payment_cnt = c_payment_cnt + 1,
    c_data = CASE c_credit WHEN 'BC' THEN substr(? || c_data, 1, 500) ELSE c_data END
WHERE c_w_id = ? AND c_d_id = ? AND c_id = ?
RETURNING c_first, c_middle, c_last, c_street_1, c_street_2, c_city, c_state, c_zip, c_phone, c_since, c_credit,
    c_credit_lim, c_discount, c_balance, CASE c_credit WHEN 'BC' THEN substr(c_data, 1, 200) ELSE '' END
