//! Errors of statements: their kinds, and that the session goes on. (Errors that may be retried are
//! those of `isolation`.)

use dsbench_core::engine::{Isolation, Prepare, Statement};
use dsbench_core::error::{Error, ErrorKind};
use dsbench_core::value::{Type, Value};

use super::{Case, WAYS};
use crate::bed::Bed;
use crate::{ensure, refused, Doubt, HOLDS};

/// Name, section of the SQL, kind.
const STATEMENTS: [(&str, &str, ErrorKind); 6] = [
    ("a key that is there already", "duplicate key", ErrorKind::DuplicateKey),
    ("a unique value that is there already", "duplicate value", ErrorKind::DuplicateKey),
    ("NULL where none may be", "null", ErrorKind::Statement),
    ("what is no SQL", "no sql", ErrorKind::Syntax),
    ("a table that is not there", "no table", ErrorKind::Syntax),
    ("a column that is not there", "no column", ErrorKind::Syntax),
];

pub fn cases() -> Vec<Case> {
    let mut cases = Vec::new();
    for (name, section, kind) in STATEMENTS {
        for (variant, when) in WAYS {
            cases.push(Case::new("errors", name, variant, move |bed| {
                fails(bed, section, kind, when).map(|()| HOLDS.into())
            }));
        }
    }
    cases.push(Case::plain("errors", "a transaction that failed is rolled back whole", whole));
    cases
}

/// Preparing may find it as well as executing: servers differ in when they look.
fn fails(bed: &Bed, section: &str, kind: ErrorKind, when: Prepare) -> Result<(), Doubt> {
    bed.reset()?;
    let mut session = bed.session(Isolation::RepeatableRead)?;
    let read = bed.prepare(&mut *session, "read", &[Type::Int32], &[Type::Int32], Prepare::Once)?;
    let statement = Statement { sql: bed.sql(section)?, params: &[], columns: &[] };
    let done = session.prepare(&statement, when).and_then(|id| session.execute(id, &[]));
    let error: Error = refused("it", done, kind)?;
    ensure(error.message.is_some(), || "no words for the user".into())?;
    let has_code = kind == ErrorKind::Syntax || !error.code.as_str().is_empty();
    ensure(has_code, || "no native code".into())?;
    session.query(read, &[Value::Int(1)], &mut dsbench_core::value::Rows::new())?;
    Ok(())
}

fn whole(bed: &Bed) -> Result<(), Doubt> {
    bed.reset()?;
    let mut session = bed.session(Isolation::RepeatableRead)?;
    let write = bed.prepare(&mut *session, "write", &[Type::Int32; 2], &[], Prepare::Once)?;
    let insert = bed.prepare(&mut *session, "insert", &[Type::Int32; 2], &[], Prepare::Once)?;
    session.begin()?;
    session.execute(write, &[Value::Int(7), Value::Int(1)])?;
    let twice = session.execute(insert, &[Value::Int(2), Value::Int(1)]);
    refused("a key that is there already", twice, ErrorKind::DuplicateKey)?;
    session.rollback()?;
    let found = bed.balances()?;
    ensure(found == [1, 1], || format!("rolled back, but {found:?}"))?;
    session.begin()?;
    session.execute(write, &[Value::Int(7), Value::Int(1)])?;
    session.commit()?;
    let found = bed.balances()?;
    ensure(found == [7, 1], || format!("committed, but {found:?}"))
}
