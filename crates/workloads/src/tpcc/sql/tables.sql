-- TPC-C: the tables. What differs between products are words in braces; those of a product's own file count before
-- the ones here.

-- word: {charset} =
-- word: {timestamp} = timestamp
-- word: {rest of item} = )
-- word: {rest of warehouse} = )
-- word: {rest of district} = )
-- word: {rest of stock} = )
-- word: {rest of customer} = )
-- word: {rest of history} = )
-- word: {rest of orders} = )
-- word: {rest of new_order} = )
-- word: {rest of order_line} = )

-- name: tables
CREATE TABLE load_constants (c_last integer NOT NULL);
-- next
CREATE TABLE item (
    i_id integer NOT NULL,
    i_im_id integer NOT NULL,
    i_name varchar(24) {charset} NOT NULL,
    i_price numeric(5, 2) NOT NULL,
    i_data varchar(50) {charset} NOT NULL
    {rest of item};
-- next
CREATE TABLE warehouse (
    w_id integer NOT NULL,
    w_name varchar(10) {charset} NOT NULL,
    w_street_1 varchar(20) {charset} NOT NULL,
    w_street_2 varchar(20) {charset} NOT NULL,
    w_city varchar(20) {charset} NOT NULL,
    w_state varchar(2) {charset} NOT NULL,
    w_zip varchar(9) {charset} NOT NULL,
    w_tax numeric(4, 4) NOT NULL,
    w_ytd numeric(18, 2) NOT NULL
    {rest of warehouse};
-- next
CREATE TABLE district (
    d_w_id integer NOT NULL,
    d_id integer NOT NULL,
    d_name varchar(10) {charset} NOT NULL,
    d_street_1 varchar(20) {charset} NOT NULL,
    d_street_2 varchar(20) {charset} NOT NULL,
    d_city varchar(20) {charset} NOT NULL,
    d_state varchar(2) {charset} NOT NULL,
    d_zip varchar(9) {charset} NOT NULL,
    d_tax numeric(4, 4) NOT NULL,
    d_ytd numeric(18, 2) NOT NULL,
    d_next_o_id integer NOT NULL
    {rest of district};
-- next
CREATE TABLE stock (
    s_w_id integer NOT NULL,
    s_i_id integer NOT NULL,
    s_quantity integer NOT NULL,
    s_dist_01 varchar(24) {charset} NOT NULL,
    s_dist_02 varchar(24) {charset} NOT NULL,
    s_dist_03 varchar(24) {charset} NOT NULL,
    s_dist_04 varchar(24) {charset} NOT NULL,
    s_dist_05 varchar(24) {charset} NOT NULL,
    s_dist_06 varchar(24) {charset} NOT NULL,
    s_dist_07 varchar(24) {charset} NOT NULL,
    s_dist_08 varchar(24) {charset} NOT NULL,
    s_dist_09 varchar(24) {charset} NOT NULL,
    s_dist_10 varchar(24) {charset} NOT NULL,
    s_ytd integer NOT NULL,
    s_order_cnt integer NOT NULL,
    s_remote_cnt integer NOT NULL,
    s_data varchar(50) {charset} NOT NULL
    {rest of stock};
-- next
CREATE TABLE customer (
    c_w_id integer NOT NULL,
    c_d_id integer NOT NULL,
    c_id integer NOT NULL,
    c_first varchar(16) {charset} NOT NULL,
    c_middle varchar(2) {charset} NOT NULL,
    c_last varchar(16) {charset} NOT NULL,
    c_street_1 varchar(20) {charset} NOT NULL,
    c_street_2 varchar(20) {charset} NOT NULL,
    c_city varchar(20) {charset} NOT NULL,
    c_state varchar(2) {charset} NOT NULL,
    c_zip varchar(9) {charset} NOT NULL,
    c_phone varchar(16) {charset} NOT NULL,
    c_since {timestamp} NOT NULL,
    c_credit varchar(2) {charset} NOT NULL,
    c_credit_lim numeric(12, 2) NOT NULL,
    c_discount numeric(4, 4) NOT NULL,
    c_balance numeric(12, 2) NOT NULL,
    c_ytd_payment numeric(12, 2) NOT NULL,
    c_payment_cnt integer NOT NULL,
    c_delivery_cnt integer NOT NULL,
    c_data varchar(500) {charset} NOT NULL
    {rest of customer};
-- next
CREATE TABLE history (
    h_c_id integer NOT NULL,
    h_c_d_id integer NOT NULL,
    h_c_w_id integer NOT NULL,
    h_d_id integer NOT NULL,
    h_w_id integer NOT NULL,
    h_date {timestamp} NOT NULL,
    h_amount numeric(6, 2) NOT NULL,
    h_data varchar(24) {charset} NOT NULL
    {rest of history};
-- next
CREATE TABLE orders (
    o_w_id integer NOT NULL,
    o_d_id integer NOT NULL,
    o_id integer NOT NULL,
    o_c_id integer NOT NULL,
    o_entry_d {timestamp} NOT NULL,
    o_carrier_id integer,
    o_ol_cnt integer NOT NULL,
    o_all_local integer NOT NULL
    {rest of orders};
-- next
CREATE TABLE new_order (
    no_w_id integer NOT NULL,
    no_d_id integer NOT NULL,
    no_o_id integer NOT NULL
    {rest of new_order};
-- next
CREATE TABLE order_line (
    ol_w_id integer NOT NULL,
    ol_d_id integer NOT NULL,
    ol_o_id integer NOT NULL,
    ol_number integer NOT NULL,
    ol_i_id integer NOT NULL,
    ol_supply_w_id integer NOT NULL,
    ol_delivery_d {timestamp},
    ol_quantity integer NOT NULL,
    ol_amount numeric(6, 2) NOT NULL,
    ol_dist_info varchar(24) {charset} NOT NULL
    {rest of order_line};
