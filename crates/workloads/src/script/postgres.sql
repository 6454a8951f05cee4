-- pgbench's tables for PostgreSQL. Sections are run by name, see crates/workloads/src/sql.rs.

-- word: {with} = WITH (fillfactor = 100)

-- name: settle
VACUUM ANALYZE pgbench_branches, pgbench_tellers, pgbench_accounts, pgbench_history;

-- name: primary_keys
ALTER TABLE pgbench_branches ADD PRIMARY KEY (bid);
-- next
ALTER TABLE pgbench_tellers ADD PRIMARY KEY (tid);
-- next
ALTER TABLE pgbench_accounts ADD PRIMARY KEY (aid);

-- name: clean
-- No CHECKPOINT: what a cycle costs in checkpoints belongs to the cycles. pgbench would also empty the history, which
-- the check needs.
VACUUM (ANALYZE) pgbench_branches;
-- next
VACUUM (ANALYZE) pgbench_tellers;
-- next
VACUUM (ANALYZE) pgbench_accounts;
-- next
VACUUM (ANALYZE) pgbench_history;

