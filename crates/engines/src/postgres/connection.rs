//! The verbs of a session.

use std::sync::Arc;

use dsbench_core::engine::{
    Answer, BulkLoad, Connection, Described, Interrupt, Messages, Pipeline, Prepare, Statement, StatementId, Texts,
};
use dsbench_core::error::{Error, ErrorKind, Result};
use dsbench_core::value::{Rows, Table, Value};

use super::interrupt::{Cancel, Handle};
use super::known::Known;
use super::login::LoggedIn;
use super::pipeline::Piping;
use super::reply::rows_found;
use super::sessions::{outside, Frame};
use super::statement::{parse_and_describe, query, Prepared};
use super::text::{self, Template};
use super::wire::{Wire, BEGUN, IDLE};
use super::{describe, simple, types};
use crate::misuse::{nothing_to_commit, open_already, unknown};
#[cfg(target_os = "linux")]
use crate::net::whereabouts::Whereabouts;

/// Parse, Bind and Execute of BEGIN, without a Sync: it leaves with the first statement of its transaction.
pub(super) const BEGIN: &[u8] = b"P\0\0\0\x0d\0BEGIN\0\0\0B\0\0\0\x0c\0\0\0\0\0\0\0\0E\0\0\0\x09\0\0\0\0\0";
/// BEGIN in a separate flight.
const BEGIN_ALONE: &[u8] = b"Q\0\0\0\x0aBEGIN\0";
const COMMIT: &[u8] = b"Q\0\0\0\x0bCOMMIT\0";
/// Those that the server has: some came with later versions.
const LIFT_TIMEOUTS: &str = "SELECT pg_catalog.set_config(name, '0', false) FROM pg_catalog.pg_settings \
    WHERE name IN ('lock_timeout', 'idle_session_timeout', \
    'idle_in_transaction_session_timeout', 'transaction_timeout') AND setting <> '0'";
const ROLLBACK: &[u8] = b"Q\0\0\0\x0dROLLBACK\0";

/// A session with a PostgreSQL server. What each execution needs comes first.
#[repr(C)]
pub struct PostgresConnection {
    pub(super) wire: Wire,
    pub(super) statements: Vec<Arc<Known>>,
    pub(super) piped: Piping,
    /// Names that were given out; one of a statement that could not be prepared is not used again.
    names: u32,
    cancel: Cancel,
    pub(super) frame: Frame,
    in_place: bool,
    host: usize,
    #[cfg(target_os = "linux")]
    whereabouts: Whereabouts,
}

impl PostgresConnection {
    /// The verbs of a fresh session.
    pub fn new(session: LoggedIn, frame: Frame, in_place: bool) -> Self {
        Self {
            wire: session.wire,
            statements: Vec::new(),
            piped: Piping::default(),
            names: 0,
            frame,
            in_place,
            host: session.host,
            #[cfg(target_os = "linux")]
            whereabouts: match session.cancel.is_pooled() {
                true => Whereabouts::Unknown("a pooler stands before the server"),
                false => Whereabouts::Untold,
            },
            cancel: session.cancel,
        }
    }

    /// Sends one execution of a statement and tells what losing its answer means.
    #[inline]
    fn start(&mut self, id: StatementId, params: &[Value<'_>], context: &'static str) -> Result<ErrorKind> {
        let statement = self.statements.get(id.0 as usize).ok_or_else(|| unknown(id, context))?;
        match &**statement {
            Known::Parsed(known) => {
                let ahead = if self.wire.status == BEGUN { BEGIN } else { &[] };
                known.flight(ahead, &mut self.wire.output, params)?
            }
            Known::Text(known) => {
                let ahead = self.frame.ahead(self.wire.status);
                known.flight(ahead, &mut self.wire.output, params)?
            }
        }
        self.wire.send(context)?;
        Ok(self.wire.loss())
    }

    /// Opens the transaction on the server now: what follows has no flight that BEGIN could join.
    pub(super) fn begin_now(&mut self, context: &'static str) -> Result<()> {
        if self.wire.status != BEGUN {
            return Ok(());
        }
        if self.frame.moves() {
            self.wire.output.clear();
            query(&mut self.wire.output, &self.frame.begin)?;
            self.wire.send(context)?;
        } else {
            self.wire.send_constant(BEGIN_ALONE, context)?;
        }
        self.wire.complete(context, ErrorKind::Disconnected, |_, _| Ok(()))
    }
}

impl Connection for PostgresConnection {
    #[cfg(target_os = "linux")]
    fn server_cpu(&mut self) -> std::result::Result<usize, &'static str> {
        let socket = self.wire.transport.socket();
        if matches!(self.whereabouts, Whereabouts::Untold) {
            self.whereabouts = Whereabouts::of(socket, self.cancel.process());
        }
        self.whereabouts.cpu(socket)
    }

    fn prepare(&mut self, statement: &Statement<'_>, when: Prepare) -> Result<StatementId> {
        let id = StatementId(self.statements.len() as u32);
        let prepared = match when {
            Prepare::Never => Known::Text(Template::new(statement)?),
            // The load is refused where it asks for this; what is asked once in a check needs no name.
            Prepare::Once if self.frame.moves() => Known::Text(Template::new(statement)?),
            Prepare::Once => {
                let name = format!("s{}", self.names);
                self.names += 1;
                self.begin_now("prepare")?;
                let prepared = Prepared::new(statement, &name)?;
                self.wire.output.clear();
                parse_and_describe(&mut self.wire.output, statement, &name)?;
                self.wire.send("prepare")?;
                let columns = statement.columns;
                self.wire
                    .complete("prepare", ErrorKind::Disconnected, |tag, body| describe::check(tag, body, columns))?;
                Known::Parsed(prepared)
            }
        };
        self.statements.push(prepared.shared());
        Ok(id)
    }

