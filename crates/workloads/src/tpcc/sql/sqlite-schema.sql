-- TPC-C for SQLite (the mock takes it, too): tables and keys. Sections are run by name, see
-- crates/workloads/src/sql.rs.
--
-- SQLite adds keys to a table only when it is created: primary keys are declared here, and tables with a
-- key of several columns are stored in its order (WITHOUT ROWID), so that the step "primary keys" only
-- makes the two further indexes. Foreign keys are declared here as well and enforced by each session (the
-- engine switches them on, and off while it loads rows); the step "foreign keys" checks that all rows meet
-- them, which is what other engines do when a key is added.
--
-- Money is kept as whole cents, taxes and discounts as ten-thousandths, points in time as microseconds: integers, all
-- exact, whatever the types of the columns are called.

-- word: {rest of item} = , PRIMARY KEY (i_id))
-- word: {rest of warehouse} = , PRIMARY KEY (w_id))
-- word: {rest of district} = , PRIMARY KEY (d_w_id, d_id), FOREIGN KEY (d_w_id) REFERENCES warehouse) WITHOUT ROWID

-- name: {rest of stock}
, PRIMARY KEY (s_w_id, s_i_id), FOREIGN KEY (s_w_id) REFERENCES warehouse, FOREIGN KEY (s_i_id) REFERENCES item
) WITHOUT ROWID

-- name: {rest of customer}
, PRIMARY KEY (c_w_id, c_d_id, c_id), FOREIGN KEY (c_w_id, c_d_id) REFERENCES district
) WITHOUT ROWID

-- name: {rest of history}
, FOREIGN KEY (h_c_w_id, h_c_d_id, h_c_id) REFERENCES customer, FOREIGN KEY (h_w_id, h_d_id) REFERENCES district
)

-- name: {rest of orders}
, PRIMARY KEY (o_w_id, o_d_id, o_id), FOREIGN KEY (o_w_id, o_d_id, o_c_id) REFERENCES customer
) WITHOUT ROWID

-- name: {rest of new_order}
, PRIMARY KEY (no_w_id, no_d_id, no_o_id), FOREIGN KEY (no_w_id, no_d_id, no_o_id) REFERENCES orders
) WITHOUT ROWID

-- name: {rest of order_line}
, PRIMARY KEY (ol_w_id, ol_d_id, ol_o_id, ol_number)
, FOREIGN KEY (ol_w_id, ol_d_id, ol_o_id) REFERENCES orders
, FOREIGN KEY (ol_supply_w_id, ol_i_id) REFERENCES stock
) WITHOUT ROWID

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
