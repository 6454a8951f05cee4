//! The suite that every engine passes, on both products and with every storage engine.

use dsbench_conformance::Suite;

use super::server::Server;

/// As the servers of users are, not as those of impatient tests.
const PATIENT: &str = "--innodb-lock-wait-timeout=50";

#[test]
fn the_conformance_suite_on_innodb() {
    for mut server in Server::of_both(&[PATIENT]) {
        let engine = server.engine().into();
        assert_eq!(Suite::failures(engine, Some(&mut || server.kill())).unwrap(), [""; 0]);
    }
}

#[test]
fn the_conformance_suite_with_snapshot_isolation() {
    let server = Server::start_with(&[PATIENT, "--innodb-snapshot-isolation=ON"], |_| ());
    assert_eq!(Suite::failures(server.engine().into(), None).unwrap(), [""; 0]);
}

#[test]
fn the_conformance_suite_on_myrocks() {
    let mut server = Server::start_with_rocksdb();
    let engine = server.engine_of("RocksDB").into();
    assert_eq!(Suite::failures(engine, Some(&mut || server.kill())).unwrap(), [""; 0]);
}
