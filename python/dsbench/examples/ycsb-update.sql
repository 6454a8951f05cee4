\set key {scrambled}
\set field random(0, 9)
\if :field = 0
UPDATE usertable SET field0 = :letters WHERE ycsb_key = :key;
\elif :field = 1
UPDATE usertable SET field1 = :letters WHERE ycsb_key = :key;
\elif :field = 2
UPDATE usertable SET field2 = :letters WHERE ycsb_key = :key;
\elif :field = 3
UPDATE usertable SET field3 = :letters WHERE ycsb_key = :key;
\elif :field = 4
UPDATE usertable SET field4 = :letters WHERE ycsb_key = :key;
\elif :field = 5
UPDATE usertable SET field5 = :letters WHERE ycsb_key = :key;
\elif :field = 6
UPDATE usertable SET field6 = :letters WHERE ycsb_key = :key;
\elif :field = 7
UPDATE usertable SET field7 = :letters WHERE ycsb_key = :key;
\elif :field = 8
UPDATE usertable SET field8 = :letters WHERE ycsb_key = :key;
\elif :field = 9
UPDATE usertable SET field9 = :letters WHERE ycsb_key = :key;
\endif
