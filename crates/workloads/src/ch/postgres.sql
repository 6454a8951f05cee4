-- CH-benCHmark, for PostgreSQL; the second engine, DuckDB, reads these texts, too.

-- word: {supplier} = mod(CAST(s_w_id AS bigint) * s_i_id, 10000)

-- name: primary_keys
ALTER TABLE region ADD PRIMARY KEY (r_regionkey)
-- next
ALTER TABLE nation ADD PRIMARY KEY (n_nationkey)
-- next
ALTER TABLE supplier ADD PRIMARY KEY (su_suppkey)

-- name: clean
VACUUM (ANALYZE) region, nation, supplier
