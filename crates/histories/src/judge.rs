//! The anomalies in a history.

use crate::graph::kind::{RW, WR, WW};
use crate::graph::{Edge, Graph, Seen};
use crate::history::{End, History, Op, Transaction};
use crate::telling::{tell_cycle, tell_read};

/// What may go wrong, from the worst.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Kind {
    /// An append that was acknowledged is not there in the end.
    Lost,
    /// An item is in a list twice.
    Duplicate,
    /// A list holds an item that nobody appended.
    Garbage,
    /// Two readers saw a list in orders of which none goes on from the other.
    Order,
    /// A transaction did not see what it had appended itself.
    Internal,
    /// What a transaction appended was seen, or stayed, though it was rolled back.
    G1a,
    /// A transaction saw of another one an append that was not the last to its list.
    G1b,
    /// A cycle of transactions that wrote over each other.
    G0,
    /// A cycle of transactions that wrote over each other, or read what the one before wrote.
    G1c,
    /// A cycle with one anti-dependency: read skew.
    GSingle,
    /// A cycle with several anti-dependencies, of which no two follow each other.
    GNonadjacent,
    /// A cycle in which anti-dependencies follow each other: write skew.
    G2Item,
}

impl Kind {
    /// All of them, from the worst.
    pub const ALL: [Self; 12] = [
        Self::Lost,
        Self::Duplicate,
        Self::Garbage,
        Self::Order,
        Self::Internal,
        Self::G1a,
        Self::G1b,
        Self::G0,
        Self::G1c,
        Self::GSingle,
        Self::GNonadjacent,
        Self::G2Item,
    ];

    /// Its name, that of Adya or Elle where they have one.
    pub fn name(self) -> &'static str {
        match self {
            Self::Lost => "lost append",
            Self::Duplicate => "duplicate",
            Self::Garbage => "garbage",
            Self::Order => "incompatible order",
            Self::Internal => "internal",
            Self::G1a => "G1a",
            Self::G1b => "G1b",
            Self::G0 => "G0",
            Self::G1c => "G1c",
            Self::GSingle => "G-single",
            Self::GNonadjacent => "G-nonadjacent",
            Self::G2Item => "G2-item",
        }
    }
}

/// What was found of a kind.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Anomaly {
    /// Which.
    pub kind: Kind,
    /// Reads or appends that show it; of cycles the dependencies that belong to one.
    pub count: u64,
    /// The shortest that was looked at, in words.
    pub example: String,
}

/// Reads that missed what had been acknowledged before their transaction was asked for.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Stale {
    /// How many.
    pub reads: u64,
    /// Most items that one missed.
    pub items: u32,
    /// How long before, of each of them, the first item that it missed was acknowledged; in order of length.
    pub lags_ns: Vec<u64>,
}

impl Stale {
    /// The lag that so many per cent of them do not exceed: that of rank ⌈percent · n / 100⌉; 0 without any.
    #[must_use]
    pub fn lag_ns(&self, percent: usize) -> u64 {
        let rank = (self.lags_ns.len() * percent).div_ceil(100).max(1);
        self.lags_ns.get(rank - 1).copied().unwrap_or(0)
    }
}

/// What a history holds.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Findings {
    /// Transactions whose commit was acknowledged, or turned out to have happened.
    pub committed: u64,
    /// Those that were rolled back, or never came.
    pub aborted: u64,
    /// Appends of committed transactions.
    pub appends: u64,
    /// Reads of committed transactions.
    pub reads: u64,
    /// From the worst; none that did not occur.
    pub anomalies: Vec<Anomaly>,
    /// Anti-dependencies that belong to a cycle which snapshot isolation forbids, and that were not told apart any
    /// further: each is G-single or G-nonadjacent.
    pub undivided: u64,
    /// What was read too late.
    pub stale: Stale,
}

/// Edges that a division of cycles looks at, at most.
const STEPS: u64 = 400_000_000;
/// Cycles of a kind of which the shortest is shown.
const EXAMPLES: usize = 500;
const NONE: u32 = u32::MAX;

/// Finds what is wrong in `history`. Panics where an item number is used twice or is not dense.
pub fn judge(history: &History) -> Findings {
    let mut judge = Judge::new(history);
    judge.look_at_the_end();
    judge.look_at_transactions();
    judge.look_for_cycles();
    judge.finish()
}

