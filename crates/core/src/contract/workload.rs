//! What a workload must be able to do: its schema, its rows, its transactions, its check.
//! A workload owns SQL and random inputs; it never begins, commits, retries or reconnects. Only scripts of the user say
//! themselves where their transactions begin and end, and roll back what a failed statement left open.

use std::ops::RangeInclusive;
use std::path::Path;
use std::sync::Arc;

use crate::clock::Nanos;
use crate::engine::{Connection, Prepare};
use crate::error::{Error, Result};
use crate::stage::Stage;

pub use crate::contract::progress::{Part, Progress, Timed};

/// Number of a kind of transaction: its index in [`Workload::kinds`].
pub type KindId = u8;

/// How the transaction asks to end.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum End {
    /// Commit: it did what it should.
    Commit,
    /// Roll back on purpose: counted as done, not as failed.
    Rollback,
}

/// Whether the loop sends BEGIN and COMMIT around a transaction.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Shape {
    /// One statement without BEGIN and COMMIT around it: one round trip.
    Single,
    /// Several statements between `begin` and `commit` (or `rollback`).
    Block,
    /// A block that only reads: engines with one writer at a time need not give it the writer's turn.
    ReadBlock,
}

/// How long a simulated person takes at the terminal, around one transaction.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Pace {
    /// Time to key the inputs in, before the start.
    pub keying: Nanos,
    /// Mean of the exponential time to think, after the end.
    pub mean_think: Nanos,
    /// Whether the person waits for the end. If not, the request goes into a queue and thinking begins at
    /// once; the response time still counts to the end.
    pub waits: bool,
}

/// What the next transaction will be.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Drawn {
    /// Its kind.
    pub kind: KindId,
    /// Whether it needs BEGIN and COMMIT.
    pub shape: Shape,
}

/// How long one statement of a transaction took.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct StatementTime {
    /// Its number: the index in [`Workload::statements`].
    pub statement: u16,
    /// From its sending to its answer, in ns.
    pub took: Nanos,
    /// Whether it ended in an error.
    pub failed: bool,
}

/// What the executions of a statement found, those without an error.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Found {
    /// Its number: the index in [`Workload::statements`].
    pub statement: u16,
    /// How often it was executed.
    pub executions: u64,
    /// Rows that it read or changed.
    pub rows: u64,
    /// Executions without a row.
    pub empty: u64,
}

/// A statement whose times can be told.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct StatementName {
    /// Kind of the transactions that it belongs to.
    pub kind: KindId,
    /// Where it stands in its source, from 1.
    pub line: usize,
    /// What it says, in one line.
    pub text: String,
}

/// Tells a client that it should end a pause which it makes itself.
pub trait Bell: Send + Sync {
    /// Whether the cycle is over or the run is to stop.
    fn rung(&self) -> bool;
}

/// One simulated user: owns the random stream, the drawn inputs and the statement numbers.
pub trait Client: Send {
    /// Prepares its statements on a connection, always in the same order.
    fn prepare(&mut self, conn: &mut dyn Connection, when: Prepare) -> Result<()>;

    /// Draws the inputs of transaction `number`, a function of (seed, client, number) alone.
    fn draw(&mut self, number: u64) -> Drawn;

    /// Runs the transaction with the inputs drawn last; a retry calls it again.
    fn execute(&mut self, conn: &mut dyn Connection) -> Result<End>;

    /// Whether the error of the last attempt ends this client: the others go on.
    fn aborts(&self) -> bool {
        false
    }

    /// Called by the loop when the transaction drawn last was committed (for sums that `check` needs).
    fn committed(&mut self) {}

    /// Called by the loop when the transaction drawn last was rolled back, as it asked for.
    fn rolled_back(&mut self) {}

    /// Rows that the transaction executed last worked on, for a workload that counts them.
    fn rows(&self) -> u64 {
        0
    }

    /// Asks it to note the times of its statements, for [`Client::timed`]. Only then they cost anything.
    fn time_statements(&mut self) {}

    /// The statements of the attempt executed last, in order, the one that failed included; empty unless they are timed.
    fn timed(&self) -> &[StatementTime] {
        &[]
    }

    /// What its statements found, of those that read or change rows; empty where it does not count that.
    fn found(&self) -> &[Found] {
        &[]
    }

    /// Gives it the bell by which it ends pauses that it makes within a transaction.
    fn heed(&mut self, bell: Arc<dyn Bell>) {
        let _ = bell;
    }

    /// The inputs drawn last, in words: for comparing the streams of two runs, not for load.
    fn describe(&self) -> String;

    /// What this client adds up over the transactions that ended as they asked for, by name; see
    /// [`Workload::check`].
    fn sums(&self) -> Vec<(&'static str, i64)> {
        Vec::new()
    }
}