    fn describe(&mut self, sql: &str) -> Result<Described> {
        let apart = self.frame.moves() && self.wire.status == IDLE;
        if apart {
            self.begin()?;
        }
        self.begin_now("prepare")?;
        let described = describe::describe(&mut self.wire, sql);
        if apart {
            self.rollback()?;
        }
        described
    }

    fn begin(&mut self) -> Result<()> {
        self.wire.alive("begin")?;
        if self.wire.status != IDLE {
            return Err(open_already("begin"));
        }
        // BEGIN costs no round trip: it goes out in the flight of the first statement.
        self.wire.status = BEGUN;
        Ok(())
    }

    fn execute(&mut self, id: StatementId, params: &[Value<'_>]) -> Result<u64> {
        let loss = self.start(id, params, "execute")?;
        let (mut rows, mut came) = (0, 0);
        self.wire.complete("execute", loss, |tag, body| {
            match tag {
                b'C' => rows = rows_found(body),
                b'D' => came += 1,
                _ => {}
            }
            Ok(())
        })?;
        Ok(rows.max(came))
    }

    fn query(&mut self, id: StatementId, params: &[Value<'_>], into: &mut Rows) -> Result<()> {
        let loss = self.start(id, params, "query")?;
        let known = &*self.statements[id.0 as usize];
        let (Known::Parsed(Prepared { columns, .. }) | Known::Text(Template { columns, .. })) = known;
        into.reset(columns.len());
        self.wire.complete("query", loss, |tag, body| match (tag, known) {
            (b'D', Known::Parsed(_)) => types::decode_row(body, columns, into),
            (b'D', Known::Text(_)) => text::decode_row(body, columns, into),
            _ => Ok(()),
        })
    }

    fn commit(&mut self) -> Result<()> {
        self.wire.alive("commit")?;
        if self.wire.status == IDLE {
            return Err(nothing_to_commit());
        }
        self.begin_now("commit")?;
        let sent = self.wire.send_constant(COMMIT, "commit");
        sent.map_err(|error| Error { kind: ErrorKind::Unknown, ..error })?;
        let mut committed = false;
        self.wire.complete("commit", ErrorKind::Unknown, |tag, body| {
            committed |= tag == b'C' && body == b"COMMIT\0";
            Ok(())
        })?;
        if committed {
            return Ok(());
        }
        let message = "the server rolled the transaction back, because a statement in it had failed";
        Err(Error::with(ErrorKind::Statement, "commit", message).code(b"25P02"))
    }

    fn rollback(&mut self) -> Result<()> {
        if self.wire.status == BEGUN {
            self.wire.alive("rollback")?;
            // The server never heard of the transaction.
            self.wire.status = IDLE;
        }
        if self.wire.status == IDLE {
            return Ok(());
        }
        self.wire.send_constant(ROLLBACK, "rollback")?;
        self.wire.complete("rollback", ErrorKind::Disconnected, |_, _| Ok(()))
    }

    fn in_transaction(&mut self) -> bool {
        self.wire.status != IDLE && self.wire.alive("transaction").is_ok()
    }

    fn script(&mut self, sql: &[&str]) -> Result<()> {
        self.begin_now("script")?;
        let (wire, frame) = (&mut self.wire, &self.frame);
        sql.iter().try_for_each(|sql| match frame.moves() && wire.status == IDLE {
            true => simple::run(wire, &outside(frame, self.in_place, sql)?),
            false => simple::run(wire, sql),
        })
    }

    fn fetch(&mut self, sql: &str) -> Result<Table> {
        self.begin_now("fetch")?;
        match self.frame.moves() && self.wire.status == IDLE {
            true => simple::fetch(&mut self.wire, &format!("{}{sql}", self.frame.alone)),
            false => simple::fetch(&mut self.wire, sql),
        }
    }

    fn lift_timeouts(&mut self) -> Result<()> {
        if self.frame.moves() {
            self.frame.lift_timeouts();
            return Ok(());
        }
        // By itself, as the others take longer than the shortest of time-outs.
        for sql in ["SET statement_timeout TO 0", LIFT_TIMEOUTS] {
            match simple::run(&mut self.wire, sql) {
                Err(error) if error.kind.is_loss() => return Err(error),
                _ => {}
            }
        }
        Ok(())
    }

    fn bulk(&mut self) -> Option<&mut dyn BulkLoad> {
        Some(self)
    }

    fn pipeline(&mut self) -> Option<&mut dyn Pipeline> {
        Some(self)
    }

    fn texts(&mut self) -> Option<&mut dyn Texts> {
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
        Some(Box::new(Handle { socket, cancel: self.cancel.clone() }))
    }
}

impl Texts for PostgresConnection {
    #[inline]
    fn run(&mut self, sql: &[u8], take: Option<&mut dyn FnMut(Answer<'_>)>) -> Result<u64> {
        let ahead = self.frame.ahead(self.wire.status);
        simple::answers(&mut self.wire, ahead, sql, take)
    }
}
