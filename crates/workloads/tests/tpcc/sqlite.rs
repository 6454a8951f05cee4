//! On SQLite.

use std::path::PathBuf;
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::Arc;

use dsbench_core::engine::Engine;
use dsbench_core::error::ErrorKind;
use dsbench_core::workload::ClientId;
use dsbench_workloads::{Call, Options, Settings};

use crate::company;

/// A folder with a database, removed at the end.
struct Folder(PathBuf);

impl Folder {
    fn new() -> Self {
        static NUMBER: AtomicU32 = AtomicU32::new(0);
        let number = NUMBER.fetch_add(1, Ordering::Relaxed);
        let path = std::env::temp_dir().join(format!("dsbench-tpcc-{}-{number}", std::process::id()));
        std::fs::create_dir_all(&path).unwrap();
        Self(path)
    }

    /// Durability is not what these tests are about.
    fn engine(&self) -> Box<dyn Engine> {
        self.engine_with("foreign_keys=on")
    }

    fn engine_with(&self, parameter: &str) -> Box<dyn Engine> {
        let url = format!("sqlite:///{}/company.db?synchronous=off&{parameter}", self.0.display());
        dsbench_engines::open(&url).unwrap()
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        std::fs::remove_dir_all(&self.0).unwrap();
    }
}

#[test]
fn a_company_of_full_size_is_consistent() {
    let folder = Folder::new();
    company::of_full_size_is_consistent(&*folder.engine(), Call::Statements);
}

#[test]
fn tpcc_is_consistent_and_finds_what_is_wrong() {
    let folder = Folder::new();
    // Keys would prevent some of the faults.
    company::is_consistent_and_finds_faults(&*folder.engine_with("foreign_keys=off"), &[Call::Statements]);
}

#[test]
fn competition_is_consistent() {
    let folder = Folder::new();
    company::competition_is_consistent(Arc::from(folder.engine()), &[Call::Statements]);
}

#[test]
fn parts_make_the_same_rows() {
    let folder = Folder::new();
    company::parts_make_the_same_rows(&*folder.engine());
}

#[test]
fn population_by_procedure_is_refused() {
    company::population_by_procedure_is_refused(&*Folder::new().engine());
}

#[test]
fn settings_that_cannot_be_are_refused_with_a_remedy() {
    let folder = Folder::new();
    let dialect = folder.engine().dialect();
    for (name, value, remedy) in [
        ("mix", "1,2,3", "mix=10,10,1,1,1"),
        ("affinity", "maybe", "use on or off"),
        ("delivery", "later", "use inline or deferred"),
        ("foreign_keys", "off", "?foreign_keys=off"),
        ("size", "2", "0.01 to 1"),
        ("warehouses", "3", "it knows mix, affinity, delivery, foreign_keys, size"),
    ] {
        let settings = Settings::new([(name.to_string(), value.to_string())]);
        let error = dsbench_workloads::open(
            "tpcc",
            &Options { scale: 1, dialect, call: Call::Statements, clients: 1, settings },
        );
        let error = error.err().unwrap();
        assert_eq!(error.kind, ErrorKind::Configuration);
        let words = error.to_string();
        assert!(words.contains(&format!("{name}={value}")) && words.contains(remedy), "{words}");
    }
}

#[test]
fn one_client_works_in_all_warehouses_and_one_of_many_in_its_own() {
    let folder = Folder::new();
    let workload = crate::bed::open(&*folder.engine(), "tpcc", Call::Statements, 4);
    for (clients, wanted) in [(1, vec![1, 2, 3, 4]), (3, vec![1, 4]), (4, vec![1]), (40, vec![1])] {
        let mut client = workload.client(ClientId { role: 0, id: 0, clients, ahead: 0 }, 7);
        let found: std::collections::BTreeSet<i64> = (0..200)
            .map(|number| {
                client.draw(number);
                let words = client.describe();
                let (_, rest) = words.split_once("{ w: ").unwrap();
                rest.split_once(',').unwrap().0.parse().unwrap()
            })
            .collect();
        assert_eq!(found.into_iter().collect::<Vec<_>>(), wanted, "{clients} clients");
    }
}

#[test]
fn persons_take_the_time_of_the_specification() {
    let folder = Folder::new();
    let workload = crate::bed::open(&*folder.engine(), "tpcc", Call::Statements, 1);
    let paces: Vec<_> = (0..5).map(|kind| workload.pace(kind).unwrap()).collect();
    let seconds = paces.iter().map(|pace| (pace.keying / 1_000_000_000, pace.mean_think / 1_000_000_000));
    assert_eq!(seconds.collect::<Vec<_>>(), [(18, 12), (3, 12), (2, 10), (2, 5), (2, 5)]);
    assert!(workload.pace(5).is_none());
    assert!(paces.iter().all(|pace| pace.waits));
    let settings = Settings::new([("delivery".to_string(), "deferred".to_string())]);
    let dialect = folder.engine().dialect();
    let options = Options { scale: 1, dialect, call: Call::Statements, clients: 1, settings };
    let queueing = dsbench_workloads::open("tpcc", &options).unwrap();
    let waits: Vec<_> = (0..5).map(|kind| queueing.pace(kind).unwrap().waits).collect();
    assert_eq!(waits, [true, true, true, false, true], "a terminal does not wait for a Delivery that it queued");
    assert!(crate::bed::open(&*folder.engine(), "tpcb", Call::Statements, 1).pace(0).is_none());
}

#[test]
fn terminals_share_a_thread_and_two_connections() {
    let folder = Folder::new();
    crate::paced::terminals_share_a_thread(Arc::from(folder.engine()), Call::Statements);
}

#[test]
fn terminals_enter_as_many_as_their_times_allow() {
    let folder = Folder::new();
    crate::paced::terminals_enter_as_many_as_their_times_allow(&*folder.engine());
}
