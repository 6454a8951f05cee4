-- TPC-C for PostgreSQL: tables and keys. Sections are run by name, see crates/workloads/src/sql.rs.
-- Money is numeric: exact.

-- name: tables
CREATE TABLE load_constants (c_last integer NOT NULL);
-- next
CREATE TABLE item (
    i_id integer NOT NULL,
    i_im_id integer NOT NULL,
    i_name varchar(24) NOT NULL,
    i_price numeric(5, 2) NOT NULL,
    i_data varchar(50) NOT NULL
);
-- next
CREATE TABLE warehouse (
    w_id integer NOT NULL,
    w_name varchar(10) NOT NULL,
    w_street_1 varchar(20) NOT NULL,
    w_street_2 varchar(20) NOT NULL,
    w_city varchar(20) NOT NULL,
    w_state varchar(2) NOT NULL,
    w_zip varchar(9) NOT NULL,
    w_tax numeric(4, 4) NOT NULL,
    w_ytd numeric(18, 2) NOT NULL
);
-- next
CREATE TABLE district (
    d_w_id integer NOT NULL,
    d_id integer NOT NULL,
    d_name varchar(10) NOT NULL,
    d_street_1 varchar(20) NOT NULL,
    d_street_2 varchar(20) NOT NULL,
    d_city varchar(20) NOT NULL,
    d_state varchar(2) NOT NULL,
    d_zip varchar(9) NOT NULL,
    d_tax numeric(4, 4) NOT NULL,
    d_ytd numeric(18, 2) NOT NULL,
    d_next_o_id integer NOT NULL
);
-- next
CREATE TABLE stock (
    s_w_id integer NOT NULL,
    s_i_id integer NOT NULL,
    s_quantity integer NOT NULL,
    s_dist_01 varchar(24) NOT NULL,
    s_dist_02 varchar(24) NOT NULL,
    s_dist_03 varchar(24) NOT NULL,
    s_dist_04 varchar(24) NOT NULL,
    s_dist_05 varchar(24) NOT NULL,
    s_dist_06 varchar(24) NOT NULL,
    s_dist_07 varchar(24) NOT NULL,
    s_dist_08 varchar(24) NOT NULL,
    s_dist_09 varchar(24) NOT NULL,
    s_dist_10 varchar(24) NOT NULL,
    s_ytd integer NOT NULL,
    s_order_cnt integer NOT NULL,
    s_remote_cnt integer NOT NULL,
    s_data varchar(50) NOT NULL
);
-- next
CREATE TABLE customer (
    c_w_id integer NOT NULL,
    c_d_id integer NOT NULL,
    c_id integer NOT NULL,
    c_first varchar(16) NOT NULL,
    c_middle varchar(2) NOT NULL,
    c_last varchar(16) NOT NULL,
    c_street_1 varchar(20) NOT NULL,
    c_street_2 varchar(20) NOT NULL,
    c_city varchar(20) NOT NULL,
    c_state varchar(2) NOT NULL,
    c_zip varchar(9) NOT NULL,
    c_phone varchar(16) NOT NULL,
    c_since timestamp NOT NULL,
    c_credit varchar(2) NOT NULL,
    c_credit_lim numeric(12, 2) NOT NULL,
    c_discount numeric(4, 4) NOT NULL,
    c_balance numeric(12, 2) NOT NULL,
    c_ytd_payment numeric(12, 2) NOT NULL,
    c_payment_cnt integer NOT NULL,
    c_delivery_cnt integer NOT NULL,
    c_data varchar(500) NOT NULL
);
-- next
CREATE TABLE history (
    h_c_id integer NOT NULL,
    h_c_d_id integer NOT NULL,
    h_c_w_id integer NOT NULL,
    h_d_id integer NOT NULL,
    h_w_id integer NOT NULL,
    h_date timestamp NOT NULL,
    h_amount numeric(6, 2) NOT NULL,
    h_data varchar(24) NOT NULL
);
-- next
CREATE TABLE orders (
    o_w_id integer NOT NULL,
    o_d_id integer NOT NULL,
    o_id integer NOT NULL,
    o_c_id integer NOT NULL,
    o_entry_d timestamp NOT NULL,
    o_carrier_id integer,
    o_ol_cnt integer NOT NULL,
    o_all_local integer NOT NULL
);
-- next
CREATE TABLE new_order (
    no_w_id integer NOT NULL,
    no_d_id integer NOT NULL,
    no_o_id integer NOT NULL
);
-- next
CREATE TABLE order_line (
    ol_w_id integer NOT NULL,
    ol_d_id integer NOT NULL,
    ol_o_id integer NOT NULL,
    ol_number integer NOT NULL,
    ol_i_id integer NOT NULL,
    ol_supply_w_id integer NOT NULL,
    ol_delivery_d timestamp,
    ol_quantity integer NOT NULL,
    ol_amount numeric(6, 2) NOT NULL,
    ol_dist_info varchar(24) NOT NULL
);

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