struct Judge<'a> {
    all: &'a [Transaction],
    /// By list: what it held in the end.
    orders: Vec<&'a [u32]>,
    /// By list and number of items: when the first item beyond was acknowledged.
    acknowledged: Vec<Vec<u64>>,
    /// By item: its transaction.
    owners: Vec<u32>,
    /// By item: whether its transaction appended none after it to the same list.
    is_last: Vec<bool>,
    /// By item: whether it was there in the end.
    stayed: Vec<bool>,
    /// By transaction: whether it took place.
    alive: Vec<bool>,
    edges: Vec<Edge>,
    counts: [u64; Kind::ALL.len()],
    examples: [String; Kind::ALL.len()],
    found: Findings,
}

impl<'a> Judge<'a> {
    fn new(history: &'a History) -> Self {
        let all = &history.transactions[..];
        let appends = || all.iter().enumerate().flat_map(|(at, one)| one.ops.iter().map(move |op| (at as u32, op)));
        let items = appends().filter(|(_, op)| matches!(op, Op::Append { .. })).count();
        let (mut owners, mut is_last) = (vec![NONE; items], vec![true; items]);
        for (at, one) in all.iter().enumerate() {
            let mut before: Vec<(u32, u32)> = Vec::new();
            for op in &one.ops {
                let Op::Append { list, item } = op else { continue };
                assert_eq!(owners[*item as usize], NONE, "item {item} is appended twice");
                owners[*item as usize] = at as u32;
                match before.iter_mut().find(|(other, _)| other == list) {
                    Some((_, last)) => is_last[std::mem::replace(last, *item) as usize] = false,
                    None => before.push((*list, *item)),
                }
            }
        }
        let lists = history.last.iter().map(|(list, _)| *list as usize + 1).max().unwrap_or(0);
        let mut orders: Vec<&[u32]> = vec![&[]; lists];
        for (list, items) in &history.last {
            orders[*list as usize] = items;
        }
        Self {
            all,
            orders,
            acknowledged: Vec::new(),
            stayed: vec![false; items],
            alive: all.iter().map(|one| one.end == End::Committed).collect(),
            owners,
            is_last,
            edges: Vec::new(),
            counts: [0; Kind::ALL.len()],
            examples: Default::default(),
            found: Findings::default(),
        }
    }

    fn note(&mut self, kind: Kind, count: u64, words: impl FnOnce() -> String) {
        let at = kind as usize;
        if self.counts[at] == 0 && count > 0 {
            self.examples[at] = words();
        }
        self.counts[at] += count;
    }

    fn owner(&self, item: u32) -> Option<u32> {
        self.owners.get(item as usize).copied().filter(|owner| *owner != NONE)
    }

    /// Lists as they were left: what is there, what is missing, and who came after whom.
    fn look_at_the_end(&mut self) {
        for (list, order) in self.orders.clone().into_iter().enumerate() {
            for item in order {
                let words = |what: &str| format!("list {list} holds {item} in the end{what}");
                let Some(owner) = self.owner(*item) else {
                    self.note(Kind::Garbage, 1, || words(", which nobody appended"));
                    continue;
                };
                if std::mem::replace(&mut self.stayed[*item as usize], true) {
                    self.note(Kind::Duplicate, 1, || words(" twice"));
                }
                match self.all[owner as usize].end {
                    End::Aborted => self.note(Kind::G1a, 1, || words(", whose transaction was rolled back")),
                    End::Committed | End::Unknown => self.alive[owner as usize] = true,
                }
            }
        }
        let lists = self.orders.len() as u32;
        for list in 0..lists {
            self.follow_the_writers(list);
        }
        let all = self.all;
        for (at, one) in all.iter().enumerate().filter(|(_, one)| one.end == End::Committed) {
            for op in &one.ops {
                if let Op::Append { list, item } = op {
                    if !self.stayed[*item as usize] {
                        self.note(Kind::Lost, 1, || {
                            format!(
                                "T{at} appended {item} to list {list} and was acknowledged; the list does not hold it"
                            )
                        });
                    }
                }
            }
        }
    }

