//! On Firebird, on a server of the test's own.

use std::sync::Arc;

use dsbench_core::engine::Engine;
use dsbench_workloads::Call;

use crate::company;
use crate::firebird_server::{Server, PASSWORD};

const CALLS: [Call; 2] = [Call::Procedure, Call::Statements];

/// Durability is not what these tests are about.
fn engine(server: &Server) -> Box<dyn Engine> {
    dsbench_engines::open(&server.url(&format!("sysdba:{PASSWORD}"), "forced_writes=off")).unwrap()
}

#[test]
fn a_company_of_full_size_is_consistent() {
    let server = Server::start("Super");
    company::of_full_size_is_consistent(&*engine(&server), Call::Procedure);
}

#[test]
fn tpcc_is_consistent_and_finds_what_is_wrong() {
    let server = Server::start("Super");
    company::is_consistent_and_finds_faults(&*engine(&server), &CALLS);
}

#[test]
fn competition_is_consistent() {
    let server = Server::start("Super");
    company::competition_is_consistent(Arc::from(engine(&server)), &CALLS);
}

#[test]
fn statements_do_what_procedures_do() {
    let server = Server::start("Super");
    company::statements_do_what_procedures_do(&*engine(&server));
}
