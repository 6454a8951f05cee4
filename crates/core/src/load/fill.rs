//! The plan of a load stage, filled in: what its workload leaves open comes from the settings of the run, and each node,
//! and each process of a node, has its share.

use std::ops::Range;

use serde::{Deserialize, Serialize};

use crate::clock::Nanos;
use crate::engine::{Isolation, Prepare, Session};
use crate::error::{Error, Result};
use crate::generator::Conduct;
use crate::legs::{mean_per_s, Leg};
use crate::patience::LONGEST_PAUSE;
use crate::placement::Placement;
use crate::stage::{GroupPlan, Pacing, Until, Whose};
use crate::threads::Group;
use crate::workload::KindId;

/// What each client more adds to the pause between two tries of a client, so that all of a group together ask about two
/// thousand times a second at most.
const EACH: Nanos = 500_000;

/// The pause between two tries of a client where the moment counts in which the server is back.
const PROMPT: Nanos = 10_000_000;

/// How starts of an open loop follow each other.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Arrival {
    /// At constant intervals.
    Constant,
    /// At random.
    #[default]
    Poisson,
}

/// What a run asks of its load: each field is read from the attribute of its name of a specification
/// (python/dsbench/spec/run.py). Times in seconds.
#[derive(Debug, Clone, Default, Deserialize)]
pub struct Options {
    /// Of each node.
    pub clients: usize,
    /// Of a group whose end the workload leaves open.
    pub duration: f64,
    /// Before the clock starts.
    pub ramp_up: f64,
    /// Starts per second of all clients of an open loop; `None` for the closed one.
    pub rate: Option<f64>,
    /// Of an open loop.
    pub arrival: Arrival,
    /// Of an open loop whose rate changes; empty: it does not.
    pub legs: Vec<Leg>,
    /// Of each client.
    pub connections: usize,
    /// Threads of the operating system; 0 for one per CPU.
    pub os_threads: usize,
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
    /// How long a lost connection is tried to be opened again.
    pub patience_s: f64,
    /// A client that its own error ends, ends the cycle.
    pub exit_on_abort: bool,
    /// Whether the times of statements are kept.
    pub per_statement: bool,
    /// Whether the longest times between two transactions of a client are kept, and connections are opened again as soon
    /// as that is possible.
    pub keeps_pauses: bool,
    /// Whether clients go on for as long as their patience while statements fail.
    pub bears_failures: bool,
    /// Whether groups that only read connect to another server.
    pub reads_elsewhere: bool,
}

/// Which part of the load is filled in.
#[derive(Debug, Clone, Copy)]
pub struct Turn {
    /// Number of the node.
    pub node: u64,
    /// Nodes in all.
    pub nodes: u64,
    /// Of all nodes together, where people key in and think.
    pub terminals: Option<u64>,
    /// Every group ends after the duration, whatever the workload says.
    pub by_time: bool,
}

/// What makes the load of a cycle on one node, or in one of its processes.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct Load {
    /// Clients that do the same.
    pub groups: Vec<Group>,
    /// What each of the groups has to do, with its clients on all nodes.
    pub demands: Vec<Demand>,
    /// See [`LoadPlan`](crate::threads::LoadPlan), as all that follows.
    pub carriers: usize,
    /// On which CPUs clients run.
    pub placement: Placement,
    /// Before the clock starts.
    pub ramp_up: Nanos,
    /// Whether the times of statements are kept.
    pub statements: bool,
    /// Whether the longest times between two transactions of a client are kept.
    pub pauses: bool,
}

