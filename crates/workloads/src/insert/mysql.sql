-- The Insert Benchmark for MariaDB and MySQL. Sections are run by name, see crates/core/src/contract/sql.rs.
-- Tables are of the session's storage engine.

-- word: {id} = bigint NOT NULL AUTO_INCREMENT PRIMARY KEY
-- word: {time} = datetime
-- word: {now} = CURRENT_TIMESTAMP
-- word: {market} = FORCE INDEX ({t}_marketsegment)
-- word: {register} = FORCE INDEX ({t}_registersegment)
-- word: {pdc} = FORCE INDEX ({t}_pdc)
-- word: {whole} = FORCE INDEX (PRIMARY)
-- word: {by} = FORCE INDEX ({i})
-- word: {bigint} = signed

-- name: indexes
-- InnoDB builds the three with one reading of the table.
ALTER TABLE {t} ADD INDEX {t}_marketsegment (productid, customerid, price),
    ADD INDEX {t}_registersegment (cashregisterid, customerid, price), ADD INDEX {t}_pdc (price, dateandtime, customerid)

-- name: indexes_rocksdb
-- MyRocks keeps what an ALTER TABLE adds in memory: one at a time needs less of it.
ALTER TABLE {t} ADD INDEX {t}_marketsegment (productid, customerid, price)
-- next
ALTER TABLE {t} ADD INDEX {t}_registersegment (cashregisterid, customerid, price)
-- next
ALTER TABLE {t} ADD INDEX {t}_pdc (price, dateandtime, customerid)

-- name: indexes_family
-- MyRocks reads the column family of an index out of its comment, and makes the family.
ALTER TABLE {t} ADD INDEX {t}_marketsegment (productid, customerid, price) COMMENT 'cfname=secondary'
-- next
ALTER TABLE {t} ADD INDEX {t}_registersegment (cashregisterid, customerid, price) COMMENT 'cfname=secondary'
-- next
ALTER TABLE {t} ADD INDEX {t}_pdc (price, dateandtime, customerid) COMMENT 'cfname=secondary'

-- name: delete
DELETE FROM {t} WHERE transactionid >= ? ORDER BY transactionid ASC LIMIT {n}

-- name: delete_share
DELETE FROM {t} WHERE transactionid >= ? AND transactionid < ? ORDER BY transactionid ASC LIMIT ?

-- name: present
SELECT count(*) FROM information_schema.statistics
WHERE table_schema = database() AND index_name = '{i}' AND seq_in_index = 1

-- name: present_family
SELECT count(*) FROM information_schema.rocksdb_ddl
WHERE table_schema = database() AND index_name = '{i}' AND cf = 'secondary'

-- name: step
SELECT @@auto_increment_increment

-- name: engine
SELECT lower(engine) FROM information_schema.tables WHERE table_schema = database() AND table_name = '{t}'

-- name: analyze
ANALYZE NO_WRITE_TO_BINLOG TABLE {t}

-- name: pages
SHOW GLOBAL STATUS LIKE 'Innodb_buffer_pool_pages_%'

-- name: dirty_limits
-- Both products take the first no higher than the second.
SELECT @@GLOBAL.innodb_max_dirty_pages_pct_lwm, @@GLOBAL.innodb_max_dirty_pages_pct

-- name: note_limits
-- python/dsbench/runner/place.py reads it.
CREATE TABLE IF NOT EXISTS dsbench_limits (name varchar(64) PRIMARY KEY, value varchar(64) NOT NULL)
-- next
INSERT IGNORE INTO dsbench_limits
VALUES ('innodb_max_dirty_pages_pct', '{most}'), ('innodb_max_dirty_pages_pct_lwm', '{least}')

-- name: forget_limits
DROP TABLE dsbench_limits

-- name: write_out
SET GLOBAL innodb_max_dirty_pages_pct_lwm = 1
-- next
SET GLOBAL innodb_max_dirty_pages_pct = 1

-- name: write_as_before
SET GLOBAL innodb_max_dirty_pages_pct = {most}
-- next
SET GLOBAL innodb_max_dirty_pages_pct_lwm = {least}

-- name: flush
SET GLOBAL rocksdb_force_flush_memtable_now = ON

-- name: pending
SELECT CAST(coalesce(sum(value), 0) AS signed) FROM information_schema.rocksdb_cfstats
WHERE stat_type IN ('COMPACTION_PENDING', 'MEM_TABLE_FLUSH_PENDING', 'NUM_IMMUTABLE_MEM_TABLE')
