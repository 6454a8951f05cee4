//! Sessions with the settings that dsbench asks for, proved once for each: on a server itself, which takes them with the
//! login, and behind a pooler, which may drop them, refuse them, or give every transaction another session.

use std::sync::atomic::{AtomicU8, Ordering};

use dsbench_core::engine::{Isolation, Session};
use dsbench_core::error::{Error, ErrorKind, Result};

use super::login::{self, LoggedIn};
use super::wire::{Wire, BEGUN, IDLE};
use super::{simple, Postgres, PLACE};

/// What a pooler answers to a setting at the login that it does not know: protocol_violation.
const UNKNOWN_SETTING: &str = "08P01";

/// How often two sessions are compared. In a pool of transactions the first look shows it, unless others use the pool.
const LOOKS: u32 = 8;

/// How sessions of a target get their settings.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Way {
    /// With the login: nothing stands between dsbench and the server.
    Login,
    /// By SET after the login: a pooler gives each client a session of its own for as long as it stays.
    Set,
    /// At the beginning of every transaction: a pooler gives each transaction a session that others use, too.
    Transaction,
}

const WAYS: [Way; 3] = [Way::Login, Way::Set, Way::Transaction];

/// The way of a target, once it was found.
#[derive(Default)]
pub struct Found(AtomicU8);

impl Found {
    /// The way, or nothing before the first session.
    pub fn way(&self) -> Option<Way> {
        usize::from(self.0.load(Ordering::Relaxed)).checked_sub(1).map(|at| WAYS[at])
    }

    /// Keeps `way`. Of two that look at the same time the one counts that has seen a session change.
    fn keep(&self, way: Way) {
        self.0.fetch_max(way as u8 + 1, Ordering::Relaxed);
    }
}

/// Those that all versions have.
const LIFT_TIMEOUTS: &str = "SET LOCAL statement_timeout TO 0;SET LOCAL lock_timeout TO 0;\
    SET LOCAL idle_in_transaction_session_timeout TO 0;";

/// What is sent ahead of statements, so that each transaction has its settings; on a server itself nothing but BEGIN.
pub struct Frame {
    /// Ahead of the first statement of a transaction.
    pub begin: Box<str>,
    /// Ahead of a statement outside of transactions, which is one with it: several commands in one message are.
    pub alone: Box<str>,
}

impl Frame {
    fn of(way: Way, session: Session) -> Self {
        if way != Way::Transaction {
            return Self { begin: "BEGIN;".into(), alone: "".into() };
        }
        let level = level(session.isolation);
        let place = if session.in_place { format!("SET LOCAL search_path TO {PLACE};") } else { String::new() };
        Self {
            begin: format!("BEGIN ISOLATION LEVEL {level};{place}").into(),
            alone: format!("SET TRANSACTION ISOLATION LEVEL {level};{place}").into(),
        }
    }

    /// What goes ahead of a text in a session of this status.
    #[inline]
    pub fn ahead(&self, status: u8) -> &str {
        match status {
            BEGUN => &self.begin,
            IDLE => &self.alone,
            _ => "",
        }
    }

    /// Has every transaction set the time-outs aside that the server sets for the user.
    pub fn lift_timeouts(&mut self) {
        for texts in [&mut self.begin, &mut self.alone] {
            *texts = format!("{texts}{LIFT_TIMEOUTS}").into();
        }
    }

    /// Whether every transaction may have another session.
    pub fn moves(&self) -> bool {
        !self.alone.is_empty()
    }
}

/// Whether a session is asked for what it has.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Prove {
    /// It must have what was asked for.
    Always,
    /// The same, but a server that does not understand the question is believed: it speaks PostgreSQL's protocol only.
    Leniently,
    /// One that the server gave before was asked.
    Not,
}

/// A session whose settings are in force.
pub fn open(server: &Postgres, session: Session, prove: Prove) -> Result<(LoggedIn, Frame)> {
    match server.found.way() {
        Some(way) => by(server, way, session, prove),
        None => find(server, session, prove),
    }
}

