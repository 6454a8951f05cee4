-- TPC-C for PostgreSQL: each transaction as one function. What a terminal shows is returned.

-- name: unused_item_code
-- The SQLSTATE with which tpcc_new_order ends when it meets an item that is not there; the transaction
-- is rolled back by it, as clause 2.4.2.3 wants it.
TPC01

-- name: procedures
-- The lines of the order come as arrays, in the order of their locks. The same stock twice needs two
-- updates, so the lines come in runs without a stock twice; p_ends holds the last line of each run.
CREATE FUNCTION tpcc_new_order(
    p_w integer, p_d integer, p_c integer, p_all_local integer,
    p_items integer[], p_supplies integer[], p_quantities integer[], p_ends integer[])
RETURNS TABLE (
    order_number integer, discount numeric, last_name varchar, credit varchar, tax_w numeric, tax_d numeric,
    line integer, name varchar, price numeric, amount numeric, stock_left integer, brand varchar)
LANGUAGE plpgsql AS $$
#variable_conflict use_column
DECLARE
    done integer := 0;
    last_line integer;
    found_lines integer;
BEGIN
    SELECT c_discount, c_last, c_credit, w_tax INTO STRICT discount, last_name, credit, tax_w
        FROM customer, warehouse
        WHERE w_id = p_w AND c_w_id = p_w AND c_d_id = p_d AND c_id = p_c;
    UPDATE district SET d_next_o_id = d_next_o_id + 1 WHERE d_w_id = p_w AND d_id = p_d
        RETURNING d_next_o_id - 1, d_tax INTO STRICT order_number, tax_d;
    INSERT INTO orders (o_w_id, o_d_id, o_id, o_c_id, o_entry_d, o_ol_cnt, o_all_local)
        VALUES (p_w, p_d, order_number, p_c, LOCALTIMESTAMP, cardinality(p_items), p_all_local);
    INSERT INTO new_order (no_w_id, no_d_id, no_o_id) VALUES (p_w, p_d, order_number);
    FOREACH last_line IN ARRAY p_ends LOOP
        RETURN QUERY
        WITH taken AS (
            UPDATE stock
            SET s_quantity = s_quantity - l.q + CASE WHEN s_quantity >= l.q + 10 THEN 0 ELSE 91 END,
                s_ytd = s_ytd + l.q, s_order_cnt = s_order_cnt + 1,
                s_remote_cnt = s_remote_cnt + CASE WHEN l.w = p_w THEN 0 ELSE 1 END
            FROM unnest(p_items[done + 1:last_line], p_supplies[done + 1:last_line],
                        p_quantities[done + 1:last_line]) WITH ORDINALITY AS l (i, w, q, n)
                JOIN item ON i_id = l.i
            WHERE s_w_id = l.w AND s_i_id = l.i
            RETURNING (done + l.n)::integer AS n, l.i, l.w, l.q, i_name, i_price, i_data, s_quantity, s_data,
                CASE p_d WHEN 1 THEN s_dist_01 WHEN 2 THEN s_dist_02 WHEN 3 THEN s_dist_03 WHEN 4 THEN s_dist_04
                    WHEN 5 THEN s_dist_05 WHEN 6 THEN s_dist_06 WHEN 7 THEN s_dist_07 WHEN 8 THEN s_dist_08
                    WHEN 9 THEN s_dist_09 ELSE s_dist_10 END AS dist
        ), added AS (
            INSERT INTO order_line (ol_w_id, ol_d_id, ol_o_id, ol_number, ol_i_id, ol_supply_w_id,
                                    ol_quantity, ol_amount, ol_dist_info)
            SELECT p_w, p_d, tpcc_new_order.order_number, n, i, w, q, q * i_price, dist FROM taken
        )
        SELECT tpcc_new_order.order_number, tpcc_new_order.discount, tpcc_new_order.last_name,
            tpcc_new_order.credit, tpcc_new_order.tax_w, tpcc_new_order.tax_d,
            n, i_name, i_price, q * i_price, s_quantity,
            CASE WHEN i_data LIKE '%ORIGINAL%' AND s_data LIKE '%ORIGINAL%' THEN 'B' ELSE 'G' END::varchar
        FROM taken;
        GET DIAGNOSTICS found_lines = ROW_COUNT;
        IF found_lines <> last_line - done THEN
            IF EXISTS (SELECT FROM unnest(p_items) AS i WHERE NOT EXISTS (SELECT FROM item WHERE i_id = i)) THEN
                RAISE EXCEPTION 'an item is not there' USING ERRCODE = 'TPC01';
            END IF;
            RAISE EXCEPTION 'a stock is missing';
        END IF;
        done := last_line;
    END LOOP;
