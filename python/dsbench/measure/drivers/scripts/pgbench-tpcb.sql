\set tid random(1, 10 * :scale)
\set bid (:tid - 1) / 10 + 1
\set home CASE WHEN :scale > 1 AND random(1, 100) > 85 THEN 1 + (:bid + random(0, :scale - 2)) % :scale ELSE :bid END
\set aid (:home - 1) * 100000 + random(1, 100000)
\set delta random(-999999, 999999)
BEGIN;
UPDATE account SET abalance = abalance + :delta WHERE aid = :aid;
SELECT abalance FROM account WHERE aid = :aid;
UPDATE teller SET tbalance = tbalance + :delta WHERE tid = :tid;
UPDATE branch SET bbalance = bbalance + :delta WHERE bid = :bid;
INSERT INTO history (tid, bid, aid, delta, mtime, filler) VALUES (:tid, :bid, :aid, :delta, CURRENT_TIMESTAMP, 'Qm7rT2xWv9LkZp4JhN8sYc3BdF6g');
COMMIT;
