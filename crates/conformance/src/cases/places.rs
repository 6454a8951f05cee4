//! dsbench's own place is made, marked, recognized and dropped; what does not carry the mark is never touched.

use dsbench_core::engine::{Isolation, PlaceState};
use dsbench_core::error::ErrorKind;

use super::Case;
use crate::bed::{Bed, MARK};
use crate::{ensure, refused, Doubt, HOLDS};

/// A mark with whatever a careless quotation would trip over.
const AWKWARD: &str = r#"it's "ours": \ {"host": "grün"}; DROP TABLE t -- 世界"#;

pub fn cases() -> Vec<Case> {
    let case = |name, check: fn(&Bed) -> Result<(), Doubt>| Case {
        needs_tables: false,
        ..Case::new("place", name, "", move |bed| check(bed).map(|()| HOLDS.into()))
    };
    vec![
        case("where nothing is, dropping does no harm", absent),
        case("a mark comes back letter by letter", marked),
        case("a mark is changed where one is", remarked),
        case("what carries the mark is not made twice", twice),
        case("what does not carry the mark is neither dropped nor made anew", foreign),
        case("it is not dropped with what came after its stock was taken", strangers),
        case("its size is known", size),
        Case { needs_tables: false, ..Case::new("place", "a session of load where nothing is", "", entered) },
    ]
}

fn absent(bed: &Bed) -> Result<(), Doubt> {
    let place = bed.engine.place();
    for _ in 0..2 {
        place.drop()?;
        let state = place.state()?;
        ensure(state == PlaceState::Absent, || format!("dropped, but {state:?}"))?;
    }
    Ok(())
}

/// A session that is opened all the same finds no table to work on.
fn entered(bed: &Bed) -> Result<String, Doubt> {
    bed.engine.place().drop()?;
    match bed.session(Isolation::RepeatableRead) {
        Ok(mut session) => {
            let read = session.fetch("SELECT v FROM t");
            refused("a statement", read, ErrorKind::Syntax).map(|_| "finds nothing".into())
        }
        session => refused("it", session, ErrorKind::Setup).map(|_| "refused".into()),
    }
}

fn marked(bed: &Bed) -> Result<(), Doubt> {
    let place = bed.engine.place();
    place.drop()?;
    place.create(AWKWARD)?;
    let state = place.state()?;
    ensure(state == PlaceState::Marked(AWKWARD.into()), || format!("{state:?}"))?;
    bed.session(Isolation::RepeatableRead)?;
    place.drop()?;
    let state = place.state()?;
    ensure(state == PlaceState::Absent, || format!("dropped, but {state:?}"))
}

/// What stands in the place stays.
fn remarked(bed: &Bed) -> Result<(), Doubt> {
    let place = bed.engine.place();
    place.drop()?;
    refused("marking what is not there", place.remark(MARK), ErrorKind::Setup)?;
    bed.furnish()?;
    place.remark(AWKWARD)?;
    let state = place.state()?;
    ensure(state == PlaceState::Marked(AWKWARD.into()), || format!("{state:?}"))?;
    bed.session(Isolation::RepeatableRead)?.fetch("SELECT v FROM t")?;
    Ok(place.drop()?)
}

fn twice(bed: &Bed) -> Result<(), Doubt> {
    let place = bed.engine.place();
    place.drop()?;
    place.create(MARK)?;
    refused("making it twice", place.create("another"), ErrorKind::Setup)?;
    let state = place.state()?;
    ensure(state == PlaceState::Marked(MARK.into()), || format!("{state:?}"))
}

fn foreign(bed: &Bed) -> Result<(), Doubt> {
    let place = bed.engine.place();
    place.drop()?;
    place.create(MARK)?;
    // This session outlives the mark, and puts it back whatever happens.
    let mut session = bed.session(Isolation::ReadCommitted)?;
    session.script(&bed.all("witness"))?;
    session.script(&bed.all("spoil"))?;
    let found = untouched(bed);
    session.script(&bed.all("restore"))?;
    found?;
    let there = bed.cell(&mut *session, "witnesses")?;
    ensure(there == "1", || format!("a row of somebody's is gone: {there}"))?;
    drop(session);
    Ok(place.drop()?)
}

fn untouched(bed: &Bed) -> Result<(), Doubt> {
    let place = bed.engine.place();
    let state = place.state()?;
    ensure(matches!(state, PlaceState::Foreign(_)), || format!("{state:?}"))?;
    let PlaceState::Foreign(what) = state else { return Ok(()) };
    let tried = [("dropping it", place.drop()), ("making it", place.create(MARK)), ("marking it", place.remark(MARK))];
    for (how, result) in tried {
        let error = refused(how, result, ErrorKind::Setup)?;
        ensure(error.to_string().contains(&what), || format!("{how}: the error does not name {what:?}: {error}"))?;
    }
    Ok(())
}

fn strangers(bed: &Bed) -> Result<(), Doubt> {
    let place = bed.engine.place();
    bed.furnish()?;
    place.take_stock()?;
    let found = place.strangers()?;
    ensure(found.is_empty(), || format!("of its own it says {found:?}"))?;
    let mut session = bed.session(Isolation::ReadCommitted)?;
    session.script(&bed.all("witness"))?;
    let found = place.strangers()?;
    let told = |words: &str| words.to_lowercase().contains("witness");
    ensure(found.len() == 1 && told(&found[0]), || format!("{found:?}"))?;
    let error = refused("dropping it", place.drop(), ErrorKind::Setup)?;
    ensure(told(&error.to_string()), || format!("the error does not name it: {error}"))?;
    let there = bed.cell(&mut *session, "witnesses")?;
    ensure(there == "1", || format!("a row of somebody's is gone: {there}"))?;
    session.fetch("SELECT v FROM t")?;
    session.script(&["DROP TABLE witness"])?;
    drop(session);
    place.drop()?;
    let state = place.state()?;
    ensure(state == PlaceState::Absent, || format!("dropped, but {state:?}"))
}

fn size(bed: &Bed) -> Result<(), Doubt> {
    bed.furnish()?;
    let bytes = bed.engine.place().size_bytes()?.unwrap_or(0);
    ensure((1_000..1_000_000_000).contains(&bytes), || format!("{bytes} bytes for a few rows"))
}
