//! Statements and transactions of one session.

use dsbench_core::engine::{Connection, Isolation, Prepare, StatementId};
use dsbench_core::error::ErrorKind;
use dsbench_core::value::{Rows, Type, Value};

use super::Case;
use crate::bed::Bed;
use crate::{ensure, refused, Doubt};

const GROUP: &str = "statements";

pub fn cases() -> Vec<Case> {
    let mut cases = Vec::new();
    cases.extend(Case::both_ways(GROUP, "the rows that an update finds are counted", counted));
    cases.extend(Case::both_ways(GROUP, "a query refills its rows", refilled));
    cases.extend(Case::both_ways(GROUP, "outside of a transaction each statement is one", single));
    cases.extend(Case::both_ways(GROUP, "a commit keeps and a rollback undoes", ended));
    cases.extend(Case::both_ways(GROUP, "a wrong number of parameters is refused", misnumbered));
    cases.push(Case::plain(GROUP, "statements are numbered in order", numbered));
    cases.push(Case::plain(GROUP, "begin, commit and rollback know whether one is open", bracketed));
    cases.push(Case::plain(GROUP, "what a session left open is undone", abandoned));
    cases
}

/// A session with its statements `write` and `read`.
fn session(bed: &Bed, when: Prepare) -> Result<(Box<dyn Connection>, StatementId, StatementId), Doubt> {
    bed.reset()?;
    let mut session = bed.session(Isolation::RepeatableRead)?;
    let write = bed.prepare(&mut *session, "write", &[Type::Int32; 2], &[], when)?;
    let read = bed.prepare(&mut *session, "read", &[Type::Int32], &[Type::Int32], when)?;
    Ok((session, write, read))
}

fn counted(bed: &Bed, when: Prepare) -> Result<(), Doubt> {
    let (mut session, write, _) = session(bed, when)?;
    // The second time nothing changes, but the row is found.
    for (key, found) in [(1, 1), (1, 1), (99, 0)] {
        let count = session.execute(write, &[Value::Int(8), Value::Int(key)])?;
        ensure(count == found, || format!("row {key}: {count} in place of {found}"))?;
    }
    Ok(())
}

fn refilled(bed: &Bed, when: Prepare) -> Result<(), Doubt> {
    let (mut session, write, read) = session(bed, when)?;
    session.execute(write, &[Value::Int(2), Value::Int(2)])?;
    let mut rows = Rows::new();
    for (key, expected) in [(1, Some(1)), (99, None), (2, Some(2)), (98, None)] {
        session.query(read, &[Value::Int(key)], &mut rows)?;
        let found = (!rows.is_empty()).then(|| rows.int(0, 0)).transpose()?;
        ensure((found, rows.width()) == (expected, 1), || format!("row {key}: {found:?} of {} columns", rows.width()))?;
    }
    Ok(())
}

fn single(bed: &Bed, when: Prepare) -> Result<(), Doubt> {
    let (mut session, write, _) = session(bed, when)?;
    session.execute(write, &[Value::Int(3), Value::Int(1)])?;
    let found = bed.balances()?;
    ensure(found == [3, 1], || format!("another session sees {found:?}"))
}

fn ended(bed: &Bed, when: Prepare) -> Result<(), Doubt> {
    let (mut session, write, read) = session(bed, when)?;
    let mut rows = Rows::new();
    for (commits, expected) in [(false, [1, 1]), (true, [6, 1]), (false, [6, 1])] {
        session.begin()?;
        session.execute(write, &[Value::Int(6), Value::Int(1)])?;
        session.query(read, &[Value::Int(1)], &mut rows)?;
        let own = rows.int(0, 0)?;
        ensure(own == 6, || format!("its own transaction reads {own}"))?;
        if commits {
            session.commit()?;
        } else {
            session.rollback()?;
        }
        let found = bed.balances()?;
        ensure(found == expected, || format!("committed: {commits}; {found:?}"))?;
    }
    Ok(())
}

fn misnumbered(bed: &Bed, when: Prepare) -> Result<(), Doubt> {
    let (mut session, _, read) = session(bed, when)?;
    let mut rows = Rows::new();
    for params in [&[][..], &[Value::Int(1), Value::Int(2)]] {
        let what = format!("{} parameters", params.len());
        refused(&what, session.query(read, params, &mut rows), ErrorKind::Statement)?;
    }
    session.query(read, &[Value::Int(1)], &mut rows)?;
    ensure(rows.len() == 1, || "the session does not go on".into())
}

fn numbered(bed: &Bed) -> Result<(), Doubt> {
    let mut session = bed.session(Isolation::RepeatableRead)?;
    for number in 0..4 {
        let when = if number % 2 == 0 { Prepare::Once } else { Prepare::Never };
        let found = bed.prepare(&mut *session, "read", &[Type::Int32], &[Type::Int32], when)?;
        ensure(found == StatementId(number), || format!("{found:?} in place of {number}"))?;
    }
    let unknown = session.execute(StatementId(4), &[]);
    refused("a statement that was never prepared", unknown, ErrorKind::Statement).map(|_| ())
}

fn bracketed(bed: &Bed) -> Result<(), Doubt> {
    let mut session = bed.session(Isolation::RepeatableRead)?;
    session.rollback()?;
    refused("a commit of nothing", session.commit(), ErrorKind::Statement)?;
    session.begin()?;
    refused("a transaction within one", session.begin(), ErrorKind::Statement)?;
    session.commit()?;
    session.begin()?;
    session.rollback()?;
    Ok(session.rollback()?)
}

fn abandoned(bed: &Bed) -> Result<(), Doubt> {
    let (mut left, write, _) = session(bed, Prepare::Once)?;
    left.begin()?;
    left.execute(write, &[Value::Int(9), Value::Int(2)])?;
    drop(left);
    // The next one does not have to wait for the row, either.
    let (mut next, write, _) = session(bed, Prepare::Once)?;
    next.execute(write, &[Value::Int(4), Value::Int(2)])?;
    let found = bed.balances()?;
    ensure(found == [1, 4], || format!("{found:?}"))
}
