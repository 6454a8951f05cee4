//! The plan of a load stage, filled in: what its workload leaves open comes from the settings of the run, and each node,
//! and each process of a node, has its share.

use std::ops::Range;

use serde::{Deserialize, Serialize};

use crate::clock::Nanos;
use crate::engine::{Isolation, Prepare, Session};
use crate::error::{Error, Result};
use crate::generator::Conduct;
use crate::legs::{mean_per_s, Leg};
use crate::placement::Placement;
use crate::stage::{Counted, GroupPlan, Pacing, Until, Whose};
use crate::threads::Group;
use crate::workload::KindId;

/// How long a connection is tried to be opened again.
const PATIENCE: Nanos = 5_000_000_000;

/// How starts of an open loop follow each other.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Arrival {
    /// At constant intervals.
    Constant,
    /// At random.
    Poisson,
}

/// What a run asks of its load, by the names of its options; times in seconds.
#[derive(Debug, Clone, Deserialize)]
pub struct Options {
    /// Of each node.
    pub threads: usize,
    /// Of a group whose end the workload leaves open.
    pub duration: f64,
    /// Before the clock starts.
    pub ramp_up: f64,
    /// Starts per second of all clients of an open loop; `None` for the closed one.
    pub rate: Option<f64>,
    /// Of an open loop.
    pub arrival: Arrival,
    /// Of an open loop whose rate changes; empty: it does not.
    #[serde(default)]
    pub legs: Vec<Leg>,
    /// Of all nodes together, where people key in and think.
    pub terminals: Option<u64>,
    /// Of each thread.
    pub connections: usize,
    /// Threads of the operating system; 0 for one per CPU.
    pub carriers: usize,
    /// On which CPUs clients run.
    pub placement: Placement,
    /// Of every transaction.
    pub isolation: Isolation,
    /// Whether statements are prepared once.
    pub prepare: bool,
    /// Attempts of a transaction at most; 0 for as many as it needs.
    pub tries: u32,
    /// A connection for each transaction.
    pub reconnect: bool,
    /// A client that its own error ends, ends the cycle.
    pub exit_on_abort: bool,
    /// Whether the times of statements are kept.
    pub per_statement: bool,
    /// Number of this node.
    pub node: u64,
    /// Nodes in all.
    pub nodes: u64,
    /// Every group ends after the duration, whatever the workload says.
    pub by_time: bool,
}

/// What makes the load of a cycle on one node, or in one of its processes.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct Load {
    /// Clients that do the same.
    pub groups: Vec<Group>,
    /// See [`LoadPlan`](crate::threads::LoadPlan), as all that follows.
    pub carriers: usize,
    /// On which CPUs clients run.
    pub placement: Placement,
    /// Before the clock starts.
    pub ramp_up: Nanos,
    /// Whether the times of statements are kept.
    pub statements: bool,
}

/// A group of a filled-in load in the words of the archive's table `groups`.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct GroupRow {
    /// Name within the stage.
    pub name: String,
    /// Numbers of the kinds of transactions that its clients run.
    pub kinds: Vec<KindId>,
    /// Of this node: none where the group has fewer clients than there are nodes.
    pub threads: usize,
    /// Of all nodes; with terminals, these.
    pub clients: u64,
    /// closed, constant, poisson, terminals or in-step.
    pub pacing: &'static str,
    /// Demanded starts per second of all clients together.
    pub rate_per_s: Option<f64>,
    /// Demanded rows per second of all clients together.
    pub rows_per_s: Option<f64>,
    /// time, transactions, rows or group.
    pub until: &'static str,
    /// What is to be done, by all nodes together unless each client has a count of its own.
    pub until_count: Option<u64>,
    /// Whose count it is: each, all or share; the group that is followed; empty for a time.
    pub until_of: String,
    /// Demanded, where time is the end.
    pub duration_ns: Option<Nanos>,
}

/// A load stage, filled in for one node.
#[derive(Debug, Clone, Serialize)]
pub struct Filled {
    /// What the node runs.
    pub load: Load,
    /// Its groups in words.
    pub groups: Vec<GroupRow>,
    /// Threads of all groups.
    pub threads: usize,
    /// Of each thread.
    pub connections: usize,
    /// Before the clock starts.
    pub ramp_up_ns: Nanos,
    /// Demanded duration; `None` where a count decides.
    pub duration_ns: Option<Nanos>,
}

/// What falls to part `part` of `parts` where `total` things are divided among them.
fn share(total: u64, part: u64, parts: u64) -> Range<u64> {
    part * total / parts..(part + 1) * total / parts
}

fn nanos(seconds: f64) -> Nanos {
    (seconds * 1e9).round_ties_even() as Nanos
}

