-- TPC-H-like, for PostgreSQL; the second engine, DuckDB, reads these texts, too.

-- name: primary_keys
ALTER TABLE region ADD PRIMARY KEY (r_regionkey)
-- next
ALTER TABLE nation ADD PRIMARY KEY (n_nationkey)
-- next
ALTER TABLE part ADD PRIMARY KEY (p_partkey)
-- next
ALTER TABLE supplier ADD PRIMARY KEY (s_suppkey)
-- next
ALTER TABLE partsupp ADD PRIMARY KEY (ps_partkey, ps_suppkey)
-- next
ALTER TABLE customer ADD PRIMARY KEY (c_custkey)
-- next
ALTER TABLE orders ADD PRIMARY KEY (o_orderkey)
-- next
ALTER TABLE lineitem ADD PRIMARY KEY (l_orderkey, l_linenumber)

-- word: {o_orderdate} = date '2000-01-01' + ?
-- word: {l_date} = date '2000-01-01' + ?

-- name: statistics
VACUUM (ANALYZE) {t}

-- name: timeout
SET statement_timeout = '{milliseconds}ms'
