-- pgbench's tables for Firebird.

-- word: {charset} = CHARACTER SET ASCII

-- name: primary_keys
ALTER TABLE pgbench_branches ADD CONSTRAINT pgbench_branches_pkey PRIMARY KEY (bid);
-- next
ALTER TABLE pgbench_tellers ADD CONSTRAINT pgbench_tellers_pkey PRIMARY KEY (tid);
-- next
ALTER TABLE pgbench_accounts ADD CONSTRAINT pgbench_accounts_pkey PRIMARY KEY (aid);

-- name: clean
SWEEP

