//! What an engine must be able to do. Optional abilities are further traits, reached by a method
//! that answers `None` where an engine lacks them.

use std::time::Duration;

use serde::{Deserialize, Serialize};

use crate::error::{Error, ErrorKind, Result};
use crate::value::{Rows, Table, Type, Value};

/// Transaction isolation level; an engine maps it to its own nearest level that is at least as strict.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Isolation {
    /// READ COMMITTED.
    #[default]
    ReadCommitted,
    /// REPEATABLE READ; snapshot isolation where the engine is multi-version.
    RepeatableRead,
    /// SERIALIZABLE.
    Serializable,
}

/// When a statement is parsed and planned.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub enum Prepare {
    /// Once per connection.
    Once,
    /// At every execution, in the same round trip as the execution.
    Never,
}

/// A statement with the types the workload declares, so that no engine has to ask the server.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Statement<'a> {
    /// SQL in the engine's dialect, with the dialect's placeholders.
    pub sql: &'a str,
    /// Types of the parameters, in order.
    pub params: &'a [Type],
    /// Types of the result's columns, in order; empty when it returns no rows.
    pub columns: &'a [Type],
}

/// What a database says of a statement before it runs.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Described {
    /// How each parameter is to be given; empty where the database says nothing of its parameters.
    pub params: Vec<Wanted>,
    /// Name of each column of the result, with its type where it can be read as one.
    pub columns: Vec<(String, Option<Type>)>,
}

/// How a parameter is to be given.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Wanted {
    /// As a value of this type.
    As(Type),
    /// As text, which the statement casts to the type of this name.
    Cast(String),
}

/// Number of a prepared statement: 0, 1, 2 … in the order in which `prepare` was called on that
/// connection. So a client that prepares the same statements on each of its connections may use
/// the numbers of the first for all.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct StatementId(pub u32);

/// What holds for a whole session.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Session {
    /// Level of every transaction of the session, single calls included.
    pub isolation: Isolation,
    /// True for a session of load: it works inside dsbench's own marked place (schema, database),
    /// which must exist. False for an administrative session, which may not need the place.
    pub in_place: bool,
}

/// How an engine speaks SQL.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Dialect {
    /// Name of the dialect; workloads pick their SQL files by it.
    pub name: &'static str,
    /// True when a transaction can be one call of a stored procedure or function.
    pub procedures: bool,
    /// True when the database runs in this process: its CPU time is the client's.
    pub embedded: bool,
    /// True when only one transaction may write at a time.
    pub single_writer: bool,
    /// True when what is written can be read back. False for an engine that only plays a
    /// database: what a workload wrote there cannot be checked.
    pub keeps_data: bool,
}

/// A database product reached through one driver, bound to one target.
pub trait Engine: Send + Sync {
    /// How it speaks SQL.
    fn dialect(&self) -> &'static Dialect;

    /// Opens a session. Errors: `Setup` when the server is not there or refuses the login,
    /// `Configuration` when the target makes no sense.
    fn connect(&self, session: Session) -> Result<Box<dyn Connection>>;

    /// Opens a session of load on tables that somebody else made: in the database of the target as it stands, which
    /// needs no place and no mark. It sets nothing that outlives the session.
    fn connect_existing(&self, isolation: Isolation) -> Result<Box<dyn Connection>> {
        self.connect(Session { isolation, in_place: false })
    }

    /// Opens one more session such as [`Self::connect`] has opened before: what it proved of sessions of this target
    /// need not be proved again.
    fn reconnect(&self, session: Session) -> Result<Box<dyn Connection>> {
        self.connect(session)
    }

    /// The same for [`Self::connect_existing`].
    fn reconnect_existing(&self, isolation: Isolation) -> Result<Box<dyn Connection>> {
        self.connect_existing(isolation)
    }

    /// Whether the server did not understand the question for the isolation and the settings of a session.
    fn is_unproved(&self) -> bool {
        false
    }

    /// Names of parameters of the target that other clients know, and that change nothing here.
    fn passed_over(&self) -> &[String] {
        &[]
    }

    /// The servers that its sessions may be of, as the target names them; empty where there is no choice.
    fn hosts(&self) -> Vec<String> {
        Vec::new()
    }

    /// Whether a pooler stands before the server. Known once a session was opened.
    fn pooled(&self) -> Option<Pooled> {
        None
    }

    /// The place that dsbench makes for itself at the target, and may drop.
    fn place(&self) -> &dyn Place;

    /// What each session of load does now, where the database is in this process; nothing where a server has to be asked.
    fn seen(&self) -> Option<Vec<Seen>> {
        None
    }

    /// True when its connections wait in sockets alone, and by [`crate::carrier`] where they are
    /// carried: then several clients may share a thread of the operating system.
    fn waits_in_sockets(&self) -> bool {
        false
    }

    /// What the code of an error means that another client of the same database was given: a SQLSTATE, or numbers
    /// with commas between them, whichever the product has.
    fn kind_of(&self, code: &str) -> ErrorKind {
        let _ = code;
        ErrorKind::Statement
    }

