//! The suite that every engine passes, on each product and with every storage engine.

use std::sync::Arc;

use dsbench_conformance::Suite;
use dsbench_core::engine::{Connection, Dialect, Engine, Isolation, Place, Session};
use dsbench_core::error::Result;

use crate::server::{Product, Server};
use crate::Wire;

for_both!(the_conformance_suite, the_conformance_suite_over_tcp);

/// As the servers of users are, not as those of impatient tests.
const PATIENT: &str = "--innodb-lock-wait-timeout=50";

fn the_conformance_suite(wire: Wire) {
    for mut server in wire.servers(wire.either(&[], &[PATIENT])) {
        let engine = server.engine().into();
        assert_eq!(Suite::failures(engine, Some(&mut || server.kill())).unwrap(), [""; 0]);
    }
}

fn the_conformance_suite_over_tcp(wire: Wire) {
    let server = Server::start(&wire.product(), wire.either(&[], &[PATIENT]));
    let url = wire.either(server.tcp("admin", "sslmode=disable"), server.tcp("root", "ssl_mode=DISABLED"));
    assert_eq!(Suite::failures(dsbench_engines::open(&url).unwrap().into(), None).unwrap(), [""; 0]);
}

/// What `scripts/test-rust thorough` runs.
mod thorough {
    use super::*;

    #[test]
    fn the_conformance_suite_on_mariadb_with_snapshot_isolation() {
        let server = Server::start(&Product::MariaDb, &[PATIENT, "--innodb-snapshot-isolation=ON"]);
        assert_eq!(Suite::failures(server.engine().into(), None).unwrap(), [""; 0]);
    }

    #[test]
    fn the_conformance_suite_on_myrocks() {
        let mut server = Server::mariadb_with_rocksdb();
        let engine = server.engine_of("RocksDB").into();
        assert_eq!(Suite::failures(engine, Some(&mut || server.kill())).unwrap(), [""; 0]);
    }
}

/// An engine that asks for one level and gets another.
struct Downgraded(Box<dyn Engine>);

impl Engine for Downgraded {
    fn dialect(&self) -> &'static Dialect {
        self.0.dialect()
    }

    fn connect(&self, session: Session) -> Result<Box<dyn Connection>> {
        self.0.connect(Session { isolation: Isolation::ReadCommitted, ..session })
    }

    fn place(&self) -> &dyn Place {
        self.0.place()
    }
}

#[test]
fn a_level_of_postgres_that_is_not_the_one_asked_for_is_found() {
    let server = Server::postgres();
    let found = Suite::failures(Arc::new(Downgraded(server.engine())), None).unwrap();
    for case in ["non-repeatable read, repeatable-read: allowed", "phantom, serializable", "write skew, serializable"] {
        assert!(found.iter().any(|report| report.contains(case)), "{case}: {found:#?}");
    }
    assert!(found.iter().all(|report| report.contains("isolation: ")), "{found:#?}");
}
