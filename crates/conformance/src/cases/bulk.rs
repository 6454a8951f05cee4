//! The engine's own fast path to load rows.

use dsbench_core::engine::{Connection, Isolation, RowSource};
use dsbench_core::error::{Error, ErrorKind, Result as CoreResult};
use dsbench_core::value::{Type, Value};

use super::Case;
use crate::bed::Bed;
use crate::{ensure, refused, Doubt};

const GROUP: &str = "bulk load";
const COLUMNS: [(&str, Type); 3] = [("k", Type::Int64), ("v", Type::Text), ("d", Type::Decimal(2))];

pub fn cases() -> Vec<Case> {
    vec![
        Case::plain(GROUP, "all rows arrive as they were made", arrive),
        Case::plain(GROUP, "a source that fails leaves nothing behind", source_fails),
        Case::plain(GROUP, "a key that is there already leaves nothing behind", key_is_there),
        Case::plain(GROUP, "several load at the same time", side_by_side),
    ]
}

/// Rows (n, "row n", n / 100) from `next` on, up to `end`; odd ones have no text.
struct Numbers {
    next: i64,
    end: i64,
    fails: bool,
}

impl RowSource for Numbers {
    fn next_row(&mut self, emit: &mut dyn FnMut(&[Value<'_>]) -> CoreResult<()>) -> CoreResult<bool> {
        let n = self.next;
        if n == self.end {
            return if self.fails { Err(Error::configuration("the source has no more")) } else { Ok(false) };
        }
        self.next += 1;
        let text = format!("row\t{n} grün");
        let text = if n % 2 == 1 { Value::Null } else { Value::Text(&text) };
        emit(&[Value::Int(n), text, Value::Decimal { unscaled: n, scale: 2 }]).map(|()| true)
    }
}

fn session(bed: &Bed) -> Result<Box<dyn Connection>, Doubt> {
    bed.script("empty")?;
    Ok(bed.session(Isolation::RepeatableRead)?)
}

fn load(session: &mut dyn Connection, next: i64, end: i64, fails: bool) -> CoreResult<u64> {
    let bulk = session.bulk();
    let bulk = bulk.ok_or_else(|| Error::configuration("this engine has no bulk load"))?;
    bulk.load("b", &COLUMNS, &mut Numbers { next, end, fails })
}

/// Number of rows, of texts, and the hundredfold sum, as one text.
fn totals(bed: &Bed) -> Result<String, Doubt> {
    Ok(bed.cell(&mut *bed.session(Isolation::ReadCommitted)?, "totals")?)
}

fn expect(bed: &Bed, rows: i64, texts: i64, sum: i64) -> Result<(), Doubt> {
    let (found, expected) = (totals(bed)?, format!("{rows} {texts} {sum}"));
    ensure(found == expected, || format!("{found} in place of {expected}"))
}

fn arrive(bed: &Bed) -> Result<(), Doubt> {
    let mut session = session(bed)?;
    // None, one, and more than any engine sends at once.
    for (from, to) in [(0, 0), (0, 1), (1, 5000)] {
        let loaded = load(&mut *session, from, to, false)?;
        ensure(loaded == (to - from) as u64, || format!("{loaded} rows loaded of {}", to - from))?;
    }
    expect(bed, 5000, 2500, 5000 * 4999 / 2)?;
    let text = bed.cell(&mut *session, "text of a row")?;
    ensure(text == "row\t42 grün", || format!("row 42 holds {text:?}"))
}

fn source_fails(bed: &Bed) -> Result<(), Doubt> {
    let mut session = session(bed)?;
    refused("a load without an end", load(&mut *session, 0, 3000, true), ErrorKind::Configuration)?;
    expect(bed, 0, 0, 0)?;
    load(&mut *session, 0, 10, false)?;
    expect(bed, 10, 5, 45)
}

fn key_is_there(bed: &Bed) -> Result<(), Doubt> {
    let mut session = session(bed)?;
    load(&mut *session, 2990, 3010, false)?;
    let before = totals(bed)?;
    refused("a key that is there", load(&mut *session, 0, 3000, false), ErrorKind::DuplicateKey)?;
    let after = totals(bed)?;
    ensure(after == before, || format!("{before} became {after}"))
}

/// The first key that no other case has had. Firebird 3 at times takes a key for a duplicate when several
/// sessions load keys of rows that were rolled back before, and it is just clearing those away.
const FRESH: i64 = 100_000;

fn side_by_side(bed: &Bed) -> Result<(), Doubt> {
    drop(session(bed)?);
    let loads = std::thread::scope(|scope| {
        let part = |number: i64| {
            let (first, end) = (FRESH + number * 1000, FRESH + (number + 1) * 1000);
            move || load(&mut *bed.session(Isolation::RepeatableRead)?, first, end, false)
        };
        let threads = [0, 1, 2, 3].map(|number| scope.spawn(part(number)));
        threads.map(|thread| thread.join().unwrap_or_else(|_| Err(Error::new(ErrorKind::Setup, "a panic in a load"))))
    });
    for load in loads {
        load?;
    }
    expect(bed, 4000, 2000, 4000 * FRESH + 4000 * 3999 / 2)
}
