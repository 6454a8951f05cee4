use super::*;
use dsbench_core::random::Stream;

/// `a3.7` appends item 7 to list 3; `r3.7.8` reads list 3 as 7, 8. A transaction that begins with `!` is rolled back, one
/// with `?` has an unknown end. Each is asked for once the one before has ended, unless `times` says otherwise.
fn history(all: &[&str], last: &[(u32, &[u32])]) -> History {
    let transactions = all.iter().enumerate().map(|(at, text)| {
        let end = match text.as_bytes().first() {
            Some(b'!') => End::Aborted,
            Some(b'?') => End::Unknown,
            _ => End::Committed,
        };
        let ops = text.trim_start_matches(['!', '?']).split_whitespace().map(|op| {
            let numbers: Vec<u32> = op[1..].split('.').map(|number| number.parse().unwrap()).collect();
            match &op[..1] {
                "a" => Op::Append { list: numbers[0], item: numbers[1] },
                _ => Op::Read { list: numbers[0], found: numbers[1..].into() },
            }
        });
        Transaction { ops: ops.collect(), begun_ns: 1, ended_ns: 2 + at as u64, end }
    });
    History {
        transactions: transactions.collect(),
        last: last.iter().map(|(list, items)| (*list, items.to_vec())).collect(),
    }
}

fn found(all: &[&str], last: &[(u32, &[u32])]) -> Vec<(Kind, u64)> {
    judge(&history(all, last)).anomalies.iter().map(|one| (one.kind, one.count)).collect()
}

#[test]
fn what_happened_one_after_another_has_no_anomaly() {
    let all = ["a0.0 r0.0 a1.1", "r0.0 a0.2", "r1.1 r0.0.2", "?a0.3", "!a0.4", "?a1.5"];
    let findings = judge(&history(&all, &[(0, &[0, 2, 3]), (1, &[1])]));
    assert_eq!(findings.anomalies, []);
    assert_eq!((findings.committed, findings.aborted, findings.appends, findings.reads), (4, 2, 4, 4));
}

#[test]
fn each_anomaly_of_a_list_is_told_apart() {
    assert_eq!(found(&["a0.0", "a0.1"], &[(0, &[0])]), [(Kind::Lost, 1)]);
    assert_eq!(found(&["a0.0"], &[(0, &[0, 0])]), [(Kind::Duplicate, 1)]);
    assert_eq!(found(&["a0.0"], &[(0, &[0, 9])]), [(Kind::Garbage, 1)]);
    assert_eq!(found(&["a0.0", "r0.9"], &[(0, &[0])]), [(Kind::Garbage, 1)]);
    assert_eq!(found(&["a0.0", "a0.1", "r0.1"], &[(0, &[0, 1])]), [(Kind::Order, 1)]);
    assert_eq!(found(&["a0.0 r0"], &[(0, &[0])]), [(Kind::Internal, 1)]);
    assert_eq!(found(&["!a0.0", "r0.0"], &[(0, &[])]), [(Kind::G1a, 1)]);
    assert_eq!(found(&["!a0.0"], &[(0, &[0])]), [(Kind::G1a, 1)], "what stays though it was rolled back");
    assert_eq!(found(&["?a0.0", "r0.0"], &[(0, &[])]), [(Kind::Order, 1)], "it was there, and went");
    // The writer of 0 and 1 comes both before and after who saw the first of them only.
    assert_eq!(found(&["a0.0 a0.1", "r0.0"], &[(0, &[0, 1])]), [(Kind::G1b, 1), (Kind::GSingle, 1)]);
}

#[test]
fn each_cycle_is_told_apart() {
    // Two that wrote over each other in different orders.
    assert_eq!(found(&["a0.0 a1.1", "a0.2 a1.3"], &[(0, &[0, 2]), (1, &[3, 1])]), [(Kind::G0, 2)]);
    // Two that each saw the other.
    assert_eq!(found(&["a0.0 r1.1", "a1.1 r0.0"], &[(0, &[0]), (1, &[1])]), [(Kind::G1c, 2)]);
    // One that saw half of another.
    assert_eq!(found(&["a0.0 a1.1", "r0.0 r1"], &[(0, &[0]), (1, &[1])]), [(Kind::GSingle, 1)]);
    // A lost update: both read the same and one wrote over the other.
    assert_eq!(found(&["r0 a0.0", "r0 a0.1"], &[(0, &[0, 1])]), [(Kind::GSingle, 1)]);
    // Write skew.
    assert_eq!(found(&["r0 a1.0", "r1 a0.1"], &[(0, &[1]), (1, &[0])]), [(Kind::G2Item, 2)]);
    // The long fork of two readers: each saw what the other missed.
    let fork = ["a0.0", "a1.1", "r0.0 r1", "r0 r1.1"];
    assert_eq!(found(&fork, &[(0, &[0]), (1, &[1])]), [(Kind::GNonadjacent, 2)]);
}