/// Which client of a stage it is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ClientId {
    /// What kind of client its group has; see [`GroupPlan::role`](crate::stage::GroupPlan::role).
    pub role: u8,
    /// Its number among the clients of its group, over all nodes and threads.
    pub id: u64,
    /// How many they are.
    pub clients: u64,
    /// How many clients the groups before its own have, over all nodes: with `id` its number among all of the stage.
    pub ahead: u64,
}

impl ClientId {
    /// Client `id` of very many that do the same.
    pub fn alone(id: u64) -> Self {
        Self { role: 0, id, clients: u64::MAX, ahead: 0 }
    }
}

/// How rows come into the database.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Population {
    /// The engine's fast path, in parallel.
    Bulk,
    /// A stored procedure on the server, as in the paper, section 4.3.
    Procedure,
}

/// Stands for the number of commits of unknown end of a kind when a node was lost and with it the count. It is far
/// above any real number, and small enough that adding one to it does not overflow.
pub const UNCOUNTED: u64 = 1 << 62;

/// What the cycles since the population did, as the loop counted it.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Expected {
    /// Committed transactions per kind, those that ended after the cycle included.
    pub committed: Vec<u64>,
    /// Commits per kind that may or may not have taken place: the connection was lost in them. [`UNCOUNTED`] and
    /// more in every kind where a node was lost.
    pub unknown: Vec<u64>,
    /// Sums of the clients, by name; see [`Client::sums`].
    pub sums: Vec<(String, i64)>,
}

impl Expected {
    /// How many transactions of a kind must be in the database, and how many may be.
    pub fn range(&self, kind: KindId) -> RangeInclusive<u64> {
        let of = |counts: &[u64]| counts.get(usize::from(kind)).copied().unwrap_or(0);
        let least = of(&self.committed);
        least..=least.saturating_add(of(&self.unknown))
    }

    /// A sum of the clients; `None` when they gave none of that name.
    pub fn sum(&self, name: &str) -> Option<i64> {
        self.sums.iter().find(|(found, _)| found == name).map(|(_, sum)| *sum)
    }
}

/// What became of a condition.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum State {
    /// It was looked at, and holds.
    Holds,
    /// It was looked at, and does not hold.
    Broken,
    /// Nobody knows: it was not looked at, or what was found decides nothing.
    NotMade,
}

impl State {
    /// Each of them.
    pub const ALL: [Self; 3] = [Self::Holds, Self::Broken, Self::NotMade];

    /// As archives have it.
    pub fn name(self) -> &'static str {
        match self {
            State::Holds => "holds",
            State::Broken => "broken",
            State::NotMade => "not made",
        }
    }
}

/// Commits as the database and its clients count them.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Commits {
    /// In the database.
    pub found: i64,
    /// That clients heard of.
    pub acknowledged: u64,
    /// Whose end no client heard of; [`UNCOUNTED`] and more where nobody knows.
    pub unknown: u64,
}

/// One condition that the database must meet, with what was found.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Condition {
    /// Short name: "account sum = teller sum".
    pub name: String,
    /// What became of it.
    pub state: State,
    /// The numbers, in words; of one that was not made, why.
    pub detail: String,
    /// How it is made next time; empty where it cannot be on this target with this workload.
    pub remedy: &'static str,
    /// Of one about commits.
    pub commits: Option<Commits>,
}

impl Condition {
    /// One that was looked at.
    pub fn made(name: impl Into<String>, holds: bool, detail: impl Into<String>) -> Self {
        let state = if holds { State::Holds } else { State::Broken };
        Self { name: name.into(), state, detail: detail.into(), remedy: "", commits: None }
    }

    /// One of which nobody knows.
    pub fn not_made(name: impl Into<String>, why: impl Into<String>, remedy: &'static str) -> Self {
        Self { name: name.into(), state: State::NotMade, detail: why.into(), remedy, commits: None }
    }

    /// Whether it was looked at, and holds.
    pub fn holds(&self) -> bool {
        self.state == State::Holds
    }

    /// Whether it was looked at, and does not hold.
    pub fn is_broken(&self) -> bool {
        self.state == State::Broken
    }
}

/// What a query answered, for comparison with what another engine answers.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Answer {
    /// Stage in which it was asked.
    pub stage: &'static str,
    /// Its stream in that stage.
    pub stream: u64,
    /// Its kind.
    pub kind: KindId,
    /// The query as the second engine reads it.
    pub text: String,
    /// All rows, as text.
    pub rows: Vec<Vec<Option<String>>>,
    /// Refreshes that were committed when it began, and the most that it may have seen.
    pub states: (u64, u64),
    /// Why there is none: "timeout"; empty where there is.
    pub failed: &'static str,
    /// The answer that is published, as a table of text; empty where there is none.
    pub published: &'static str,
}

/// All answers of a run, and what changed the database between them.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Evidence {
    /// What was answered.
    pub answers: Vec<Answer>,
    /// Number of the set of each refresh, and whether it inserted, in the order of their commits.
    pub refreshes: Vec<(u64, bool)>,
    /// Whether a refresh may have taken place that is not among them.
    pub unknown: bool,
}

