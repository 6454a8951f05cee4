//! TPC-B on every product.

use std::sync::Arc;

use dsbench_core::engine::{Engine, Prepare, Statement};
use dsbench_core::value::{Rows, Type, Value};
use dsbench_core::workload::{Expected, Population};

use crate::bed::{broken, build, cell, cycle, open_few, open_with, run};
use crate::faults;
use crate::home::{Home, Product};

on!([postgres, innodb, firebird, sqlite] [
    tpcb_leaves_a_consistent_bank_and_finds_every_fault,
    clients_that_compete_leave_a_consistent_bank,
    accounts_have_numbers_beyond_32_bits,
]);
on!(thorough [myrocks] [
    tpcb_leaves_a_consistent_bank_and_finds_every_fault,
    clients_that_compete_leave_a_consistent_bank,
    accounts_have_numbers_beyond_32_bits,
]);

fn tpcb_leaves_a_consistent_bank_and_finds_every_fault(product: Product) {
    let home = product.home();
    let engine = home.engine();
    for (parts, call) in (1..).zip(product.calls()) {
        let workload = open_few(&*engine, "tpcb", *call, 2, &[]);
        let mut conn = build(&*engine, &*workload, Population::Bulk, parts);
        assert!(broken(&*workload, &mut *conn, &Expected::default()).is_empty(), "nothing ran, nothing is there");
        let expected = run(&*engine, &*workload, 2, 200);
        assert!(
            expected.sums.iter().any(|(name, count)| name == "remote" && (30..=90).contains(count)),
            "{expected:?}"
        );
        assert!(broken(&*workload, &mut *conn, &expected).is_empty());
        faults::are_all_found(&*workload, &mut *conn, &expected);
        faults::of_counting_are_found(&*workload, &mut *conn, &expected);
        if product == Product::Sqlite {
            // Its integers have the length of their values, and its keys stand in the tables.
            continue;
        }
        let narrow = "SELECT count(*) FROM account WHERE 4 + 4 + 8 + octet_length(filler) <> 100";
        assert_eq!(cell(&mut *conn, narrow), "0");
        assert_eq!(cell(&mut *conn, "SELECT min(4 * 4 + 8 + octet_length(filler)) FROM history"), "52");
        let (keys, kinds) = match product {
            Product::Postgres => {
                ("pg_constraint WHERE connamespace = 'dsbench'::regnamespace AND contype", ["'p'", "'f'"])
            }
            Product::Firebird => {
                ("rdb$relation_constraints WHERE rdb$constraint_type", ["'PRIMARY KEY'", "'FOREIGN KEY'"])
            }
            _ => (
                "information_schema.TABLE_CONSTRAINTS WHERE CONSTRAINT_SCHEMA = 'dsbench' AND CONSTRAINT_TYPE",
                ["'PRIMARY KEY'", "'FOREIGN KEY'"],
            ),
        };
        let found = kinds.map(|kind| cell(&mut *conn, &format!("SELECT count(*) FROM {keys} = {kind}")));
        assert_eq!(found, ["3", if product == Product::MyRocks { "0" } else { "5" }]);
    }
}

fn clients_that_compete_leave_a_consistent_bank(product: Product) {
    let homes = match product {
        Product::Firebird => ["Super", "SuperClassic", "Classic"].map(Home::firebird).into(),
        _ => vec![product.home()],
    };
    for (home, first) in homes.into_iter().zip([true, false, false]) {
        let engine: Arc<dyn Engine> = home.engine_of_rivals().into();
        for call in product.calls() {
            // Once of full size.
            let open = if first && *call == product.calls()[0] { open_with } else { open_few };
            let workload: Arc<_> = open(&*engine, "tpcb", *call, 1, &[]).into();
            let mut conn = build(&*engine, &*workload, Population::Bulk, 1);
            let expected = cycle(Arc::clone(&engine), Arc::clone(&workload) as _);
            assert!(expected.committed[0] > 0);
            assert!(broken(&*workload, &mut *conn, &expected).is_empty(), "{call:?} {expected:?}");
        }
    }
}

/// In a bank whose accounts have numbers of 64 bits, with a branch far behind the others and a booking to one of its
/// accounts.
fn accounts_have_numbers_beyond_32_bits(product: Product) {
    let home = product.home();
    let engine = home.engine();
    let workload = open_few(&*engine, "tpcb", product.calls()[0], 1, &[("keys", "64")]);
    let by = if engine.dialect().procedures { Population::Procedure } else { Population::Bulk };
    let mut conn = build(&*engine, &*workload, by, 1);
    let expected = run(&*engine, &*workload, 2, 50);
    assert_eq!(broken(&*workload, &mut *conn, &expected), [""; 0]);
    let (populate, book) = ("tpcb_populate(300000)", "tpcb_transaction(2999995000, 2999995, 300000, 5)");
    match product {
        Product::Sqlite => {
            let statements = [
                "INSERT INTO branch VALUES (300000, 0, '')",
                "INSERT INTO teller VALUES (2999995, 300000, 0, '')",
                "INSERT INTO account VALUES (2999995000, 300000, 5, '')",
                "INSERT INTO history VALUES (2999995, 300000, 2999995000, 5, 0, '')",
            ];
            conn.script(&statements).unwrap();
        }
        // What is fetched from Firebird is read in a transaction that changes nothing.
        Product::Firebird => {
            conn.script(&[&format!("EXECUTE PROCEDURE {populate}"), &format!("EXECUTE PROCEDURE {book}")]).unwrap();
        }
        _ => {
            let verb = if product == Product::Postgres { "SELECT" } else { "CALL" };
            [populate, book].iter().for_each(|call| drop(conn.fetch(&format!("{verb} {call}")).unwrap()));
        }
    }
    assert!(cell(&mut *conn, "SELECT count(*) FROM account").parse::<u64>().unwrap() > 10_000);
    let parameter = if product == Product::Postgres { "$1" } else { "?" };
    let sql =
        format!("SELECT a.abalance, h.aid FROM account a JOIN history h ON h.aid = a.aid WHERE a.aid = {parameter}");
    for when in [Prepare::Once, Prepare::Never] {
        let columns = [Type::Int64, Type::Int64];
        let read = conn.prepare(&Statement { sql: &sql, params: &[Type::Int64], columns: &columns }, when).unwrap();
        let mut found = Rows::new();
        conn.query(read, &[Value::Int(2_999_995_000)], &mut found).unwrap();
        assert_eq!((found.int(0, 0).unwrap(), found.int(0, 1).unwrap()), (5, 2_999_995_000));
    }
}
