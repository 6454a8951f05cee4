-- TPC-C for SQLite (the mock takes it, too): tables and keys. Sections are run by name, see
-- crates/workloads/src/sql.rs.
--
-- SQLite adds keys to a table only when it is created: primary keys are declared here, and tables with a
-- key of several columns are stored in its order (WITHOUT ROWID), so that the step "primary keys" only
-- makes the two further indexes. Foreign keys are declared here as well and enforced by each session (the
-- engine switches them on, and off while it loads rows); the step "foreign keys" checks that all rows meet
-- them, which is what other engines do when a key is added.
--
-- Money is INTEGER cents, taxes and discounts INTEGER ten-thousandths, points in time INTEGER microseconds:
-- all exact.

-- name: tables
CREATE TABLE load_constants (c_last INTEGER NOT NULL);
-- next
CREATE TABLE item (
    i_id INTEGER PRIMARY KEY,
    i_im_id INTEGER NOT NULL,
    i_name TEXT NOT NULL,
    i_price INTEGER NOT NULL,
    i_data TEXT NOT NULL
);
-- next
CREATE TABLE warehouse (
    w_id INTEGER PRIMARY KEY,
    w_name TEXT NOT NULL,
    w_street_1 TEXT NOT NULL,
    w_street_2 TEXT NOT NULL,
    w_city TEXT NOT NULL,
    w_state TEXT NOT NULL,
    w_zip TEXT NOT NULL,
    w_tax INTEGER NOT NULL,
    w_ytd INTEGER NOT NULL
);
-- next
CREATE TABLE district (
    d_w_id INTEGER NOT NULL,
    d_id INTEGER NOT NULL,
    d_name TEXT NOT NULL,
    d_street_1 TEXT NOT NULL,
    d_street_2 TEXT NOT NULL,
    d_city TEXT NOT NULL,
    d_state TEXT NOT NULL,
    d_zip TEXT NOT NULL,
    d_tax INTEGER NOT NULL,
    d_ytd INTEGER NOT NULL,
    d_next_o_id INTEGER NOT NULL,
    PRIMARY KEY (d_w_id, d_id),
    FOREIGN KEY (d_w_id) REFERENCES warehouse
) WITHOUT ROWID;
-- next
CREATE TABLE stock (
    s_w_id INTEGER NOT NULL,
    s_i_id INTEGER NOT NULL,
    s_quantity INTEGER NOT NULL,
    s_dist_01 TEXT NOT NULL,
    s_dist_02 TEXT NOT NULL,
    s_dist_03 TEXT NOT NULL,
    s_dist_04 TEXT NOT NULL,
    s_dist_05 TEXT NOT NULL,
    s_dist_06 TEXT NOT NULL,
    s_dist_07 TEXT NOT NULL,
    s_dist_08 TEXT NOT NULL,
    s_dist_09 TEXT NOT NULL,
    s_dist_10 TEXT NOT NULL,
    s_ytd INTEGER NOT NULL,
    s_order_cnt INTEGER NOT NULL,
    s_remote_cnt INTEGER NOT NULL,
    s_data TEXT NOT NULL,
    PRIMARY KEY (s_w_id, s_i_id),
    FOREIGN KEY (s_w_id) REFERENCES warehouse,
    FOREIGN KEY (s_i_id) REFERENCES item
) WITHOUT ROWID;
-- next
CREATE TABLE customer (
    c_w_id INTEGER NOT NULL,
    c_d_id INTEGER NOT NULL,
    c_id INTEGER NOT NULL,
    c_first TEXT NOT NULL,
    c_middle TEXT NOT NULL,
    c_last TEXT NOT NULL,
    c_street_1 TEXT NOT NULL,
    c_street_2 TEXT NOT NULL,
    c_city TEXT NOT NULL,
    c_state TEXT NOT NULL,
    c_zip TEXT NOT NULL,
    c_phone TEXT NOT NULL,
    c_since INTEGER NOT NULL,
    c_credit TEXT NOT NULL,
    c_credit_lim INTEGER NOT NULL,
    c_discount INTEGER NOT NULL,
    c_balance INTEGER NOT NULL,
    c_ytd_payment INTEGER NOT NULL,
    c_payment_cnt INTEGER NOT NULL,
    c_delivery_cnt INTEGER NOT NULL,
    c_data TEXT NOT NULL,
    PRIMARY KEY (c_w_id, c_d_id, c_id),
    FOREIGN KEY (c_w_id, c_d_id) REFERENCES district
) WITHOUT ROWID;
-- next
CREATE TABLE history (
    h_c_id INTEGER NOT NULL,
    h_c_d_id INTEGER NOT NULL,
    h_c_w_id INTEGER NOT NULL,
    h_d_id INTEGER NOT NULL,
    h_w_id INTEGER NOT NULL,
    h_date INTEGER NOT NULL,
    h_amount INTEGER NOT NULL,
    h_data TEXT NOT NULL,
    FOREIGN KEY (h_c_w_id, h_c_d_id, h_c_id) REFERENCES customer,
    FOREIGN KEY (h_w_id, h_d_id) REFERENCES district
);
-- next
CREATE TABLE orders (
    o_w_id INTEGER NOT NULL,
    o_d_id INTEGER NOT NULL,
    o_id INTEGER NOT NULL,
    o_c_id INTEGER NOT NULL,
    o_entry_d INTEGER NOT NULL,
    o_carrier_id INTEGER,
    o_ol_cnt INTEGER NOT NULL,
    o_all_local INTEGER NOT NULL,
    PRIMARY KEY (o_w_id, o_d_id, o_id),
    FOREIGN KEY (o_w_id, o_d_id, o_c_id) REFERENCES customer
) WITHOUT ROWID;
-- next
CREATE TABLE new_order (
    no_w_id INTEGER NOT NULL,
    no_d_id INTEGER NOT NULL,
    no_o_id INTEGER NOT NULL,
    PRIMARY KEY (no_w_id, no_d_id, no_o_id),
    FOREIGN KEY (no_w_id, no_d_id, no_o_id) REFERENCES orders
) WITHOUT ROWID;
-- next
CREATE TABLE order_line (
    ol_w_id INTEGER NOT NULL,
    ol_d_id INTEGER NOT NULL,
    ol_o_id INTEGER NOT NULL,
    ol_number INTEGER NOT NULL,
    ol_i_id INTEGER NOT NULL,
    ol_supply_w_id INTEGER NOT NULL,
    ol_delivery_d INTEGER,
    ol_quantity INTEGER NOT NULL,
    ol_amount INTEGER NOT NULL,
    ol_dist_info TEXT NOT NULL,
    PRIMARY KEY (ol_w_id, ol_d_id, ol_o_id, ol_number),
    FOREIGN KEY (ol_w_id, ol_d_id, ol_o_id) REFERENCES orders,
    FOREIGN KEY (ol_supply_w_id, ol_i_id) REFERENCES stock
) WITHOUT ROWID;

-- name: primary_keys
CREATE INDEX customer_by_name ON customer (c_w_id, c_d_id, c_last, c_first);
-- next
CREATE INDEX orders_by_customer ON orders (o_w_id, o_d_id, o_c_id, o_id);

-- name: foreign_key_faults
SELECT count(*) FROM pragma_foreign_key_check('district')
-- next
SELECT count(*) FROM pragma_foreign_key_check('stock')
-- next
SELECT count(*) FROM pragma_foreign_key_check('customer')
-- next
SELECT count(*) FROM pragma_foreign_key_check('history')
-- next
SELECT count(*) FROM pragma_foreign_key_check('orders')
-- next
SELECT count(*) FROM pragma_foreign_key_check('new_order')
-- next
SELECT count(*) FROM pragma_foreign_key_check('order_line')

-- name: clean
-- Space is reused by itself. No checkpoint: what a cycle costs in checkpoints belongs to the cycles.
PRAGMA optimize;
