use std::collections::BTreeSet;

use super::*;

const FULL: Sizes = Sizes { items: 100_000, customers: 3000, names: 1000, new_orders: 900 };

fn rows(table: Table, range: Range<u64>) -> Vec<Vec<String>> {
    rows_of(FULL, table, range)
}

fn rows_of(sizes: Sizes, table: Table, range: Range<u64>) -> Vec<Vec<String>> {
    let (names, progress) = (Names::default(), Progress::default());
    let mut source = Source::new(table, range, sizes, &names, &progress);
    let mut seen: Vec<Vec<String>> = Vec::new();
    let mut emit = |row: &[Value<'_>]| {
        assert_eq!(row.len(), table.columns().len());
        seen.push(row.iter().map(|value| format!("{value:?}")).collect());
        Ok(())
    };
    while source.next_row(&mut emit).unwrap() {}
    assert_eq!(progress.read().0, seen.len() as u64);
    seen
}

fn column(table: Table, rows: &[Vec<String>], name: &str) -> Vec<String> {
    let at = table.columns().iter().position(|(found, _)| *found == name).unwrap();
    rows.iter().map(|row| row[at].clone()).collect()
}

fn lengths(values: &[String]) -> (usize, usize) {
    let lengths = || values.iter().map(|value| value.len() - "Text(\"\")".len());
    (lengths().min().unwrap(), lengths().max().unwrap())
}

#[test]
fn parts_make_the_same_rows_as_the_whole() {
    for table in Table::ALL {
        let total = table.numbers(&FULL, 1).min(10_000);
        let whole = rows(table, 0..total);
        let cuts = [0, total / 3, total / 3 + 1, total];
        let parts: Vec<_> = cuts.windows(2).flat_map(|pair| rows(table, pair[0]..pair[1])).collect();
        assert!(parts == whole, "{table:?}");
    }
}

#[test]
fn a_warehouse_has_the_rows_of_the_specification() {
    let count = |table: Table| table.numbers(&FULL, 3);
    assert_eq!(
        Table::ALL.map(count),
        [100_000, 3, 30, 300_000, 90_000, 90_000, 90_000, 27_000, 90_000],
        "lines are counted by order"
    );
    let lines: u64 = (0..30_000).map(lines_of).sum();
    // 30,000 draws with variance 10: standard deviation 548.
    assert!((297_800..302_200).contains(&lines), "{lines}");
    assert!((0..1000).all(|number| (5..=15).contains(&lines_of(number))));
}

#[test]
fn items_and_stocks_are_as_the_specification_says() {
    for (table, data) in [(Table::Item, "i_data"), (Table::Stock, "s_data")] {
        let made = rows(table, 0..100_000);
        let texts = column(table, &made, data);
        assert_eq!(lengths(&texts), (26, 50), "{table:?}");
        let marked = texts.iter().filter(|text| text.contains("ORIGINAL")).count();
        // 100,000 draws of p = 0.1: standard deviation 95.
        assert!((9_600..10_400).contains(&marked), "{table:?} {marked}");
        assert_eq!(texts.iter().collect::<BTreeSet<_>>().len(), 100_000, "no two are alike");
    }
    let quantities: Vec<i64> = column(Table::Stock, &rows(Table::Stock, 100_000..200_000), "s_quantity")
        .iter()
        .map(|value| value["Int(".len()..value.len() - 1].parse().unwrap())
        .collect();
    assert_eq!((quantities.iter().min(), quantities.iter().max()), (Some(&10), Some(&100)));
    let stock = rows(Table::Stock, 99_999..100_001);
    assert_eq!(stock[0][..2], ["Int(1)", "Int(100000)"]);
    assert_eq!(stock[1][..2], ["Int(2)", "Int(1)"]);
    assert_eq!(lengths(&stock[0][3..13]), (24, 24));
    let prices = column(Table::Item, &rows(Table::Item, 0..100_000), "i_price");
    assert!(prices.contains(&"Decimal { unscaled: 100, scale: 2 }".to_string()));
    assert!(prices.contains(&"Decimal { unscaled: 10000, scale: 2 }".to_string()));
}

#[test]
fn customers_are_as_the_specification_says() {
    let made = rows(Table::Customer, 0..30_000);
    let of = |name| column(Table::Customer, &made, name);
    for (name, low, high) in [("c_first", 8, 16), ("c_street_1", 10, 20), ("c_phone", 16, 16), ("c_data", 300, 500)] {
        assert_eq!(lengths(&of(name)), (low, high), "{name}");
    }
    let last = of("c_last");
    let district = |at: usize| last[at * 3000..at * 3000 + 1000].iter().collect::<BTreeSet<_>>().len();
    assert!((0..10).all(|at| district(at) == 1000), "the first thousand have each name once");
    assert_eq!((last[0].as_str(), last[371].as_str()), ("Text(\"BARBARBAR\")", "Text(\"PRICALLYOUGHT\")"));
    let bad = of("c_credit").iter().filter(|credit| *credit == "Text(\"BC\")").count();
    // 30,000 draws of p = 0.1: standard deviation 52.
    assert!((2_790..3_210).contains(&bad), "{bad}");
    assert!(of("c_zip").iter().all(|zip| zip.ends_with("11111\")")));
    assert_eq!(made[3000][..3], ["Int(1)", "Int(2)", "Int(1)"]);
}

