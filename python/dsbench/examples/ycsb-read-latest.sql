-- Each client inserts into a range of keys of its own, behind the newest of them that is there.
\set first :records * :scale + :client_id * 1000000000
\set last :first + 999999999
\if :newest = 0
SELECT coalesce(max(ycsb_key), 0) AS found FROM usertable
WHERE ycsb_key BETWEEN :first AND :last \gset max_
\set newest greatest(:max_found, :first)
\endif
-- The newest is the most frequent: records of this client first, then those of the load.
\set own :newest - :first
\set back zipf(0, :own + :records * :scale - 1, 0.99)
\set key CASE WHEN :back < :own THEN :newest - :back ELSE :records * :scale - (:back - :own) END
SELECT * FROM usertable WHERE ycsb_key = :key;