#[test]
fn the_example_is_the_shortest_and_says_why() {
    // A read skew over two transactions beside one over three.
    let all = ["a0.0 a1.1", "r0.0 r1", "a2.2 a3.4", "r2.2 a4.3", "r4.3 r3"];
    let last: &[(u32, &[u32])] = &[(0, &[0]), (1, &[1]), (2, &[2]), (3, &[4]), (4, &[3])];
    let findings = judge(&history(&all, last));
    let [one] = &findings.anomalies[..] else { panic!("{findings:?}") };
    assert_eq!((one.kind, one.count), (Kind::GSingle, 2));
    assert_eq!(
        one.example,
        "T1 (0.000000 s to 0.000000 s): read 0: [0]; read 1: []\nT0 (0.000000 s to 0.000000 s): append 0 to 0; append 1 to 1\n\
         T1 read list 1, T0 appended what it did not see\nT0 appended to list 0, T1 saw that append"
    );
}

#[test]
fn stale_reads_are_those_of_what_was_acknowledged_before() {
    let mut all = history(&["a0.0", "a0.1", "r0", "r0.0", "r0.0.1"], &[(0, &[0, 1])]);
    for (at, (begun, ended)) in [(0, 10), (10, 20), (50, 60), (15, 60), (50, 60)].into_iter().enumerate() {
        (all.transactions[at].begun_ns, all.transactions[at].ended_ns) = (begun, ended);
    }
    let stale = judge(&all).stale;
    // The third missed both, the first of them for 40 ns; the fourth began before the second append was acknowledged.
    assert_eq!(stale, Stale { reads: 1, items: 2, lags_ns: vec![40] });
}

#[test]
fn lags_of_stale_reads_are_those_of_the_nearest_rank() {
    for (count, lags_ns) in [(0, [0, 0, 0]), (1, [1, 1, 1]), (2, [1, 2, 2]), (100, [50, 99, 100])] {
        let stale = Stale { lags_ns: (1..=count).collect(), ..Stale::default() };
        assert_eq!([50, 99, 100].map(|percent| stale.lag_ns(percent)), lags_ns, "{count}");
    }
}

/// How a database plays transactions that run beside each other.
#[derive(Clone, Copy, PartialEq, Debug)]
enum Way {
    /// One at a time.
    Serial,
    /// Snapshots, of which the first to write wins.
    Snapshots,
    /// Each read sees what is committed; who writes holds the list to the end.
    Committed,
    /// Each read sees what anybody wrote, committed or not.
    Uncommitted,
}

/// A database of lists in memory, which four clients use at once, a step of a random one at a time.
struct Mock {
    way: Way,
    lists: Vec<Vec<u32>>,
    holders: Vec<Option<usize>>,
    /// By list: how many items at its end the holder appended.
    pending: Vec<usize>,
    random: Stream,
}

struct Client {
    ops: Vec<Op>,
    plan: Vec<(bool, u32)>,
    begun_ns: u64,
    snapshot: Vec<Vec<u32>>,
    undo: Vec<(u32, u32)>,
}

