\set tid random(1, 10 * :scale)
\set bid (:tid - 1) / 10 + 1
\set aid random(1, 100000 * :scale)
\set delta random(-999999, 999999)
SELECT tpcb_transaction(:aid, :tid, :bid, :delta);
