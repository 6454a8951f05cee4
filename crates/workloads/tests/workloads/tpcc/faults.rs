//! Faults planted in a company, each with the conditions that must find it and no other.

use std::collections::BTreeSet;

use dsbench_core::engine::Connection;
use dsbench_core::workload::{Expected, Workload, UNCOUNTED};

use super::broken;
use crate::bed::open_conditions;

const C1: &str = "1: warehouse ytd = sum of its districts";
const C2: &str = "2: next order - 1 = last order = last new order";
const C3: &str = "3: new orders have no gap";
const C4: &str = "4: sum of line counts = lines of the district";
const C5: &str = "5: no carrier <=> new order";
const C6: &str = "6: line count = lines of the order";
const C7: &str = "7: not delivered <=> no carrier";
const C8: &str = "8: warehouse ytd = sum of its history";
const C9: &str = "9: district ytd = sum of its history";
const C10: &str = "10: balance = delivered - paid";
const C11: &str = "11: orders - new orders = 42 + deliveries";
const C12: &str = "12: balance + ytd payment = delivered";
const PAYMENTS: &str = "payments of the customer = its history";
const STOCK: &str = "counters of the stock = lines since the load";
const LOCAL: &str = "all local <=> no line of another warehouse";
const THERE: &str = "items and stocks of lines are there";
const AMOUNTS: &str = "amount of a line = quantity * price";
const TEXTS: &str = "text of a line = that of its stock for the district";
const IN_STOCK: &str = "10 to 100 are in stock";
const REFILLS: &str = "stock = loaded - sold + refills of 91";
const LINE_NUMBERS: &str = "lines are numbered from 1";
const CARRIERS: &str = "a carrier is 1 to 10";
const HISTORY_TEXTS: &str = "text of a payment = names of its warehouse and district";
const DELIVERIES: &str = "deliveries of the customer = its orders delivered since the load";
const DATA: &str = "data of bad credit = its payments before what was loaded";
const CUSTOMERS: &str = "sum of customers' numbers in new orders = that of the clients";
const CONSTANT: &str = "constant of the names as loaded";
const LOADED_ITEM: &str = "item as loaded";
const LOADED_WAREHOUSE: &str = "warehouse as loaded";
const LOADED_DISTRICT: &str = "district as loaded";
const LOADED_STOCK: &str = "stock as loaded";
const LOADED_CUSTOMER: &str = "customer as loaded";
const LOADED_HISTORY: &str = "history as loaded";
const LOADED_ORDERS: &str = "orders as loaded";
const LOADED_LINES: &str = "order_line as loaded";
const ORDERS: &str = "orders = loaded + committed New-Orders";
const HISTORY: &str = "history = loaded + committed Payments";
const DELIVERED: &str = "delivered orders = loaded + those of the clients";

