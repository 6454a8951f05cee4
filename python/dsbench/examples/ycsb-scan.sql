\set key {scrambled}
\set len random(1, 100)
SELECT * FROM usertable WHERE ycsb_key >= :key ORDER BY ycsb_key {limit};
