//! On MariaDB, with InnoDB and with MyRocks.

use std::sync::Arc;

use dsbench_core::engine::Engine;
use dsbench_workloads::Call;

use crate::company;
use crate::mysql_server::Server;

/// Reading is not what these tests are about: the tables have room in memory.
fn server() -> Server {
    Server::start_with(&["--innodb-buffer-pool-size=256M"], |_| ())
}

const CALLS: [Call; 2] = [Call::Procedure, Call::Statements];

#[test]
fn tpcc_is_consistent_and_finds_what_is_wrong() {
    let server = server();
    company::is_consistent_and_finds_faults(&*server.engine(), &CALLS, false);
}

#[test]
fn competition_is_consistent() {
    let server = Server::start_with_rocksdb();
    for name in ["InnoDB", "RocksDB"] {
        let engine: Arc<dyn Engine> = server.engine_of(name).into();
        company::competition_is_consistent(engine, &CALLS);
    }
}

#[test]
fn statements_do_what_procedures_do() {
    let server = server();
    company::statements_do_what_procedures_do(&*server.engine());
}