/// What is done to a company of one warehouse, of a fiftieth of the size, after some hundred transactions, and what must break.
const PLANTED: &[(&str, &str, &[&str])] = &[
    ("an amount is lost in the warehouse", "UPDATE warehouse SET w_ytd = w_ytd - 1", &[C1, C8]),
    ("an amount is lost in a district", "UPDATE district SET d_ytd = d_ytd - 1 WHERE d_id = 3", &[C1, C9]),
    (
        "an amount went to the wrong district",
        "UPDATE district SET d_ytd = d_ytd + CASE d_id WHEN 1 THEN 5 ELSE -5 END WHERE d_id IN (1, 2)",
        &[C9],
    ),
    ("a number of an order is given twice", "UPDATE district SET d_next_o_id = d_next_o_id - 1 WHERE d_id = 4", &[C2]),
    (
        "a row of the history is lost",
        "DELETE FROM history WHERE h_c_id = 7 AND h_c_d_id = 1 AND h_data NOT LIKE '%    %'",
        &[C8, C9, C10, PAYMENTS, LOADED_HISTORY, HISTORY],
    ),
    (
        "a payment is in the history twice, with nothing added",
        "INSERT INTO history SELECT h_c_id, h_c_d_id, h_c_w_id, h_d_id, h_w_id, h_date, 0, h_data FROM history \
         WHERE h_c_id = 8 AND h_c_d_id = 1 AND h_data NOT LIKE '%    %'",
        &[PAYMENTS, LOADED_HISTORY, HISTORY],
    ),
    (
        "an order that waits in the middle is lost",
        "DELETE FROM new_order WHERE no_d_id = 2 AND no_o_id = (SELECT d_next_o_id - 3 FROM district WHERE d_id = 2)",
        &[C3, C5, C11],
    ),
    (
        "the newest order does not wait",
        "DELETE FROM new_order WHERE no_d_id = 3 AND no_o_id = (SELECT d_next_o_id - 1 FROM district WHERE d_id = 3)",
        &[C2, C5, C11],
    ),
    (
        "a delivery was forgotten in the order",
        "UPDATE orders SET o_carrier_id = NULL WHERE o_d_id = 1 AND o_id = 5",
        &[C5, C7, LOADED_ORDERS, DELIVERED],
    ),
    (
        "an order has a carrier too early",
        "UPDATE orders SET o_carrier_id = 3 WHERE o_d_id = 2 AND o_id = (SELECT d_next_o_id - 3 FROM district WHERE d_id = 2)",
        &[C5, C7, DELIVERIES, DELIVERED],
    ),
    (
        "a line is lost",
        "DELETE FROM order_line WHERE ol_d_id = 1 AND ol_o_id = 6 AND ol_number = 2",
        &[C4, C6, LINE_NUMBERS, LOADED_LINES],
    ),
    (
        "an order counts the line of another",
        "UPDATE orders SET o_ol_cnt = o_ol_cnt + CASE o_id WHEN 6 THEN 1 ELSE -1 END WHERE o_d_id = 1 AND o_id IN (6, 7)",
        &[C6, LOADED_ORDERS],
    ),
    (
        "a line was not delivered",
        "UPDATE order_line SET ol_delivery_d = NULL WHERE ol_d_id = 1 AND ol_o_id = 6 AND ol_number = 1",
        &[C7, LOADED_LINES],
    ),
    ("a balance is off", "UPDATE customer SET c_balance = c_balance + 1 WHERE c_d_id = 1 AND c_id = 9", &[C10, C12]),
    (
        "a payment was not counted in the year",
        "UPDATE customer SET c_ytd_payment = c_ytd_payment - 1 WHERE c_d_id = 1 AND c_id = 9",
        &[C12, PAYMENTS],
    ),
    (
        "balance and payments are off together",
        "UPDATE customer SET c_balance = c_balance + 1, c_ytd_payment = c_ytd_payment - 1 WHERE c_d_id = 1 AND c_id = 9",
        &[C10, PAYMENTS],
    ),
    (
        "a delivery was not counted",
        "UPDATE customer SET c_delivery_cnt = c_delivery_cnt + 1 WHERE c_d_id = 5 AND c_id = 10",
        &[C11, DELIVERIES],
    ),
    (
        "a payment was not counted",
        "UPDATE customer SET c_payment_cnt = c_payment_cnt + 1 WHERE c_d_id = 5 AND c_id = 10",
        &[PAYMENTS, DATA],
    ),
    (
        "an order of this warehouse alone counts as another",
        "UPDATE orders SET o_all_local = 0 WHERE o_d_id = 4 AND o_id = (SELECT d_next_o_id - 1 FROM district WHERE d_id = 4)",
        &[LOCAL],
    ),
    (
        "another warehouse supplies a line",
        "UPDATE order_line SET ol_supply_w_id = 2 WHERE ol_d_id = 4 AND ol_number = 1 \
         AND ol_o_id = (SELECT d_next_o_id - 1 FROM district WHERE d_id = 4)",
        &[LOCAL, THERE, STOCK],
    ),
    (
        "an item that is not there was sold",
        "UPDATE order_line SET ol_i_id = 2001 WHERE ol_d_id = 4 AND ol_number = 1 \
         AND ol_o_id = (SELECT d_next_o_id - 1 FROM district WHERE d_id = 4)",
        &[THERE, STOCK],
    ),
    (
        "the stock of a line is gone",
        "DELETE FROM stock WHERE s_i_id = (SELECT min(ol_i_id) FROM order_line WHERE ol_o_id > 60)",
        &["stock rows", THERE, LOADED_STOCK],
    ),
    (
        "a line costs another cent",
        "UPDATE order_line SET ol_amount = ol_amount + 0.01 WHERE ol_d_id = 4 AND ol_number = 1 \
         AND ol_o_id = (SELECT d_next_o_id - 1 FROM district WHERE d_id = 4)",
        &[AMOUNTS],
    ),
    (
        "a line has the text of another district",
        "UPDATE order_line SET ol_dist_info = (SELECT s_dist_05 FROM stock WHERE s_i_id = ol_i_id) \
         WHERE ol_d_id = 4 AND ol_number = 1 \
         AND ol_o_id = (SELECT d_next_o_id - 1 FROM district WHERE d_id = 4)",
        &[TEXTS],
    ),
    ("a sale was not counted", "UPDATE stock SET s_ytd = s_ytd + 91 WHERE s_i_id = 77", &[STOCK]),
    ("a sale was counted without a change of the stock", "UPDATE stock SET s_ytd = s_ytd + 1 WHERE s_i_id = 77", &[
        STOCK, REFILLS,
    ]),
    ("an order was not counted", "UPDATE stock SET s_order_cnt = s_order_cnt + 1 WHERE s_i_id = 77", &[STOCK]),
    ("a remote order was counted", "UPDATE stock SET s_remote_cnt = s_remote_cnt + 1 WHERE s_i_id = 77", &[STOCK]),
    ("a refill was forgotten", "UPDATE stock SET s_quantity = s_quantity - 91 WHERE s_i_id = 77", &[IN_STOCK]),
    (
        "a stock was refilled by one too few",
        "UPDATE stock SET s_quantity = CASE s_quantity WHEN 10 THEN 11 ELSE s_quantity - 1 END WHERE s_i_id = 77",
        &[REFILLS],
    ),
    (
        "an order is there that nobody committed",
        "INSERT INTO orders (o_w_id, o_d_id, o_id, o_c_id, o_entry_d, o_carrier_id, o_ol_cnt, o_all_local) \
         SELECT o_w_id, o_d_id, 9000000, o_c_id, o_entry_d, NULL, 0, 1 FROM orders WHERE o_d_id = 1 AND o_id = 1",
        &[C2, C5, C6, C11, ORDERS, CUSTOMERS],
    ),
    ("an item too many", "INSERT INTO item VALUES (2001, 1, 'x', 1, 'x')", &["item rows"]),
    (
        "a warehouse too many",
        "INSERT INTO warehouse VALUES (9, 'x', 'x', 'x', 'x', 'x', 'x', 0, 0)",
        &["warehouse rows", C1, C8],
    ),
    (
        "a district too many",
        "INSERT INTO district VALUES (1, 11, 'x', 'x', 'x', 'x', 'x', 'x', 0, 0, 1)",
        &["district rows", C2, C4, C9, C11],
    ),
    (
        "a stock is missing",
        "DELETE FROM stock WHERE s_i_id = (SELECT min(i_id) FROM item WHERE i_id NOT IN (SELECT ol_i_id FROM order_line))",
        &["stock rows", LOADED_STOCK],
    ),
    (
        "a customer too many",
        "INSERT INTO customer SELECT c_w_id, c_d_id, 61, c_first, c_middle, c_last, c_street_1, c_street_2, c_city, \
         c_state, c_zip, c_phone, c_since, c_credit, c_credit_lim, c_discount, 0, 0, 0, 0, c_data FROM customer \
         WHERE c_d_id = 1 AND c_id = 1",
        &["customer rows", C10, PAYMENTS, LOADED_CUSTOMER],
    ),
];

