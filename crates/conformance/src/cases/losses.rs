//! Sessions that are lost: ended by an administrator, interrupted, gone with their server.

use std::thread;
use std::time::{Duration, Instant};

use dsbench_core::engine::{Connection, Isolation, Prepare, StatementId};
use dsbench_core::error::ErrorKind;
use dsbench_core::value::{Table, Type, Value};

use super::Case;
use crate::bed::Bed;
use crate::{ensure, refused, Doubt, ABSENT, HOLDS};

const GROUP: &str = "losses";

pub fn cases() -> Vec<Case> {
    let killed = |name, check: fn(&Bed) -> Result<(), Doubt>| {
        Case::new(GROUP, name, "", move |bed| match bed.all("kill").is_empty() {
            true => Ok(ABSENT.into()),
            false => check(bed).map(|()| HOLDS.into()),
        })
    };
    vec![
        killed("a session that was ended in a transaction is disconnected", in_transaction),
        killed("a session that was ended before its commit ends unknown", in_commit),
        killed("a new session goes on with what was committed", reconnects),
        Case::plain(GROUP, "another thread ends what a session is waiting for", interrupted),
        Case::plain(GROUP, "a query that takes longer than its limit is ended, and its session goes on", limited),
    ]
}

/// A session with a transaction in which row 1 became 3, and its statement.
fn open(bed: &Bed) -> Result<(Box<dyn Connection>, StatementId), Doubt> {
    let mut session = bed.session(Isolation::RepeatableRead)?;
    let write = bed.prepare(&mut *session, "write", &[Type::Int32; 2], &[], Prepare::Once)?;
    session.begin()?;
    session.execute(write, &[Value::Int(3), Value::Int(1)])?;
    Ok((session, write))
}

/// Ends a session by its number, as an administrator would, and waits until the server has forgotten it.
fn end(bed: &Bed, session: &mut dyn Connection) -> Result<(), Doubt> {
    let number = bed.cell(session, "session")?;
    let mut admin = bed.admin()?;
    for sql in bed.all("kill") {
        let sql = sql.replace("{session}", &number);
        if sql.starts_with("SELECT") {
            admin.fetch(&sql)?;
        } else {
            admin.script(&[&sql])?;
        }
    }
    let (sql, until) = (bed.sql("sessions")?.replace("{session}", &number), Instant::now() + Duration::from_secs(30));
    while admin.fetch(&sql)?.rows.first().and_then(|row| row.first().cloned().flatten()).as_deref() != Some("0") {
        ensure(Instant::now() < until, || "the server does not end the session".into())?;
        thread::sleep(Duration::from_millis(5));
    }
    // The server forgets a session a moment before it closes the connection.
    thread::sleep(Duration::from_millis(100));
    Ok(())
}

fn in_transaction(bed: &Bed) -> Result<(), Doubt> {
    bed.reset()?;
    let (mut session, write) = open(bed)?;
    end(bed, &mut *session)?;
    refused("a statement", session.execute(write, &[Value::Int(4), Value::Int(1)]), ErrorKind::Disconnected)?;
    refused("beginning again", session.begin(), ErrorKind::Disconnected)?;
    drop(session);
    let found = bed.balances()?;
    ensure(found == [1, 1], || format!("the transaction left {found:?}"))
}

fn in_commit(bed: &Bed) -> Result<(), Doubt> {
    bed.reset()?;
    let (mut session, _) = open(bed)?;
    end(bed, &mut *session)?;
    refused("the commit", session.commit(), ErrorKind::Unknown)?;
    refused("beginning again", session.begin(), ErrorKind::Disconnected).map(|_| ())
}

fn reconnects(bed: &Bed) -> Result<(), Doubt> {
    bed.reset()?;
    let (mut session, _) = open(bed)?;
    session.commit()?;
    end(bed, &mut *session)?;
    drop(session);
    let (mut session, _) = open(bed)?;
    session.commit()?;
    let found = bed.balances()?;
    ensure(found == [3, 1], || format!("{found:?}"))
}

