-- TPC-C for MariaDB and MySQL: each transaction as one procedure. What a terminal shows is returned, read
-- before the end of the transaction.
--
-- A statement in a procedure is a transaction of its own unless the procedure opens one. Nothing but a
-- handler rolls it back; the error goes on to the client.

-- name: procedures
-- The lines of the order are a text in the order of their locks: item, supplying warehouse and quantity in
-- 6, 5 and 2 digits.
CREATE PROCEDURE tpcc_new_order(p_w int, p_d int, p_c int, p_all_local int, p_count int, p_lines varchar(200))
MODIFIES SQL DATA
new_order: BEGIN
    DECLARE v_o, v_n, v_i, v_supply, v_q, v_left int;
    DECLARE v_discount, v_tax_w, v_tax_d decimal(4, 4);
    DECLARE v_last varchar(16);
    DECLARE v_credit varchar(2);
    DECLARE v_price decimal(5, 2);
    DECLARE v_dist varchar(24);
    DECLARE v_i_text, v_s_text varchar(50);
    -- What is left of each stock, in 3 digits, and brand or generic: kept, so that no stock is read again.
    DECLARE v_shown varchar(60) DEFAULT '';
    DECLARE EXIT HANDLER FOR SQLEXCEPTION
    BEGIN
        ROLLBACK;
        RESIGNAL;
    END;
    START TRANSACTION;
    SELECT c_discount, c_last, c_credit, w_tax INTO v_discount, v_last, v_credit, v_tax_w
        FROM customer JOIN warehouse ON w_id = c_w_id WHERE c_w_id = p_w AND c_d_id = p_d AND c_id = p_c;
    UPDATE district SET d_next_o_id = d_next_o_id + 1 WHERE d_w_id = p_w AND d_id = p_d;
    SELECT d_next_o_id - 1, d_tax INTO v_o, v_tax_d FROM district WHERE d_w_id = p_w AND d_id = p_d;
    IF v_last IS NULL OR v_o IS NULL THEN
        SIGNAL SQLSTATE '45000' SET MESSAGE_TEXT = 'customer or district is missing';
    END IF;
    INSERT INTO orders (o_w_id, o_d_id, o_id, o_c_id, o_entry_d, o_ol_cnt, o_all_local)
        VALUES (p_w, p_d, v_o, p_c, CURRENT_TIMESTAMP(6), p_count, p_all_local);
    INSERT INTO new_order (no_w_id, no_d_id, no_o_id) VALUES (p_w, p_d, v_o);
    SET v_n = 0;
    WHILE v_n < p_count DO
        SET v_i = substr(p_lines, v_n * 13 + 1, 6), v_supply = substr(p_lines, v_n * 13 + 7, 5),
            v_q = substr(p_lines, v_n * 13 + 12, 2), v_price = NULL;
        SELECT i_price, i_data INTO v_price, v_i_text FROM item WHERE i_id = v_i;
        IF v_price IS NULL THEN
            -- What is shown of an order that is rolled back (clause 2.4.3.4); it has no price.
            ROLLBACK;
            SELECT v_o, v_discount, v_last, v_credit, v_tax_w, v_tax_d, v_n, v_dist, v_price, v_price, v_left, v_dist;
            LEAVE new_order;
        END IF;
        UPDATE stock
            SET s_quantity = s_quantity - v_q + CASE WHEN s_quantity >= v_q + 10 THEN 0 ELSE 91 END,
                s_ytd = s_ytd + v_q, s_order_cnt = s_order_cnt + 1,
                s_remote_cnt = s_remote_cnt + CASE WHEN v_supply = p_w THEN 0 ELSE 1 END
            WHERE s_w_id = v_supply AND s_i_id = v_i;
        IF ROW_COUNT() <> 1 THEN
            SIGNAL SQLSTATE '45000' SET MESSAGE_TEXT = 'a stock is missing';
        END IF;
        SELECT s_quantity, s_data,
                CASE p_d WHEN 1 THEN s_dist_01 WHEN 2 THEN s_dist_02 WHEN 3 THEN s_dist_03 WHEN 4 THEN s_dist_04
                    WHEN 5 THEN s_dist_05 WHEN 6 THEN s_dist_06 WHEN 7 THEN s_dist_07 WHEN 8 THEN s_dist_08
                    WHEN 9 THEN s_dist_09 ELSE s_dist_10 END
            INTO v_left, v_s_text, v_dist
            FROM stock WHERE s_w_id = v_supply AND s_i_id = v_i;
        SET v_n = v_n + 1, v_shown = concat(v_shown, lpad(v_left, 3, '0'),
            CASE WHEN v_i_text LIKE '%ORIGINAL%' AND v_s_text LIKE '%ORIGINAL%' THEN 'B' ELSE 'G' END);
        INSERT INTO order_line (ol_w_id, ol_d_id, ol_o_id, ol_number, ol_i_id, ol_supply_w_id, ol_quantity,
                                ol_amount, ol_dist_info)
            VALUES (p_w, p_d, v_o, v_n, v_i, v_supply, v_q, v_q * v_price, v_dist);
    END WHILE;
    SELECT v_o, v_discount, v_last, v_credit, v_tax_w, v_tax_d, ol_number, i_name, i_price, ol_amount,
        CAST(substr(v_shown, ol_number * 4 - 3, 3) AS SIGNED), substr(v_shown, ol_number * 4, 1)
    FROM order_line JOIN item ON i_id = ol_i_id
    WHERE ol_w_id = p_w AND ol_d_id = p_d AND ol_o_id = v_o;
    COMMIT;
