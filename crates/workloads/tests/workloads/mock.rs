//! On the mock, which keeps no data but counts.

use dsbench_core::engine::{Engine, Prepare};
use dsbench_core::workload::{ClientId, Population, State};
use dsbench_engines::mock::{Mock, Script};
use dsbench_workloads::Call;

use crate::bed::{build, open, open_with, run, LOAD};

#[test]
fn every_row_is_made_and_every_statement_sent() {
    // By transaction: statements that are executed, queries, and whether it is a block.
    for (name, executes, queries, block) in [("tpcb", 4, 1, 1), ("select", 0, 1, 0)] {
        let mock = Mock::new(Script::default());
        let workload = open(&mock, name, Call::Statements, 1);
        drop(build(&mock, &*workload, Population::Bulk, 4));
        let built = mock.counts();
        assert_eq!(built.rows, workload.rows());
        let expected = run(&mock, &*workload, 1, 100);
        let mut conn = mock.connect(LOAD).unwrap();
        let conditions = workload.check(&mut *conn, Some(&expected)).unwrap();
        assert!(
            conditions.len() == 1
                && conditions[0].state == State::NotMade
                && conditions[0].detail.contains("keeps no data")
        );
        let ran = mock.counts();
        assert_eq!((ran.executes - built.executes, ran.queries - built.queries), (100 * executes, 100 * queries));
        assert_eq!((ran.begins - built.begins, ran.commits - built.commits), (100 * block, 100 * block));
        assert_eq!(ran.transactions() - built.transactions(), 100);
    }
}

/// The loop draws it when a client takes its seat and once more when its statements are prepared.
#[test]
fn what_a_first_draw_sets_is_forgotten_where_it_is_drawn_again() {
    let mock = Mock::new(Script::default());
    let script = "\\set i :i + 1\nSELECT 1 AS one \\gset r_\n\\set sum :i + :r_one\n";
    let text = format!("{} own.sql\n{script}", script.len());
    let workload = open_with(&mock, "scripted", Call::Statements, 1, &[("scripts", &text), ("define", "i=0")]);
    let mut client = workload.client(ClientId::alone(0), 7);
    let mut conn = build(&mock, &*workload, Population::Bulk, 1);
    client.draw(5);
    client.prepare(&mut *conn, Prepare::Once).unwrap();
    client.draw(5);
    assert!(client.describe().contains(" i=1"), "{}", client.describe());
    // A database that is only played answers with zeros.
    client.execute(&mut *conn).unwrap();
    assert!(client.describe().contains(" r_one=0 sum=1"), "{}", client.describe());
    client.draw(6);
    assert!(client.describe().contains(" i=2"), "{}", client.describe());
}
