use super::super::types::{number_of, readable};
use super::*;
use crate::samples::{self, MISFITS, VALUES};
use dsbench_core::error::ErrorKind;
use dsbench_core::random::Stream;

/// Encodes a value as a parameter and reads it back as the only column of a row.
fn round_trip(kind: Type, value: Value<'_>) {
    let column = Column { kind: number_of(kind), unsigned: false };
    assert!(readable(kind, column));
    let mut content = vec![0, 0];
    encode(&mut content, kind, &value).unwrap();
    let mut rows = Rows::new();
    rows.reset(1);
    assert!(decode_row(&content, &[column], &[kind], &mut rows).is_ok(), "{value:?}");
    assert_eq!(rows.get(0, 0).unwrap(), value);
}

#[test]
fn values_come_back_as_they_went() {
    VALUES.iter().for_each(|(kind, value)| round_trip(*kind, *value));
    let long = "x".repeat(70_000);
    round_trip(Type::Text, Value::Text(&long));
}

#[test]
fn a_value_that_does_not_fit_is_an_error_of_the_statement() {
    for (kind, value) in MISFITS.iter().chain(&[(Type::Float64, Value::Float(f64::NAN))]) {
        let error = encode(&mut Vec::new(), *kind, value).unwrap_err();
        assert_eq!(error.kind, ErrorKind::Statement, "{value:?}");
    }
}

#[test]
fn integers_are_as_wide_and_signed_as_their_column() {
    let read = |kind: u8, unsigned: bool, bytes: &[u8]| {
        let (content, mut rows) = ([&[0, 0], bytes].concat(), Rows::new());
        rows.reset(1);
        let done = decode_row(&content, &[Column { kind, unsigned }], &[Type::Int64], &mut rows);
        done.ok().map(|()| rows.int(0, 0).unwrap())
    };
    assert_eq!(read(number::TINY, false, &[0xff]), Some(-1));
    assert_eq!(read(number::TINY, true, &[0xff]), Some(255));
    assert_eq!(read(number::YEAR, true, &[0xea, 7]), Some(2026));
    assert_eq!(read(number::INT24, false, &[0xff; 4]), Some(-1));
    assert_eq!(read(number::LONG, true, &[0xff; 4]), Some(u32::MAX.into()));
    assert_eq!(read(number::LONGLONG, false, &[0xff; 8]), Some(-1));
    assert_eq!(read(number::LONGLONG, true, &[0xff; 8]), None, "2^64 - 1 is no i64");
}

#[test]
fn nulls_are_told_by_their_bits() {
    let columns = [Column { kind: number::TINY, unsigned: false }; 9];
    let mut rows = Rows::new();
    rows.reset(9);
    // The bits of columns 0, 6 and 8: counted from the third.
    let content = [0, 0b0000_0100, 0b0000_0101, 1, 2, 3, 4, 5, 6];
    assert!(decode_row(&content, &columns, &[Type::Int16; 9], &mut rows).is_ok());
    let found: Vec<Option<i64>> = (0..9).map(|at| rows.int(0, at).ok()).collect();
    assert_eq!(found, [None, Some(1), Some(2), Some(3), Some(4), Some(5), None, Some(6), None]);
}

#[test]
fn random_rows_never_panic() {
    let kinds = [Type::Int32, Type::Text, Type::Decimal(4), Type::Timestamp, Type::Float64];
    let columns = kinds.map(|kind| Column { kind: number_of(kind), unsigned: false });
    let mut random = Stream::new(1, 0, 0);
    let mut rows = Rows::new();
    for _ in 0..50_000 {
        let content = samples::bytes(&mut random);
        rows.reset(kinds.len());
        let _ = decode_row(&content, &columns, &kinds, &mut rows);
    }
}
