-- Each client inserts into a range of keys of its own, behind the newest of them that is there.
\set first :records * :scale + :client_id * 1000000000
\set last :first + 999999999
\if :newest = 0
SELECT coalesce(max(ycsb_key), 0) AS found FROM usertable
WHERE ycsb_key BETWEEN :first AND :last \gset max_
\set newest greatest(:max_found, :first)
\endif
\set newest :newest + 1
INSERT INTO usertable (ycsb_key, field0, field1, field2, field3, field4, field5, field6, field7, field8, field9)
VALUES (:newest, :f0, :f1, :f2, :f3, :f4, :f5, :f6, :f7, :f8, :f9);