fn find(server: &Postgres, session: Session, prove: Prove) -> Result<(LoggedIn, Frame)> {
    match login::open(&server.hosts, &settings(session)) {
        Ok(mut direct) => match ask(&mut direct.wire, "", &proof(session, Some(direct.cancel.key())))? {
            Proof::Fails => {}
            Proof::Unanswered(error) if prove != Prove::Leniently => return Err(another(server, &error)),
            found => {
                server.unproved.fetch_or(matches!(found, Proof::Unanswered(_)), Ordering::Relaxed);
                server.found.keep(Way::Login);
                return lifted(direct, Frame::of(Way::Login, session));
            }
        },
        Err(error) if error.code.as_str() == UNKNOWN_SETTING => {}
        Err(error) => return Err(error),
    }
    let way = pooled(server)?;
    server.found.keep(way);
    by(server, way, session, Prove::Always)
}

/// A session by a way that is known.
fn by(server: &Postgres, way: Way, session: Session, prove: Prove) -> Result<(LoggedIn, Frame)> {
    let frame = Frame::of(way, session);
    let mut opened = match way {
        Way::Login => login::open(&server.hosts, &settings(session))?,
        Way::Set | Way::Transaction => plain(server)?,
    };
    if way == Way::Set {
        for (name, value) in settings(session) {
            simple::run(&mut opened.wire, &format!("SET {name} = '{value}'"))?;
        }
    }
    let key = (way == Way::Login).then(|| opened.cancel.key());
    if prove != Prove::Not {
        match ask(&mut opened.wire, &frame.alone, &proof(session, key))? {
            Proof::Holds => {}
            Proof::Fails if way == Way::Login => return set(server, opened, session),
            Proof::Fails => return Err(unproved(server, &mut opened.wire, &frame, session)),
            Proof::Unanswered(_) if prove == Prove::Leniently => {}
            Proof::Unanswered(error) => return Err(another(server, &error)),
        }
    }
    if way != Way::Login {
        opened.cancel.forget_process();
    }
    lifted(opened, frame)
}

/// The settings by SET in a session whose login did not bring them. The first session may have had by chance what it asked
/// for: one of a server that drops what comes with the login, or of a pooler that sends some to another server.
fn set(server: &Postgres, mut opened: LoggedIn, session: Session) -> Result<(LoggedIn, Frame)> {
    let frame = Frame::of(Way::Set, session);
    for (name, value) in settings(session) {
        simple::run(&mut opened.wire, &format!("SET {name} = '{value}'"))?;
    }
    if !matches!(ask(&mut opened.wire, "", &proof(session, None))?, Proof::Holds) {
        return Err(unproved(server, &mut opened.wire, &frame, session));
    }
    server.found.keep(Way::Set);
    opened.cancel.forget_process();
    lifted(opened, frame)
}

fn lifted(mut opened: LoggedIn, frame: Frame) -> Result<(LoggedIn, Frame)> {
    let lifted = opened.wire.transport.lift_deadline();
    lifted.map_err(|error| refuse(error.to_string()))?;
    Ok((opened, frame))
}

/// A login without the settings that poolers refuse.
fn plain(server: &Postgres) -> Result<LoggedIn> {
    if server.hosts.iter().any(|host| host.options.server_options.is_some()) {
        let words = "a pooler stands before the server, and what options= of the target (PGOPTIONS) asks for does not \
            get through it";
        let remedy = "omit it (ALTER ROLE … SET does the same), or name the server itself as TARGET";
        return Err(Error::configuration(words).remedy(remedy));
    }
    login::open(&server.hosts, &[])
}

/// Which sessions a pooler gives: the same as long as the client stays, or any in each transaction.
fn pooled(server: &Postgres) -> Result<Way> {
    let (mut one, mut other) = (plain(server)?, plain(server)?);
    let first = backend(&mut one.wire)?;
    for _ in 0..LOOKS {
        let beside = backend(&mut other.wire).map_err(|error| {
            let words = "a pooler stands before the server and gave no second session beside the first in time: raise \
                its default_pool_size above --clients, or connect_timeout of the target";
            refuse(format!("{words} ({error})"))
        })?;
        if beside == first || backend(&mut one.wire)? != first {
            return of_transactions(&mut one.wire);
        }
    }
    Ok(Way::Set)
}

