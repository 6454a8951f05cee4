\set aid random(1, 100000 * :scale)
SELECT tpcb_select(:aid);