impl Mock {
    fn play(way: Way, seed: u64, transactions: usize) -> History {
        let (lists, clients) = (4, if way == Way::Serial { 1 } else { 4 });
        let (holders, pending, random) = (vec![None; lists], vec![0; lists], Stream::new(seed, 0, 0));
        let mut mock = Self { way, lists: vec![Vec::new(); lists], holders, pending, random };
        let mut open: Vec<Option<Client>> = (0..clients).map(|_| None).collect();
        let (mut done, mut items, mut now) = (Vec::new(), 0, 0);
        while done.len() < transactions || open.iter().any(Option::is_some) {
            now += 1;
            let at = mock.random.below(clients as u64) as usize;
            let Some(client) = &mut open[at] else {
                if done.len() < transactions {
                    let steps = 1 + mock.random.below(4);
                    let plan = (0..steps).map(|_| (mock.random.below(2) == 0, mock.random.below(lists as u64) as u32));
                    let plan = plan.collect();
                    let snapshot = mock.lists.iter().zip(&mock.pending);
                    let snapshot = snapshot.map(|(list, pending)| list[..list.len() - pending].to_vec()).collect();
                    open[at] = Some(Client { ops: Vec::new(), plan, begun_ns: now, snapshot, undo: Vec::new() });
                }
                continue;
            };
            let end = match client.plan.pop() {
                Some((append, list)) => mock.step(at, client, append, list, &mut items),
                // One of ten is rolled back in the end.
                None if mock.random.below(10) == 0 => Some(End::Aborted),
                None => Some(End::Committed),
            };
            if let Some(end) = end {
                let client = open[at].take().unwrap();
                mock.end(at, &client, end);
                done.push(Transaction { ops: client.ops, begun_ns: client.begun_ns, ended_ns: now, end });
            }
        }
        History { transactions: done, last: (0..).zip(mock.lists).collect() }
    }

    /// One operation. Gives how the transaction ends where it cannot go on.
    fn step(&mut self, at: usize, client: &mut Client, append: bool, list: u32, items: &mut u32) -> Option<End> {
        let here = list as usize;
        if !append {
            let mut found = match self.way {
                Way::Snapshots => client.snapshot[here].clone(),
                _ => self.lists[here].clone(),
            };
            if self.way == Way::Committed && self.holders[here].is_some_and(|holder| holder != at) {
                // What the holder appended is at the end, and not committed.
                found.truncate(found.len() - self.pending[here]);
            }
            client.ops.push(Op::Read { list, found: found.into() });
            return None;
        }
        if self.way != Way::Uncommitted {
            let newer = self.way == Way::Snapshots
                && self.holders[here] != Some(at)
                && self.lists[here] != client.snapshot[here];
            if newer || self.holders[here].is_some_and(|holder| holder != at) {
                return Some(End::Aborted);
            }
            self.holders[here] = Some(at);
            self.pending[here] += 1;
        }
        let item = *items;
        *items += 1;
        self.lists[here].push(item);
        client.snapshot[here].push(item);
        client.undo.push((list, item));
        client.ops.push(Op::Append { list, item });
        None
    }

    fn end(&mut self, at: usize, client: &Client, end: End) {
        if end == End::Aborted {
            for (list, item) in &client.undo {
                self.lists[*list as usize].retain(|other| other != item);
            }
        }
        for (holder, pending) in self.holders.iter_mut().zip(&mut self.pending) {
            if *holder == Some(at) {
                (*holder, *pending) = (None, 0);
            }
        }
    }
}

fn kinds(way: Way) -> Vec<Kind> {
    let mut all: Vec<Kind> =
        (0..300).flat_map(|seed| judge(&Mock::play(way, seed, 60)).anomalies.into_iter().map(|one| one.kind)).collect();
    all.sort_unstable();
    all.dedup();
    all
}

#[test]
fn databases_show_what_their_way_lets_happen_and_nothing_else() {
    assert_eq!(kinds(Way::Serial), []);
    assert_eq!(kinds(Way::Snapshots), [Kind::G2Item]);
    assert_eq!(kinds(Way::Committed), [Kind::GSingle, Kind::GNonadjacent, Kind::G2Item]);
    let uncommitted = kinds(Way::Uncommitted);
    for kind in [Kind::G1a, Kind::G1b, Kind::G0, Kind::G1c] {
        assert!(uncommitted.contains(&kind), "{kind:?} in {uncommitted:?}");
    }
}

/// A history of the serial mock with one thing changed, and what must be found for it.
type Plant = (Kind, fn(&mut History, &mut Stream) -> bool);

