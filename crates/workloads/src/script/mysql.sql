-- pgbench's tables for MariaDB and MySQL, with the keys from the beginning: both keep a table in the order of its key.

-- word: {timestamp} = datetime(6)
-- word: {key} = PRIMARY KEY
-- word: {bigint} = signed

-- name: clean
ANALYZE NO_WRITE_TO_BINLOG TABLE pgbench_branches, pgbench_tellers, pgbench_accounts, pgbench_history;

