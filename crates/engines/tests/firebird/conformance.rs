//! The suite that every engine passes: the engine in this process and the three modes of the server.

use dsbench_conformance::Suite;

use crate::bed::Bed;
use crate::server::{Server, PASSWORD};

#[test]
fn the_conformance_suite_embedded() {
    let bed = Bed::embedded();
    assert_eq!(Suite::failures(bed.engine("").into(), None).unwrap(), [""; 0]);
}

#[test]
fn the_conformance_suite_in_every_mode() {
    for mode in ["Super", "SuperClassic", "Classic"] {
        let mut server = Server::start(mode);
        let engine = dsbench_engines::open(&server.url(&format!("sysdba:{PASSWORD}"), "")).unwrap();
        // A session of the Classic mode is a process of its own, which outlives the one that is killed here.
        let mut kill = || server.kill();
        let kill: Option<&mut dyn FnMut()> = if mode == "Classic" { None } else { Some(&mut kill) };
        assert_eq!(Suite::failures(engine.into(), kill).unwrap(), [""; 0], "{mode}");
    }
}