/// What the twelve conditions and the clients' counts do not see.
const HIDDEN: &[(&str, &str, &[&str])] = &[
    (
        "a loaded order has another carrier",
        "UPDATE orders SET o_carrier_id = 11 - o_carrier_id WHERE o_d_id = 1 AND o_id = 5",
        &[LOADED_ORDERS],
    ),
    ("a carrier is none of the ten", "UPDATE orders SET o_carrier_id = 11 WHERE o_d_id = 1 AND o_id = 43", &[CARRIERS]),
    (
        "a delivery was counted for another customer",
        "UPDATE customer SET c_delivery_cnt = c_delivery_cnt + CASE c_id WHEN 10 THEN 1 ELSE -1 END \
         WHERE c_d_id = 5 AND c_id IN (10, 11)",
        &[DELIVERIES],
    ),
    (
        "goods moved from one stock to another",
        "UPDATE stock SET s_quantity = s_quantity + CASE s_i_id WHEN 77 THEN 1 ELSE -1 END WHERE s_i_id IN (77, 78)",
        &[REFILLS],
    ),
    (
        "a new order's lines leave a number out",
        "UPDATE order_line SET ol_number = 16 WHERE ol_d_id = 4 AND ol_number = 1 \
         AND ol_o_id = (SELECT d_next_o_id - 1 FROM district WHERE d_id = 4)",
        &[LINE_NUMBERS],
    ),
    (
        "a new order that waits is another customer's",
        "UPDATE orders SET o_c_id = CASE o_c_id WHEN 1 THEN 2 ELSE 1 END \
         WHERE o_d_id = 4 AND o_id = (SELECT d_next_o_id - 1 FROM district WHERE d_id = 4)",
        &[CUSTOMERS],
    ),
    (
        "a loaded order is another customer's",
        "UPDATE orders SET o_c_id = CASE o_c_id WHEN 1 THEN 2 ELSE 1 END WHERE o_d_id = 10 AND o_id = 5",
        &[LOADED_ORDERS],
    ),
    ("a payment's text is wiped", "UPDATE history SET h_data = '-' WHERE h_data LIKE '%    %'", &[LOADED_HISTORY]),
    (
        "a payment names another district",
        "UPDATE history SET h_data = 'here    there' WHERE h_data LIKE '%    %'",
        &[HISTORY_TEXTS],
    ),
    (
        "the text of a loaded payment is another",
        "UPDATE history SET h_data = 'another_text' WHERE h_c_id = 8 AND h_data NOT LIKE '%    %'",
        &[LOADED_HISTORY],
    ),
    ("the data of bad credit are wiped", "UPDATE customer SET c_data = '' WHERE c_credit = 'BC'", &[DATA]),
    (
        "a payment is not written into the data of bad credit",
        "UPDATE customer SET c_data = replace(c_data, '.', ',') WHERE c_credit = 'BC' AND c_payment_cnt > 1",
        &[DATA],
    ),
    ("the data of good credit are wiped", "UPDATE customer SET c_data = '' WHERE c_credit = 'GC'", &[LOADED_CUSTOMER]),
    ("a discount is another", "UPDATE customer SET c_discount = 0 WHERE c_d_id = 3 AND c_id = 3", &[LOADED_CUSTOMER]),
    (
        "a customer has another name",
        "UPDATE customer SET c_first = 'x' WHERE c_d_id = 3 AND c_id = 3",
        &[LOADED_CUSTOMER],
    ),
    (
        "two loaded lines have changed their items",
        "UPDATE order_line SET ol_i_id = CASE ol_number WHEN 1 THEN 7 ELSE 8 END \
         WHERE ol_d_id = 1 AND ol_o_id = 6 AND ol_number <= 2",
        &[LOADED_LINES],
    ),
    (
        "a loaded line has another text of the same length",
        "UPDATE order_line SET ol_dist_info = 'abcdefghijklmnopqrstuvwx' WHERE ol_d_id = 1 AND ol_o_id = 6 AND ol_number = 2",
        &[LOADED_LINES],
    ),
    (
        "a loaded line has another quantity",
        "UPDATE order_line SET ol_quantity = 6 WHERE ol_d_id = 1 AND ol_o_id = 6 AND ol_number = 1",
        &[LOADED_LINES],
    ),
    ("a tax is another", "UPDATE warehouse SET w_tax = 0", &[LOADED_WAREHOUSE]),
    ("a district's tax is another", "UPDATE district SET d_tax = 0 WHERE d_id = 7", &[LOADED_DISTRICT]),
    ("a district has another name", "UPDATE district SET d_city = 'x' WHERE d_id = 7", &[LOADED_DISTRICT]),
    ("a stock's data are others", "UPDATE stock SET s_data = 'ORIGINAL' WHERE s_i_id = 1999", &[LOADED_STOCK]),
    ("an item's data are others", "UPDATE item SET i_data = 'ORIGINAL' WHERE i_id = 1999", &[LOADED_ITEM]),
    ("the constant of the names is another", "UPDATE load_constants SET c_last = c_last + 1", &[CONSTANT]),
];