END;
-- next
-- A customer without a number is found by name: the middle one, by first name.
CREATE PROCEDURE tpcc_customer(p_w int, p_d int, p_last varchar(16), INOUT p_c int)
READS SQL DATA
BEGIN
    DECLARE v_before int;
    IF p_last <> '' THEN
        SELECT (count(*) - 1) DIV 2 INTO v_before FROM customer
            WHERE c_w_id = p_w AND c_d_id = p_d AND c_last = p_last;
        SELECT c_id INTO p_c FROM customer WHERE c_w_id = p_w AND c_d_id = p_d AND c_last = p_last
            ORDER BY c_first LIMIT 1 OFFSET v_before;
    END IF;
END;
-- next
CREATE PROCEDURE tpcc_payment(
    p_w int, p_d int, p_c_w int, p_c_d int, p_c int, p_last varchar(16), p_amount decimal(6, 2))
MODIFIES SQL DATA
BEGIN
    DECLARE v_found int;
    DECLARE v_w, v_d varchar(10);
    DECLARE EXIT HANDLER FOR SQLEXCEPTION
    BEGIN
        ROLLBACK;
        RESIGNAL;
    END;
    START TRANSACTION;
    UPDATE warehouse SET w_ytd = w_ytd + p_amount WHERE w_id = p_w;
    SET v_found = ROW_COUNT();
    UPDATE district SET d_ytd = d_ytd + p_amount WHERE d_w_id = p_w AND d_id = p_d;
    SET v_found = v_found + ROW_COUNT();
    CALL tpcc_customer(p_c_w, p_c_d, p_last, p_c);
    UPDATE customer
        SET c_balance = c_balance - p_amount, c_ytd_payment = c_ytd_payment + p_amount,
            c_payment_cnt = c_payment_cnt + 1,
            c_data = CASE c_credit WHEN 'BC'
                THEN left(concat_ws(' ', p_c, p_c_d, p_c_w, p_d, p_w, p_amount, c_data), 500) ELSE c_data END
        WHERE c_w_id = p_c_w AND c_d_id = p_c_d AND c_id = p_c;
    SET v_found = v_found + ROW_COUNT();
    IF v_found <> 3 THEN
        SIGNAL SQLSTATE '45000' SET MESSAGE_TEXT = 'warehouse, district or customer is missing';
    END IF;
    SELECT w_name, d_name INTO v_w, v_d FROM warehouse JOIN district ON d_w_id = w_id
        WHERE w_id = p_w AND d_id = p_d;
    INSERT INTO history (h_c_id, h_c_d_id, h_c_w_id, h_d_id, h_w_id, h_date, h_amount, h_data)
        VALUES (p_c, p_c_d, p_c_w, p_d, p_w, CURRENT_TIMESTAMP(6), p_amount, concat(v_w, '    ', v_d));
    SELECT c_id, w_name, w_street_1, w_street_2, w_city, w_state, w_zip,
        d_name, d_street_1, d_street_2, d_city, d_state, d_zip,
        c_first, c_middle, c_last, c_street_1, c_street_2, c_city, c_state, c_zip, c_phone, c_since, c_credit,
        c_credit_lim, c_discount, c_balance, CASE c_credit WHEN 'BC' THEN left(c_data, 200) ELSE '' END
    FROM warehouse JOIN district ON d_w_id = w_id JOIN customer ON c_w_id = p_c_w AND c_d_id = p_c_d AND c_id = p_c
    WHERE w_id = p_w AND d_id = p_d;
    COMMIT;
