-- TPC-C for Firebird: each transaction as one procedure, which gives what a terminal shows. A row that is
-- missing leaves a NULL where none may be, and that ends the transaction.

-- name: unused_item_code
-- isc_except: tpcc_new_order met an item that is not there; the transaction is rolled back by it, as clause
-- 2.4.2.3 wants it.
335544517

-- name: procedures
CREATE EXCEPTION tpcc_unused_item 'an item is not there';
-- next
CREATE EXCEPTION tpcc_missing_row 'a row is missing';
-- next
-- The lines of the order are a text in the order of their locks: item, supplying warehouse and quantity in
-- 6, 5 and 2 digits.
CREATE PROCEDURE tpcc_new_order (
    p_w INTEGER, p_d INTEGER, p_c INTEGER, p_all_local INTEGER, p_count INTEGER,
    p_lines VARCHAR(200) CHARACTER SET ASCII)
RETURNS (
    order_number INTEGER, discount NUMERIC(4, 4), last_name VARCHAR(16) CHARACTER SET ASCII,
    credit VARCHAR(2) CHARACTER SET ASCII, tax_w NUMERIC(4, 4), tax_d NUMERIC(4, 4), line INTEGER,
    name VARCHAR(24) CHARACTER SET ASCII, price NUMERIC(5, 2), amount NUMERIC(6, 2), stock_left INTEGER,
    brand VARCHAR(1) CHARACTER SET ASCII) AS
    DECLARE i INTEGER;
    DECLARE supply INTEGER;
    DECLARE q INTEGER;
    DECLARE i_text VARCHAR(50) CHARACTER SET ASCII;
    DECLARE s_text VARCHAR(50) CHARACTER SET ASCII;
    DECLARE dist VARCHAR(24) CHARACTER SET ASCII;
BEGIN
    SELECT c_discount, c_last, c_credit, w_tax FROM customer JOIN warehouse ON w_id = c_w_id
        WHERE c_w_id = :p_w AND c_d_id = :p_d AND c_id = :p_c
        INTO :discount, :last_name, :credit, :tax_w;
    UPDATE district SET d_next_o_id = d_next_o_id + 1 WHERE d_w_id = :p_w AND d_id = :p_d
        RETURNING d_next_o_id - 1, d_tax INTO :order_number, :tax_d;
    -- No exception: it would be taken for that of an unused item.
    IF (last_name IS NULL) THEN
        order_number = NULL;
    INSERT INTO orders (o_w_id, o_d_id, o_id, o_c_id, o_entry_d, o_ol_cnt, o_all_local)
        VALUES (:p_w, :p_d, :order_number, :p_c, LOCALTIMESTAMP, :p_count, :p_all_local);
    INSERT INTO new_order (no_w_id, no_d_id, no_o_id) VALUES (:p_w, :p_d, :order_number);
    line = 0;
    WHILE (line < p_count) DO
    BEGIN
        i = CAST(SUBSTRING(p_lines FROM line * 13 + 1 FOR 6) AS INTEGER);
        supply = CAST(SUBSTRING(p_lines FROM line * 13 + 7 FOR 5) AS INTEGER);
        q = CAST(SUBSTRING(p_lines FROM line * 13 + 12 FOR 2) AS INTEGER);
        price = NULL;
        SELECT i_name, i_price, i_data FROM item WHERE i_id = :i INTO :name, :price, :i_text;
        IF (price IS NULL) THEN
            EXCEPTION tpcc_unused_item;
        dist = NULL;
        UPDATE stock
            SET s_quantity = s_quantity - :q + CASE WHEN s_quantity >= :q + 10 THEN 0 ELSE 91 END,
                s_ytd = s_ytd + :q, s_order_cnt = s_order_cnt + 1,
                s_remote_cnt = s_remote_cnt + CASE WHEN :supply = :p_w THEN 0 ELSE 1 END
            WHERE s_w_id = :supply AND s_i_id = :i
            RETURNING s_quantity, s_data,
                CASE :p_d WHEN 1 THEN s_dist_01 WHEN 2 THEN s_dist_02 WHEN 3 THEN s_dist_03 WHEN 4 THEN s_dist_04
                    WHEN 5 THEN s_dist_05 WHEN 6 THEN s_dist_06 WHEN 7 THEN s_dist_07 WHEN 8 THEN s_dist_08
                    WHEN 9 THEN s_dist_09 ELSE s_dist_10 END
            INTO :stock_left, :s_text, :dist;
        line = line + 1;
        amount = q * price;
        INSERT INTO order_line (ol_w_id, ol_d_id, ol_o_id, ol_number, ol_i_id, ol_supply_w_id, ol_quantity,
                                ol_amount, ol_dist_info)
            VALUES (:p_w, :p_d, :order_number, :line, :i, :supply, :q, :amount, :dist);
        brand = CASE WHEN i_text LIKE '%ORIGINAL%' AND s_text LIKE '%ORIGINAL%' THEN 'B' ELSE 'G' END;
        SUSPEND;
    END
