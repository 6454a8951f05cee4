-- TPC-C for PostgreSQL: the statements of the transactions, where they are sent one by one.

-- word: {now} = LOCALTIMESTAMP

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