#[test]
fn orders_lines_and_new_orders_agree() {
    let orders = rows(Table::Orders, 3000..6000);
    let of = |name| column(Table::Orders, &orders, name);
    assert_eq!(of("o_c_id").iter().collect::<BTreeSet<_>>().len(), 3000, "each customer has one order");
    let open = of("o_carrier_id").iter().filter(|carrier| *carrier == "Null").count();
    assert_eq!((open, of("o_carrier_id")[2099] == "Null", of("o_carrier_id")[2100] == "Null"), (900, false, true));
    let new_orders = rows(Table::NewOrder, 900..1800);
    assert_eq!(
        (&new_orders[0][..], &new_orders[899][2]),
        (&["Int(1)", "Int(2)", "Int(2101)"].map(String::from)[..], &"Int(3000)".to_string())
    );
    let lines = rows(Table::OrderLine, 3000..6000);
    let counts: Vec<String> = (3000..6000).map(|number| format!("Int({})", lines_of(number))).collect();
    assert_eq!(of("o_ol_cnt"), counts);
    assert_eq!(lines.len() as u64, (3000..6000).map(lines_of).sum::<u64>());
    for line in &lines {
        let number: i64 = line[2][4..line[2].len() - 1].parse().unwrap();
        let nothing = line[8] == "Decimal { unscaled: 0, scale: 2 }";
        assert_eq!((number <= 2100, number <= 2100), (nothing, line[6] != "Null"), "{line:?}");
    }
}

#[test]
fn a_fiftieth_is_a_company_of_its_own() {
    let sizes = Sizes { items: 2000, customers: 60, names: 20, new_orders: 18 };
    let of = |table: Table| rows_of(sizes, table, 0..table.numbers(&sizes, 2));
    let count = Table::ALL.map(|table| of(table).len() as u64);
    let lines: u64 = (0..1200).map(lines_of).sum();
    assert_eq!(count, [2000, 2, 20, 4000, 1200, 1200, 1200, 360, lines]);
    let places = [(Table::Warehouse, "w_ytd", 600_000), (Table::District, "d_ytd", 60_000)];
    for (table, name, cents) in places {
        let wanted = format!("Decimal {{ unscaled: {cents}, scale: 2 }}");
        assert!(column(table, &of(table), name).iter().all(|found| *found == wanted), "10.00 of each customer");
    }
    assert!(column(Table::District, &of(Table::District), "d_next_o_id").iter().all(|next| next == "Int(61)"));
    let stock = of(Table::Stock);
    assert_eq!((&stock[1999][..2], &stock[2000][..2]), (&ints([1, 2000])[..], &ints([2, 1])[..]));
    let names = column(Table::Customer, &of(Table::Customer), "c_last");
    let distinct = |range: Range<usize>| names[range].iter().collect::<BTreeSet<_>>();
    assert!(distinct(60..80).len() == 20 && distinct(0..1200) == distinct(0..20), "no customer has another name");
    let orders = of(Table::Orders);
    assert_eq!(column(Table::Orders, &orders[60..120], "o_c_id").iter().collect::<BTreeSet<_>>().len(), 60);
    let carriers = column(Table::Orders, &orders, "o_carrier_id");
    assert!((0..1200).all(|at| (carriers[at] == "Null") == (at % 60 >= 42)));
    assert_eq!(of(Table::NewOrder)[18][..], ints([1, 2, 43])[..]);
    let items = column(Table::OrderLine, &of(Table::OrderLine), "ol_i_id");
    assert!(items.iter().all(|item| (1..=2000).contains(&item[4..item.len() - 1].parse::<u64>().unwrap())));
}

fn ints<const N: usize>(numbers: [i64; N]) -> [String; N] {
    numbers.map(|number| format!("Int({number})"))
}

#[test]
fn a_wish_to_stop_ends_the_rows() {
    let (names, progress) = (Names::default(), Progress::default());
    progress.request_stop();
    let mut source = Source::new(Table::Stock, 0..100_000, FULL, &names, &progress);
    let mut taken = 0;
    let error = loop {
        match source.next_row(&mut |_| Ok(())) {
            Ok(true) => taken += 1,
            Ok(false) => panic!("all rows were made"),
            Err(error) => break error,
        }
    };
    assert!(taken < 5000 && error.kind == dsbench_core::error::ErrorKind::Setup);
}