impl Options {
    /// The load of the stage `stage`, whose workload wants `plans` and has `kinds` kinds of transactions.
    ///
    /// # Errors
    /// Of kind `Configuration` where there are fewer terminals than nodes, or a ramp-up before a load that ends by count.
    pub fn fill(&self, stage: &str, plans: &[GroupPlan], kinds: usize) -> Result<Filled> {
        let groups = plans.iter().map(|plan| self.group(plan)).collect::<Result<Vec<_>>>()?;
        let ramp_up = nanos(self.ramp_up);
        if ramp_up > 0 && groups.iter().any(|group| matches!(group.until, Until::Count { .. })) {
            let words = "ends by count, and what a ramp-up does is not counted; leave it out";
            return Err(Error::configuration(format!("--ramp-up: the stage {stage} {words}")));
        }
        let rows =
            plans.iter().zip(&groups).map(|(plan, group)| self.row(plan, group, plans, kinds)).collect::<Vec<_>>();
        let led = |row: &&GroupRow| row.until != "group";
        let ends = rows.iter().filter(led).map(|row| row.duration_ns).collect::<Option<Vec<_>>>();
        Ok(Filled {
            threads: groups.iter().map(|group| group.threads).sum(),
            connections: self.connections,
            ramp_up_ns: ramp_up,
            duration_ns: ends.and_then(|ends| ends.into_iter().max()),
            groups: rows,
            load: Load {
                groups,
                carriers: self.carriers,
                placement: self.placement,
                ramp_up,
                statements: self.per_statement,
            },
        })
    }

    fn pacing(&self, plan: &GroupPlan) -> Pacing {
        let rate = if self.legs.is_empty() { self.rate } else { Some(mean_per_s(&self.legs)) };
        let of_run = || match (self.terminals, rate, self.arrival) {
            (Some(terminals), _, _) => Pacing::Terminals(terminals),
            (None, None, _) => Pacing::Closed,
            (None, Some(rate), Arrival::Constant) => Pacing::Constant(rate, Whose::All),
            (None, Some(rate), Arrival::Poisson) => Pacing::Poisson(rate, Whose::All),
        };
        plan.pacing.unwrap_or_else(of_run)
    }

    /// The end of the whole group, on all nodes.
    fn until(&self, plan: &GroupPlan) -> Until {
        let until = plan.until.filter(|_| !self.by_time);
        until.unwrap_or_else(|| Until::Time(nanos(self.duration)))
    }

    fn group(&self, plan: &GroupPlan) -> Result<Group> {
        let each = self.threads as u64;
        let (pacing, mine, clients, threads) = match (self.pacing(plan), plan.clients) {
            (Pacing::Terminals(all), _) => {
                let mine = share(all, self.node, self.nodes);
                if mine.is_empty() {
                    let words = format!("--terminals {all}: fewer than the {} nodes that share them", self.nodes);
                    return Err(Error::configuration(words));
                }
                let own = mine.end - mine.start;
                // A thread without a terminal has nothing to do.
                (Pacing::Terminals(own), mine, all, each.min(own))
            }
            (pacing, Some(clients)) => {
                let mine = share(clients, self.node, self.nodes);
                let own = mine.end - mine.start;
                (pacing, mine, clients, own)
            }
            (pacing, None) => (pacing, self.node * each..(self.node + 1) * each, each * self.nodes, each),
        };
        Ok(Group {
            name: plan.name.clone(),
            role: plan.role,
            conduct: Conduct {
                session: Session { isolation: self.isolation, in_place: true },
                prepare: if self.prepare { Prepare::Once } else { Prepare::Never },
                connections: self.connections,
                tries: self.tries,
                reconnect: self.reconnect,
                patience: PATIENCE,
                exit_on_abort: self.exit_on_abort,
            },
            threads: threads as usize,
            first_client: mine.start,
            clients,
            pacing,
            legs: if plan.pacing.is_none() { self.legs.clone() } else { Vec::new() },
            until: self.until(plan).of_clients(&mine, clients),
        })
    }

    fn row(&self, plan: &GroupPlan, group: &Group, plans: &[GroupPlan], kinds: usize) -> GroupRow {
        let demanded = |rate: f64, of: Whose| Some(if of == Whose::Each { rate * group.clients as f64 } else { rate });
        let (pacing, rate_per_s) = match group.pacing {
            Pacing::Closed => ("closed", None),
            Pacing::Constant(rate, of) => ("constant", demanded(rate, of)),
            Pacing::Poisson(rate, of) => ("poisson", demanded(rate, of)),
            Pacing::Terminals(_) => ("terminals", None),
            Pacing::InStep(_) => ("in-step", None),
        };
        let (until, until_count, until_of, duration_ns) = match self.until(plan) {
            Until::Time(duration) => ("time", None, "", Some(duration)),
            Until::Count { counted, count, of } => (counted.word(), Some(count), of.word(), None),
            Until::Group(number) => ("group", None, plans.get(number).map_or("", |led| &led.name), None),
        };
        GroupRow {
            name: group.name.clone(),
            kinds: if plan.kinds.is_empty() { (0..kinds as KindId).collect() } else { plan.kinds.clone() },
            threads: group.threads,
            clients: group.clients,
            pacing,
            rate_per_s,
            rows_per_s: rate_per_s.filter(|_| plan.rows > 0).map(|rate| rate * plan.rows as f64),
            until,
            until_count,
            until_of: until_of.into(),
            duration_ns,
        }
    }
}