    /// Whether the code of an error means that the server takes no writes, as one that was the primary.
    fn is_read_only(&self, code: &str) -> bool {
        let _ = code;
        false
    }

    /// Does all that a thread of the operating system does for its client. An engine may keep something for the whole
    /// of it that each call would otherwise make anew.
    fn on_thread(&self, body: &mut dyn FnMut()) {
        body();
    }
}

/// What a session of an engine in this process does.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum State {
    /// Nothing, without a transaction.
    Idle,
    /// Nothing, within a transaction.
    Open,
    /// It works, or waits for a CPU.
    Active,
    /// It waits for the lock of another session.
    Lock,
    /// It reads from a file.
    Read,
    /// It writes to a file.
    Write,
    /// It makes durable what was written.
    Flush,
}

/// What a session was seen to do.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Seen {
    /// Its state.
    pub state: State,
    /// The product's name of what it waits for; empty where it does not.
    pub wait: &'static str,
    /// Its statement, or its last one.
    pub statement: String,
}

/// What a pooler gives to whom.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Pooled {
    /// Each client has a session of the server for as long as it stays.
    Sessions,
    /// Each transaction may have another one, so that nothing of a session lasts: no prepared statement, no lock, no
    /// setting.
    Transactions,
}

/// Who owns the place where dsbench wants to work.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum PlaceState {
    /// Nothing is there.
    Absent,
    /// It carries dsbench's mark, with this text (who made it, when).
    Marked(String),
    /// Something is there that does not carry the mark; the text names it. It is never touched.
    Foreign(String),
}

/// A database or schema of dsbench's own. It carries dsbench's mark; only what carries it is dropped.
pub trait Place: Send + Sync {
    /// Who owns the place now.
    fn state(&self) -> Result<PlaceState>;

    /// Creates the empty place and marks it with `mark`. Error `Setup` when anything is there.
    fn create(&self, mark: &str) -> Result<()>;

    /// Puts `mark` in place of the mark that is there, at once or not at all. Error `Setup` unless it carries one.
    fn remark(&self, mark: &str) -> Result<()>;

    /// Notes what is in the place now as dsbench's: what comes later is somebody else's. Before, all of it is dsbench's.
    fn take_stock(&self) -> Result<()>;

    /// Names what is not dsbench's and would go with the place: what came after the stock was taken, and what depends
    /// on the place elsewhere.
    fn strangers(&self) -> Result<Vec<String>>;

    /// Drops the place and all in it. Error `Setup`, naming it, unless it carries the mark and has no strangers;
    /// nothing happens when it is absent.
    fn drop(&self) -> Result<()>;

    /// Claims a place that is there for this process, until it is dropped or `leave` is called; false when another
    /// process has it, wherever that runs. Engines whose servers have locks or show sessions claim nothing.
    fn take(&self) -> Result<bool> {
        Ok(true)
    }

    /// Gives up the claim, if there is one.
    fn leave(&self) {}

    /// Bytes the place takes in the server's storage now, with its indexes and its own logs; none where the server does
    /// not say it.
    fn size_bytes(&self) -> Result<Option<u64>>;
}

/// An error of kind `Setup` where a place of dsbench's, or something else in its stead, is there already.
pub fn refuse_occupied(engine: &dyn Engine) -> Result<()> {
    let (words, remedy) = match engine.place().state()? {
        PlaceState::Absent => return Ok(()),
        PlaceState::Marked(mark) => {
            (format!("dsbench's place is there already ({mark})"), "drop it: dsbench drop TARGET")
        }
        PlaceState::Foreign(what) => (what, "name another target"),
    };
    Err(Error::with(ErrorKind::Setup, "", words).remedy(remedy))
}

/// What went over a connection: each send and each receive that moved bytes is a message.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Messages {
    /// From the client to the server.
    pub sent: u64,
    /// From the server to the client.
    pub received: u64,
}

