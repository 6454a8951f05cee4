-- TPC-H-like, for SQLite (the mock takes it, too). Keys stand in the tables: SQLite adds them only there. Money is REAL,
-- which comes out of the same digits everywhere; dates are texts, which sort like them.

-- word: {money} = real
-- word: {day} = text
-- word: {key of region} = , PRIMARY KEY (r_regionkey))
-- word: {key of nation} = , PRIMARY KEY (n_nationkey))
-- word: {key of part} = , PRIMARY KEY (p_partkey))
-- word: {key of supplier} = , PRIMARY KEY (s_suppkey))
-- word: {key of partsupp} = , PRIMARY KEY (ps_partkey, ps_suppkey)) WITHOUT ROWID
-- word: {key of customer} = , PRIMARY KEY (c_custkey))
-- word: {key of orders} = , PRIMARY KEY (o_orderkey))
-- word: {key of lineitem} = , PRIMARY KEY (l_orderkey, l_linenumber)) WITHOUT ROWID
-- word: {begin of 1995} = '1995-01-01'
-- word: {end of 1996} = '1996-12-31'
-- word: {year of l_shipdate} = CAST(substr(l_shipdate, 1, 4) AS integer)
-- word: {year of o_orderdate} = CAST(substr(o_orderdate, 1, 4) AS integer)
-- word: {country} = substr(c_phone, 1, 2)
-- word: {once} = AS MATERIALIZED
-- word: {supplier of line} = l_suppkey + 0
-- word: {nations apart} = AND n1.n_name IN ('{nation}', '{nation2}') AND n2.n_name IN ('{nation}', '{nation2}')

-- name: statistics
ANALYZE {t}
