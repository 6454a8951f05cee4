-- TPC-C for Firebird: tables and keys. Sections are run by name, see crates/workloads/src/sql.rs.
-- Money is NUMERIC, which Firebird keeps as an integer: exact. Texts are ASCII: of UTF-8 Firebird would keep
-- four bytes for each character in every row that it has in hand.

-- name: tables
CREATE TABLE load_constants (c_last INTEGER NOT NULL);
-- next
CREATE TABLE item (
    i_id INTEGER NOT NULL,
    i_im_id INTEGER NOT NULL,
    i_name VARCHAR(24) CHARACTER SET ASCII NOT NULL,
    i_price NUMERIC(5, 2) NOT NULL,
    i_data VARCHAR(50) CHARACTER SET ASCII NOT NULL
);
-- next
CREATE TABLE warehouse (
    w_id INTEGER NOT NULL,
    w_name VARCHAR(10) CHARACTER SET ASCII NOT NULL,
    w_street_1 VARCHAR(20) CHARACTER SET ASCII NOT NULL,
    w_street_2 VARCHAR(20) CHARACTER SET ASCII NOT NULL,
    w_city VARCHAR(20) CHARACTER SET ASCII NOT NULL,
    w_state VARCHAR(2) CHARACTER SET ASCII NOT NULL,
    w_zip VARCHAR(9) CHARACTER SET ASCII NOT NULL,
    w_tax NUMERIC(4, 4) NOT NULL,
    w_ytd NUMERIC(18, 2) NOT NULL
);
-- next
CREATE TABLE district (
    d_w_id INTEGER NOT NULL,
    d_id INTEGER NOT NULL,
    d_name VARCHAR(10) CHARACTER SET ASCII NOT NULL,
    d_street_1 VARCHAR(20) CHARACTER SET ASCII NOT NULL,
    d_street_2 VARCHAR(20) CHARACTER SET ASCII NOT NULL,
    d_city VARCHAR(20) CHARACTER SET ASCII NOT NULL,
    d_state VARCHAR(2) CHARACTER SET ASCII NOT NULL,
    d_zip VARCHAR(9) CHARACTER SET ASCII NOT NULL,
    d_tax NUMERIC(4, 4) NOT NULL,
    d_ytd NUMERIC(18, 2) NOT NULL,
    d_next_o_id INTEGER NOT NULL
);
-- next
CREATE TABLE stock (
    s_w_id INTEGER NOT NULL,
    s_i_id INTEGER NOT NULL,
    s_quantity INTEGER NOT NULL,
    s_dist_01 VARCHAR(24) CHARACTER SET ASCII NOT NULL,
    s_dist_02 VARCHAR(24) CHARACTER SET ASCII NOT NULL,
    s_dist_03 VARCHAR(24) CHARACTER SET ASCII NOT NULL,
    s_dist_04 VARCHAR(24) CHARACTER SET ASCII NOT NULL,
    s_dist_05 VARCHAR(24) CHARACTER SET ASCII NOT NULL,
    s_dist_06 VARCHAR(24) CHARACTER SET ASCII NOT NULL,
    s_dist_07 VARCHAR(24) CHARACTER SET ASCII NOT NULL,
    s_dist_08 VARCHAR(24) CHARACTER SET ASCII NOT NULL,
    s_dist_09 VARCHAR(24) CHARACTER SET ASCII NOT NULL,
    s_dist_10 VARCHAR(24) CHARACTER SET ASCII NOT NULL,
    s_ytd INTEGER NOT NULL,
    s_order_cnt INTEGER NOT NULL,
    s_remote_cnt INTEGER NOT NULL,
    s_data VARCHAR(50) CHARACTER SET ASCII NOT NULL
);
-- next
CREATE TABLE customer (
    c_w_id INTEGER NOT NULL,
    c_d_id INTEGER NOT NULL,
    c_id INTEGER NOT NULL,
    c_first VARCHAR(16) CHARACTER SET ASCII NOT NULL,
    c_middle VARCHAR(2) CHARACTER SET ASCII NOT NULL,
    c_last VARCHAR(16) CHARACTER SET ASCII NOT NULL,
    c_street_1 VARCHAR(20) CHARACTER SET ASCII NOT NULL,
    c_street_2 VARCHAR(20) CHARACTER SET ASCII NOT NULL,
    c_city VARCHAR(20) CHARACTER SET ASCII NOT NULL,
    c_state VARCHAR(2) CHARACTER SET ASCII NOT NULL,
    c_zip VARCHAR(9) CHARACTER SET ASCII NOT NULL,
    c_phone VARCHAR(16) CHARACTER SET ASCII NOT NULL,
    c_since TIMESTAMP NOT NULL,
    c_credit VARCHAR(2) CHARACTER SET ASCII NOT NULL,
    c_credit_lim NUMERIC(12, 2) NOT NULL,
    c_discount NUMERIC(4, 4) NOT NULL,
    c_balance NUMERIC(12, 2) NOT NULL,
    c_ytd_payment NUMERIC(12, 2) NOT NULL,
    c_payment_cnt INTEGER NOT NULL,
    c_delivery_cnt INTEGER NOT NULL,
    c_data VARCHAR(500) CHARACTER SET ASCII NOT NULL
);
-- next
CREATE TABLE history (
    h_c_id INTEGER NOT NULL,
    h_c_d_id INTEGER NOT NULL,
    h_c_w_id INTEGER NOT NULL,
    h_d_id INTEGER NOT NULL,
    h_w_id INTEGER NOT NULL,
    h_date TIMESTAMP NOT NULL,
    h_amount NUMERIC(6, 2) NOT NULL,
    h_data VARCHAR(24) CHARACTER SET ASCII NOT NULL
);
-- next
CREATE TABLE orders (
    o_w_id INTEGER NOT NULL,
    o_d_id INTEGER NOT NULL,
    o_id INTEGER NOT NULL,
    o_c_id INTEGER NOT NULL,
    o_entry_d TIMESTAMP NOT NULL,
    o_carrier_id INTEGER,
    o_ol_cnt INTEGER NOT NULL,
    o_all_local INTEGER NOT NULL
);
-- next
CREATE TABLE new_order (
    no_w_id INTEGER NOT NULL,
    no_d_id INTEGER NOT NULL,
    no_o_id INTEGER NOT NULL
);
-- next
CREATE TABLE order_line (
    ol_w_id INTEGER NOT NULL,
    ol_d_id INTEGER NOT NULL,
    ol_o_id INTEGER NOT NULL,
    ol_number INTEGER NOT NULL,
    ol_i_id INTEGER NOT NULL,
    ol_supply_w_id INTEGER NOT NULL,
    ol_delivery_d TIMESTAMP,
    ol_quantity INTEGER NOT NULL,
    ol_amount NUMERIC(6, 2) NOT NULL,
    ol_dist_info VARCHAR(24) CHARACTER SET ASCII NOT NULL
);

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
