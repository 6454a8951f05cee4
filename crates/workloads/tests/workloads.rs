//! The workloads on real databases: what they build, what they run, and that their checks can fail.

#[path = "workloads/bed.rs"]
mod bed;
#[path = "workloads/catalogue.rs"]
mod catalogue;
#[path = "workloads/faults.rs"]
mod faults;
#[cfg(target_os = "linux")]
#[path = "workloads/firebird.rs"]
mod firebird;
#[cfg(target_os = "linux")]
#[path = "../../engines/tests/firebird/server.rs"]
#[allow(dead_code)]
mod firebird_server;
#[path = "workloads/insert.rs"]
mod insert;
#[path = "workloads/mock.rs"]
mod mock;
#[cfg(unix)]
#[path = "workloads/mysql.rs"]
mod mysql;
#[cfg(unix)]
#[path = "../../engines/tests/mysql/server.rs"]
#[allow(dead_code)]
mod mysql_server;
#[cfg(unix)]
#[path = "../../engines/tests/common/pool.rs"]
mod pool;
#[cfg(unix)]
#[path = "workloads/postgres.rs"]
mod postgres;
#[path = "workloads/script.rs"]
mod script;
#[cfg(unix)]
#[path = "../../engines/tests/postgres/server.rs"]
#[allow(dead_code)]
mod server;
#[path = "workloads/sqlite.rs"]
mod sqlite;
#[path = "workloads/tp1.rs"]
mod tp1;
