-- TPC-C for MariaDB and MySQL: tables and keys. Sections are run by name, see crates/workloads/src/sql.rs.
-- Money is decimal: exact.
--
-- Tables are of the session's storage engine. InnoDB and MyRocks keep a table in the order of its primary
-- key: adding it to a full table would write all of it once more. So tables have it from the beginning, as
-- their users make them, and rows come in its order; the step "primary keys" adds the other two indexes.
-- InnoDB adds one for each reference that no key begins with: the step "foreign keys" takes its time.
-- MyRocks has no foreign keys: there it does nothing.

-- name: tables
CREATE TABLE load_constants (c_last int NOT NULL);
-- next
CREATE TABLE item (
    i_id int NOT NULL,
    i_im_id int NOT NULL,
    i_name varchar(24) NOT NULL,
    i_price decimal(5, 2) NOT NULL,
    i_data varchar(50) NOT NULL,
    PRIMARY KEY (i_id)
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
    w_ytd decimal(18, 2) NOT NULL,
    PRIMARY KEY (w_id)
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
    d_ytd decimal(18, 2) NOT NULL,
    d_next_o_id int NOT NULL,
    PRIMARY KEY (d_w_id, d_id)
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
    s_data varchar(50) NOT NULL,
    PRIMARY KEY (s_w_id, s_i_id)
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
    c_data varchar(500) NOT NULL,
    PRIMARY KEY (c_w_id, c_d_id, c_id)
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
    o_all_local int NOT NULL,
    PRIMARY KEY (o_w_id, o_d_id, o_id)
);
-- next
CREATE TABLE new_order (
    no_w_id int NOT NULL,
    no_d_id int NOT NULL,
    no_o_id int NOT NULL,
    PRIMARY KEY (no_w_id, no_d_id, no_o_id)
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
    ol_dist_info varchar(24) NOT NULL,
    PRIMARY KEY (ol_w_id, ol_d_id, ol_o_id, ol_number)
);

-- name: primary_keys
CALL tpcc_commit_in_the_middle(1)
-- next
CREATE INDEX customer_by_name ON customer (c_w_id, c_d_id, c_last, c_first);
-- next
CREATE INDEX orders_by_customer ON orders (o_w_id, o_d_id, o_c_id, o_id);
-- next
CALL tpcc_commit_in_the_middle(0)

-- name: foreign_keys
CALL tpcc_foreign_keys()

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