impl Counted {
    fn word(self) -> &'static str {
        match self {
            Self::Transactions => "transactions",
            Self::Attempts => "attempts",
            Self::Rows => "rows",
        }
    }
}

impl Whose {
    fn word(self) -> &'static str {
        match self {
            Self::Each => "each",
            Self::All => "all",
            Self::Share => "share",
        }
    }
}

impl Load {
    /// The same load, divided among processes: one for each of `cpus` CPUs, or each carrier. Clients that end together,
    /// keep step or share terminals stay in one.
    pub fn divide(&self, cpus: usize) -> Vec<Self> {
        let processes = match self.groups.as_slice() {
            [Group { until: Until::Group(_), .. }]
            | [Group { pacing: Pacing::Terminals(_) | Pacing::InStep(_), .. }] => 1,
            [group] => (if self.carriers > 0 { self.carriers } else { cpus }).min(group.threads).max(1),
            _ => 1,
        };
        let part = |number| {
            let groups = self.groups.iter().map(|group| {
                let threads = group.threads as u64;
                let mine = share(threads, number, processes as u64);
                Group {
                    threads: (mine.end - mine.start) as usize,
                    first_client: group.first_client + mine.start,
                    until: group.until.of_clients(&mine, threads),
                    ..group.clone()
                }
            });
            Self { groups: groups.collect(), ..self.clone() }
        };
        (0..processes as u64).map(part).collect()
    }

    /// Threads of all groups.
    pub fn threads(&self) -> usize {
        self.groups.iter().map(|group| group.threads).sum()
    }
}

#[cfg(test)]
mod tests {
    use std::slice;

    use super::*;

    const SECOND: Nanos = 1_000_000_000;

    fn options() -> Options {
        Options {
            threads: 3,
            duration: 2.5,
            ramp_up: 0.0,
            rate: None,
            legs: Vec::new(),
            arrival: Arrival::Poisson,
            terminals: None,
            connections: 1,
            carriers: 0,
            placement: Placement::Free,
            isolation: Isolation::Serializable,
            prepare: false,
            tries: 1,
            reconnect: false,
            exit_on_abort: false,
            per_statement: false,
            node: 0,
            nodes: 1,
            by_time: false,
        }
    }

    fn fill(options: &Options, plans: &[GroupPlan]) -> Filled {
        options.fill("load", plans, 2).unwrap()
    }

    fn counted(count: u64, of: Whose) -> Option<Until> {
        Some(Until::Count { counted: Counted::Rows, count, of })
    }

    fn count(group: &Group) -> u64 {
        let Until::Count { count, .. } = group.until else { panic!("{group:?}") };
        count
    }