/// A schema, its rows, its transactions and the conditions that must hold, at one scale.
pub trait Workload: Send + Sync {
    /// Kinds of transactions, by number.
    fn kinds(&self) -> &'static [&'static str];

    /// The statements that its clients can time, by number; empty where they time none.
    fn statements(&self) -> Vec<StatementName> {
        Vec::new()
    }

    /// How long a simulated person takes around a transaction of this kind, where the workload says it.
    fn pace(&self, kind: KindId) -> Option<Pace> {
        let _ = kind;
        None
    }

    /// Creates the tables without keys, and stored procedures where they are used.
    fn create(&self, conn: &mut dyn Connection) -> Result<()>;

    /// Number of rows that a full population makes; none where rows come with the load alone.
    fn rows(&self) -> u64 {
        0
    }

    /// Writes one part of the rows. Parts may run at the same time on several connections when
    /// `how` is bulk; with a procedure there is one part.
    fn populate(&self, _conn: &mut dyn Connection, _how: Population, _part: Part, _progress: &Progress) -> Result<()> {
        Ok(())
    }

    /// Whether SQL of the user is in it, which [`Workload::rehearse`] tries.
    fn rehearses(&self) -> bool {
        false
    }

    /// Tries SQL of the user before any row is there: what clients will prepare, and where `fresh` says that the tables
    /// were just created and are dropped afterwards, keys and conditions, too. Errors with file and line.
    fn rehearse(&self, conn: &mut dyn Connection, when: Prepare, fresh: bool) -> Result<()> {
        let _ = (conn, when, fresh);
        Ok(())
    }

    /// Whether a database of the smaller scale `from` becomes one of this scale: by [`Workload::reset`], the rows of
    /// [`Workload::grow`] and the steps that end a population. An error of kind `Configuration` says why not.
    fn grows(&self, from: u32) -> Result<()> {
        let _ = from;
        Err(Error::configuration(
            "the workload has no rows that could be added to those of a smaller scale".to_string(),
        ))
    }

    /// Brings a database on which clients worked back to its rows as they were populated, without keys.
    fn reset(&self, conn: &mut dyn Connection, progress: &Progress) -> Result<()> {
        let _ = (conn, progress);
        Err(Error::configuration("the workload cannot be reset".to_string()))
    }

    /// Writes one part of the rows that a database of scale `from` lacks, as [`Workload::populate`] does in bulk.
    fn grow(&self, conn: &mut dyn Connection, from: u32, part: Part, progress: &Progress) -> Result<()> {
        let _ = (conn, part, progress);
        self.grows(from)
    }

    /// Ends the population once all parts are committed. Some databases leave work behind after a load that makes
    /// the first reading slow; it is done here, before the keys. Counts nothing as progress.
    fn settle(&self, conn: &mut dyn Connection) -> Result<()> {
        let _ = conn;
        Ok(())
    }

    /// Adds the primary keys, where the rows come without them.
    fn primary_keys(&self, conn: &mut dyn Connection, progress: &Progress) -> Result<()> {
        let _ = (conn, progress);
        Ok(())
    }

    /// Adds the foreign keys, where it has any.
    fn foreign_keys(&self, conn: &mut dyn Connection, progress: &Progress) -> Result<()> {
        let _ = (conn, progress);
        Ok(())
    }

    /// Brings the database into the state in which every cycle should start (vacuum, statistics).
    fn clean(&self, conn: &mut dyn Connection, progress: &Progress) -> Result<()> {
        let _ = (conn, progress);
        Ok(())
    }

    /// The conditions of the workload against the database as it is now; without `expected`, those
    /// that the database can answer alone.
    fn check(&self, conn: &mut dyn Connection, expected: Option<&Expected>) -> Result<Vec<Condition>>;

    /// Whether its clients share what only this process knows, so that none may run on another node or by another client.
    fn alone(&self) -> bool {
        false
    }

    /// What its queries answered, where a second engine is to check that; none where there is nothing to check.
    fn evidence(&self) -> Option<Evidence> {
        None
    }

    /// Writes the rows of all tables, and what the refreshes of the evidence change, into files for the second engine.
    fn export(&self, folder: &Path) -> Result<()> {
        Err(Error::configuration(format!("the workload has no rows for {}", folder.display())))
    }

    /// What happens at a scale, one thing after another.
    fn stages(&self) -> Vec<Stage> {
        Stage::ladder()
    }

    /// One part of the statements of the stage `name`; parts run at the same time on connections of their own.
    fn work(&self, name: &str, conn: &mut dyn Connection, part: Part, progress: &Progress) -> Result<()> {
        let _ = (conn, part, progress);
        Err(Error::configuration(format!("the workload has no statements for the stage {name}")))
    }

    /// Makes the client `who`. State that clients share, such as the oldest row, belongs to the workload. A client
    /// whose inputs are not a function of (seed, client, number) alone says so in its documentation.
    fn client(&self, who: ClientId, seed: u64) -> Box<dyn Client>;
}
