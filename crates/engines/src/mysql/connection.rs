//! The verbs of a session.

use dsbench_core::engine::{BulkLoad, Connection, Described, Interrupt, Messages, Prepare, Statement, StatementId};
use dsbench_core::error::{Error, ErrorKind, Result};
use dsbench_core::value::{Rows, Table, Value};

use super::interrupt::{Handle, Killer};
use super::keys;
use super::login::LoggedIn;
use super::reply::{Count, Skip};
use super::statement::{describe, Prepared};
use super::take::{BinaryRows, TableRows, TextRows};
use super::text::Template;
use super::wire::{State, Wire};
use crate::misuse::{nothing_to_commit, open_already, unknown};
#[cfg(target_os = "linux")]
use crate::net::whereabouts::Whereabouts;

/// A statement of one connection.
enum Known {
    Prepared(Prepared),
    Text(Template),
}

/// A session with a MariaDB or MySQL server.
pub(super) struct MysqlConnection {
    pub(super) wire: Wire,
    statements: Vec<Known>,
    killer: Killer,
    #[cfg(target_os = "linux")]
    whereabouts: Whereabouts,
    /// The server has refused LOAD DATA LOCAL.
    pub(super) no_local_files: bool,
    /// Most bytes of a packet that the server takes.
    pub(super) largest_packet: usize,
    host: usize,
}

impl MysqlConnection {
    /// The verbs of a fresh session.
    pub(super) fn new(session: LoggedIn) -> Self {
        Self {
            wire: session.wire,
            statements: Vec::new(),
            killer: session.killer,
            #[cfg(target_os = "linux")]
            whereabouts: Whereabouts::Untold,
            no_local_files: false,
            largest_packet: session.largest_packet,
            host: session.host,
        }
    }

    /// Runs one command of a transaction; it is sent in whatever state.
    fn command(&mut self, sql: &str, context: &'static str, loss: ErrorKind) -> Result<()> {
        self.wire.text(sql, context, loss, &mut Skip).map(|_| ())
    }
}