END;
-- next
-- A customer without a number is found by name: the middle one, by first name.
CREATE PROCEDURE tpcc_customer (
    p_w INTEGER, p_d INTEGER, p_c INTEGER, p_last VARCHAR(16) CHARACTER SET ASCII)
RETURNS (customer_id INTEGER) AS
    DECLARE middle INTEGER;
BEGIN
    customer_id = p_c;
    IF (p_last <> '') THEN
    BEGIN
        SELECT (count(*) + 1) / 2 FROM customer WHERE c_w_id = :p_w AND c_d_id = :p_d AND c_last = :p_last
            INTO :middle;
        customer_id = NULL;
        SELECT c_id FROM customer WHERE c_w_id = :p_w AND c_d_id = :p_d AND c_last = :p_last
            ORDER BY c_first ROWS :middle TO :middle INTO :customer_id;
    END
END;
-- next
CREATE PROCEDURE tpcc_payment (
    p_w INTEGER, p_d INTEGER, p_c_w INTEGER, p_c_d INTEGER, p_c INTEGER, p_last VARCHAR(16) CHARACTER SET ASCII,
    p_amount NUMERIC(6, 2))
RETURNS (
    customer_id INTEGER,
    w_1 VARCHAR(10) CHARACTER SET ASCII, w_2 VARCHAR(20) CHARACTER SET ASCII, w_3 VARCHAR(20) CHARACTER SET ASCII,
    w_4 VARCHAR(20) CHARACTER SET ASCII, w_5 VARCHAR(2) CHARACTER SET ASCII, w_6 VARCHAR(9) CHARACTER SET ASCII,
    d_1 VARCHAR(10) CHARACTER SET ASCII, d_2 VARCHAR(20) CHARACTER SET ASCII, d_3 VARCHAR(20) CHARACTER SET ASCII,
    d_4 VARCHAR(20) CHARACTER SET ASCII, d_5 VARCHAR(2) CHARACTER SET ASCII, d_6 VARCHAR(9) CHARACTER SET ASCII,
    c_1 VARCHAR(16) CHARACTER SET ASCII, c_2 VARCHAR(2) CHARACTER SET ASCII, c_3 VARCHAR(16) CHARACTER SET ASCII,
    c_4 VARCHAR(20) CHARACTER SET ASCII, c_5 VARCHAR(20) CHARACTER SET ASCII, c_6 VARCHAR(20) CHARACTER SET ASCII,
    c_7 VARCHAR(2) CHARACTER SET ASCII, c_8 VARCHAR(9) CHARACTER SET ASCII, c_9 VARCHAR(16) CHARACTER SET ASCII,
    c_10 TIMESTAMP, c_11 VARCHAR(2) CHARACTER SET ASCII, c_12 NUMERIC(12, 2), c_13 NUMERIC(4, 4),
    c_14 NUMERIC(12, 2), c_15 VARCHAR(200) CHARACTER SET ASCII) AS
BEGIN
    UPDATE warehouse SET w_ytd = w_ytd + :p_amount WHERE w_id = :p_w
        RETURNING w_name, w_street_1, w_street_2, w_city, w_state, w_zip
        INTO :w_1, :w_2, :w_3, :w_4, :w_5, :w_6;
    UPDATE district SET d_ytd = d_ytd + :p_amount WHERE d_w_id = :p_w AND d_id = :p_d
        RETURNING d_name, d_street_1, d_street_2, d_city, d_state, d_zip
        INTO :d_1, :d_2, :d_3, :d_4, :d_5, :d_6;
    EXECUTE PROCEDURE tpcc_customer (p_c_w, p_c_d, p_c, p_last) RETURNING_VALUES :customer_id;
    UPDATE customer
        SET c_balance = c_balance - :p_amount, c_ytd_payment = c_ytd_payment + :p_amount,
            c_payment_cnt = c_payment_cnt + 1,
            c_data = CASE c_credit WHEN 'BC'
                THEN LEFT(:customer_id || ' ' || :p_c_d || ' ' || :p_c_w || ' ' || :p_d || ' ' || :p_w || ' '
                    || :p_amount || ' ' || c_data, 500)
                ELSE c_data END
        WHERE c_w_id = :p_c_w AND c_d_id = :p_c_d AND c_id = :customer_id
        RETURNING c_first, c_middle, c_last, c_street_1, c_street_2, c_city, c_state, c_zip, c_phone, c_since,
            c_credit, c_credit_lim, c_discount, c_balance, CASE c_credit WHEN 'BC' THEN LEFT(c_data, 200) ELSE '' END
        INTO :c_1, :c_2, :c_3, :c_4, :c_5, :c_6, :c_7, :c_8, :c_9, :c_10, :c_11, :c_12, :c_13, :c_14, :c_15;
    IF (c_1 IS NULL) THEN
        customer_id = NULL;
    INSERT INTO history (h_c_id, h_c_d_id, h_c_w_id, h_d_id, h_w_id, h_date, h_amount, h_data)
        VALUES (:customer_id, :p_c_d, :p_c_w, :p_d, :p_w, LOCALTIMESTAMP, :p_amount, :w_1 || '    ' || :d_1);
