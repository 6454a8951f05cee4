//! The suite that every engine passes: the engine in this process, and servers.

use dsbench_conformance::Suite;

use crate::bed::Bed;
use crate::server::{Server, PASSWORD};

#[test]
fn the_conformance_suite_embedded() {
    let bed = Bed::embedded();
    assert_eq!(Suite::failures(bed.engine("").into(), None).unwrap(), [""; 0]);
}

#[test]
fn the_conformance_suite_in_mode_super() {
    suite_in("Super");
}

#[test]
fn the_conformance_suite_in_mode_super_classic() {
    suite_in("SuperClassic");
}

/// The Classic mode, whose sessions are processes of their own, is tested from Python, which kills them all.
fn suite_in(mode: &str) {
    let mut server = Server::start(mode);
    let engine = dsbench_engines::open(&server.url(&format!("sysdba:{PASSWORD}"), "")).unwrap();
    assert_eq!(Suite::failures(engine.into(), Some(&mut || server.kill())).unwrap(), [""; 0]);
}
