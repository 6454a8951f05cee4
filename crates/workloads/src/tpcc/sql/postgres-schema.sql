-- TPC-C for PostgreSQL: tables and keys. Sections are run by name, see crates/workloads/src/sql.rs.
-- Money is numeric: exact.

-- name: settle
-- Marks the pages as visible to all before the keys read them, as pgbench does it. Else building the keys sets
-- a mark in each row, writes its page for that, and the cleaning after them writes every page once more.
VACUUM item, warehouse, district, stock, customer, history, orders, new_order, order_line;

-- name: primary_keys
ALTER TABLE item ADD PRIMARY KEY (i_id);
-- next
ALTER TABLE warehouse ADD PRIMARY KEY (w_id);
-- next
ALTER TABLE district ADD PRIMARY KEY (d_w_id, d_id);
-- next
ALTER TABLE stock ADD PRIMARY KEY (s_w_id, s_i_id);
-- next
ALTER TABLE customer ADD PRIMARY KEY (c_w_id, c_d_id, c_id);
-- next
ALTER TABLE orders ADD PRIMARY KEY (o_w_id, o_d_id, o_id);
-- next
ALTER TABLE new_order ADD PRIMARY KEY (no_w_id, no_d_id, no_o_id);
-- next
ALTER TABLE order_line ADD PRIMARY KEY (ol_w_id, ol_d_id, ol_o_id, ol_number);
-- next
CREATE INDEX customer_by_name ON customer (c_w_id, c_d_id, c_last, c_first);
-- next
CREATE INDEX orders_by_customer ON orders (o_w_id, o_d_id, o_c_id, o_id);

-- name: foreign_keys
ALTER TABLE district ADD FOREIGN KEY (d_w_id) REFERENCES warehouse;
-- next
ALTER TABLE stock ADD FOREIGN KEY (s_w_id) REFERENCES warehouse, ADD FOREIGN KEY (s_i_id) REFERENCES item;
-- next
ALTER TABLE customer ADD FOREIGN KEY (c_w_id, c_d_id) REFERENCES district;
-- next
ALTER TABLE history
    ADD FOREIGN KEY (h_c_w_id, h_c_d_id, h_c_id) REFERENCES customer,
    ADD FOREIGN KEY (h_w_id, h_d_id) REFERENCES district;
-- next
ALTER TABLE orders ADD FOREIGN KEY (o_w_id, o_d_id, o_c_id) REFERENCES customer;
-- next
ALTER TABLE new_order ADD FOREIGN KEY (no_w_id, no_d_id, no_o_id) REFERENCES orders;
-- next
ALTER TABLE order_line
    ADD FOREIGN KEY (ol_w_id, ol_d_id, ol_o_id) REFERENCES orders,
    ADD FOREIGN KEY (ol_supply_w_id, ol_i_id) REFERENCES stock;

-- name: clean
-- No CHECKPOINT: what a cycle costs in checkpoints belongs to the cycles.
VACUUM (ANALYZE) load_constants, item, warehouse, district, stock, customer, history, orders, new_order, order_line;
