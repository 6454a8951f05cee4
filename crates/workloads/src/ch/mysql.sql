-- CH-benCHmark, for MariaDB and MySQL. Keys stand in the tables. Patterns are compared byte by byte, as elsewhere.

-- word: {rest of region} = , PRIMARY KEY (r_regionkey))
-- word: {rest of nation} = , PRIMARY KEY (n_nationkey))
-- word: {rest of supplier} = , PRIMARY KEY (su_suppkey))
-- word: {data ends in a} = i_data LIKE BINARY '%a'
-- word: {data ends in b} = i_data LIKE BINARY '%b'
-- word: {data ends in c} = i_data LIKE BINARY '%c'
-- word: {data begins with P} = i_data LIKE BINARY 'P%'
-- word: {data begins with c} = i_data LIKE BINARY 'c%'
-- word: {data begins with z} = i_data LIKE BINARY 'z%'
-- word: {state begins with A} = c_state LIKE BINARY 'A%'
-- word: {comment is bad} = su_comment LIKE BINARY '%bad%'

-- name: clean
ANALYZE NO_WRITE_TO_BINLOG TABLE region, nation, supplier