/// What a group has to do, on all nodes together.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Demand {
    /// Numbers of the kinds of transactions that its clients run.
    pub kinds: Vec<KindId>,
    /// Starts per second; `None` where it has no rate.
    pub rate_per_s: Option<f64>,
    /// Rows per second, where each transaction has as many.
    pub rows_per_s: Option<f64>,
    /// When it ends; the count of a client where each has its own.
    pub until: Until,
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
    pub fn fill(&self, turn: &Turn, stage: &str, plans: &[GroupPlan], kinds: usize) -> Result<Load> {
        let groups = plans.iter().map(|plan| self.group(turn, plan)).collect::<Result<Vec<_>>>()?;
        let ramp_up = nanos(self.ramp_up);
        if ramp_up > 0 && groups.iter().any(|group| matches!(group.until, Until::Count { .. })) {
            let words = "ends by count, and what a ramp-up does is not counted";
            return Err(
                Error::configuration(format!("--ramp-up: the stage {stage} {words}")).remedy("leave --ramp-up out")
            );
        }
        let demands = plans.iter().zip(&groups).map(|(plan, group)| self.demand(turn, plan, group, kinds)).collect();
        Ok(Load {
            groups,
            demands,
            carriers: self.os_threads,
            placement: self.placement,
            ramp_up,
            statements: self.per_statement,
            pauses: self.keeps_pauses,
        })
    }

    fn pacing(&self, turn: &Turn, plan: &GroupPlan) -> Pacing {
        let rate = if self.legs.is_empty() { self.rate } else { Some(mean_per_s(&self.legs)) };
        let of_run = || match (turn.terminals, rate, self.arrival) {
            (Some(terminals), _, _) => Pacing::Terminals(terminals),
            (None, None, _) => Pacing::Closed,
            (None, Some(rate), Arrival::Constant) => Pacing::Constant(rate, Whose::All),
            (None, Some(rate), Arrival::Poisson) => Pacing::Poisson(rate, Whose::All),
        };
        plan.pacing.unwrap_or_else(of_run)
    }

    /// The end of the whole group, on all nodes.
    fn until(&self, turn: &Turn, plan: &GroupPlan) -> Until {
        let until = plan.until.filter(|_| !turn.by_time);
        until.unwrap_or_else(|| Until::Time(nanos(self.duration)))
    }

    /// The longest pause between two tries of one of so many clients to open a connection again.
    fn pause(&self, prompt: Nanos, clients: u64) -> Nanos {
        if self.keeps_pauses {
            prompt.max(EACH * clients)
        } else {
            LONGEST_PAUSE
        }
    }

    fn group(&self, turn: &Turn, plan: &GroupPlan) -> Result<Group> {
        let each = self.clients as u64;
        let Turn { node, nodes, .. } = *turn;
        let (pacing, mine, clients, threads) = match (self.pacing(turn, plan), plan.clients) {
            (Pacing::Terminals(all), _) => {
                let mine = share(all, node, nodes);
                if mine.is_empty() {
                    let words = format!("--terminals {all}: fewer than the {nodes} nodes that share them");
                    return Err(Error::configuration(words));
                }
                let own = mine.end - mine.start;
                // A thread without a terminal has nothing to do.
                (Pacing::Terminals(own), mine, all, each.min(own))
            }
            (pacing, Some(clients)) => {
                let mine = share(clients, node, nodes);
                let own = mine.end - mine.start;
                (pacing, mine, clients, own)
            }
            (pacing, None) => (pacing, node * each..(node + 1) * each, each * nodes, each),
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
                patience: nanos(self.patience_s),
                pause: self.pause(PROMPT, threads * nodes),
                bears: self.bears_failures,
                exit_on_abort: self.exit_on_abort,
            },
            threads: threads as usize,
            first_client: mine.start,
            clients,
            pacing,
            legs: if plan.pacing.is_none() { self.legs.clone() } else { Vec::new() },
            until: self.until(turn, plan).of_clients(&mine, clients),
            reads: self.reads_elsewhere && plan.reads,
        })
    }

    fn demand(&self, turn: &Turn, plan: &GroupPlan, group: &Group, kinds: usize) -> Demand {
        let rate_per_s = match group.pacing {
            Pacing::Constant(rate, of) | Pacing::Poisson(rate, of) => {
                Some(if of == Whose::Each { rate * group.clients as f64 } else { rate })
            }
            Pacing::Closed | Pacing::Terminals(_) | Pacing::InStep(_) => None,
        };
        Demand {
            kinds: if plan.kinds.is_empty() { (0..kinds as KindId).collect() } else { plan.kinds.clone() },
            rate_per_s,
            rows_per_s: rate_per_s.filter(|_| plan.rows > 0).map(|rate| rate * plan.rows as f64),
            until: self.until(turn, plan),
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

    /// Connections of each thread.
    pub fn connections(&self) -> usize {
        self.groups.iter().map(|group| group.conduct.connections).max().unwrap_or_default()
    }

    /// How long it is to last after the ramp-up; `None` where a count decides.
    pub fn duration(&self) -> Option<Nanos> {
        let end = |demand: &Demand| match demand.until {
            Until::Time(duration) => Some(Some(duration)),
            Until::Count { .. } => Some(None),
            Until::Group(_) => None,
        };
        self.demands.iter().filter_map(end).collect::<Option<Vec<_>>>()?.into_iter().max()
    }
}

#[cfg(test)]
mod tests {
    use std::slice;

    use super::*;
    use crate::stage::Counted;

    const SECOND: Nanos = 1_000_000_000;

    const ALONE: Turn = Turn { node: 0, nodes: 1, terminals: None, by_time: false };

    fn options() -> Options {
        Options { clients: 3, duration: 2.5, connections: 1, tries: 1, ..Options::default() }
    }

    fn fill(options: &Options, plans: &[GroupPlan]) -> Load {
        options.fill(&ALONE, "load", plans, 2).unwrap()
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
                let until = counted(work, Whose::All);
                let shared = GroupPlan { clients: Some(clients), until, ..GroupPlan::all() };
                let plans = [shared, GroupPlan::all()];
                let of_node = |node| options().fill(&Turn { node, nodes, ..ALONE }, "load", &plans, 2).unwrap();
                let filled = (0..nodes).map(of_node).collect::<Vec<_>>();
                assert_shared(filled.iter().map(|one| &one.groups[0]), 0, clients, work);
                for (node, one) in filled.iter().enumerate() {
                    let whole = (Some(one.demands[0].until), one.groups[0].clients);
                    assert_eq!(whole, (until, clients), "what is archived");
                    assert_eq!((one.groups[1].threads, one.groups[1].clients), (3, 3 * nodes));
                    assert_eq!(one.groups[1].first_client, 3 * node as u64);
                    let alone = Load { groups: vec![one.groups[0].clone()], ..one.clone() };
                    let parts = alone.divide(4);
                    assert_eq!(parts.len(), alone.threads().clamp(1, 4));
                    let whole = &alone.groups[0];
                    let parts = parts.iter().map(|part| &part.groups[0]);
                    assert_shared(parts, whole.first_client, whole.threads as u64, count(whole));
                }
                let last = filled.last().unwrap();
                assert!(filled.iter().all(|one| one.threads() <= last.threads()), "an archive tells of the last node");
            }
        }
    }

    #[test]
    fn what_a_stage_leaves_open_comes_from_the_run() {
        let plans = [GroupPlan { rows: 5, ..GroupPlan::all() }];
        let paced = fill(&Options { rate: Some(40.0), arrival: Arrival::Constant, ..options() }, &plans);
        let group = &paced.groups[0];
        assert_eq!((group.pacing, group.until), (Pacing::Constant(40.0, Whose::All), Until::Time(5 * SECOND / 2)));
        let demand = Demand {
            kinds: vec![0, 1],
            rate_per_s: Some(40.0),
            rows_per_s: Some(200.0),
            until: Until::Time(5 * SECOND / 2),
        };
        assert_eq!(paced.demands[0], demand);
        let each = GroupPlan { pacing: Some(Pacing::Poisson(2.0, Whose::Each)), ..GroupPlan::all() };
        let both = options().fill(&Turn { nodes: 2, ..ALONE }, "load", &[each], 2).unwrap();
        assert_eq!(both.demands[0].rate_per_s, Some(12.0));
        let leg = Leg { duration_ns: SECOND, first_per_s: 10.0, last_per_s: 30.0, period_ns: 0, sessions: 0 };
        let swinging = Options { legs: vec![leg], ..options() };
        let own = GroupPlan { pacing: Some(Pacing::Closed), ..GroupPlan::all() };
        let filled = fill(&swinging, &[GroupPlan::all(), own]);
        assert_eq!(filled.groups[0].pacing, Pacing::Poisson(20.0, Whose::All));
        assert_eq!((filled.demands[0].rate_per_s, filled.demands[1].rate_per_s), (Some(20.0), None));
        assert_eq!((filled.groups[0].legs.len(), filled.groups[1].legs.len()), (1, 0));
        for (node, first) in [(0, 0), (1, 5)] {
            let turn = Turn { terminals: Some(10), node, nodes: 2, ..ALONE };
            let group = &Options { clients: 8, ..options() }.fill(&turn, "load", &plans, 2).unwrap().groups[0];
            assert_eq!((group.threads, group.first_client, group.clients), (5, first, 10));
            assert_eq!(group.pacing, Pacing::Terminals(5));
        }
        let few = Turn { terminals: Some(2), nodes: 3, ..ALONE };
        let refused = options().fill(&few, "load", &plans, 1).unwrap_err().to_string();
        assert!(refused.contains("fewer than the 3 nodes"), "{refused}");
    }

    #[test]
    fn only_a_stage_that_ends_by_time_has_a_demanded_duration_and_may_have_a_ramp_up() {
        let all = GroupPlan::all();
        let by_count = GroupPlan { until: counted(5, Whose::Each), ..all.clone() };
        assert_eq!(fill(&options(), &[all.clone(), by_count.clone()]).duration(), None);
        let ramp = Options { ramp_up: 1.0, ..options() };
        let refused = ramp.fill(&ALONE, "l.i0", &[all.clone(), by_count.clone()], 1).unwrap_err().to_string();
        assert!(refused.contains("--ramp-up: the stage l.i0 ends by count"), "{refused}");
        let by_time = ramp.fill(&Turn { by_time: true, ..ALONE }, "load", &[by_count], 2).unwrap();
        assert_eq!((by_time.duration(), by_time.ramp_up), (Some(5 * SECOND / 2), SECOND));
        let short = GroupPlan { until: Some(Until::Time(7)), ..all.clone() };
        assert_eq!(fill(&ramp, &[all.clone(), short]).duration(), Some(5 * SECOND / 2));
        let led = GroupPlan { name: "led".into(), until: Some(Until::Group(0)), ..all.clone() };
        let led = fill(&ramp, &[all, led]);
        assert_eq!((led.duration(), led.demands[1].until), (Some(5 * SECOND / 2), Until::Group(0)));
    }

    #[test]
    fn clients_that_belong_together_stay_in_one_process() {
        let all = GroupPlan::all();
        let load = |plans: &[GroupPlan], os_threads| fill(&Options { os_threads, ..options() }, plans);
        assert_eq!(load(slice::from_ref(&all), 0).divide(2).len(), 2);
        assert_eq!(load(slice::from_ref(&all), 9).divide(2).len(), 3);
        assert_eq!(load(&[all.clone(), all.clone()], 0).divide(2).len(), 1);
        for pacing in [Pacing::Terminals(9), Pacing::InStep(0)] {
            assert_eq!(load(&[GroupPlan { pacing: Some(pacing), ..all.clone() }], 0).divide(2).len(), 1);
        }
    }
}
