\set aid random(1, 100000 * :scale)
SELECT abalance FROM account WHERE aid = :aid;