    fn follow_the_writers(&mut self, list: u32) {
        let order = self.orders[list as usize];
        let mut first = vec![u64::MAX; order.len() + 1];
        for at in (0..order.len()).rev() {
            let acknowledged = self.owner(order[at]).map_or(u64::MAX, |owner| {
                let one = &self.all[owner as usize];
                if one.end == End::Committed {
                    one.ended_ns
                } else {
                    u64::MAX
                }
            });
            first[at] = first[at + 1].min(acknowledged);
        }
        self.acknowledged.push(first);
        for pair in order.windows(2) {
            if let (Some(from), Some(to)) = (self.owner(pair[0]), self.owner(pair[1])) {
                if from != to {
                    self.edges.push(Edge { from, to, kind: WW, list });
                }
            }
        }
    }

    /// What each transaction that took place read.
    fn look_at_transactions(&mut self) {
        let all = self.all;
        for (at, one) in all.iter().enumerate() {
            if !self.alive[at] {
                self.found.aborted += 1;
                continue;
            }
            self.found.committed += 1;
            let mut own: Vec<(u32, u32)> = Vec::new();
            for op in &one.ops {
                match op {
                    Op::Append { list, item } => {
                        self.found.appends += 1;
                        own.push((*list, *item));
                    }
                    Op::Read { list, found } => {
                        self.found.reads += 1;
                        let own = own.iter().filter(|(other, _)| other == list).map(|(_, item)| *item);
                        self.look_at_read(at as u32, *list, found, &own.collect::<Vec<_>>());
                    }
                }
            }
        }
    }

    fn look_at_read(&mut self, reader: u32, list: u32, found: &[u32], own: &[u32]) {
        let Some(others) = found.strip_suffix(own) else {
            self.note(Kind::Internal, 1, || {
                format!("{}, after it had appended {own:?} itself", tell_read(reader, list, found))
            });
            return;
        };
        let order = self.orders.get(list as usize).copied().unwrap_or(&[]);
        if !order.starts_with(others) {
            self.look_at_strange_read(reader, list, found, others);
            return;
        }
        let seen = others.len();
        if let Some(last) = others.last() {
            if let Some(owner) = self.owner(*last).filter(|owner| *owner != reader) {
                if !self.is_last[*last as usize] {
                    self.note(Kind::G1b, 1, || {
                        format!(
                            "{}; T{owner}, which appended {last}, appended more to it",
                            tell_read(reader, list, found)
                        )
                    });
                }
                self.edges.push(Edge { from: owner, to: reader, kind: WR, list });
            }
        }
        let Some(next) = order.get(seen) else { return };
        if let Some(owner) = self.owner(*next).filter(|owner| *owner != reader) {
            self.edges.push(Edge { from: reader, to: owner, kind: RW, list });
        }
        let begun = self.all[reader as usize].begun_ns;
        let acknowledged = &self.acknowledged[list as usize];
        if acknowledged[seen] < begun {
            let missed = acknowledged[seen..].partition_point(|first| *first < begun);
            self.found.stale.reads += 1;
            self.found.stale.items = self.found.stale.items.max(missed as u32);
            self.found.stale.lags_ns.push(begun - acknowledged[seen]);
        }
    }

    /// A read that is no beginning of what the list held in the end.
    fn look_at_strange_read(&mut self, reader: u32, list: u32, found: &[u32], others: &[u32]) {
        let mut sorted = others.to_vec();
        sorted.sort_unstable();
        let twice = sorted.windows(2).find(|pair| pair[0] == pair[1]).map(|pair| pair[0]);
        let unknown = others.iter().find(|item| self.owner(**item).is_none()).copied();
        let undone = others
            .iter()
            .find(|item| self.owner(**item).is_some_and(|owner| self.all[owner as usize].end == End::Aborted))
            .copied();
        let read = || tell_read(reader, list, found);
        match (twice, unknown, undone) {
            (Some(item), _, _) => self.note(Kind::Duplicate, 1, || format!("{}: {item} twice", read())),
            (_, Some(item), _) => self.note(Kind::Garbage, 1, || format!("{}: nobody appended {item}", read())),
            (_, _, Some(item)) => {
                let words = format!("{}: the transaction of {item} was rolled back", read());
                self.note(Kind::G1a, 1, || words);
            }
            _ => {
                let order = self.orders.get(list as usize).copied().unwrap_or(&[]);
                let words = format!("{}; in the end it holds {order:?}", read());
                self.note(Kind::Order, 1, || words);
            }
        }
    }

