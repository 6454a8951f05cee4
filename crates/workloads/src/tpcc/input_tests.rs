use super::*;
use crate::tpcc::nurand::C_LOAD;
use crate::tpcc::sizes::Sizes;

const HOME: Home = Home { scale: 5, warehouse: 2, district: 3 };

fn draws<T>(count: u64, draw: impl Fn(&mut Stream, &Constants) -> T) -> Vec<T> {
    let constants = Constants::new(3, C_LOAD, &Sizes::default());
    (0..count).map(|number| draw(&mut Stream::new(3, 1, number), &constants)).collect()
}

/// Whether `count` of `total` is a draw of probability `p`: four standard deviations either way.
fn likely(count: usize, total: usize, p: f64) -> bool {
    let (mean, deviation) = (total as f64 * p, (total as f64 * p * (1.0 - p)).sqrt());
    (count as f64 - mean).abs() < 4.0 * deviation
}

#[test]
fn new_orders_are_as_the_specification_says() {
    let orders = draws(100_000, |stream, constants| NewOrder::draw(stream, constants, HOME));
    let unused = orders.iter().filter(|order| order.unused).count();
    let lines: Vec<Line> = orders.iter().flat_map(|order| order.lines().to_vec()).collect();
    let remote: usize = orders.iter().map(NewOrder::remote_lines).sum();
    assert!(likely(unused, orders.len(), 0.01) && likely(remote, lines.len(), 0.01), "{unused} {remote}");
    let mean = lines.len() as f64 / 1e5;
    assert!((mean - 10.0).abs() < 0.04, "standard deviation 0.01: {mean}");
    assert!(lines.iter().all(|line| (1..=10).contains(&line.quantity) && (1..=5).contains(&line.supply)));
    for order in &orders {
        assert!((5..=15).contains(&order.lines().len()) && (1..=10).contains(&order.d) && order.w == 2);
        let last = order.lines()[order.lines().len() - 1];
        let missing = order.lines().iter().filter(|line| line.item == UNUSED_ITEM).count();
        assert_eq!((missing, last.item == UNUSED_ITEM), (usize::from(order.unused), order.unused));
    }
    let others = draws(1000, |stream, constants| NewOrder::draw(stream, constants, Home { scale: 1, ..HOME }));
    assert!(others.iter().all(|order| order.lines().iter().all(|line| line.supply == 2)), "no other warehouse");
}

#[test]
fn lines_come_in_runs_in_the_order_of_locks() {
    let line = |item| Line { item, supply: 1, quantity: item };
    let mut order = NewOrder { w: 1, d: 1, c: 1, count: 7, ..NewOrder::default() };
    for (at, item) in [7, 3, 7, 9, 3, 7, 1].into_iter().enumerate() {
        order.lines[at] = line(item);
    }
    order.arrange();
    let items: Vec<i64> = order.lines().iter().map(|line| line.item).collect();
    assert_eq!((items, order.ends()), (vec![1, 3, 7, 9, 3, 7, 7], &[4, 6, 7][..]));
    for order in draws(100_000, |stream, constants| NewOrder::draw(stream, constants, HOME)) {
        let mut start = 0;
        for end in order.ends() {
            let keys: Vec<_> = order.lines()[start..*end].iter().map(|line| (line.item, line.supply)).collect();
            assert!(keys.windows(2).all(|pair| pair[0] < pair[1]), "{order:?}");
            start = *end;
        }
        assert_eq!(start, order.lines().len());
    }
}

#[test]
fn payments_are_as_the_specification_says() {
    let payments = draws(100_000, |stream, constants| Payment::draw(stream, constants, HOME));
    let remote = payments.iter().filter(|payment| payment.is_remote()).count();
    let named = payments.iter().filter(|payment| matches!(payment.who, Who::Name(_))).count();
    assert!(likely(remote, payments.len(), 0.15) && likely(named, payments.len(), 0.6), "{remote} {named}");
    let mut homes = [0; 6];
    payments.iter().for_each(|payment| homes[payment.c_w as usize] += 1);
    assert!(homes[0] == 0 && [1, 3, 4, 5].iter().all(|at| likely(homes[*at], 100_000, 0.0375)), "{homes:?}");
    let amounts = payments.iter().map(|payment| payment.cents);
    assert!(amounts.clone().all(|cents| (100..=500_000).contains(&cents)) && amounts.max() > Some(499_000));
    assert!(payments.iter().all(|payment| payment.is_remote() || payment.c_d == payment.d));
}

#[test]
fn the_rest_is_as_the_specification_says() {
    let named = draws(100_000, |stream, constants| OrderStatus::draw(stream, constants, HOME));
    assert!(likely(named.iter().filter(|status| matches!(status.who, Who::Name(_))).count(), named.len(), 0.6));
    let carriers = draws(1000, |stream, _| Delivery::draw(stream, HOME).carrier);
    assert!((1..=10).all(|carrier| carriers.contains(&carrier)) && carriers.iter().all(|c| (1..=10).contains(c)));
    let levels = draws(1000, |stream, _| StockLevel::draw(stream, HOME));
    assert!(levels.iter().all(|level| (level.w, level.d) == (2, 3) && (10..=20).contains(&level.threshold)));
}

#[test]
fn clients_are_spread_over_warehouses_and_then_over_districts() {
    let homes: Vec<(i64, i64)> =
        (0..50).map(|id| Home::of(id, 5)).map(|home| (home.warehouse, home.district)).collect();
    assert_eq!(homes[..6], [(1, 1), (2, 1), (3, 1), (4, 1), (5, 1), (1, 2)]);
    let distinct: std::collections::BTreeSet<_> = homes.iter().collect();
    assert_eq!(distinct.len(), 50, "ten terminals of each warehouse have a district of their own");
    let alone = Home::among(&mut Stream::new(1, 1, 1), 7, 8, 5);
    assert_eq!(alone, Home::of(7, 5), "as many clients as warehouses have one each");
    let drawn = draws(1000, |stream, _| Home::draw(stream, 5));
    assert!((1..=5).all(|w| drawn.iter().any(|home| home.warehouse == w)));
}

#[test]
fn fewer_clients_than_warehouses_leave_none_idle() {
    for (clients, scale) in [(1, 4), (3, 7), (4, 5), (5, 100)] {
        let mut of = vec![None; scale as usize + 1];
        for id in 0..clients {
            let homes = draws(2000, |stream, _| Home::among(stream, id, clients, scale));
            for home in &homes {
                let owner = of[home.warehouse as usize].get_or_insert(id);
                assert_eq!(*owner, id, "{home:?} of {clients} clients");
            }
            assert!((1..=10).all(|d| homes.iter().any(|home| home.district == d)));
            let own = (u64::from(scale) - id).div_ceil(clients) as usize;
            let first = homes.iter().filter(|home| home.warehouse == id as i64 + 1).count();
            assert!(own == 1 || likely(first, homes.len(), 1.0 / own as f64), "{first} of {own}");
        }
        assert!(of[1..].iter().all(Option::is_some), "{clients} clients, {scale} warehouses: {of:?}");
    }
}
