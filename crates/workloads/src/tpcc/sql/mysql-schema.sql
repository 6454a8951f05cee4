-- TPC-C for MariaDB and MySQL: tables and keys. Sections are run by name, see crates/workloads/src/sql.rs.
-- Money is decimal: exact.
--
-- Tables are of the session's storage engine. InnoDB keeps a table in the order of its primary key, so
-- that adding the key to a full table writes all of it once more, and adds an index for each reference that
-- no key begins with: both steps take their time. MyRocks has no foreign keys: there that step does nothing.

-- name: tables
CREATE TABLE load_constants (c_last int NOT NULL);
-- next
CREATE TABLE item (
    i_id int NOT NULL,
    i_im_id int NOT NULL,
    i_name varchar(24) NOT NULL,
    i_price decimal(5, 2) NOT NULL,
    i_data varchar(50) NOT NULL
);
-- next
CREATE TABLE warehouse (
    w_id int NOT NULL,
    w_name varchar(10) NOT NULL,
    w_street_1 varchar(20) NOT NULL,
    w_street_2 varchar(20) NOT NULL,
    w_city varchar(20) NOT NULL,
    w_state varchar(2) NOT NULL,
    w_zip varchar(9) NOT NULL,
    w_tax decimal(4, 4) NOT NULL,
    w_ytd decimal(12, 2) NOT NULL
);
-- next
CREATE TABLE district (
    d_w_id int NOT NULL,
    d_id int NOT NULL,
    d_name varchar(10) NOT NULL,
    d_street_1 varchar(20) NOT NULL,
    d_street_2 varchar(20) NOT NULL,
    d_city varchar(20) NOT NULL,
    d_state varchar(2) NOT NULL,
    d_zip varchar(9) NOT NULL,
    d_tax decimal(4, 4) NOT NULL,
    d_ytd decimal(12, 2) NOT NULL,
    d_next_o_id int NOT NULL
);
-- next
CREATE TABLE stock (
    s_w_id int NOT NULL,
    s_i_id int NOT NULL,
    s_quantity int NOT NULL,
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
    s_ytd int NOT NULL,
    s_order_cnt int NOT NULL,
    s_remote_cnt int NOT NULL,
    s_data varchar(50) NOT NULL
);
-- next
CREATE TABLE customer (
    c_w_id int NOT NULL,
    c_d_id int NOT NULL,
    c_id int NOT NULL,
    c_first varchar(16) NOT NULL,
    c_middle varchar(2) NOT NULL,
    c_last varchar(16) NOT NULL,
    c_street_1 varchar(20) NOT NULL,
    c_street_2 varchar(20) NOT NULL,
    c_city varchar(20) NOT NULL,
    c_state varchar(2) NOT NULL,
    c_zip varchar(9) NOT NULL,
    c_phone varchar(16) NOT NULL,
    c_since datetime(6) NOT NULL,
    c_credit varchar(2) NOT NULL,
    c_credit_lim decimal(12, 2) NOT NULL,
    c_discount decimal(4, 4) NOT NULL,
    c_balance decimal(12, 2) NOT NULL,
    c_ytd_payment decimal(12, 2) NOT NULL,
    c_payment_cnt int NOT NULL,
    c_delivery_cnt int NOT NULL,
    c_data varchar(500) NOT NULL
);
-- next
CREATE TABLE history (
    h_c_id int NOT NULL,
    h_c_d_id int NOT NULL,
    h_c_w_id int NOT NULL,
    h_d_id int NOT NULL,
    h_w_id int NOT NULL,
    h_date datetime(6) NOT NULL,
    h_amount decimal(6, 2) NOT NULL,
    h_data varchar(24) NOT NULL
);
-- next
CREATE TABLE orders (
    o_w_id int NOT NULL,
    o_d_id int NOT NULL,
    o_id int NOT NULL,
    o_c_id int NOT NULL,
    o_entry_d datetime(6) NOT NULL,
    o_carrier_id int,
    o_ol_cnt int NOT NULL,
    o_all_local int NOT NULL
);
-- next
CREATE TABLE new_order (
    no_w_id int NOT NULL,
    no_d_id int NOT NULL,
    no_o_id int NOT NULL
);
-- next
CREATE TABLE order_line (
    ol_w_id int NOT NULL,
    ol_d_id int NOT NULL,
    ol_o_id int NOT NULL,
    ol_number int NOT NULL,
    ol_i_id int NOT NULL,
    ol_supply_w_id int NOT NULL,
    ol_delivery_d datetime(6) NULL,
    ol_quantity int NOT NULL,
    ol_amount decimal(6, 2) NOT NULL,
    ol_dist_info varchar(24) NOT NULL
);

-- name: primary_keys
CALL tpcc_commit_in_the_middle(1)
-- next
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
-- next
CALL tpcc_commit_in_the_middle(0)

-- name: foreign_keys
CALL tpcc_foreign_keys()

-- name: clean
-- Statistics. Space of dead rows is freed by the server on its own. No OPTIMIZE TABLE, which would write
-- all tables anew.
ANALYZE NO_WRITE_TO_BINLOG TABLE
    item, warehouse, district, stock, customer, history, orders, new_order, order_line;
