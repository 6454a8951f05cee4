//! The load path allocates nothing once its buffers have grown.

use dsbench_core::engine::{Isolation, Prepare, Statement};
use dsbench_core::error::ErrorKind;
use dsbench_core::value::{Rows, Type, Value};

use super::counting::allocations;
use super::server::Server;

const BOTH: &[Type] = &[Type::Int32, Type::Text, Type::Decimal(2), Type::Timestamp, Type::Float64];
const INSERT: Statement<'_> = Statement { sql: "INSERT INTO t VALUES (?, ?, ?, ?, ?)", params: BOTH, columns: &[] };
const SELECT: Statement<'_> =
    Statement { sql: "SELECT a, b, c, d, e FROM t WHERE a < ?", params: &[Type::Int32], columns: BOTH };
const CALL: Statement<'_> = Statement { sql: "CALL p(?)", params: &[Type::Int32], columns: &[Type::Int64] };
const UPDATE: Statement<'_> =
    Statement { sql: "UPDATE t SET b = concat(b, 'x') WHERE a = ?", params: &[Type::Int32], columns: &[] };

const TABLE: &str = "CREATE TABLE t (a int PRIMARY KEY, b varchar(100), c decimal(9, 2), d datetime(6), e double)";

#[test]
fn a_warm_transaction_allocates_nothing() {
    for server in Server::of_both(&[]) {
        let mut connection = server.connect_to_test();
        connection.script(&[TABLE, "CREATE PROCEDURE p(x int) BEGIN SELECT x; END"]).unwrap();
        for way in [Prepare::Once, Prepare::Never] {
            let [insert, select, call] = [INSERT, SELECT, CALL].map(|s| connection.prepare(&s, way).unwrap());
            let mut rows = Rows::new();
            let rest = [Value::Decimal { unscaled: -125, scale: 2 }, Value::Timestamp(77), Value::Float(0.1)];
            let mut transaction = || {
                connection.begin().unwrap();
                let [c, d, e] = rest;
                connection.execute(insert, &[Value::Int(100), Value::Text("some text"), c, d, e]).unwrap();
                connection.execute(insert, &[Value::Int(1), Value::Text("grün"), c, d, e]).unwrap();
                connection.query(select, &[Value::Int(50)], &mut rows).unwrap();
                assert_eq!((rows.len(), rows.text(0, 1).unwrap()), (1, "grün"));
                assert_eq!([2, 3, 4].map(|at| rows.get(0, at).unwrap()), rest);
                connection.rollback().unwrap();
                connection.begin().unwrap();
                connection.commit().unwrap();
                connection.query(call, &[Value::Int(5)], &mut rows).unwrap();
                assert_eq!(rows.int(0, 0).unwrap(), 5);
            };
            transaction();
            assert_eq!(allocations(|| (0..10).for_each(|_| transaction())), 0, "{way:?}");
        }
    }
}

#[test]
fn an_error_that_may_be_retried_allocates_nothing() {
    let server = Server::start_with(&["--innodb-snapshot-isolation=ON"], |_| ());
    server.connect_to_test().script(&[TABLE, "INSERT INTO t (a) VALUES (1)"]).unwrap();
    let mut one = server.session(Isolation::RepeatableRead);
    let mut two = server.session(Isolation::RepeatableRead);
    one.script(&["UPDATE t SET b = 'a', c = 1, d = '2000-01-01', e = 1"]).unwrap();
    let [first, second] = [&mut one, &mut two].map(|c| c.prepare(&UPDATE, Prepare::Once).unwrap());
    let mut rows = Rows::new();
    let select = two.prepare(&SELECT, Prepare::Once).unwrap();
    for round in 0..3 {
        two.begin().unwrap();
        two.query(select, &[Value::Int(5)], &mut rows).unwrap();
        one.execute(first, &[Value::Int(1)]).unwrap();
        let count = allocations(|| {
            let error = two.execute(second, &[Value::Int(1)]).unwrap_err();
            assert_eq!((error.kind, error.code.as_str()), (ErrorKind::Serialization, "1020"));
            two.rollback().unwrap();
        });
        // The first round grows the buffers.
        assert!(count == 0 || round == 0, "{count} allocations in round {round}");
    }
}
