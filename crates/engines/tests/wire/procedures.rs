//! Calls of MySQL's stored procedures: several results, transactions of their own, and what a failed one leaves.

use dsbench_core::engine::{Prepare, Statement};
use dsbench_core::error::ErrorKind;
use dsbench_core::value::{Rows, Type, Value};

use crate::server::Server;
use crate::{cell, WAYS};

#[test]
fn the_first_result_is_taken_and_the_others_are_passed() {
    for server in Server::of_both(&[]) {
        let mut connection = server.connect();
        connection
            .script(&[
                "CREATE PROCEDURE three(x int) BEGIN SELECT x, 'first'; SELECT x + 1; DO 1; SELECT 'a', 'b', 'c'; END",
                "CREATE PROCEDURE none(x int) BEGIN DO x; END",
                "CREATE PROCEDURE out_too(x int, OUT y int) BEGIN SET y = x; SELECT x; END",
                "CREATE PROCEDURE late(x int) BEGIN SELECT x; SIGNAL SQLSTATE '45000' SET MESSAGE_TEXT = 'late'; END",
            ])
            .unwrap();
        let mut rows = Rows::new();
        for way in WAYS {
            let mut prepare = |sql, columns: &[Type]| {
                connection.prepare(&Statement { sql, params: &[Type::Int32], columns }, way).unwrap()
            };
            let three = prepare("CALL three(?)", &[Type::Int64, Type::Text]);
            let none = prepare("CALL none(?)", &[Type::Int64]);
            let out = prepare("CALL out_too(?, @y)", &[Type::Int64]);
            let late = prepare("CALL late(?)", &[Type::Int64]);
            for round in 0..3 {
                connection.query(three, &[Value::Int(round)], &mut rows).unwrap();
                assert_eq!((rows.len(), rows.int(0, 0).unwrap(), rows.text(0, 1).unwrap()), (1, round, "first"));
                connection.query(none, &[Value::Int(round)], &mut rows).unwrap();
                assert!(rows.is_empty());
                connection.query(out, &[Value::Int(round)], &mut rows).unwrap();
                assert_eq!((rows.len(), rows.int(0, 0).unwrap()), (1, round));
                let error = connection.query(late, &[Value::Int(round)], &mut rows).unwrap_err();
                assert_eq!((error.kind, error.code.as_str()), (ErrorKind::Statement, "1644"));
                connection.execute(three, &[Value::Int(round)]).unwrap();
            }
        }
    }
}

#[test]
fn a_transaction_that_a_failed_call_left_open_is_rolled_back_before_the_next_statement() {
    for server in Server::of_both(&[]) {
        let mut connection = server.connect();
        connection
            .script(&[
                "CREATE TABLE t (a int PRIMARY KEY)",
                // No handler: the error leaves the transaction open, and the next START would commit it.
                "CREATE PROCEDURE careless(x int) BEGIN START TRANSACTION; INSERT INTO t VALUES (x); \
                 INSERT INTO t VALUES (x); COMMIT; END",
                "CREATE PROCEDURE fine(x int) BEGIN START TRANSACTION; INSERT INTO t VALUES (x); COMMIT; END",
            ])
            .unwrap();
        let mut calls = ["CALL careless(?)", "CALL fine(?)"].map(|sql| {
            connection.prepare(&Statement { sql, params: &[Type::Int32], columns: &[] }, Prepare::Once).unwrap()
        });
        let [careless, fine] = &mut calls;
        for round in 0..3 {
            let error = connection.execute(*careless, &[Value::Int(100)]).unwrap_err();
            assert_eq!(error.kind, ErrorKind::DuplicateKey);
            connection.execute(*fine, &[Value::Int(round)]).unwrap();
            let error = connection.execute(*careless, &[Value::Int(100)]).unwrap_err();
            assert_eq!(error.kind, ErrorKind::DuplicateKey);
            connection.begin().unwrap();
            connection.commit().unwrap();
        }
        assert_eq!(cell(&mut *connection, "SELECT count(*) FROM t"), "3");
    }
}
