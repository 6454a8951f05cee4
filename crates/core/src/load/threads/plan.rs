//! What makes a cycle: the groups of clients of a load stage on this node.

use std::path::PathBuf;
use std::sync::Arc;

use serde::{Deserialize, Serialize};

use super::SECOND;
use crate::clock::Nanos;
use crate::engine::Engine;
use crate::error::{Error, Result};
use crate::generator::Conduct;
use crate::legs::Leg;
use crate::placement::Placement;
use crate::stage::{Pacing, Until};
use crate::workload::Workload;

/// Clients that do the same: of a load stage, on this node.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct Group {
    /// Name within the stage.
    pub name: String,
    /// Which kind of client it has.
    pub role: u8,
    /// How they run.
    pub conduct: Conduct,
    /// J: threads of this node, which may have none. Each serves one client, or the terminals that fall to it.
    pub threads: usize,
    /// Number of this node's first client among those of the group.
    pub first_client: u64,
    /// Clients of the group on all nodes together; with terminals, those of all nodes.
    pub clients: u64,
    /// When transactions start.
    pub pacing: Pacing,
    /// Of an open loop whose rate changes, in place of the rate of `pacing`; empty: it does not.
    pub legs: Vec<Leg>,
    /// When the group has done enough; a count of all is that of this node.
    pub until: Until,
    /// Whether it connects to where the run reads from.
    pub reads: bool,
}

impl Group {
    /// So many clients of one kind, all on this node, in a closed loop.
    pub fn closed(conduct: Conduct, threads: usize, until: Until) -> Self {
        let (name, clients) = ("all".into(), threads as u64);
        Self {
            name,
            role: 0,
            conduct,
            threads,
            first_client: 0,
            clients,
            pacing: Pacing::Closed,
            legs: Vec::new(),
            until,
            reads: false,
        }
    }

    /// Numbers of the clients of thread `index` of the group, among those of all nodes.
    pub(super) fn clients_of(&self, index: usize) -> impl Iterator<Item = u64> {
        let of_node = match self.pacing {
            Pacing::Terminals(terminals) => terminals,
            _ => self.threads as u64,
        };
        let first = self.first_client;
        (index as u64..of_node).step_by(self.threads).map(move |client| first + client)
    }

    /// Number of the group that it follows, if it does.
    pub(super) fn leader(&self) -> Option<usize> {
        match self.until {
            Until::Group(other) => Some(other),
            _ => None,
        }
    }

    /// Whether transactions start when others have ended, not at times of their own.
    pub(super) fn has_no_schedule(&self) -> bool {
        matches!(self.pacing, Pacing::Closed | Pacing::InStep(_))
    }

    /// Starts of an open loop have to be met to the microsecond, and connecting blocks: such clients have threads
    /// of the operating system of their own.
    fn carried(&self, engine: &dyn Engine) -> bool {
        cfg!(target_os = "linux")
            && engine.waits_in_sockets()
            && self.pacing == Pacing::Closed
            && !self.conduct.reconnect
    }
}

/// Everything that makes a cycle: one repetition of a load stage.
#[derive(Clone)]
pub struct LoadPlan {
    /// The database.
    pub engine: Arc<dyn Engine>,
    /// The same database at another server, for groups that read there.
    pub reading: Option<Arc<dyn Engine>>,
    /// What is run.
    pub workload: Arc<dyn Workload>,
    /// The groups that make load at the same time.
    pub groups: Vec<Group>,
    /// Threads of the operating system that carry the clients of this node, see [`crate::carrier`]; 0 for as
    /// many as there are CPUs. Where a client cannot be carried it has one to itself.
    pub carriers: usize,
    /// On which CPUs they run.
    pub placement: Placement,
    /// Load that is run before the cycle's clock starts, and not recorded.
    pub ramp_up: Nanos,
    /// Seed of this cycle's inputs.
    pub seed: u64,
    /// Where to write the full trace, if at all.
    pub trace: Option<PathBuf>,
    /// Whether the times of statements are kept.
    pub statements: bool,
    /// Whether the longest times between two transactions of a client are kept.
    pub pauses: bool,
    /// Seconds for which a group that ends by count may go on without a transaction that is done, while attempts fail.
    pub give_up_s: u64,
}

/// Threads of load by how they share those of the operating system.
pub(super) struct Bundles {
    /// For each carrier its clients.
    pub(super) shared: Vec<Vec<usize>>,
    /// Those that could share one, and need not, as there are enough CPUs.
    pub(super) single: Vec<usize>,
    /// Those that cannot.
    pub(super) alone: Vec<usize>,
}

