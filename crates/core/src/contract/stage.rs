//! Stages: what happens on one database, one thing after another, and who makes load at the same time.
//!
//! A workload describes the stages of a scale; what it leaves open (`None`) comes from the settings of the run.

use std::ops::Range;

use serde::{Deserialize, Serialize};

use crate::clock::Nanos;
use crate::workload::KindId;

/// What a count counts.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub enum Counted {
    /// Transactions that were done: committed, or rolled back on purpose.
    Transactions,
    /// Transactions that were tried: those that failed for good, too.
    Attempts,
    /// Rows, as the workload counts them: see [`Client::rows`](crate::workload::Client::rows).
    Rows,
}

impl Counted {
    /// Its word in archives.
    pub fn word(self) -> &'static str {
        match self {
            Self::Transactions => "transactions",
            Self::Attempts => "attempts",
            Self::Rows => "rows",
        }
    }
}

/// Whose count or rate it is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub enum Whose {
    /// Of each client.
    Each,
    /// Of all clients of the group together.
    All,
    /// A count of all clients of the group together of which each does an even share, so that a slow client keeps the
    /// group waiting. A run opens the workload
    /// with a larger setting `transactions` where that many take less time than its duration.
    Share,
}

impl Whose {
    /// Its word in archives.
    pub fn word(self) -> &'static str {
        match self {
            Self::Each => "each",
            Self::All => "all",
            Self::Share => "share",
        }
    }
}

/// When a group ends.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub enum Until {
    /// After this time.
    Time(Nanos),
    /// When so much is done. The last transaction may bring more rows than are missing, as may those of
    /// other clients that are under way.
    Count {
        /// What is counted.
        counted: Counted,
        /// How much; with several nodes a count of all clients is divided among them.
        count: u64,
        /// By whom.
        of: Whose,
    },
    /// When the group with this number ends, on each node for itself.
    Group(usize),
}

impl Until {
    /// The end of the clients `mine` out of `clients`: a count of all is divided by clients, as one node may have more of
    /// them than another.
    pub(crate) fn of_clients(self, mine: &Range<u64>, clients: u64) -> Self {
        match self {
            Self::Count { counted, count, of: of @ (Whose::All | Whose::Share) } => {
                let before = |client: u64| (u128::from(client) * u128::from(count) / u128::from(clients.max(1))) as u64;
                Self::Count { counted, count: before(mine.end) - before(mine.start), of }
            }
            other => other,
        }
    }
}

/// When clients start transactions.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub enum Pacing {
    /// Each client starts the next transaction when the last one has ended.
    Closed,
    /// Open loop, constant starts per second.
    Constant(f64, Whose),
    /// Open loop, Poisson arrivals with this mean rate per second.
    Poisson(f64, Whose),
    /// People at this many terminals of this node, with the workload's keying and thinking times.
    Terminals(u64),
    /// Closed loop in step with the group of this number, which has as many clients and is in step with this one: no
    /// client gets ahead of the other group's client of its number by more than [`LEAD`](crate::pairs::LEAD)
    /// transactions, as long as that has not ended.
    InStep(usize),
}

/// Clients of a load stage that do the same, as the workload wants them.
#[derive(Debug, Clone, PartialEq)]
pub struct GroupPlan {
    /// Name within the stage: "all" where there is one.
    pub name: String,
    /// Which kind of client it has: handed to [`Workload::client`](crate::workload::Workload::client).
    pub role: u8,
    /// Kinds of transactions that they run; empty for all of the workload.
    pub kinds: Vec<KindId>,
    /// Clients of all nodes together; `None` for as many as the run asks for on each node.
    pub clients: Option<u64>,
    /// When they start; `None` for what the run asks for.
    pub pacing: Option<Pacing>,
    /// When they end; `None` for the duration that the run asks for.
    pub until: Option<Until>,
    /// Rows of each of their transactions, where all have the same number; else 0. A rate of rows is made of it.
    pub rows: u64,
    /// Whether they only read, so that a standby can serve them.
    pub reads: bool,
}

impl GroupPlan {
    /// All clients of a stage that leaves everything to the run.
    pub fn all() -> Self {
        let (name, kinds) = ("all".into(), Vec::new());
        Self { name, role: 0, kinds, clients: None, pacing: None, until: None, rows: 0, reads: false }
    }
}

/// What a stage consists of.
#[derive(Debug, Clone, PartialEq)]
pub enum Work {
    /// Create, populate, settle, keys: timed phases.
    Build,
    /// Groups of clients at the same time, until each has ended.
    Load {
        /// The groups that make the load.
        groups: Vec<GroupPlan>,
        /// Whether it is repeated: in as many cycles, at as many numbers of clients, as the run asks for.
        repeated: bool,
        /// Whether the database is cleaned before each cycle.
        cleaned: bool,
    },
    /// A load in as many cycles as the workload asks for, some of which find a server that was just restarted.
    Cold {
        /// The groups that make the load of each cycle.
        groups: Vec<GroupPlan>,
        /// How many cycles.
        cycles: u64,
        /// Before the first of each so many the server is restarted, and its files leave the page cache.
        each: u64,
    },
    /// Statements that are timed, on this many connections at once: see
    /// [`Workload::work`](crate::workload::Workload::work).
    Statements {
        /// Connections.
        parts: u32,
    },
    /// The conditions of the workload against all that was done since the population.
    Check,
    /// The end of the database.
    Drop,
}

/// One stage.
#[derive(Debug, Clone, PartialEq)]
pub struct Stage {
    /// Name, unique within the scale.
    pub name: String,
    /// What is done.
    pub work: Work,
}

impl Stage {
    /// A stage of this name.
    pub fn new(name: &str, work: Work) -> Self {
        Self { name: name.into(), work }
    }

    /// The groups that make its load; none of another stage.
    pub fn groups(&self) -> &[GroupPlan] {
        match &self.work {
            Work::Load { groups, .. } | Work::Cold { groups, .. } => groups,
            _ => &[],
        }
    }

    /// The same, to change them.
    pub fn groups_mut(&mut self) -> &mut [GroupPlan] {
        match &mut self.work {
            Work::Load { groups, .. } | Work::Cold { groups, .. } => groups,
            _ => &mut [],
        }
    }

    /// The ladder of the paper, section 2.4: build, cycles of load, check, drop.
    pub fn ladder() -> Vec<Self> {
        let load = Work::Load { groups: vec![GroupPlan::all()], repeated: true, cleaned: true };
        let stages = [("build", Work::Build), ("load", load), ("check", Work::Check), ("drop", Work::Drop)];
        stages.map(|(name, work)| Self::new(name, work)).into()
    }
}
