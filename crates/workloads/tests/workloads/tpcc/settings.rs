//! What one product is enough for: SQLite, which is the fastest.

use std::sync::Arc;

use dsbench_core::error::ErrorKind;
use dsbench_core::workload::ClientId;
use dsbench_workloads::Call;

use super::paced;
use crate::bed::{open, open_with, options};
use crate::home::Product;

#[test]
fn settings_that_cannot_be_are_refused_with_a_remedy() {
    let home = Product::Sqlite.home();
    for (name, value, remedy) in [
        ("mix", "1,2,3", "mix=10,10,1,1,1"),
        ("affinity", "maybe", "use on or off"),
        ("delivery", "later", "use inline or deferred"),
        ("foreign_keys", "off", "?foreign_keys=off"),
        ("size", "2", "0.01 to 1"),
        ("warehouses", "3", "use one of mix, affinity, delivery, foreign_keys, size"),
    ] {
        let options = options(&*home.engine(), Call::Statements, 1, &[(name, value)]);
        let error = dsbench_workloads::open("tpcc", &options).err().unwrap();
        assert_eq!(error.kind, ErrorKind::Configuration);
        let words = format!("{error:#}");
        assert!(words.contains(&format!("{name}={value}")) && words.contains(remedy), "{words}");
    }
}

#[test]
fn one_client_works_in_all_warehouses_and_one_of_many_in_its_own() {
    let home = Product::Sqlite.home();
    let workload = open(&*home.engine(), "tpcc", Call::Statements, 4);
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
    let home = Product::Sqlite.home();
    let workload = open(&*home.engine(), "tpcc", Call::Statements, 1);
    let paces: Vec<_> = (0..5).map(|kind| workload.pace(kind).unwrap()).collect();
    let seconds = paces.iter().map(|pace| (pace.keying / 1_000_000_000, pace.mean_think / 1_000_000_000));
    assert_eq!(seconds.collect::<Vec<_>>(), [(18, 12), (3, 12), (2, 10), (2, 5), (2, 5)]);
    assert!(workload.pace(5).is_none());
    assert!(paces.iter().all(|pace| pace.waits));
    let queueing = open_with(&*home.engine(), "tpcc", Call::Statements, 1, &[("delivery", "deferred")]);
    let waits: Vec<_> = (0..5).map(|kind| queueing.pace(kind).unwrap().waits).collect();
    assert_eq!(waits, [true, true, true, false, true], "a terminal does not wait for a Delivery that it queued");
    assert!(open(&*home.engine(), "tpcb", Call::Statements, 1).pace(0).is_none());
}

#[test]
fn terminals_share_a_thread_and_two_connections() {
    let home = Product::Sqlite.home();
    paced::terminals_share_a_thread(Arc::from(home.engine()), Call::Statements);
}

#[test]
fn terminals_enter_as_many_as_their_times_allow() {
    let home = Product::Sqlite.home();
    paced::terminals_enter_as_many_as_their_times_allow(&*home.engine());
}
