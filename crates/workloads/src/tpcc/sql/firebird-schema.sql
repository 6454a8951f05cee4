-- TPC-C for Firebird: tables and keys. Sections are run by name, see crates/workloads/src/sql.rs.
-- Money is NUMERIC, which Firebird keeps as an integer: exact. Texts are ASCII: of UTF-8 Firebird would keep
-- four bytes for each character in every row that it has in hand.

-- word: {charset} = CHARACTER SET ASCII

-- name: primary_keys
ALTER TABLE item ADD CONSTRAINT item_key PRIMARY KEY (i_id);
-- next
ALTER TABLE warehouse ADD CONSTRAINT warehouse_key PRIMARY KEY (w_id);
-- next
ALTER TABLE district ADD CONSTRAINT district_key PRIMARY KEY (d_w_id, d_id);
-- next
ALTER TABLE stock ADD CONSTRAINT stock_key PRIMARY KEY (s_w_id, s_i_id);
-- next
ALTER TABLE customer ADD CONSTRAINT customer_key PRIMARY KEY (c_w_id, c_d_id, c_id);
-- next
ALTER TABLE orders ADD CONSTRAINT orders_key PRIMARY KEY (o_w_id, o_d_id, o_id);
-- next
ALTER TABLE new_order ADD CONSTRAINT new_order_key PRIMARY KEY (no_w_id, no_d_id, no_o_id);
-- next
ALTER TABLE order_line ADD CONSTRAINT order_line_key PRIMARY KEY (ol_w_id, ol_d_id, ol_o_id, ol_number);
-- next
CREATE INDEX customer_by_name ON customer (c_w_id, c_d_id, c_last, c_first);
-- next
-- The last order of a customer is found from the end.
CREATE DESCENDING INDEX orders_by_customer ON orders (o_w_id, o_d_id, o_c_id, o_id);

-- name: foreign_keys
ALTER TABLE district ADD CONSTRAINT district_warehouse FOREIGN KEY (d_w_id)
    REFERENCES warehouse (w_id);
-- next
ALTER TABLE stock ADD CONSTRAINT stock_warehouse FOREIGN KEY (s_w_id)
    REFERENCES warehouse (w_id);
-- next
ALTER TABLE stock ADD CONSTRAINT stock_item FOREIGN KEY (s_i_id)
    REFERENCES item (i_id);
-- next
ALTER TABLE customer ADD CONSTRAINT customer_district FOREIGN KEY (c_w_id, c_d_id)
    REFERENCES district (d_w_id, d_id);
-- next
ALTER TABLE history ADD CONSTRAINT history_customer FOREIGN KEY (h_c_w_id, h_c_d_id, h_c_id)
    REFERENCES customer (c_w_id, c_d_id, c_id);
-- next
ALTER TABLE history ADD CONSTRAINT history_district FOREIGN KEY (h_w_id, h_d_id)
    REFERENCES district (d_w_id, d_id);
-- next
ALTER TABLE orders ADD CONSTRAINT orders_customer FOREIGN KEY (o_w_id, o_d_id, o_c_id)
    REFERENCES customer (c_w_id, c_d_id, c_id);
-- next
ALTER TABLE new_order ADD CONSTRAINT new_order_orders FOREIGN KEY (no_w_id, no_d_id, no_o_id)
    REFERENCES orders (o_w_id, o_d_id, o_id);
-- next
ALTER TABLE order_line ADD CONSTRAINT order_line_orders FOREIGN KEY (ol_w_id, ol_d_id, ol_o_id)
    REFERENCES orders (o_w_id, o_d_id, o_id);
-- next
ALTER TABLE order_line ADD CONSTRAINT order_line_stock FOREIGN KEY (ol_supply_w_id, ol_i_id)
    REFERENCES stock (s_w_id, s_i_id);

-- name: clean
-- The engine's word for gfix -sweep: old versions of rows are removed. Statistics stay those of the keys'
-- creation.
SWEEP
