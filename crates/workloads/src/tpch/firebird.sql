-- TPC-H-like, for Firebird. An average is cut off behind the digits of its column, and a quotient has too many for 64
-- bits: {exact} makes them double precision numbers.

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

-- word: {exact} = 1e0 *
-- Where the column of an index is named, lines are looked up one by one in the order of that index.
-- word: {supplier of line} = l_suppkey + 0
-- word: {part of line} = l_partkey + 0
-- word: {nations apart} = AND n1.n_name IN ('{nation}', '{nation2}') AND n2.n_name IN ('{nation}', '{nation2}')
-- word: {top 10} = FETCH FIRST 10 ROWS ONLY
-- word: {top 20} = FETCH FIRST 20 ROWS ONLY
-- word: {top 100} = FETCH FIRST 100 ROWS ONLY

-- name: statistics
EXECUTE BLOCK AS
DECLARE i varchar(63);
BEGIN
  FOR SELECT trim(rdb$index_name) FROM rdb$indices
      WHERE rdb$relation_name = upper('{t}') AND coalesce(rdb$system_flag, 0) = 0 INTO i DO
    EXECUTE STATEMENT 'SET STATISTICS INDEX "' || i || '"';
END
