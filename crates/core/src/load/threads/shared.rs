//! What the threads of a cycle have in common: when to begin, when to end, where they count.

use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Condvar, Mutex, PoisonError};

use super::clients::share_starts;
use super::plan::Bundles;
use super::{stalls, Group, LoadPlan, CONNECTING, MILLISECOND};
use crate::board::Board;
use crate::carrier;
use crate::clock::{Clock, Monotonic, Nanos};
use crate::course::Second;
use crate::engine::Interrupt;
use crate::error::Error;
use crate::generator::Interrupts;
use crate::legs::Starts;
use crate::limit::Limit;
use crate::locking::lock;
use crate::pairs::Pair;
use crate::placement::{self, Placement};

#[derive(Default)]
pub(super) struct Handles(pub(super) Mutex<Vec<Option<Box<dyn Interrupt>>>>);

impl Handles {
    /// Forgets them: there is nothing to end any more.
    pub(super) fn clear(&self) {
        lock(&self.0).clear();
    }
}

impl Interrupts for Handles {
    fn put(&self, index: usize, handle: Option<Box<dyn Interrupt>>) {
        let mut handles = lock(&self.0);
        if handles.len() <= index {
            handles.resize_with(index + 1, || None);
        }
        handles[index] = handle;
    }
}

pub(super) struct Shared {
    pub(super) stop: AtomicBool,
    pub(super) ready: AtomicUsize,
    pub(super) running: AtomicUsize,
    pub(super) failure: Mutex<Option<Error>>,
    /// Clients that their own errors ended, with the first of these.
    pub(super) aborted: Mutex<(usize, Option<Error>)>,
    pub(super) threads: usize,
    pub(super) start: Mutex<Option<Nanos>>,
    pub(super) started: Condvar,
    pub(super) handles: Vec<Handles>,
    /// Of each group: where the threads that run its clients count.
    pub(super) boards: Vec<Boards>,
    /// The seconds that were collected so far, each over all groups and kinds.
    pub(super) seconds: Mutex<Vec<Second>>,
    /// Of each group.
    pub(super) limits: Vec<Limit>,
    pub(super) given_up: stalls::GivenUp,
    /// Groups that have no client on this node.
    pub(super) empty: Vec<usize>,
    /// Number of the group that a group follows, where it does.
    pub(super) leaders: Vec<Option<usize>>,
    /// Of each group that keeps step with one of a higher number: the pairs of their clients.
    pub(super) pairs: Vec<Vec<Pair>>,
    /// Of each group of an open loop what its clients on this node share.
    pub(super) starts: Vec<Option<Arc<Starts>>>,
    /// CPUs on which clients are placed; empty where they are not.
    pub(super) cpus: Arc<[usize]>,
}

/// Where the clients of a group count, by thread of the operating system.
#[derive(Default)]
pub(super) struct Boards {
    /// Of each carrier; nothing where none of its clients is carried.
    pub(super) carried: Arc<[Arc<Board>]>,
    /// Of each client that has a thread to itself, with its index.
    pub(super) alone: Vec<(usize, Arc<Board>)>,
}

impl Boards {
    pub(super) fn all(&self) -> impl Iterator<Item = &Arc<Board>> {
        self.carried.iter().chain(self.alone.iter().map(|(_, board)| board))
    }

    /// All of them added up, once no client writes any more.
    pub(super) fn sum(&self) -> Option<Arc<Board>> {
        let mut all = self.all();
        let first = all.next()?;
        all.for_each(|board| first.merge(board));
        Some(Arc::clone(first))
    }

    /// Of each group of `plan`.
    pub(super) fn of(plan: &LoadPlan, bundles: &Bundles) -> Vec<Self> {
        let kinds = plan.workload.kinds().len();
        let statements = if plan.statements { plan.workload.statements().len() } else { 0 };
        let mut groups: Vec<Self> = Vec::new();
        for (number, group) in plan.groups.iter().enumerate() {
            let board = || Board::new(kinds, !group.has_no_schedule(), statements);
            let of_group = |index: &&usize| plan.seat(**index).0 == number;
            let carried = bundles.shared.iter().flatten().any(|index| of_group(&index));
            let alone = bundles.single.iter().chain(&bundles.alone).filter(of_group);
            groups.push(Self {
                carried: bundles.shared.iter().filter(|_| carried).map(|_| board()).collect(),
                alone: alone.map(|index| (*index, board())).collect(),
            });
        }
        groups
    }
}