END;
$$;
-- next
-- A customer without a number is found by name: the middle one, by first name.
CREATE FUNCTION tpcc_payment(
    p_w integer, p_d integer, p_c_w integer, p_c_d integer, p_c integer, p_last varchar, p_amount numeric)
RETURNS TABLE (
    customer_id integer,
    w_1 varchar, w_2 varchar, w_3 varchar, w_4 varchar, w_5 varchar, w_6 varchar,
    d_1 varchar, d_2 varchar, d_3 varchar, d_4 varchar, d_5 varchar, d_6 varchar,
    c_1 varchar, c_2 varchar, c_3 varchar, c_4 varchar, c_5 varchar, c_6 varchar, c_7 varchar, c_8 varchar,
    c_9 varchar, c_10 timestamp, c_11 varchar, c_12 numeric, c_13 numeric, c_14 numeric, c_15 text)
LANGUAGE plpgsql AS $$
BEGIN
    UPDATE warehouse SET w_ytd = w_ytd + p_amount WHERE w_id = p_w
        RETURNING w_name, w_street_1, w_street_2, w_city, w_state, w_zip INTO STRICT w_1, w_2, w_3, w_4, w_5, w_6;
    UPDATE district SET d_ytd = d_ytd + p_amount WHERE d_w_id = p_w AND d_id = p_d
        RETURNING d_name, d_street_1, d_street_2, d_city, d_state, d_zip INTO STRICT d_1, d_2, d_3, d_4, d_5, d_6;
    customer_id := p_c;
    IF p_last <> '' THEN
        SELECT (array_agg(c_id ORDER BY c_first))[(count(*) + 1) / 2] INTO customer_id
            FROM customer WHERE c_w_id = p_c_w AND c_d_id = p_c_d AND c_last = p_last;
    END IF;
    UPDATE customer
        SET c_balance = c_balance - p_amount, c_ytd_payment = c_ytd_payment + p_amount,
            c_payment_cnt = c_payment_cnt + 1,
            c_data = CASE c_credit WHEN 'BC' THEN left(concat_ws(' ', customer_id, p_c_d, p_c_w, p_d, p_w,
                p_amount::numeric(6, 2), c_data), 500) ELSE c_data END
        WHERE c_w_id = p_c_w AND c_d_id = p_c_d AND c_id = customer_id
        RETURNING c_first, c_middle, c_last, c_street_1, c_street_2, c_city, c_state, c_zip, c_phone, c_since,
            c_credit, c_credit_lim, c_discount, c_balance, CASE c_credit WHEN 'BC' THEN left(c_data, 200) ELSE '' END
        INTO STRICT c_1, c_2, c_3, c_4, c_5, c_6, c_7, c_8, c_9, c_10, c_11, c_12, c_13, c_14, c_15;
    INSERT INTO history (h_c_id, h_c_d_id, h_c_w_id, h_d_id, h_w_id, h_date, h_amount, h_data)
        VALUES (customer_id, p_c_d, p_c_w, p_d, p_w, LOCALTIMESTAMP, p_amount, w_1 || '    ' || d_1);
    RETURN NEXT;