/// A session with a database. Outside `begin` … `commit` every statement is a separate transaction.
pub trait Connection: Send {
    /// Makes a statement known. With [`Prepare::Once`] the server parses it now.
    fn prepare(&mut self, statement: &Statement<'_>, when: Prepare) -> Result<StatementId>;

    /// What the database says of a statement that somebody else wrote: nothing of it is declared yet. An engine that
    /// cannot tell says nothing.
    fn describe(&mut self, sql: &str) -> Result<Described> {
        let _ = sql;
        Ok(Described::default())
    }

    /// Opens a transaction at the session's isolation level.
    fn begin(&mut self) -> Result<()>;

    /// Opens a transaction that will only read; engines without such a thing open an ordinary one.
    fn begin_reading(&mut self) -> Result<()> {
        self.begin()
    }

    /// Runs a statement and drops its rows; gives the number of rows that it changed or returned.
    fn execute(&mut self, id: StatementId, params: &[Value<'_>]) -> Result<u64>;

    /// Runs a statement and refills `into` with its rows.
    fn query(&mut self, id: StatementId, params: &[Value<'_>], into: &mut Rows) -> Result<()>;

    /// Commits. A connection lost here is an error of kind `Unknown`.
    fn commit(&mut self) -> Result<()>;

    /// Rolls back; harmless when no transaction is open.
    fn rollback(&mut self) -> Result<()>;

    /// True when the last answer of the database said that a transaction is open. What was executed since is not
    /// committed, whatever the client believes. False on a connection that is lost.
    fn in_transaction(&mut self) -> bool;

    /// Runs statements that return nothing, one after another: schema, vacuum, settings.
    fn script(&mut self, sql: &[&str]) -> Result<()>;

    /// Runs one administrative query and gives all of it as text.
    fn fetch(&mut self, sql: &str) -> Result<Table>;

    /// Ends each later [`fetch`](Self::fetch) that takes longer than this, with kind `Timeout`. False where the engine
    /// leaves that to the server.
    fn limit(&mut self, _longest: Duration) -> Result<bool> {
        Ok(false)
    }

    /// Lifts the time-outs that the server sets for sessions of this user: for dsbench's own work, which may take hours.
    /// What the server does not let a session change stays.
    fn lift_timeouts(&mut self) -> Result<()> {
        Ok(())
    }

    /// The engine's fast path to load rows, where it has one.
    fn bulk(&mut self) -> Option<&mut dyn BulkLoad> {
        None
    }

    /// Statements that are sent without waiting, where the engine's protocol has such a thing.
    fn pipeline(&mut self) -> Option<&mut dyn Pipeline> {
        None
    }

    /// Statements that are sent as text, where the engine's protocol takes several in one message.
    fn texts(&mut self) -> Option<&mut dyn Texts> {
        None
    }

    /// The CPU on which the server's process that works for this session ran last, or why that cannot be told, in
    /// words such as "the server is on another machine". Asked between transactions.
    fn server_cpu(&mut self) -> std::result::Result<usize, &'static str> {
        Err("the engine cannot tell where its server works")
    }

    /// What went over the wire since the connection was opened; nothing where the engine does not count.
    fn messages(&self) -> Messages {
        Messages::default()
    }

    /// Of which of [`Engine::hosts`] the session is.
    fn host(&self) -> usize {
        0
    }

    /// A handle by which another thread can end what this connection is waiting for.
    fn interrupt(&self) -> Option<Box<dyn Interrupt>> {
        None
    }
}

/// Ends a blocking call of a connection from another thread; the connection is unusable afterwards.
pub trait Interrupt: Send + Sync {
    /// Ends the call under way, and all later ones, with kind `Disconnected` (or `Unknown` in commit).
    fn interrupt(&self);
}

/// What a pipeline takes.
#[derive(Debug, Clone, Copy)]
pub enum Piped<'a> {
    /// The beginning of a transaction.
    Begin,
    /// A statement that was prepared once; its rows are dropped.
    Statement(StatementId, &'a [Value<'a>]),
    /// The end of a transaction.
    Commit,
    /// The end of a transaction that leaves nothing.
    Rollback,
}

/// Ability: statements that are sent without waiting for the answers to those before them. What is added between two
/// points of synchronisation is one transaction, unless it says otherwise; after an error the rest of it is left out.
pub trait Pipeline {
    /// Adds to what is sent next. Error `Configuration` for a statement that was not prepared once.
    fn add(&mut self, what: Piped<'_>) -> Result<()>;

    /// Sends what was added, with a point of synchronisation behind it; waits for nothing.
    fn sync(&mut self) -> Result<()>;

    /// The same, and reads all answers: the first error counts. A connection that is lost is an error of kind `Unknown`.
    fn finish(&mut self) -> Result<()>;

    /// Forgets what was added and not sent, and reads the answers to the rest.
    fn discard(&mut self) -> Result<()>;
}

/// What the server answers to a text, piece by piece.
#[derive(Debug, Clone, Copy)]
pub enum Answer<'a> {
    /// The name of a column of the rows that follow.
    Column(&'a [u8]),
    /// A cell of a row by the number of its column; `None` for NULL.
    Cell(usize, Option<&'a [u8]>),
    /// A row is complete.
    Row,
    /// A statement has ended.
    End,
}

/// Ability: statements are sent as they are, in one message, and the server finds out all types.
pub trait Texts {
    /// Runs the statements of `sql`, between which stand semicolons; gives the number of rows that they read or changed.
    /// `take` gets what they give, as text.
    fn run(&mut self, sql: &[u8], take: Option<&mut dyn FnMut(Answer<'_>)>) -> Result<u64>;
}

/// Where rows of a bulk load come from.
pub trait RowSource {
    /// Gives the next row to `emit`, or answers false when there is none left.
    fn next_row(&mut self, emit: &mut dyn FnMut(&[Value<'_>]) -> Result<()>) -> Result<bool>;
}

/// Ability: load many rows by the engine's own fast path, as one transaction.
pub trait BulkLoad {
    /// Loads all rows of `source` into `columns` of `table`; gives their number.
    fn load(&mut self, table: &str, columns: &[(&str, Type)], source: &mut dyn RowSource) -> Result<u64>;
}