END;
-- next
CREATE PROCEDURE tpcc_order_status(p_w int, p_d int, p_c int, p_last varchar(16))
READS SQL DATA
BEGIN
    DECLARE v_o, v_carrier int;
    DECLARE v_entered datetime(6);
    DECLARE EXIT HANDLER FOR SQLEXCEPTION
    BEGIN
        ROLLBACK;
        RESIGNAL;
    END;
    START TRANSACTION READ ONLY;
    CALL tpcc_customer(p_w, p_d, p_last, p_c);
    SELECT o_id, o_entry_d, o_carrier_id INTO v_o, v_entered, v_carrier
        FROM orders WHERE o_w_id = p_w AND o_d_id = p_d AND o_c_id = p_c ORDER BY o_id DESC LIMIT 1;
    SELECT c_id, c_first, c_middle, c_last, c_balance, v_o, v_entered, v_carrier,
        ol_i_id, ol_supply_w_id, ol_quantity, ol_amount, ol_delivery_d
    FROM customer JOIN order_line ON ol_w_id = p_w AND ol_d_id = p_d AND ol_o_id = v_o
    WHERE c_w_id = p_w AND c_d_id = p_d AND c_id = p_c;
    COMMIT;
END;
-- next
-- Gives the number of districts that had an order to deliver.
CREATE PROCEDURE tpcc_delivery(p_w int, p_carrier int)
MODIFIES SQL DATA
BEGIN
    DECLARE v_d, v_o, v_c, v_found, v_delivered int DEFAULT 0;
    DECLARE v_total decimal(8, 2);
    DECLARE EXIT HANDLER FOR SQLEXCEPTION
    BEGIN
        ROLLBACK;
        RESIGNAL;
    END;
    START TRANSACTION;
    WHILE v_d < 10 DO
        SET v_d = v_d + 1, v_o = NULL;
        -- Without the lock two deliveries would find the same order: a snapshot does not show what others took.
        SELECT no_o_id INTO v_o FROM new_order WHERE no_w_id = p_w AND no_d_id = v_d
            ORDER BY no_o_id LIMIT 1 FOR UPDATE;
        IF v_o IS NOT NULL THEN
            DELETE FROM new_order WHERE no_w_id = p_w AND no_d_id = v_d AND no_o_id = v_o;
            SET v_found = ROW_COUNT();
            UPDATE orders SET o_carrier_id = p_carrier WHERE o_w_id = p_w AND o_d_id = v_d AND o_id = v_o;
            SET v_found = v_found + ROW_COUNT();
            SELECT o_c_id INTO v_c FROM orders WHERE o_w_id = p_w AND o_d_id = v_d AND o_id = v_o;
            UPDATE order_line SET ol_delivery_d = CURRENT_TIMESTAMP(6)
                WHERE ol_w_id = p_w AND ol_d_id = v_d AND ol_o_id = v_o;
            SELECT sum(ol_amount) INTO v_total FROM order_line
                WHERE ol_w_id = p_w AND ol_d_id = v_d AND ol_o_id = v_o;
            UPDATE customer SET c_balance = c_balance + v_total, c_delivery_cnt = c_delivery_cnt + 1
                WHERE c_w_id = p_w AND c_d_id = v_d AND c_id = v_c;
            SET v_found = v_found + ROW_COUNT();
            IF v_found <> 3 OR v_total IS NULL THEN
                SIGNAL SQLSTATE '45000' SET MESSAGE_TEXT = 'an order, its lines or its customer are missing';
            END IF;
            SET v_delivered = v_delivered + 1;
        END IF;
    END WHILE;
    COMMIT;
    SELECT v_delivered;
END;
-- next
-- MyRocks holds a lock for each row of a table that it writes anew, a million at most, unless it may
-- commit in between. Other servers do not know the setting (error 1193).
CREATE PROCEDURE tpcc_commit_in_the_middle(p_value int)
BEGIN
    DECLARE EXIT HANDLER FOR 1193 BEGIN END;
    SET @dsbench_setting = concat('SET SESSION rocksdb_commit_in_the_middle = ', p_value);
    PREPARE setting FROM @dsbench_setting;
    EXECUTE setting;
    DEALLOCATE PREPARE setting;
END;

-- name: call_new_order
CALL tpcc_new_order(?, ?, ?, ?, ?, ?)

-- name: call_payment
CALL tpcc_payment(?, ?, ?, ?, ?, ?, ?)

-- name: call_order_status
CALL tpcc_order_status(?, ?, ?, ?)

-- name: call_delivery
CALL tpcc_delivery(?, ?)