impl LoadPlan {
    /// Which groups and ends go together. Errors of kind `Configuration`.
    pub(super) fn refuse(&self) -> Result<()> {
        for (number, group) in self.groups.iter().enumerate() {
            let ends = |other: usize| self.groups.get(other).is_some_and(|other| other.leader().is_none());
            let led = group.leader().map(ends);
            if led == Some(false) {
                let words = format!("group {} ends with a group that has no end to itself", group.name);
                return Err(Error::configuration(words));
            }
            if let Pacing::InStep(other) = group.pacing {
                let fits = |other: &Group| other.threads == group.threads && other.pacing == Pacing::InStep(number);
                if other == number || !self.groups.get(other).is_some_and(fits) {
                    let words = format!("group {} has no group of as many clients that keeps step with it", group.name);
                    return Err(Error::configuration(words));
                }
            }
            if self.ramp_up > 0 && matches!(group.until, Until::Count { .. }) {
                let words = format!("group {} ends by count: leave --ramp-up out", group.name);
                return Err(Error::configuration(words));
            }
        }
        Ok(())
    }

    /// The same, with an end by time for each group that follows one which has it: a last transaction of that group
    /// which takes long lengthens no cycle.
    pub(super) fn with_times(&self) -> Self {
        let time = |group: &Group| match group.leader().map(|leader| self.groups[leader].until) {
            Some(until @ Until::Time(_)) => Group { until, ..group.clone() },
            _ => group.clone(),
        };
        Self { groups: self.groups.iter().map(time).collect(), ..self.clone() }
    }

    /// Where a group connects.
    pub(super) fn engine_of(&self, group: &Group) -> &dyn Engine {
        self.reading.as_ref().filter(|_| group.reads).unwrap_or(&self.engine).as_ref()
    }

    /// The servers that sessions may be of: those for writes, then those that are read from; empty where there is no
    /// choice.
    pub(super) fn hosts(&self) -> Vec<String> {
        let mut all = self.engine.hosts();
        if let Some(reading) = &self.reading {
            all.extend(reading.hosts());
        }
        if all.len() > 1 {
            all
        } else {
            Vec::new()
        }
    }

    /// Number of the first host of a group among [`Self::hosts`], where there is a choice.
    pub(super) fn first_host(&self, group: &Group) -> Option<usize> {
        let ahead = if group.reads && self.reading.is_some() { self.engine.hosts().len() } else { 0 };
        (!self.hosts().is_empty()).then_some(ahead)
    }

    /// Threads of all groups.
    pub(super) fn threads(&self) -> usize {
        self.groups.iter().map(|group| group.threads).sum()
    }

    /// (number of the group, number within the group) of thread `index` of all.
    pub(super) fn seat(&self, mut index: usize) -> (usize, usize) {
        for (number, group) in self.groups.iter().enumerate() {
            if index < group.threads {
                return (number, index);
            }
            index -= group.threads;
        }
        unreachable!("as many threads as the groups have")
    }

    /// Which threads share a thread of the operating system, and which have one to themselves.
    pub(super) fn bundles(&self) -> Bundles {
        let carried = |index: &usize| {
            let group = &self.groups[self.seat(*index).0];
            group.carried(self.engine_of(group))
        };
        let (together, alone): (Vec<usize>, Vec<usize>) = (0..self.threads()).partition(carried);
        let most = match self.carriers {
            0 => std::thread::available_parallelism().map_or(1, usize::from),
            carriers => carriers,
        };
        let carriers = most.min(together.len()).max(1);
        let share = |carrier: usize| together.iter().skip(carrier).step_by(carriers).copied().collect::<Vec<_>>();
        if together.len() <= carriers {
            return Bundles { shared: Vec::new(), single: together, alone };
        }
        Bundles { shared: (0..carriers).map(share).collect(), single: Vec::new(), alone }
    }

    /// Threads of the operating system that the cycle will have for its clients.
    pub fn carriers(&self) -> usize {
        let Bundles { shared, single, alone } = self.bundles();
        shared.len() + single.len() + alone.len()
    }

    /// Second of the last end that counts; `None` where it is not known before.
    pub(super) fn last_second(&self) -> Option<u64> {
        let seconds = self.groups.iter().map(|group| match group.until {
            Until::Time(duration) => Some(duration.saturating_sub(1) / SECOND),
            _ => None,
        });
        seconds.collect::<Option<Vec<u64>>>()?.into_iter().max()
    }
}