END;
-- next
CREATE PROCEDURE tpcc_order_status (
    p_w INTEGER, p_d INTEGER, p_c INTEGER, p_last VARCHAR(16) CHARACTER SET ASCII)
RETURNS (
    customer_id INTEGER, first_name VARCHAR(16) CHARACTER SET ASCII, middle_name VARCHAR(2) CHARACTER SET ASCII,
    last_name VARCHAR(16) CHARACTER SET ASCII, balance NUMERIC(12, 2),
    order_number INTEGER, entered TIMESTAMP, carrier INTEGER,
    i INTEGER, supply INTEGER, quantity INTEGER, amount NUMERIC(6, 2), delivered TIMESTAMP) AS
BEGIN
    EXECUTE PROCEDURE tpcc_customer (p_w, p_d, p_c, p_last) RETURNING_VALUES :customer_id;
    SELECT c_first, c_middle, c_last, c_balance FROM customer
        WHERE c_w_id = :p_w AND c_d_id = :p_d AND c_id = :customer_id
        INTO :first_name, :middle_name, :last_name, :balance;
    IF (last_name IS NULL) THEN
        EXCEPTION tpcc_missing_row;
    SELECT o_id, o_entry_d, o_carrier_id FROM orders WHERE o_w_id = :p_w AND o_d_id = :p_d AND o_c_id = :customer_id
        ORDER BY o_w_id DESC, o_d_id DESC, o_c_id DESC, o_id DESC ROWS 1
        INTO :order_number, :entered, :carrier;
    FOR SELECT ol_i_id, ol_supply_w_id, ol_quantity, ol_amount, ol_delivery_d FROM order_line
        WHERE ol_w_id = :p_w AND ol_d_id = :p_d AND ol_o_id = :order_number
        INTO :i, :supply, :quantity, :amount, :delivered DO
        SUSPEND;
END;
-- next
-- Gives the number of districts that had an order to deliver.
CREATE PROCEDURE tpcc_delivery (p_w INTEGER, p_carrier INTEGER) RETURNS (delivered INTEGER) AS
    DECLARE d INTEGER = 0;
    DECLARE o INTEGER;
    DECLARE taken INTEGER;
    DECLARE c INTEGER;
    DECLARE total NUMERIC(12, 2);
BEGIN
    delivered = 0;
    WHILE (d < 10) DO
    BEGIN
        d = d + 1;
        o = NULL;
        taken = NULL;
        SELECT no_o_id FROM new_order WHERE no_w_id = :p_w AND no_d_id = :d
            ORDER BY no_w_id, no_d_id, no_o_id ROWS 1 INTO :o;
        IF (o IS NOT NULL) THEN
        BEGIN
            DELETE FROM new_order WHERE no_w_id = :p_w AND no_d_id = :d AND no_o_id = :o;
            taken = ROW_COUNT;
        END
        -- Where a statement sees what others commit, another delivery may have been quicker.
        IF (taken = 0) THEN
            d = d - 1;
        IF (taken = 1) THEN
        BEGIN
            c = NULL;
            UPDATE orders SET o_carrier_id = :p_carrier WHERE o_w_id = :p_w AND o_d_id = :d AND o_id = :o
                RETURNING o_c_id INTO :c;
            UPDATE order_line SET ol_delivery_d = LOCALTIMESTAMP
                WHERE ol_w_id = :p_w AND ol_d_id = :d AND ol_o_id = :o;
            SELECT sum(ol_amount) FROM order_line WHERE ol_w_id = :p_w AND ol_d_id = :d AND ol_o_id = :o INTO :total;
            UPDATE customer SET c_balance = c_balance + :total, c_delivery_cnt = c_delivery_cnt + 1
                WHERE c_w_id = :p_w AND c_d_id = :d AND c_id = :c;
            IF (ROW_COUNT <> 1 OR total IS NULL) THEN
                EXCEPTION tpcc_missing_row;
            delivered = delivered + 1;
        END
    END
END;

-- name: call_new_order
SELECT * FROM tpcc_new_order(?, ?, ?, ?, ?, ?)

-- name: call_payment
EXECUTE PROCEDURE tpcc_payment(?, ?, ?, ?, ?, ?, ?)

-- name: call_order_status
SELECT * FROM tpcc_order_status(?, ?, ?, ?)

-- name: call_delivery
EXECUTE PROCEDURE tpcc_delivery(?, ?)
