//! Bytes that dsbench's database takes, as exactly as storage engine and rights allow.

use dsbench_core::engine::Connection;
use dsbench_core::error::Result;

use crate::place::size;

const ENGINES: &str = "SELECT DISTINCT coalesce(ENGINE, '') FROM information_schema.TABLES \
    WHERE TABLE_SCHEMA = 'dsbench' AND TABLE_TYPE = 'BASE TABLE'";

/// Files of InnoDB's tables: in MySQL 8, then in MariaDB and MySQL 5.7. They need the right PROCESS.
const INNODB: &[&str] = &[
    "SELECT sum(FILE_SIZE) FROM information_schema.INNODB_TABLESPACES WHERE NAME LIKE 'dsbench/%'",
    "SELECT sum(FILE_SIZE) FROM information_schema.INNODB_SYS_TABLESPACES WHERE NAME LIKE 'dsbench/%'",
];

/// MyRocks keeps many tables in one file: each index counts with its share. What is not in files yet
/// is in the log and in memory; of that the server knows the sum of all databases only.
const ROCKSDB: &[&str] = &["SELECT CAST((SELECT coalesce(sum( \
        (p.DATA_BLOCK_SIZE + p.INDEX_BLOCK_SIZE + p.FILTER_BLOCK_SIZE) * m.DATA_SIZE / t.total), 0) \
    FROM information_schema.ROCKSDB_INDEX_FILE_MAP m \
    JOIN information_schema.ROCKSDB_DDL d USING (COLUMN_FAMILY, INDEX_NUMBER) \
    JOIN (SELECT SST_NAME, sum(DATA_SIZE) AS total FROM information_schema.ROCKSDB_INDEX_FILE_MAP \
        GROUP BY SST_NAME) t USING (SST_NAME) \
    JOIN information_schema.ROCKSDB_SST_PROPS p USING (SST_NAME) WHERE d.TABLE_SCHEMA = 'dsbench') \
    + (SELECT coalesce(sum(VALUE), 0) FROM information_schema.ROCKSDB_CFSTATS \
    WHERE STAT_TYPE = 'CUR_SIZE_ALL_MEM_TABLES' AND CF_NAME IN \
        (SELECT CF FROM information_schema.ROCKSDB_DDL WHERE TABLE_SCHEMA = 'dsbench')) AS unsigned)"];

const TABLES: &str = "SELECT TABLE_NAME FROM information_schema.TABLES \
    WHERE TABLE_SCHEMA = 'dsbench' AND TABLE_TYPE = 'BASE TABLE'";

/// The size of all tables with their indexes. Where files cannot be seen it is what the storage
/// engine estimates after ANALYZE TABLE. Logs belong to the whole server and are not counted.
pub(super) fn bytes(connection: &mut dyn Connection) -> Result<Option<u64>> {
    let mut sum = Some(0);
    for row in connection.fetch(ENGINES)?.rows {
        let name = row.into_iter().next().flatten().unwrap_or_default();
        let exact = match name.to_ascii_lowercase().as_str() {
            "innodb" => first_that_works(connection, INNODB)?,
            "rocksdb" => first_that_works(connection, ROCKSDB)?,
            _ => None,
        };
        let size = if exact.is_some() { exact } else { estimate(connection, &name)? };
        sum = sum.zip(size).map(|(sum, size)| sum + size);
    }
    Ok(sum)
}

/// The number that the first query gives which this server and this user can run.
fn first_that_works(connection: &mut dyn Connection, queries: &[&str]) -> Result<Option<u64>> {
    for sql in queries {
        let found = size(connection.fetch(sql))?;
        if found.is_some() {
            return Ok(found);
        }
    }
    Ok(None)
}

/// What a storage engine says of its tables. That lags, and MySQL 8 keeps it for a day.
fn estimate(connection: &mut dyn Connection, engine: &str) -> Result<Option<u64>> {
    let of_engine = format!("AND ENGINE = '{engine}'");
    for row in connection.fetch(&format!("{TABLES} {of_engine}"))?.rows {
        let name = row.into_iter().next().flatten().unwrap_or_default();
        match connection.fetch(&format!("ANALYZE TABLE dsbench.`{}`", name.replace('`', "``"))) {
            Ok(_) => {}
            Err(error) if error.kind.is_loss() => return Err(error),
            // Older estimates are none.
            Err(_) => return Ok(None),
        }
    }
    let sizes = "SELECT coalesce(sum(DATA_LENGTH + INDEX_LENGTH), 0) FROM information_schema.TABLES \
        WHERE TABLE_SCHEMA = 'dsbench'";
    size(connection.fetch(&format!("{sizes} {of_engine}")))
}
