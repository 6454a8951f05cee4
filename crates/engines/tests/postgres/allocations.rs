//! The load path allocates nothing once its buffers have grown.

use dsbench_core::engine::{Isolation, Prepare, Statement};
use dsbench_core::error::ErrorKind;
use dsbench_core::value::{Rows, Type, Value};

use super::counting::allocations;
use super::server::Server;

const BOTH: &[Type] = &[Type::Int32, Type::Text];
const INSERT: Statement<'_> = Statement { sql: "INSERT INTO t VALUES ($1, $2)", params: BOTH, columns: &[] };
const SELECT: Statement<'_> =
    Statement { sql: "SELECT a, b FROM t WHERE a < $1", params: &[Type::Int32], columns: BOTH };
const UPDATE: Statement<'_> =
    Statement { sql: "UPDATE t SET b = 'x' WHERE a = $1", params: &[Type::Int32], columns: &[] };

#[test]
fn a_warm_transaction_allocates_nothing() {
    let server = Server::start();
    let mut connection = server.connect();
    connection.script(&["CREATE TABLE t (a int, b text)"]).unwrap();
    for way in [Prepare::Once, Prepare::Never] {
        let insert = connection.prepare(&INSERT, way).unwrap();
        let select = connection.prepare(&SELECT, way).unwrap();
        let mut rows = Rows::new();
        let mut transaction = |expected: usize| {
            connection.begin().unwrap();
            connection.execute(insert, &[Value::Int(100), Value::Text("some text")]).unwrap();
            connection.execute(insert, &[Value::Int(1), Value::Text("grün")]).unwrap();
            connection.query(select, &[Value::Int(50)], &mut rows).unwrap();
            assert_eq!((rows.len(), rows.text(0, 1).unwrap()), (expected, "grün"));
            connection.rollback().unwrap();
            connection.begin().unwrap();
            connection.commit().unwrap();
        };
        transaction(1);
        assert_eq!(allocations(|| (0..10).for_each(|_| transaction(1))), 0, "{way:?}");
    }
}

#[test]
fn an_error_that_may_be_retried_allocates_nothing() {
    let server = Server::start();
    let mut one = server.session(Isolation::RepeatableRead);
    let mut two = server.session(Isolation::RepeatableRead);
    one.script(&["CREATE TABLE t (a int, b text)", "INSERT INTO t VALUES (1, 'a')"]).unwrap();
    let [first, second] = [&mut one, &mut two].map(|c| c.prepare(&UPDATE, Prepare::Once).unwrap());
    let mut rows = Rows::new();
    let select = two.prepare(&SELECT, Prepare::Once).unwrap();
    for round in 0..3 {
        two.begin().unwrap();
        two.query(select, &[Value::Int(5)], &mut rows).unwrap();
        one.execute(first, &[Value::Int(1)]).unwrap();
        let count = allocations(|| {
            let error = two.execute(second, &[Value::Int(1)]).unwrap_err();
            assert_eq!((error.kind, error.code.as_str()), (ErrorKind::Serialization, "40001"));
            two.rollback().unwrap();
        });
        // The first round grows the buffers.
        assert!(count == 0 || round == 0, "{count} allocations in round {round}");
    }
}