    fn look_for_cycles(&mut self) {
        let graph = Graph::new(self.all.len(), std::mem::take(&mut self.edges));
        let mut seen = Seen::default();
        let writes = graph.components(WW);
        self.note_cycles(&graph, &mut seen, Kind::G0, WW, |edge| edge.kind == WW && within(&writes, edge));
        let reads = graph.components(WW | WR);
        self.note_cycles(&graph, &mut seen, Kind::G1c, WW | WR, |edge| edge.kind == WR && within(&reads, edge));
        let (whole, apart) = (graph.components(WW | WR | RW), graph.components_apart());
        let forbidden =
            |edge: &Edge| edge.kind == RW && apart[2 * edge.from as usize] == apart[2 * edge.to as usize + 1];
        self.divide(&graph, &mut seen, &reads, forbidden);
        let skew = |edge: &Edge| edge.kind == RW && within(&whole, edge) && !forbidden(edge);
        self.note_cycles(&graph, &mut seen, Kind::G2Item, WW | WR | RW, skew);
    }

    /// Notes the edges that are `of` a kind, and shows the shortest of their cycles over edges of `mask`.
    fn note_cycles(&mut self, graph: &Graph, seen: &mut Seen, kind: Kind, mask: u8, of: impl Fn(&Edge) -> bool) {
        let mut shortest: Option<Vec<Edge>> = None;
        let mut steps = STEPS / 10;
        for edge in graph.edges().iter().filter(|edge| of(edge)).take(EXAMPLES) {
            let Some(way) = graph.way(edge.to, edge.from, seen, &mut steps, |next| next.kind & mask != 0) else {
                break;
            };
            if !way.is_empty() && shortest.as_ref().is_none_or(|found| way.len() + 1 < found.len()) {
                shortest = Some([&[*edge], &way[..]].concat());
            }
        }
        let count = graph.edges().iter().filter(|edge| of(edge)).count() as u64;
        self.note(kind, count, || shortest.map_or(String::new(), |cycle| tell_cycle(self.all, &cycle)));
    }

    /// Tells anti-dependencies that snapshot isolation forbids apart: on a cycle with one, or with several.
    fn divide(&mut self, graph: &Graph, seen: &mut Seen, reads: &[u32], of: impl Fn(&Edge) -> bool) {
        let mut shortest: [Option<Vec<Edge>>; 2] = [None, None];
        let mut counts = [0, 0];
        let mut steps = STEPS;
        for edge in graph.edges().iter().filter(|edge| of(edge)) {
            // Ways lead to lower components only.
            let lowest = reads[edge.from as usize];
            let without = graph
                .way(edge.to, edge.from, seen, &mut steps, |next| next.kind != RW && reads[next.to as usize] >= lowest);
            let Some(way) = without else {
                self.found.undivided += 1;
                continue;
            };
            let several = usize::from(way.is_empty());
            counts[several] += 1;
            let way = match several {
                1 if counts[1] <= EXAMPLES as u64 => {
                    graph.way_apart(edge.to, edge.from, seen, &mut steps).unwrap_or_default()
                }
                _ => way,
            };
            if !way.is_empty() && shortest[several].as_ref().is_none_or(|found| way.len() + 1 < found.len()) {
                shortest[several] = Some([&[*edge], &way[..]].concat());
            }
        }
        for (kind, (count, cycle)) in
            [Kind::GSingle, Kind::GNonadjacent].into_iter().zip(counts.into_iter().zip(shortest))
        {
            self.note(kind, count, || cycle.map_or(String::new(), |cycle| tell_cycle(self.all, &cycle)));
        }
    }

    fn finish(mut self) -> Findings {
        self.found.stale.lags_ns.sort_unstable();
        let noted = Kind::ALL.into_iter().zip(self.counts.into_iter().zip(self.examples));
        let noted = noted.filter(|(_, (count, _))| *count > 0);
        self.found.anomalies = noted.map(|(kind, (count, example))| Anomaly { kind, count, example }).collect();
        self.found
    }
}

fn within(components: &[u32], edge: &Edge) -> bool {
    components[edge.from as usize] == components[edge.to as usize]
}

#[cfg(test)]
#[path = "judge_tests.rs"]
mod tests;
