//! Declared types and the server's: which fit, and what is said when they do not.

use dsbench_core::error::{Error, ErrorKind};
use dsbench_core::value::Type;

use super::reply::Column;

/// Numbers of the server's types.
pub(super) mod number {
    pub(crate) const DECIMAL_OLD: u8 = 0x00;
    pub(crate) const TINY: u8 = 0x01;
    pub(crate) const SHORT: u8 = 0x02;
    pub(crate) const LONG: u8 = 0x03;
    pub(crate) const FLOAT: u8 = 0x04;
    pub(crate) const DOUBLE: u8 = 0x05;
    pub(crate) const NULL: u8 = 0x06;
    pub(crate) const TIMESTAMP: u8 = 0x07;
    pub(crate) const LONGLONG: u8 = 0x08;
    pub(crate) const INT24: u8 = 0x09;
    pub(crate) const DATE: u8 = 0x0a;
    pub(crate) const TIME: u8 = 0x0b;
    pub(crate) const DATETIME: u8 = 0x0c;
    pub(crate) const YEAR: u8 = 0x0d;
    pub(crate) const VARCHAR: u8 = 0x0f;
    pub(crate) const JSON: u8 = 0xf5;
    pub(crate) const NEWDECIMAL: u8 = 0xf6;
    pub(crate) const ENUM: u8 = 0xf7;
    pub(crate) const SET: u8 = 0xf8;
    pub(crate) const TINY_BLOB: u8 = 0xf9;
    pub(crate) const BLOB: u8 = 0xfc;
    pub(crate) const VAR_STRING: u8 = 0xfd;
    pub(crate) const STRING: u8 = 0xfe;
}

/// The server's type of a parameter of a declared type.
pub(super) fn number_of(kind: Type) -> u8 {
    match kind {
        Type::Int16 => number::SHORT,
        Type::Int32 => number::LONG,
        Type::Int64 => number::LONGLONG,
        Type::Float64 => number::DOUBLE,
        Type::Decimal(_) => number::NEWDECIMAL,
        Type::Text => number::VAR_STRING,
        Type::Timestamp => number::DATETIME,
    }
}

/// True when a column of the server's type can be read as the declared one.
#[inline]
pub(super) fn readable(kind: Type, column: Column) -> bool {
    use number::*;
    match (kind, column.kind) {
        // A parameter that is NULL gives a column of this type.
        (_, NULL) => true,
        // The width of an integer follows from the type of its column.
        (Type::Int16 | Type::Int32 | Type::Int64, TINY | SHORT | INT24 | LONG | LONGLONG | YEAR) => true,
        (Type::Float64, FLOAT | DOUBLE) => true,
        (Type::Decimal(_), NEWDECIMAL | DECIMAL_OLD) => true,
        (Type::Text, VARCHAR | JSON | ENUM | SET | TINY_BLOB..=BLOB | VAR_STRING | STRING) => true,
        (Type::Timestamp, DATETIME | TIMESTAMP) => true,
        _ => false,
    }
}

/// The name of one of the server's types, as a column is declared in SQL.
fn name(column: Column) -> String {
    use number::*;
    let name = match column.kind {
        TINY => "tinyint",
        SHORT => "smallint",
        INT24 => "mediumint",
        LONG => "int",
        LONGLONG => "bigint",
        FLOAT => "float",
        DOUBLE => "double",
        DECIMAL_OLD | NEWDECIMAL => "decimal",
        DATE => "date",
        TIME => "time",
        DATETIME => "datetime",
        TIMESTAMP => "timestamp",
        YEAR => "year",
        VARCHAR | VAR_STRING => "varchar",
        STRING => "char",
        TINY_BLOB..=BLOB => "text or blob",
        other => return format!("number {other}"),
    };
    name.to_owned()
}

#[cold]
pub(super) fn wrong_column(at: usize, kind: Type, column: Column) -> Error {
    let message = format!("column {at} is declared {kind:?}, but is of type {}", name(column));
    Error::with(ErrorKind::Statement, "read result", message).remedy("add a CAST")
}