/// Plants every fault, one at a time, and finds exactly what it must break; every condition of the workload is
/// broken by one of them.
pub fn are_all_found(workload: &dyn Workload, conn: &mut dyn Connection, expected: &Expected) {
    let all = workload.check(conn, Some(expected)).unwrap().into_iter().map(|found| found.name);
    // No transaction undoes what is done to indexes and keys on every product: the tests of the catalogue plant it.
    let of_catalogue = ["indexes are there, valid and whole", "foreign keys are there"];
    let all: Vec<String> = all.filter(|name| !of_catalogue.contains(&&**name)).collect();
    let mut seen = BTreeSet::new();
    for (what, sql, names) in PLANTED.iter().chain(HIDDEN) {
        conn.begin().unwrap();
        conn.script(&[sql]).unwrap();
        let found = broken(workload, conn, expected);
        conn.rollback().unwrap();
        let wanted: Vec<&String> = all.iter().filter(|name| names.contains(&name.as_str())).collect();
        assert_eq!((found.iter().collect(), names.len()), (wanted, found.len()), "{what}");
        seen.extend(found);
    }
    assert_eq!(seen, all.into_iter().collect(), "every condition can fail");
    assert!(broken(workload, conn, expected).is_empty(), "all faults are undone");
}

/// What the clients counted is compared with what the database holds.
pub fn of_counting_are_found(workload: &dyn Workload, conn: &mut dyn Connection, expected: &Expected) {
    let with = |kind: usize, committed: i64, unknown: [u64; 5], deliveries: i64| {
        let mut changed = expected.clone();
        changed.committed[kind] = changed.committed[kind].checked_add_signed(committed).unwrap();
        changed.unknown = unknown.into();
        changed.sums.iter_mut().filter(|(name, _)| name == "deliveries").for_each(|(_, sum)| *sum += deliveries);
        changed
    };
    let none = [0; 5];
    for (what, changed, names) in [
        ("a New-Order was acknowledged and is lost", with(0, 1, none, 0), &[ORDERS][..]),
        ("a New-Order that nobody committed is there", with(0, -1, none, 0), &[ORDERS]),
        ("it had an unknown end", with(0, -1, [1, 0, 0, 0, 0], 0), &[]),
        ("more than have an unknown end", with(0, -2, [1, 0, 0, 0, 0], 0), &[ORDERS]),
        ("others of unknown end are no New-Orders", with(0, -1, [0, 45, 45, 45, 45], 0), &[ORDERS]),
        ("a Payment was acknowledged and is lost", with(1, 1, [3; 5], 0), &[HISTORY]),
        ("a Payment that nobody committed is there", with(1, -1, none, 0), &[HISTORY]),
        ("it had an unknown end", with(1, -1, [0, 1, 0, 0, 0], 0), &[]),
        ("others of unknown end are no Payments", with(1, -1, [45, 0, 45, 45, 45], 0), &[HISTORY]),
        ("an order was delivered by nobody", with(0, 0, none, -1), &[DELIVERED]),
        ("by a Delivery of unknown end", with(0, 0, [0, 0, 0, 1, 0], -10), &[]),
        ("more than that can have delivered", with(0, 0, [0, 0, 0, 1, 0], -11), &[DELIVERED]),
        ("others of unknown end do not deliver", with(0, 0, [45, 45, 45, 0, 45], -1), &[DELIVERED]),
        ("a delivery is lost", with(0, 0, [1; 5], 1), &[DELIVERED]),
        ("nodes were lost that committed", with(0, -50, [UNCOUNTED; 5], -200), &[]),
        ("lost nodes lose no acknowledged commit", with(0, 1, [UNCOUNTED + 7; 5], 0), &[ORDERS]),
    ] {
        assert_eq!(broken(workload, conn, &changed), names, "{what}");
    }
    let lost = with(0, 0, [UNCOUNTED; 5], 0);
    assert_eq!(open_conditions(workload, conn, Some(&lost)), [ORDERS, HISTORY, DELIVERED]);
    let of_unknown_end = with(0, -1, [1, 0, 0, 0, 0], 0);
    assert_eq!(open_conditions(workload, conn, Some(&of_unknown_end)), [CUSTOMERS]);
    assert_eq!(open_conditions(workload, conn, None), [ORDERS, HISTORY, DELIVERED, CUSTOMERS]);
    assert_eq!(open_conditions(workload, conn, Some(&with(0, 0, [0; 5], 0))), [""; 0]);
}
