//! Values of every type go to a table and come back exactly.

use dsbench_core::engine::{Connection, Isolation, Prepare};
use dsbench_core::error::ErrorKind;
use dsbench_core::value::{Rows, Type, Value};

use super::{Case, WAYS};
use crate::bed::Bed;
use crate::{ensure, refused, Doubt, HOLDS};

const TYPES: [Type; 7] =
    [Type::Int16, Type::Int32, Type::Int64, Type::Float64, Type::Decimal(4), Type::Text, Type::Timestamp];

/// 0001-01-01 and the last tenth of a millisecond of 9999, in microseconds since 1970.
const FIRST_US: i64 = -62_135_596_800_000_000;
const LAST_US: i64 = 253_402_300_799_999_900;
/// The end of 2000-02-29.
const LEAP_US: i64 = 951_868_799_999_900;

const WORLD: &str = "Grüße, 世界 🦀\t\\N\n\r'; DROP TABLE t; -- ? $1 %s \"x\"  ";

type Sample = [Value<'static>; 7];

const fn sample(ints: [i64; 3], float: f64, unscaled: i64, text: &'static str, time: i64) -> Sample {
    let [a, b, c] = ints;
    let decimal = Value::Decimal { unscaled, scale: 4 };
    [
        Value::Int(a),
        Value::Int(b),
        Value::Int(c),
        Value::Float(float),
        decimal,
        Value::Text(text),
        Value::Timestamp(time),
    ]
}

const LOWEST: [i64; 3] = [i16::MIN as i64, i32::MIN as i64, i64::MIN];
const HIGHEST: [i64; 3] = [i16::MAX as i64, i32::MAX as i64, i64::MAX];

const SAMPLES: [(&str, Sample); 6] = [
    ("NULL", [Value::Null; 7]),
    ("zero and empty", sample([0; 3], 0.0, 0, "", 0)),
    ("lowest values", sample(LOWEST, f64::MIN, i64::MIN, " ", FIRST_US)),
    ("highest values", sample(HIGHEST, f64::MAX, i64::MAX, "\u{10ffff}", LAST_US)),
    ("smallest fractions", sample([-1; 3], f64::MIN_POSITIVE, -1, "x", -100)),
    ("text of the world, leap day", sample([1; 3], 0.1, 10_001, WORLD, LEAP_US)),
];

pub fn cases() -> Vec<Case> {
    let mut cases = Vec::new();
    for (name, sample) in SAMPLES {
        for (variant, when) in WAYS {
            cases.push(Case::new("types", name, variant, move |bed| {
                round_trip(bed, &sample, when).map(|()| HOLDS.into())
            }));
        }
    }
    cases.extend(Case::both_ways("types", "a text of 6,000 characters", long_text));
    cases.extend(Case::both_ways("types", "decimals add up exactly", sums));
    for (variant, when) in WAYS {
        cases.push(Case::new("types", "a number too large for its type is refused", variant, move |bed| {
            too_large(bed, when)
        }));
    }
    cases.push(Case::new("types", "a microsecond", "", microsecond));
    cases
}

/// Writes one row of table `v`, reads it, and removes it.
fn there_and_back(bed: &Bed, sample: &[Value<'_>; 7], when: Prepare, into: &mut Rows) -> Result<(), Doubt> {
    let mut session = bed.session(Isolation::RepeatableRead)?;
    let session: &mut dyn Connection = &mut *session;
    let params: Vec<Type> = [Type::Int32].into_iter().chain(TYPES).collect();
    let insert = bed.prepare(session, "insert values", &params, &[], when)?;
    let select = bed.prepare(session, "select values", &[Type::Int32], &TYPES, when)?;
    let row: Vec<Value<'_>> = [Value::Int(1)].into_iter().chain(*sample).collect();
    session.begin()?;
    let done = session.execute(insert, &row).and_then(|count| {
        session.query(select, &[Value::Int(1)], into)?;
        Ok(count)
    });
    session.rollback()?;
    let count = done?;
    ensure(count == 1 && into.len() == 1, || format!("{count} rows written, {} read", into.len()))
}

fn round_trip(bed: &Bed, sample: &[Value<'_>; 7], when: Prepare) -> Result<(), Doubt> {
    let mut rows = Rows::new();
    there_and_back(bed, sample, when, &mut rows)?;
    for (column, sent) in sample.iter().enumerate() {
        let back = rows.get(0, column)?;
        ensure(back == *sent, || format!("{:?}: sent {sent:?}, came back {back:?}", TYPES[column]))?;
    }
    Ok(())
}

fn long_text(bed: &Bed, when: Prepare) -> Result<(), Doubt> {
    let long = "grün 数据 🗄'\"\\%".repeat(400);
    let mut row = [Value::Null; 7];
    row[5] = Value::Text(&long);
    round_trip(bed, &row, when)
}

/// Ten times 0.1 is 1, which it is not in binary fractions.
fn sums(bed: &Bed, when: Prepare) -> Result<(), Doubt> {
    let mut session = bed.session(Isolation::RepeatableRead)?;
    let session: &mut dyn Connection = &mut *session;
    let params: Vec<Type> = [Type::Int32].into_iter().chain(TYPES).collect();
    let insert = bed.prepare(session, "insert values", &params, &[], when)?;
    let sum = bed.prepare(session, "sum of decimals", &[], &[Type::Decimal(4)], when)?;
    let mut rows = Rows::new();
    session.begin()?;
    for number in 0..10 {
        let mut row = [Value::Null; 8];
        (row[0], row[5]) = (Value::Int(number), Value::Decimal { unscaled: 1, scale: 1 });
        session.execute(insert, &row)?;
    }
    session.query(sum, &[], &mut rows)?;
    session.rollback()?;
    let found = rows.get(0, 0)?;
    ensure(found == Value::Decimal { unscaled: 10_000, scale: 4 }, || format!("{found:?}"))
}

/// What becomes of a number that its column cannot hold.
fn too_large(bed: &Bed, when: Prepare) -> Result<String, Doubt> {
    let mut outcomes = Vec::new();
    for (column, value) in [(0, i64::from(i16::MAX) + 1), (1, i64::from(i32::MIN) - 1)] {
        let mut row = [Value::Null; 7];
        row[column] = Value::Int(value);
        let mut rows = Rows::new();
        let mut session = bed.session(Isolation::RepeatableRead)?;
        let params: Vec<Type> = [Type::Int32].into_iter().chain(TYPES).collect();
        let insert = bed.prepare(&mut *session, "insert values", &params, &[], when)?;
        let select = bed.prepare(&mut *session, "select values", &[Type::Int32], &TYPES, when)?;
        let all: Vec<Value<'_>> = [Value::Int(1)].into_iter().chain(row).collect();
        session.begin()?;
        let done = session.execute(insert, &all).and_then(|_| session.query(select, &[Value::Int(1)], &mut rows));
        session.rollback()?;
        outcomes.push(match done {
            Ok(()) if rows.get(0, column)? == Value::Int(value) => "kept whole",
            Ok(()) => return Err(Doubt(format!("{value} became {:?}", rows.get(0, column)?))),
            other => refused("a number that does not fit", other, ErrorKind::Statement).map(|_| HOLDS)?,
        });
    }
    // Nothing of it is left in the table.
    there_and_back(bed, &SAMPLES[1].1, when, &mut Rows::new())?;
    outcomes.dedup();
    Ok(outcomes.join(", "))
}

/// What becomes of a time that is finer than some products tell it.
fn microsecond(bed: &Bed) -> Result<String, Doubt> {
    let (mut rows, mut row) = (Rows::new(), [Value::Null; 7]);
    row[6] = Value::Timestamp(LEAP_US + 1);
    there_and_back(bed, &row, Prepare::Once, &mut rows)?;
    match rows.get(0, 6)? {
        Value::Timestamp(found) if found == LEAP_US + 1 => Ok(HOLDS.into()),
        Value::Timestamp(found) if found == LEAP_US => Ok("cut to 100 µs".into()),
        other => Err(Doubt(format!("sent {}, came back {other:?}", LEAP_US + 1))),
    }
}