/// Makes sure that transactions are kept together.
fn of_transactions(wire: &mut Wire) -> Result<Way> {
    let kept = simple::run(wire, "BEGIN").and_then(|()| simple::run(wire, "ROLLBACK"));
    kept.map(|()| Way::Transaction).map_err(|error| {
        let words = "the pooler before the server takes no transactions of several statements";
        Error::configuration(format!("{words} ({error})"))
            .remedy("set its pool_mode to session or transaction, or name the server itself as TARGET")
    })
}

/// The number of the server's process.
fn backend(wire: &mut Wire) -> Result<String> {
    let found = simple::fetch(wire, "SELECT pg_catalog.pg_backend_pid()")?;
    Ok(found.rows.into_iter().flatten().next().flatten().unwrap_or_default())
}

fn level(isolation: Isolation) -> &'static str {
    match isolation {
        Isolation::ReadCommitted => "read committed",
        Isolation::RepeatableRead => "repeatable read",
        Isolation::Serializable => "serializable",
    }
}

/// What a session is to have, as the login takes it.
fn settings(session: Session) -> Vec<(&'static str, &'static str)> {
    // Numbers in text come back exactly.
    let mut all = vec![("extra_float_digits", "3"), ("default_transaction_isolation", level(session.isolation))];
    if session.in_place {
        all.push(("search_path", PLACE));
    }
    all
}

/// A query that gives 1 where all of it is in force, and the server's process is the one that the login told of.
fn proof(session: Session, process: Option<i32>) -> String {
    let mut all = format!(
        "current_setting('transaction_isolation') = '{}' AND current_setting('extra_float_digits')::int > 0 \
         AND current_setting('DateStyle') LIKE 'ISO%' AND current_setting('client_encoding') = 'UTF8'",
        level(session.isolation)
    );
    if session.in_place {
        all.push_str(&format!(" AND current_setting('search_path') = '{PLACE}'"));
    }
    if let Some(process) = process {
        all.push_str(&format!(" AND pg_backend_pid() = {process}"));
    }
    format!("SELECT CASE WHEN {all} THEN 1 ELSE 0 END")
}

/// What a server answers to the proof.
enum Proof {
    Holds,
    Fails,
    /// It does not understand the question.
    Unanswered(Error),
}

fn ask(wire: &mut Wire, ahead: &str, proof: &str) -> Result<Proof> {
    match simple::fetch(wire, &format!("{ahead}{proof}")) {
        Ok(found) if found.rows.first().and_then(|row| row.first()?.as_deref()) == Some("1") => Ok(Proof::Holds),
        Ok(_) => Ok(Proof::Fails),
        Err(error) if matches!(error.kind, ErrorKind::Syntax | ErrorKind::Statement) => Ok(Proof::Unanswered(error)),
        Err(error) => Err(refuse(error.to_string())),
    }
}

/// The error of a server that speaks PostgreSQL's protocol and is none.
#[cold]
fn another(server: &Postgres, error: &Error) -> Error {
    /// A server may repeat all of the question.
    const ENOUGH: usize = 60;
    let said: String = error.words().chars().take(ENOUGH).collect();
    let words = format!("{}: this server does not answer as PostgreSQL does ({said}…)", server.place());
    refuse(words)
        .remedy("see what it has: dsbench doctor TARGET; and use tables that are there: --existing --script FILE")
}