/// Replaces a read of a list by what it is after `change`; false where no read lets that be.
fn reread(history: &mut History, random: &mut Stream, change: impl Fn(&mut Vec<u32>) -> bool) -> bool {
    let reads: Vec<(usize, usize)> = (0..history.transactions.len())
        .filter(|at| history.transactions[*at].end == End::Committed)
        .flat_map(|at| (0..history.transactions[at].ops.len()).map(move |op| (at, op)))
        .filter(|(at, op)| matches!(history.transactions[*at].ops[*op], Op::Read { .. }))
        .collect();
    for _ in 0..50 {
        let (at, op) = reads[random.below(reads.len() as u64) as usize];
        let writes = history.transactions[at].ops.iter().any(|op| matches!(op, Op::Append { .. }));
        if let (Op::Read { found, .. }, false) = (&mut history.transactions[at].ops[op], writes) {
            let mut changed = found.to_vec();
            if change(&mut changed) {
                *found = changed.into();
                return true;
            }
        }
    }
    false
}

#[test]
fn a_cycle_is_found_among_thousands_and_nothing_else() {
    let fork = ["a0.0", "a1.1", "r0.0 r1", "r0 r1.1"];
    type Planted<'a> = (&'a [&'a str], Vec<(Kind, u64)>);
    let plants: [Planted<'_>; 5] = [
        (&["a0.0 a1.1", "a0.2 a1.3"], vec![(Kind::G0, 2)]),
        (&["a0.0 r1.1", "a1.1 r0.0"], vec![(Kind::G1c, 2)]),
        (&["a0.0 a1.1", "r0.0 r1"], vec![(Kind::GSingle, 1)]),
        (&fork, vec![(Kind::GNonadjacent, 2)]),
        (&["r0 a1.0", "r1 a0.1"], vec![(Kind::G2Item, 2)]),
    ];
    for (cycle, expected) in plants {
        for seed in 0..20 {
            let mut all = Mock::play(Way::Serial, seed, 2000);
            let (lists, items) = (
                4,
                all.transactions.iter().flat_map(|one| &one.ops).filter(|op| matches!(op, Op::Append { .. })).count()
                    as u32,
            );
            // Lists of their own, which a reader of the others reads as well.
            let planted = history(cycle, &[]).transactions.into_iter().map(|mut one| {
                for op in &mut one.ops {
                    match op {
                        Op::Append { list, item } => (*list, *item) = (*list + lists, *item + items),
                        Op::Read { list, found } => {
                            *list += lists;
                            found.iter_mut().for_each(|item| *item += items);
                        }
                    }
                }
                one
            });
            let at = Stream::new(seed, 2, 0).below(all.transactions.len() as u64) as usize;
            let planted: Vec<_> = planted.collect();
            all.transactions.splice(at..at, planted);
            let last: &[(u32, &[u32])] = match expected[0].0 {
                Kind::G0 => &[(0, &[0, 2]), (1, &[3, 1])],
                Kind::G2Item => &[(0, &[1]), (1, &[0])],
                _ => &[(0, &[0]), (1, &[1])],
            };
            let shifted =
                last.iter().map(|(list, found)| (list + lists, found.iter().map(|item| item + items).collect()));
            all.last.extend(shifted);
            let found: Vec<_> = judge(&all).anomalies.iter().map(|one| (one.kind, one.count)).collect();
            assert_eq!(found, expected, "seed {seed}");
        }
    }
}

#[test]
fn what_is_planted_into_a_serial_history_is_found_each_time() {
    let plants: &[Plant] = &[
        (Kind::Garbage, |history, random| {
            reread(history, random, |found| {
                found.push(4_000_000);
                true
            })
        }),
        (Kind::Duplicate, |history, random| {
            reread(history, random, |found| {
                found.first().copied().is_some_and(|first| {
                    found.push(first);
                    true
                })
            })
        }),
        (Kind::Order, |history, random| {
            reread(history, random, |found| {
                found.len() > 1 && {
                    found.swap(0, 1);
                    true
                }
            })
        }),
        (Kind::Lost, |history, _| history.last.iter_mut().any(|(_, items)| items.pop().is_some())),
    ];
    let mut found = 0;
    for (kind, plant) in plants {
        for seed in 0..100 {
            let mut history = Mock::play(Way::Serial, seed, 60);
            if plant(&mut history, &mut Stream::new(seed, 1, 0)) {
                let kinds: Vec<Kind> = judge(&history).anomalies.iter().map(|one| one.kind).collect();
                assert!(kinds.contains(kind), "{kind:?}, seed {seed}: {kinds:?}");
                found += 1;
            }
        }
    }
    assert!(found > 350, "{found} of 400 were planted");
}
