//! What of the library's answers is read here: a damaged one is read as far as it goes, or refused.

use dsbench_core::random::Stream;
use dsbench_core::value::{Rows, Type};

use super::answer::{clusters, number};
use super::sqlda::Row;
use super::status::Status;
use super::{codes, text, values};

const TYPES: [Type; 7] =
    [Type::Int16, Type::Int32, Type::Int64, Type::Float64, Type::Decimal(2), Type::Text, Type::Timestamp];
/// Types that a server may send; others do not get through the library.
const KINDS: [i16; 13] = [448, 452, 480, 482, 496, 500, 510, 520, 570, 580, 32748, 32752, 32754];

fn draws(mut each: impl FnMut(&mut Stream)) {
    let set = |name: &str| std::env::var(name).ok().and_then(|text| text.parse().ok());
    let (inputs, seed) = (set("DSBENCH_FUZZ_INPUTS").unwrap_or(3_000), set("DSBENCH_FUZZ_SEED").unwrap_or(1));
    (0..inputs).for_each(|input| each(&mut Stream::new(seed, 1, input)));
}

/// A number that is often at an edge.
fn odd(random: &mut Stream) -> i16 {
    match random.below(4) {
        0 => random.below(20) as i16,
        1 => [i16::MIN, i16::MAX, -1, 0][random.below(4) as usize],
        _ => random.next_u64() as i16,
    }
}

#[test]
fn damaged_status_vectors_and_answers_are_read_to_their_end() {
    draws(|random| {
        let mut status = Status::default();
        for word in status.0.iter_mut() {
            *word = if random.below(2) == 0 { random.below(8) as isize } else { random.next_u64() as isize };
        }
        let (found, count) = status.codes();
        let _ = (codes::judge(&found[..count]), status.has(codes::LOGIN), status.system_error());
        let answer = crate::samples::bytes(random);
        let total: usize = clusters(&answer).map(|(_, value)| usize::from(number(value) > 0) + value.len()).sum();
        assert!(total <= 2 * answer.len());
    });
}

/// A row whose descriptor came from a server.
fn described(random: &mut Stream) -> (Row, usize) {
    let columns = random.between(1, 9) as usize;
    let mut row = Row::with_room(columns);
    // SAFETY: the two words lie within the descriptor's head; see its layout.
    unsafe { row.as_mut_ptr().cast::<i16>().add(9).write(columns as i16) };
    for var in row.vars() {
        let kind = KINDS[random.below(KINDS.len() as u64) as usize];
        var.set(kind, odd(random) as u16 % 2_000, odd(random));
        var.sqlsubtype = odd(random);
    }
    (row, columns)
}

fn fill(row: &mut Row, columns: usize, random: &mut Stream) {
    for at in 0..columns {
        row.set_null(at, random.below(5) == 0);
        row.bytes_mut(at).iter_mut().for_each(|byte| *byte = if random.below(2) == 0 { 0 } else { odd(random) as u8 });
    }
}

#[test]
fn damaged_rows_are_refused_or_read() {
    let mut read = 0;
    draws(|random| {
        let (mut row, columns) = described(random);
        let types: Vec<Type> = (0..columns).map(|_| TYPES[random.below(7) as usize]).collect();
        if row.vars().iter_mut().zip(&types).all(|(var, declared)| values::declare_output(var, *declared)) {
            row.allocate();
            fill(&mut row, columns, random);
            let mut rows = Rows::new();
            rows.reset(columns);
            read += usize::from(values::read_row(&mut row, &types, &mut rows).is_ok() && rows.len() == 1);
        }
        let (mut row, columns) = described(random);
        let declared = text::declare(&mut row);
        fill(&mut row, columns, random);
        declared.iter().enumerate().for_each(|(at, column)| drop(column.cell(&row, at)));
    });
    assert!(read > 10, "{read}");
}