impl Shared {
    pub(super) fn new(plan: &LoadPlan, bundles: &Bundles) -> Self {
        let threads = plan.threads();
        let empty = plan.groups.iter().enumerate().filter(|(_, group)| group.threads == 0);
        Self {
            stop: AtomicBool::new(false),
            ready: AtomicUsize::new(0),
            running: AtomicUsize::new(threads),
            failure: Mutex::new(None),
            aborted: Mutex::default(),
            threads,
            start: Mutex::new(None),
            started: Condvar::new(),
            handles: (0..threads).map(|_| Handles::default()).collect(),
            boards: Boards::of(plan, bundles),
            seconds: Mutex::default(),
            limits: plan.groups.iter().map(|group| Limit::new(group.until, group.threads)).collect(),
            given_up: stalls::GivenUp::new(),
            empty: empty.map(|(number, _)| number).collect(),
            leaders: plan.groups.iter().map(Group::leader).collect(),
            pairs: plan.groups.iter().map(|group| (0..group.threads).map(|_| Pair::default()).collect()).collect(),
            starts: share_starts(plan),
            cpus: if plan.placement == Placement::Free { Vec::new() } else { placement::cpus() }.into(),
        }
    }

    /// The clock starts at `at`. A group that has no client on this node is over at once.
    pub(super) fn begin(&self, at: Nanos) {
        self.limits.iter().for_each(|limit| limit.begin(at));
        self.empty.iter().for_each(|number| self.group_ended(*number, at));
    }

    /// The pair of client `within` of group `number`, which keeps step with group `other`, and which half it is.
    pub(super) fn pair(&self, number: usize, other: usize, within: usize) -> (&Pair, usize) {
        (&self.pairs[number.min(other)][within], usize::from(number > other))
    }

    /// A client of group `number` has ended; the last one ends the groups that follow it.
    pub(super) fn client_ended(&self, number: usize) {
        if self.limits[number].client_ended() {
            self.group_ended(number, Monotonic.now());
        }
    }

    pub(super) fn group_ended(&self, number: usize, at: Nanos) {
        let limits = self.leaders.iter().zip(&self.limits);
        limits.filter(|(leader, _)| **leader == Some(number)).for_each(|(_, limit)| limit.end(at));
    }

    pub(super) fn fail(&self, error: Error) {
        // The first error is the cause; what others say afterwards is its consequence.
        lock(&self.failure).get_or_insert(error);
        self.end();
    }

    /// A client was ended by its own error. Once there are no others the cycle has failed.
    pub(super) fn abort(&self, error: Error) {
        let mut aborted = lock(&self.aborted);
        aborted.0 += 1;
        let first = aborted.1.get_or_insert(error).clone();
        if aborted.0 == self.threads {
            let said = first.message.as_deref().unwrap_or(first.kind.name());
            let words = match self.threads {
                1 => said.to_string(),
                all => format!("all {all} clients were aborted; the first one: {said}"),
            };
            self.fail(first.clone().wrapped(first.context, words));
        }
    }

    pub(super) fn end(&self) {
        self.stop.store(true, Ordering::Relaxed);
        // Under the lock, so that a thread about to wait cannot miss it.
        let _guard = lock(&self.start);
        self.started.notify_all();
    }

    /// Waits until client `index` is one of the next ones that connect, or the cycle is stopped. A client looks the
    /// less often, the more are before it.
    pub(super) fn wait_to_connect(&self, index: usize) {
        loop {
            let next = self.ready.load(Ordering::Acquire) + CONNECTING;
            if index < next || self.stop.load(Ordering::Relaxed) {
                return;
            }
            let pause = (1 + (index - next) / CONNECTING) as Nanos * MILLISECOND;
            Monotonic.sleep_until(Monotonic.now() + pause, &self.stop);
        }
    }

    /// Waits for the common start; `None` when the cycle is stopped before.
    pub(super) fn wait_for_start(&self) -> Option<Nanos> {
        while carrier::carried() && !self.stop.load(Ordering::Relaxed) {
            // Other clients of this thread still connect. The start lies in the future when it is told.
            if let Some(start) = *lock(&self.start) {
                return Some(start);
            }
            // All clients look at the same times. If each looked at its own, the thread would hardly sleep. The more
            // they are, the longer before it the start is told, and the less often they have to look.
            let every = MILLISECOND * (1 + self.threads / CONNECTING) as Nanos;
            carrier::pause_until((Monotonic.now() / every + 1) * every);
        }
        let mut start = lock(&self.start);
        while start.is_none() && !self.stop.load(Ordering::Relaxed) {
            start = self.started.wait(start).unwrap_or_else(PoisonError::into_inner);
        }
        *start
    }
}
