-- TPC-H-like, for MariaDB and MySQL. Keys stand in the tables, since InnoDB keeps rows in their order.

-- word: {key of region} = , PRIMARY KEY (r_regionkey))
-- word: {key of nation} = , PRIMARY KEY (n_nationkey))
-- word: {key of part} = , PRIMARY KEY (p_partkey))
-- word: {key of supplier} = , PRIMARY KEY (s_suppkey))
-- word: {key of partsupp} = , PRIMARY KEY (ps_partkey, ps_suppkey))
-- word: {key of customer} = , PRIMARY KEY (c_custkey))
-- word: {key of orders} = , PRIMARY KEY (o_orderkey))
-- word: {key of lineitem} = , PRIMARY KEY (l_orderkey, l_linenumber))

-- Where the column of an index is named, lines are looked up one by one in the order of that index.
-- word: {supplier of line} = l_suppkey + 0
-- word: {part of line} = l_partkey + 0

-- name: statistics
ANALYZE NO_WRITE_TO_BINLOG TABLE {t}

-- name: timeout
-- MariaDB takes the first comment for SQL, MySQL the second.
SET /*M! max_statement_time = {seconds} */ /*!50708 max_execution_time = {milliseconds} */
