//! On the mock, which keeps no data but counts.

use dsbench_core::engine::Engine;
use dsbench_core::workload::Population;
use dsbench_engines::mock::{Mock, Script};
use dsbench_workloads::Call;

use crate::bed::{build, open, run, LOAD};

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
        assert!(conditions.len() == 1 && conditions[0].holds && conditions[0].detail.contains("keeps no data"));
        let ran = mock.counts();
        assert_eq!((ran.executes - built.executes, ran.queries - built.queries), (100 * executes, 100 * queries));
        assert_eq!((ran.begins - built.begins, ran.commits - built.commits), (100 * block, 100 * block));
        assert_eq!(ran.transactions() - built.transactions(), 100);
    }
}
