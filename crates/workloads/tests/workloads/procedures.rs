//! What stored procedures do is what statements and bulk loads do.

use dsbench_core::engine::Prepare;
use dsbench_core::error::ErrorKind;
use dsbench_core::workload::{ClientId, Expected, Population};
use dsbench_workloads::Call;

use crate::bed::{broken, build, open_few, run, transact, LOAD};
use crate::home::Product;

on!([postgres, innodb] [
    both_ways_to_populate_make_the_same_bank,
    a_transaction_that_misses_a_row_fails_and_changes_nothing,
]);
on!(thorough [myrocks, firebird] [
    both_ways_to_populate_make_the_same_bank,
    a_transaction_that_misses_a_row_fails_and_changes_nothing,
]);

fn both_ways_to_populate_make_the_same_bank(product: Product) {
    let home = product.home();
    let engine = home.engine();
    let workload = open_few(&*engine, "select", Call::Procedure, 2, &[]);
    let found = [Population::Procedure, Population::Bulk].map(|how| {
        let mut conn = build(&*engine, &*workload, how, 1);
        let expected = run(&*engine, &*workload, 2, 100);
        assert!(broken(&*workload, &mut *conn, &expected).is_empty());
        ["branch", "teller", "account"].map(|table| {
            let ids = match table {
                "branch" => "sum(bid)",
                "teller" => "sum(tid * 100000000000 + bid)",
                _ if product == Product::Postgres => "sum(aid * 10000000::numeric + bid)",
                _ => "sum(aid * 10000000 + bid)",
            };
            let widths = "sum(octet_length(filler)), count(*) - count(DISTINCT filler)";
            conn.fetch(&format!("SELECT count(*), {ids}, {widths} FROM {table}")).unwrap().rows
        })
    });
    assert_eq!(found[0], found[1]);
    assert!(found[0].iter().all(|rows| rows[0][3].as_deref() == Some("0")), "no two fillers are alike");
}

/// A transaction whose branch, teller or account is missing fails as one and leaves the bank as it was.
fn a_transaction_that_misses_a_row_fails_and_changes_nothing(product: Product) {
    let home = product.home();
    let engine = home.engine();
    for call in product.calls() {
        let bank = open_few(&*engine, "tpcb", *call, 1, &[]);
        build(&*engine, &*bank, Population::Bulk, 1);
        // Clients of a larger bank than there is: half of what they name is missing.
        let larger = open_few(&*engine, "tpcb", *call, 2, &[]);
        let mut conn = engine.connect(LOAD).unwrap();
        let mut client = larger.client(ClientId::alone(0), 3);
        client.prepare(&mut *conn, Prepare::Once).unwrap();
        let mut failed = 0;
        for number in 0..100 {
            let drawn = client.draw(number);
            let words = client.describe();
            let numbers: Vec<i64> = words.split(['=', ' ']).filter_map(|word| word.parse().ok()).collect();
            let there = numbers[0] <= 10_000 && numbers[1] <= 10;
            let result = transact(&mut *conn, &mut *client, drawn.shape);
            assert_eq!(result.is_ok(), there, "{words}: {result:?}");
            match result {
                Ok(_) => client.committed(),
                Err(error) => {
                    assert_eq!(error.kind, ErrorKind::Statement, "{error}");
                    failed += 1;
                }
            }
        }
        let sums = client.sums().into_iter().map(|(name, sum)| (name.to_string(), sum)).collect();
        let expected = Expected { committed: vec![100 - failed], unknown: vec![0], sums };
        assert!((20..80).contains(&failed));
        assert!(broken(&*bank, &mut *engine.connect(LOAD).unwrap(), &expected).is_empty(), "{call:?}");
    }
}