END;
$$;
-- next
CREATE FUNCTION tpcc_order_status(p_w integer, p_d integer, p_c integer, p_last varchar)
RETURNS TABLE (
    customer_id integer, first_name varchar, middle_name varchar, last_name varchar, balance numeric,
    order_number integer, entered timestamp, carrier integer,
    item integer, supply integer, quantity integer, amount numeric, delivered timestamp)
LANGUAGE plpgsql STABLE AS $$
BEGIN
    customer_id := p_c;
    IF p_last <> '' THEN
        SELECT (array_agg(c_id ORDER BY c_first))[(count(*) + 1) / 2] INTO customer_id
            FROM customer WHERE c_w_id = p_w AND c_d_id = p_d AND c_last = p_last;
    END IF;
    SELECT c_first, c_middle, c_last, c_balance INTO STRICT first_name, middle_name, last_name, balance
        FROM customer WHERE c_w_id = p_w AND c_d_id = p_d AND c_id = customer_id;
    SELECT o_id, o_entry_d, o_carrier_id INTO STRICT order_number, entered, carrier
        FROM orders WHERE o_w_id = p_w AND o_d_id = p_d AND o_c_id = customer_id ORDER BY o_id DESC LIMIT 1;
    RETURN QUERY SELECT customer_id, first_name, middle_name, last_name, balance, order_number, entered, carrier,
            ol_i_id, ol_supply_w_id, ol_quantity, ol_amount, ol_delivery_d
        FROM order_line WHERE ol_w_id = p_w AND ol_d_id = p_d AND ol_o_id = order_number;
END;
$$;
-- next
-- Gives the number of districts that had an order to deliver.
CREATE FUNCTION tpcc_delivery(p_w integer, p_carrier integer) RETURNS integer
LANGUAGE plpgsql AS $$
DECLARE
    o integer;
    c integer;
    total numeric;
    delivered integer := 0;
BEGIN
    FOR d IN 1..10 LOOP
        LOOP
            SELECT no_o_id INTO o FROM new_order WHERE no_w_id = p_w AND no_d_id = d ORDER BY no_o_id LIMIT 1;
            EXIT WHEN NOT FOUND;
            DELETE FROM new_order WHERE no_w_id = p_w AND no_d_id = d AND no_o_id = o;
            -- Where a statement sees what others commit, another delivery may have been quicker.
            EXIT WHEN FOUND;
        END LOOP;
        CONTINUE WHEN NOT FOUND;
        UPDATE orders SET o_carrier_id = p_carrier WHERE o_w_id = p_w AND o_d_id = d AND o_id = o
            RETURNING o_c_id INTO STRICT c;
        WITH line AS (
            UPDATE order_line SET ol_delivery_d = LOCALTIMESTAMP
            WHERE ol_w_id = p_w AND ol_d_id = d AND ol_o_id = o RETURNING ol_amount)
        SELECT sum(ol_amount) INTO total FROM line;
        UPDATE customer SET c_balance = c_balance + total, c_delivery_cnt = c_delivery_cnt + 1
            WHERE c_w_id = p_w AND c_d_id = d AND c_id = c;
        IF NOT FOUND OR total IS NULL THEN
            RAISE EXCEPTION 'the customer or the lines of an order are missing';
        END IF;
        delivered := delivered + 1;
    END LOOP;
    RETURN delivered;
END;
$$;

-- name: call_new_order_arrays
SELECT order_number, discount, last_name, credit, tax_w, tax_d, line, name, price, amount, stock_left, brand
FROM tpcc_new_order($1, $2, $3, $4, $5::integer[], $6::integer[], $7::integer[], $8::integer[])

-- name: call_payment
SELECT * FROM tpcc_payment($1, $2, $3, $4, $5, $6, $7)

-- name: call_order_status
SELECT * FROM tpcc_order_status($1, $2, $3, $4)

-- name: call_delivery
SELECT tpcc_delivery($1, $2)