#[cold]
fn unproved(server: &Postgres, wire: &mut Wire, frame: &Frame, session: Session) -> Error {
    let names = ["transaction_isolation", "search_path", "extra_float_digits", "DateStyle", "client_encoding"];
    let asked = names.map(|name| format!("current_setting('{name}')")).join(", ");
    let found = simple::fetch(wire, &format!("{}SELECT {asked}", frame.alone)).unwrap_or_default();
    let found = found.rows.into_iter().flatten().map(Option::unwrap_or_default);
    let found: Vec<String> = names.iter().zip(found).map(|(name, value)| format!("{name} {value:?}")).collect();
    let words = format!(
        "{}: sessions do not have what dsbench asks for (isolation {}{}) but {}: something between changes them",
        server.place(),
        level(session.isolation),
        if session.in_place { format!(", search_path {PLACE}") } else { String::new() },
        found.join(", ")
    );
    refuse(words).remedy("name the server itself as the target")
}

fn refuse(message: String) -> Error {
    Error::with(ErrorKind::Setup, "connect", message)
}

/// `sql` as it can be sent outside of transactions where nothing of a session lasts. Error `Configuration` for settings
/// of a session, which would reach whoever gets that session next.
pub fn outside(frame: &Frame, in_place: bool, sql: &str) -> Result<String> {
    let mut words = sql.split_whitespace().map(str::to_ascii_uppercase);
    match (words.next().as_deref(), words.next().as_deref()) {
        (Some("SET"), Some("LOCAL" | "TRANSACTION")) => Ok(format!("{}{sql}", frame.alone)),
        (Some("SET" | "RESET"), _) => {
            let words = "the pooler before the server keeps no settings of a session beyond a transaction, which this \
                workload needs";
            Err(Error::configuration(words).remedy("set its pool_mode to session, or name the server itself as TARGET"))
        }
        // It cannot be part of a transaction, where names would be found by the search path.
        (Some("VACUUM"), _) if in_place => Ok(vacuum_in_place(sql)),
        (Some("VACUUM"), _) => Ok(sql.to_owned()),
        _ => Ok(format!("{}{sql}", frame.alone)),
    }
}

/// `VACUUM [(…)] [ANALYZE] one, other` with the schema ahead of each table.
fn vacuum_in_place(sql: &str) -> String {
    let rest = &sql.trim_start()["VACUUM".len()..];
    let tables = match rest.find(')') {
        Some(end) if rest.trim_start().starts_with('(') => &rest[end + 1..],
        _ => {
            let rest = rest.trim_start();
            let analyze = rest.get(..8).is_some_and(|word| word.eq_ignore_ascii_case("ANALYZE "));
            if analyze {
                &rest[8..]
            } else {
                rest
            }
        }
    };
    let options = &sql[..sql.len() - tables.len()];
    let named: Vec<String> = tables.split(',').map(|table| format!("{PLACE}.{}", table.trim())).collect();
    format!("{} {}", options.trim_end(), named.join(", "))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_vacuumed_is_named_with_its_schema() {
        for (sql, named) in [
            ("VACUUM branch, teller", "VACUUM dsbench.branch, dsbench.teller"),
            ("VACUUM (ANALYZE, INDEX_CLEANUP ON) \"a b\"", "VACUUM (ANALYZE, INDEX_CLEANUP ON) dsbench.\"a b\""),
            ("VACUUM ANALYZE a, b", "VACUUM ANALYZE dsbench.a, dsbench.b"),
        ] {
            assert_eq!(vacuum_in_place(sql), named);
        }
    }

    #[test]
    fn settings_of_a_session_are_not_left_to_others() {
        let session = Session { isolation: Isolation::Serializable, in_place: true };
        let frame = Frame::of(Way::Transaction, session);
        assert!(frame.moves() && !Frame::of(Way::Set, session).moves());
        for sql in ["SET enable_seqscan = off", "reset all", "SET SESSION lock_timeout = 1"] {
            assert_eq!(outside(&frame, true, sql).unwrap_err().kind, ErrorKind::Configuration, "{sql}");
        }
        let sent = outside(&frame, true, "CHECKPOINT").unwrap();
        assert_eq!(sent, "SET TRANSACTION ISOLATION LEVEL serializable;SET LOCAL search_path TO dsbench;CHECKPOINT");
    }
}
