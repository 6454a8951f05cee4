-- TPC-C for MariaDB and MySQL: tables and keys. Sections are run by name, see crates/workloads/src/sql.rs.
-- Money is decimal: exact.
--
-- Tables are of the session's storage engine. InnoDB and MyRocks keep a table in the order of its primary
-- key: adding it to a full table would write all of it once more. So tables have it from the beginning, as
-- their users make them, and rows come in its order; the step "primary keys" adds the other two indexes.
-- InnoDB adds one for each reference that no key begins with: the step "foreign keys" takes its time.
-- MyRocks has no foreign keys: there it does nothing.

-- word: {timestamp} = datetime(6)
-- word: {rest of item} = , PRIMARY KEY (i_id))
-- word: {rest of warehouse} = , PRIMARY KEY (w_id))
-- word: {rest of district} = , PRIMARY KEY (d_w_id, d_id))
-- word: {rest of stock} = , PRIMARY KEY (s_w_id, s_i_id))
-- word: {rest of customer} = , PRIMARY KEY (c_w_id, c_d_id, c_id))
-- word: {rest of orders} = , PRIMARY KEY (o_w_id, o_d_id, o_id))
-- word: {rest of new_order} = , PRIMARY KEY (no_w_id, no_d_id, no_o_id))
-- word: {rest of order_line} = , PRIMARY KEY (ol_w_id, ol_d_id, ol_o_id, ol_number))

-- name: primary_keys
CALL tpcc_commit_in_the_middle(1)
-- next
CREATE INDEX customer_by_name ON customer (c_w_id, c_d_id, c_last, c_first);
-- next
CREATE INDEX orders_by_customer ON orders (o_w_id, o_d_id, o_c_id, o_id);
-- next
CALL tpcc_commit_in_the_middle(0)

-- name: may_refer
SELECT count(*) FROM information_schema.tables
WHERE table_schema = database() AND table_name = 'orders' AND engine = 'InnoDB'

-- name: foreign_keys
SET SESSION foreign_key_checks = 0
-- next
ALTER TABLE district ADD FOREIGN KEY (d_w_id) REFERENCES warehouse (w_id)
-- next
ALTER TABLE stock
    ADD FOREIGN KEY (s_w_id) REFERENCES warehouse (w_id),
    ADD FOREIGN KEY (s_i_id) REFERENCES item (i_id)
-- next
ALTER TABLE customer ADD FOREIGN KEY (c_w_id, c_d_id) REFERENCES district (d_w_id, d_id)
-- next
ALTER TABLE history
    ADD FOREIGN KEY (h_c_w_id, h_c_d_id, h_c_id) REFERENCES customer (c_w_id, c_d_id, c_id),
    ADD FOREIGN KEY (h_w_id, h_d_id) REFERENCES district (d_w_id, d_id)
-- next
ALTER TABLE orders ADD FOREIGN KEY (o_w_id, o_d_id, o_c_id) REFERENCES customer (c_w_id, c_d_id, c_id)
-- next
ALTER TABLE new_order ADD FOREIGN KEY (no_w_id, no_d_id, no_o_id) REFERENCES orders (o_w_id, o_d_id, o_id)
-- next
ALTER TABLE order_line
    ADD FOREIGN KEY (ol_w_id, ol_d_id, ol_o_id) REFERENCES orders (o_w_id, o_d_id, o_id),
    ADD FOREIGN KEY (ol_supply_w_id, ol_i_id) REFERENCES stock (s_w_id, s_i_id)
-- next
SET SESSION foreign_key_checks = 1

-- name: foreign_key_faults
SELECT count(*) FROM district LEFT JOIN warehouse ON w_id = d_w_id WHERE w_id IS NULL
-- next
SELECT count(*) FROM stock LEFT JOIN warehouse ON w_id = s_w_id LEFT JOIN item ON i_id = s_i_id
    WHERE w_id IS NULL OR i_id IS NULL
-- next
SELECT count(*) FROM customer LEFT JOIN district ON d_w_id = c_w_id AND d_id = c_d_id WHERE d_id IS NULL
-- next
SELECT count(*) FROM history
    LEFT JOIN customer ON c_w_id = h_c_w_id AND c_d_id = h_c_d_id AND c_id = h_c_id
    LEFT JOIN district ON d_w_id = h_w_id AND d_id = h_d_id
    WHERE c_id IS NULL OR d_id IS NULL
-- next
SELECT count(*) FROM orders LEFT JOIN customer ON c_w_id = o_w_id AND c_d_id = o_d_id AND c_id = o_c_id
    WHERE c_id IS NULL
-- next
SELECT count(*) FROM new_order LEFT JOIN orders ON o_w_id = no_w_id AND o_d_id = no_d_id AND o_id = no_o_id
    WHERE o_id IS NULL
-- next
SELECT count(*) FROM (SELECT DISTINCT ol_w_id, ol_d_id, ol_o_id FROM order_line) AS l
    LEFT JOIN orders ON o_w_id = ol_w_id AND o_d_id = ol_d_id AND o_id = ol_o_id
    WHERE o_id IS NULL
-- next
SELECT count(*) FROM (SELECT DISTINCT ol_supply_w_id, ol_i_id FROM order_line) AS l
    LEFT JOIN stock ON s_w_id = ol_supply_w_id AND s_i_id = ol_i_id
    WHERE s_i_id IS NULL

-- name: clean
-- Statistics. Space of dead rows is freed by the server on its own. No OPTIMIZE TABLE, which would write
-- all tables anew.
ANALYZE NO_WRITE_TO_BINLOG TABLE
    item, warehouse, district, stock, customer, history, orders, new_order, order_line;