    /// One after another, without a gap, all of `total`.
    fn assert_shared<'a>(parts: impl Iterator<Item = &'a Group>, first: u64, total: u64, work: u64) {
        let (mut client, mut done) = (first, 0);
        for group in parts {
            assert_eq!(group.first_client, client);
            client += group.threads as u64;
            done += count(group);
        }
        assert_eq!((client, done), (first + total, work));
    }

    #[test]
    fn nodes_and_processes_share_clients_and_counts_without_a_gap() {
        for nodes in 1..8 {
            for (clients, work) in [(1, 1), (7, 1_000_000), (8, 7), (100, 999), (31, u64::MAX)] {
                let shared = GroupPlan { clients: Some(clients), until: counted(work, Whose::All), ..GroupPlan::all() };
                let plans = [shared, GroupPlan::all()];
                let filled =
                    (0..nodes).map(|node| fill(&Options { node, nodes, ..options() }, &plans)).collect::<Vec<_>>();
                assert_shared(filled.iter().map(|one| &one.load.groups[0]), 0, clients, work);
                for (node, one) in filled.iter().enumerate() {
                    assert_eq!(
                        (one.groups[0].until_count, one.groups[0].clients),
                        (Some(work), clients),
                        "what is archived"
                    );
                    assert_eq!((one.groups[1].threads, one.groups[1].clients), (3, 3 * nodes));
                    assert_eq!(one.load.groups[1].first_client, 3 * node as u64);
                    let alone = Load { groups: vec![one.load.groups[0].clone()], ..one.load.clone() };
                    let parts = alone.divide(4);
                    assert_eq!(parts.len(), alone.threads().clamp(1, 4));
                    let whole = &alone.groups[0];
                    let parts = parts.iter().map(|part| &part.groups[0]);
                    assert_shared(parts, whole.first_client, whole.threads as u64, count(whole));
                }
                let last = filled.last().unwrap();
                assert!(filled.iter().all(|one| one.threads <= last.threads), "an archive tells of the last node");
            }
        }
    }

    #[test]
    fn what_a_stage_leaves_open_comes_from_the_run() {
        let plans = [GroupPlan { rows: 5, ..GroupPlan::all() }];
        let paced = fill(&Options { rate: Some(40.0), arrival: Arrival::Constant, ..options() }, &plans);
        let group = &paced.load.groups[0];
        assert_eq!((group.pacing, group.until), (Pacing::Constant(40.0, Whose::All), Until::Time(5 * SECOND / 2)));
        let row = &paced.groups[0];
        assert_eq!((row.pacing, row.rate_per_s, row.rows_per_s), ("constant", Some(40.0), Some(200.0)));
        assert_eq!((row.until, row.duration_ns, row.kinds.as_slice()), ("time", Some(5 * SECOND / 2), &[0, 1][..]));
        let each = GroupPlan { pacing: Some(Pacing::Poisson(2.0, Whose::Each)), ..GroupPlan::all() };
        assert_eq!(fill(&Options { nodes: 2, ..options() }, &[each]).groups[0].rate_per_s, Some(12.0));
        let leg = Leg { duration_ns: SECOND, first_per_s: 10.0, last_per_s: 30.0, period_ns: 0, sessions: 0 };
        let swinging = Options { legs: vec![leg], ..options() };
        let own = GroupPlan { pacing: Some(Pacing::Closed), ..GroupPlan::all() };
        let filled = fill(&swinging, &[GroupPlan::all(), own]);
        assert_eq!((filled.groups[0].pacing, filled.groups[0].rate_per_s), ("poisson", Some(20.0)));
        assert_eq!((filled.load.groups[0].legs.len(), filled.load.groups[1].legs.len()), (1, 0));
        for (node, first) in [(0, 0), (1, 5)] {
            let seated = Options { threads: 8, terminals: Some(10), node, nodes: 2, ..options() };
            let group = &fill(&seated, &plans).load.groups[0];
            assert_eq!((group.threads, group.first_client, group.clients), (5, first, 10));
            assert_eq!(group.pacing, Pacing::Terminals(5));
        }
        let few = Options { terminals: Some(2), nodes: 3, ..options() };
        assert!(few.fill("load", &plans, 1).unwrap_err().to_string().contains("fewer than the 3 nodes"));
    }

    #[test]
    fn only_a_stage_that_ends_by_time_has_a_demanded_duration_and_may_have_a_ramp_up() {
        let all = GroupPlan::all();
        let by_count = GroupPlan { until: counted(5, Whose::Each), ..all.clone() };
        assert_eq!(fill(&options(), &[all.clone(), by_count.clone()]).duration_ns, None);
        let ramp = Options { ramp_up: 1.0, ..options() };
        let refused = ramp.fill("l.i0", &[all.clone(), by_count.clone()], 1).unwrap_err().to_string();
        assert!(refused.contains("--ramp-up: the stage l.i0 ends by count"), "{refused}");
        let by_time = fill(&Options { by_time: true, ..ramp.clone() }, &[by_count]);
        assert_eq!((by_time.duration_ns, by_time.ramp_up_ns), (Some(5 * SECOND / 2), SECOND));
        let short = GroupPlan { until: Some(Until::Time(7)), ..all.clone() };
        assert_eq!(fill(&ramp, &[all.clone(), short]).duration_ns, Some(5 * SECOND / 2));
        let led = GroupPlan { name: "led".into(), until: Some(Until::Group(0)), ..all.clone() };
        let led = fill(&ramp, &[all, led]);
        assert_eq!(
            (led.duration_ns, led.groups[1].until, led.groups[1].until_of.as_str()),
            (Some(5 * SECOND / 2), "group", "all")
        );
    }

    #[test]
    fn clients_that_belong_together_stay_in_one_process() {
        let all = GroupPlan::all();
        let load = |plans: &[GroupPlan], carriers| fill(&Options { carriers, ..options() }, plans).load;
        assert_eq!(load(slice::from_ref(&all), 0).divide(2).len(), 2);
        assert_eq!(load(slice::from_ref(&all), 9).divide(2).len(), 3);
        assert_eq!(load(&[all.clone(), all.clone()], 0).divide(2).len(), 1);
        for pacing in [Pacing::Terminals(9), Pacing::InStep(0)] {
            assert_eq!(load(&[GroupPlan { pacing: Some(pacing), ..all.clone() }], 0).divide(2).len(), 1);
        }
    }
}
