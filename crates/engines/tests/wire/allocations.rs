//! The load path allocates nothing once its buffers have grown.

use dsbench_core::engine::{Isolation, Prepare};
use dsbench_core::error::ErrorKind;
use dsbench_core::value::{Rows, Type, Value};

use crate::counting::allocations;
use crate::server::Server;
use crate::{Wire, WAYS};

for_both!(a_warm_transaction_allocates_nothing, an_error_that_may_be_retried_allocates_nothing);

const ALL: &[Type] = &[Type::Int32, Type::Text, Type::Decimal(2), Type::Timestamp, Type::Float64];
const TABLE: &str = "CREATE TABLE t (a int PRIMARY KEY, b varchar(100), c decimal(9, 2), d TIME, e double precision)";
const SELECT: &str = "SELECT a, b, c, d, e FROM t WHERE a < ?";

fn a_warm_transaction_allocates_nothing(wire: Wire) {
    let procedure = wire.either(
        "CREATE FUNCTION p(x int) RETURNS bigint LANGUAGE sql AS 'SELECT x::bigint'",
        "CREATE PROCEDURE p(x int) BEGIN SELECT x; END",
    );
    for server in wire.servers(&[]) {
        let mut connection = server.connect();
        connection.script(&[&wire.sql(TABLE), procedure]).unwrap();
        for way in WAYS {
            let mut prepare = |sql: &str, params: &[Type], columns: &[Type]| {
                wire.prepare(&mut *connection, sql, params, columns, way).unwrap()
            };
            let insert = prepare("INSERT INTO t VALUES (?, ?, ?, ?, ?)", ALL, &[]);
            let select = prepare(SELECT, &[Type::Int32], ALL);
            let call = prepare(wire.either("SELECT p(?)", "CALL p(?)"), &[Type::Int32], &[Type::Int64]);
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

fn an_error_that_may_be_retried_allocates_nothing(wire: Wire) {
    let options = wire.either(&[][..], &["--innodb-snapshot-isolation=ON"]);
    let server = Server::start(&wire.product(), options);
    let row = "INSERT INTO t VALUES (1, 'a', 1, '2000-01-01', 1)";
    server.connect().script(&[&wire.sql(TABLE), row]).unwrap();
    let [mut one, mut two] = [0, 1].map(|_| server.session(Isolation::RepeatableRead));
    let update = "UPDATE t SET b = concat(b, 'x') WHERE a = ?";
    let [first, second] = [&mut one, &mut two]
        .map(|connection| wire.prepare(&mut **connection, update, &[Type::Int32], &[], Prepare::Once).unwrap());
    let select = wire.prepare(&mut *two, SELECT, &[Type::Int32], ALL, Prepare::Once).unwrap();
    let mut rows = Rows::new();
    for round in 0..3 {
        two.begin().unwrap();
        two.query(select, &[Value::Int(5)], &mut rows).unwrap();
        one.execute(first, &[Value::Int(1)]).unwrap();
        let count = allocations(|| {
            let error = two.execute(second, &[Value::Int(1)]).unwrap_err();
            let code = wire.either("40001", "1020");
            assert_eq!((error.kind, error.code.as_str()), (ErrorKind::Serialization, code));
            two.rollback().unwrap();
        });
        // The first round grows the buffers.
        assert!(count == 0 || round == 0, "{count} allocations in round {round}");
    }
}
