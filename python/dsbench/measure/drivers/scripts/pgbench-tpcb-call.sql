\set tid random(1, 10 * :scale)
\set bid (:tid - 1) / 10 + 1
\set home CASE WHEN :scale > 1 AND random(1, 100) > 85 THEN 1 + (:bid + random(0, :scale - 2)) % :scale ELSE :bid END
\set aid (:home - 1) * 100000 + random(1, 100000)
\set delta random(-999999, 999999)
SELECT tpcb_transaction(:aid, :tid, :bid, :delta);
