-- CH-benCHmark, for Firebird. An average is cut off behind the digits of its column, and a quotient has too many for 64
-- bits: {exact} makes them double precision numbers.

-- word: {charset} = CHARACTER SET ASCII
-- word: {nation of customer} = ascii_val(substring(c_state FROM 1 FOR 1))
-- word: {first of phone} = substring(c_phone FROM 1 FOR 1)
-- word: {brand} = substring(i_data FROM 1 FOR 3)
-- word: {exact} = 1e0 *

-- name: primary_keys
ALTER TABLE region ADD PRIMARY KEY (r_regionkey)
-- next
ALTER TABLE nation ADD PRIMARY KEY (n_nationkey)
-- next
ALTER TABLE supplier ADD PRIMARY KEY (su_suppkey)
