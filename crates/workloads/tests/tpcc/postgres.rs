//! On PostgreSQL, on a server of the test's own.

use std::sync::Arc;

use dsbench_core::engine::Engine;
use dsbench_workloads::Call;

use crate::company;
use crate::server::Server;

const CALLS: [Call; 2] = [Call::Procedure, Call::Statements];

#[test]
fn a_company_of_full_size_is_consistent() {
    let server = Server::start();
    company::of_full_size_is_consistent(&*server.engine(), Call::Procedure);
}

#[test]
fn tpcc_is_consistent_and_finds_what_is_wrong() {
    let server = Server::start();
    company::is_consistent_and_finds_faults(&*server.engine(), &CALLS);
}

#[test]
fn competition_is_consistent() {
    let server = Server::start();
    let engine: Arc<dyn Engine> = server.engine().into();
    company::competition_is_consistent(engine, &CALLS);
}

#[test]
fn statements_do_what_procedures_do() {
    let server = Server::start();
    company::statements_do_what_procedures_do(&*server.engine());
}

#[test]
fn parts_make_the_same_rows() {
    let server = Server::start();
    company::parts_make_the_same_rows(&*server.engine());
}
