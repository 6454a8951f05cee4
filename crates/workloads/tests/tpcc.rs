//! TPC-C on real databases: what it builds, what it runs, and that its checks can fail.

#[path = "workloads/bed.rs"]
#[allow(dead_code)]
mod bed;
#[path = "tpcc/company.rs"]
mod company;
#[path = "tpcc/faults.rs"]
mod faults;
#[cfg(target_os = "linux")]
#[path = "tpcc/firebird.rs"]
mod firebird;
#[cfg(target_os = "linux")]
#[path = "../../engines/tests/firebird/server.rs"]
#[allow(dead_code)]
mod firebird_server;
#[cfg(unix)]
#[path = "tpcc/mysql.rs"]
mod mysql;
#[cfg(unix)]
#[path = "../../engines/tests/mysql/server.rs"]
#[allow(dead_code)]
mod mysql_server;
#[path = "tpcc/paced.rs"]
mod paced;
#[cfg(unix)]
#[path = "../../engines/tests/common/pool.rs"]
mod pool;
#[cfg(unix)]
#[path = "tpcc/postgres.rs"]
mod postgres;
#[cfg(unix)]
#[path = "../../engines/tests/postgres/server.rs"]
#[allow(dead_code)]
mod server;
#[path = "tpcc/sqlite.rs"]
mod sqlite;