fn interrupted(bed: &Bed) -> Result<(), Doubt> {
    let endless = bed.sql("endless")?;
    let mut session = bed.session(Isolation::RepeatableRead)?;
    let handle = session.interrupt().ok_or_else(|| Doubt("the session cannot be interrupted".into()))?;
    session.begin()?;
    let ended = thread::scope(|scope| {
        let call = scope.spawn(|| session.fetch(endless).map(|_| ()));
        // An interrupt that comes before the call ends it as well.
        thread::sleep(Duration::from_millis(150));
        handle.interrupt();
        call.join()
    });
    let ended = ended.map_err(|_| Doubt("a panic in the session".into()))?;
    refused("the call", ended, ErrorKind::Disconnected)?;
    refused("a later call", session.fetch(endless), ErrorKind::Disconnected)?;
    drop(session);
    handle.interrupt();
    bed.reset()?;
    let found = bed.balances()?;
    ensure(found == [1, 1], || format!("other sessions do not go on: {found:?}"))
}

fn limited(bed: &Bed) -> Result<(), Doubt> {
    let slow = bed.all("slow").first().copied().map_or_else(|| bed.sql("endless"), Ok)?;
    let begin = || -> Result<_, Doubt> {
        let mut session = bed.session(Isolation::RepeatableRead)?;
        let by_us = session.limit(Duration::from_millis(50))?;
        if !by_us {
            session.script(&[bed.sql("limit")?])?;
        }
        Ok((session, by_us))
    };
    let (mut session, by_us) = begin()?;
    let (mut kept, mut lost) = (0, 0);
    while kept < 2 {
        refused("the query", session.fetch(slow), ErrorKind::Timeout)?;
        if let Some(found) = goes_on(&mut *session)? {
            ensure(found.rows == [[Some("1".to_string())]], || format!("the session does not go on: {found:?}"))?;
            kept += 1;
        } else {
            // A busy Firebird may read a query and our wish to end it at once. No server loses a session by a limit of its own.
            lost += 1;
            ensure(by_us && lost < 5, || "the session is lost".into())?;
            session = begin()?.0;
        }
    }
    Ok(())
}

/// The answer to a short query, `None` where the session is lost. On a busy machine it may take longer than the limit,
/// too, but not every time.
fn goes_on(session: &mut dyn Connection) -> Result<Option<Table>, Doubt> {
    let mut asked = || session.fetch("SELECT k FROM t WHERE k = 1");
    for _ in 0..200 {
        match asked() {
            Err(error) if error.kind == ErrorKind::Timeout => {}
            Err(error) if error.kind == ErrorKind::Disconnected => return Ok(None),
            other => return Ok(Some(other?)),
        }
    }
    Ok(Some(asked()?))
}

/// A case of a server that is killed and its outcome.
type Lost = (&'static str, Result<String, Doubt>);

/// What each of four sessions says after `kill`; an error when they could not be had before.
pub fn of_server(bed: &Bed, kill: impl FnOnce()) -> Result<Vec<Lost>, Doubt> {
    bed.script("reset")?;
    let (mut working, write) = open(bed)?;
    let mut committing = bed.session(Isolation::RepeatableRead)?;
    let insert = bed.prepare(&mut *committing, "insert", &[Type::Int32; 2], &[], Prepare::Once)?;
    let mut gone = bed.session(Isolation::RepeatableRead)?;
    committing.begin()?;
    committing.execute(insert, &[Value::Int(7), Value::Int(1)])?;
    gone.begin()?;
    kill();
    let holds = |result: Result<_, Doubt>| result.map(|_| HOLDS.to_string());
    let statement = working.execute(write, &[Value::Int(4), Value::Int(1)]);
    let known = gone.fetch(bed.sql("version")?).map(|_| ());
    let connect =
        bed.engine.connect(dsbench_core::engine::Session { isolation: Isolation::ReadCommitted, in_place: true });
    Ok(vec![
        (
            "the server is killed in a transaction: disconnected",
            holds(refused("a statement", statement, ErrorKind::Disconnected)),
        ),
        (
            "the server is killed in commit: unknown",
            holds(refused("the commit", committing.commit(), ErrorKind::Unknown)),
        ),
        (
            "a loss that was known before the commit is none of unknown end",
            holds(
                refused("a query", known, ErrorKind::Disconnected)
                    .and_then(|_| refused("the commit", gone.commit(), ErrorKind::Disconnected)),
            ),
        ),
        ("a server that is gone fails the connect", holds(refused("connecting", connect, ErrorKind::Setup))),
    ])
}
