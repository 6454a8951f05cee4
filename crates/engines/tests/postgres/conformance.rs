//! The suite that every engine passes.

use std::sync::Arc;

use dsbench_conformance::Suite;
use dsbench_core::engine::{Connection, Dialect, Engine, Isolation, Place, Session};
use dsbench_core::error::Result;

use super::server::Server;

#[test]
fn the_conformance_suite() {
    let mut server = Server::start();
    let engine = server.engine().into();
    assert_eq!(Suite::failures(engine, Some(&mut || server.kill())).unwrap(), [""; 0]);
}

#[test]
fn the_conformance_suite_over_tcp() {
    let server = Server::start();
    let engine = dsbench_engines::open(&server.tcp("admin", "sslmode=disable")).unwrap();
    assert_eq!(Suite::failures(engine.into(), None).unwrap(), [""; 0]);
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
fn a_level_that_is_not_the_one_asked_for_is_found() {
    let server = Server::start();
    let found = Suite::failures(Arc::new(Downgraded(server.engine())), None).unwrap();
    for case in ["non-repeatable read, repeatable-read: allowed", "phantom, serializable", "write skew, serializable"] {
        assert!(found.iter().any(|report| report.contains(case)), "{case}: {found:#?}");
    }
    assert!(found.iter().all(|report| report.contains("isolation: ")), "{found:#?}");
}