/// Sends one execution of a statement and tells what losing its answer means.
#[inline]
fn start(wire: &mut Wire, known: &Known, params: &[Value<'_>], context: &'static str) -> Result<ErrorKind> {
    wire.ready(context)?;
    match known {
        Known::Prepared(statement) => statement.flight(&mut wire.output, params)?,
        Known::Text(template) => template.flight(&mut wire.output, params)?,
    }
    wire.send(context)?;
    Ok(wire.loss())
}

/// The system's number of the thread that works for this session, where it has one: of MariaDB, of MySQL.
#[cfg(target_os = "linux")]
const THREADS: [&str; 2] = [
    "SELECT TID FROM information_schema.PROCESSLIST \
     WHERE ID = connection_id() AND @@thread_handling = 'one-thread-per-connection'",
    "SELECT THREAD_OS_ID FROM performance_schema.threads \
     WHERE PROCESSLIST_ID = connection_id() AND @@thread_handling = 'one-thread-per-connection'",
];

/// A week of idleness, and no limit to a statement or a transaction: each product takes the other's names for a comment.
const LIFT_TIMEOUTS: &str = "SET SESSION wait_timeout = 604800, net_read_timeout = 3600, net_write_timeout = 3600 \
    /*M! , max_statement_time = 0, idle_transaction_timeout = 0, idle_readonly_transaction_timeout = 0, \
    idle_write_transaction_timeout = 0 */ /*!50720 , max_execution_time = 0 */";

impl Connection for MysqlConnection {
    #[cfg(target_os = "linux")]
    fn server_cpu(&mut self) -> std::result::Result<usize, &'static str> {
        if matches!(self.whereabouts, Whereabouts::Untold) {
            let asked = self.wire.transport.socket().domain().is_ok_and(|domain| domain == socket2::Domain::UNIX);
            let asked = if asked { THREADS.as_slice() } else { &[] };
            let thread = asked.iter().find_map(|sql| {
                let rows = self.fetch(sql).ok()?.rows;
                rows.first()?.first()?.as_deref()?.parse().ok()
            });
            let socket = self.wire.transport.socket();
            self.whereabouts = Whereabouts::of(socket, thread);
        }
        self.whereabouts.cpu(self.wire.transport.socket())
    }

    fn prepare(&mut self, statement: &Statement<'_>, when: Prepare) -> Result<StatementId> {
        let id = StatementId(self.statements.len() as u32);
        self.wire.ready("prepare")?;
        let known = match when {
            Prepare::Once => Known::Prepared(Prepared::new(&mut self.wire, statement)?),
            Prepare::Never => Known::Text(Template::new(statement)?),
        };
        self.statements.push(known);
        Ok(id)
    }

    fn describe(&mut self, sql: &str) -> Result<Described> {
        self.wire.ready("prepare")?;
        describe(&mut self.wire, sql)
    }

    fn begin(&mut self) -> Result<()> {
        self.wire.ready("begin")?;
        if self.wire.state != State::Idle {
            return Err(open_already("begin"));
        }
        self.command("BEGIN", "begin", ErrorKind::Disconnected)
    }

    fn execute(&mut self, id: StatementId, params: &[Value<'_>]) -> Result<u64> {
        let known = self.statements.get_mut(id.0 as usize).ok_or_else(|| unknown(id, "execute"))?;
        let loss = start(&mut self.wire, known, params, "execute")?;
        let mut returned = Count(0);
        let done = self.wire.complete("execute", loss, &mut returned)?;
        if let Known::Prepared(statement) = known {
            statement.taken();
        }
        Ok(done.rows.max(returned.0))
    }

    fn query(&mut self, id: StatementId, params: &[Value<'_>], into: &mut Rows) -> Result<()> {
        let known = self.statements.get_mut(id.0 as usize).ok_or_else(|| unknown(id, "query"))?;
        let loss = start(&mut self.wire, known, params, "query")?;
        match known {
            Known::Prepared(statement) => {
                into.reset(statement.columns.len());
                let (kinds, columns) = (&*statement.columns, &mut statement.described);
                self.wire.complete("query", loss, &mut BinaryRows { kinds, columns, into })?;
                statement.taken();
            }
            Known::Text(template) => {
                into.reset(template.columns.len());
                self.wire.complete("query", loss, &mut TextRows { kinds: &template.columns, into })?;
            }
        }
        Ok(())
    }

    fn commit(&mut self) -> Result<()> {
        self.wire.ready("commit")?;
        if self.wire.state != State::Open {
            return Err(nothing_to_commit());
        }
        let sent = self.command("COMMIT", "commit", ErrorKind::Unknown);
        // Part of the command may have left before the connection was lost.
        sent.map_err(|error| match error.kind {
            ErrorKind::Disconnected => Error { kind: ErrorKind::Unknown, ..error },
            _ => error,
        })
    }

    fn rollback(&mut self) -> Result<()> {
        match self.wire.state {
            State::Idle => Ok(()),
            _ => self.command("ROLLBACK", "rollback", ErrorKind::Disconnected),
        }
    }

    fn in_transaction(&mut self) -> bool {
        matches!(self.wire.state, State::Open | State::Doomed)
    }

    fn script(&mut self, sql: &[&str]) -> Result<()> {
        for sql in sql {
            self.wire.ready("script")?;
            let loss = self.wire.loss();
            match (self.command(sql, "script", loss), keys::added(sql)) {
                (Err(error), Some(with_key)) if keys::are_wanted(&error) => {
                    self.wire.ready("script")?;
                    // A version without invisible columns: then the server's first words count.
                    let second = self.command(&with_key, "script", loss);
                    second.map_err(|second| if second.kind.is_loss() { second } else { error })?;
                }
                (done, _) => done?,
            }
        }
        Ok(())
    }

    fn fetch(&mut self, sql: &str) -> Result<Table> {
        self.wire.ready("fetch")?;
        let loss = self.wire.loss();
        let mut rows = TableRows::default();
        self.wire.text(sql, "fetch", loss, &mut rows)?;
        Ok(rows.table)
    }

    fn lift_timeouts(&mut self) -> Result<()> {
        match self.script(&[LIFT_TIMEOUTS]) {
            Err(error) if !error.kind.is_loss() => Ok(()),
            done => done,
        }
    }

    fn bulk(&mut self) -> Option<&mut dyn BulkLoad> {
        Some(self)
    }

    #[inline]
    fn messages(&self) -> Messages {
        self.wire.transport.messages()
    }

    fn host(&self) -> usize {
        self.host
    }

    fn interrupt(&self) -> Option<Box<dyn Interrupt>> {
        let socket = self.wire.transport.share();
        Some(Box::new(Handle { socket, killer: self.killer.clone() }))
    }
}
