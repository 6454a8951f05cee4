//! Prepared statements: everything of a packet that does not change is written once.

use dsbench_core::engine::{Described, Statement};
use dsbench_core::error::{Code, Error, ErrorKind, Result};
use dsbench_core::value::{Type, Value};

use super::fields::{garbage, Fields};
use super::packet::{self, HEADER};
use super::reply::{column_name, Column, ERROR};
use super::types::{number_of, readable};
use super::wire::Wire;
use super::{answer::Stop, binary};
use crate::misuse::wrong_count;

const PREPARE: u8 = 0x16;
const EXECUTE: u8 = 0x17;
const CLOSE: u8 = 0x19;

/// A statement that the server has parsed.
pub(super) struct Prepared {
    /// Header, command, number, no cursor, one execution, a bit for each parameter, and the mark of types.
    head: Box<[u8]>,
    /// Types of the parameters as the server knows them, sent until it has taken them once.
    types: Box<[u8]>,
    typed: bool,
    params: Box<[Type]>,
    /// Declared types of the result's columns.
    pub(super) columns: Box<[Type]>,
    /// Columns as the server described them last.
    pub(super) described: Vec<Column>,
}

impl Prepared {
    /// Has the server parse a statement.
    pub(super) fn new(wire: &mut Wire, statement: &Statement<'_>) -> Result<Self> {
        packet::open(&mut wire.output);
        wire.output.push(PREPARE);
        wire.output.extend_from_slice(statement.sql.as_bytes());
        wire.send("prepare")?;
        let answer = Answer::read(wire)?;
        let fits = answer.check(statement);
        if let Err(error) = fits {
            close(wire, answer.number)?;
            return Err(error);
        }
        let mut head = vec![0; HEADER];
        head.push(EXECUTE);
        head.extend_from_slice(&answer.number.to_le_bytes());
        head.extend_from_slice(&[0, 1, 0, 0, 0]);
        if !statement.params.is_empty() {
            head.resize(head.len() + bitmap_bytes(statement.params.len()), 0);
            head.push(1);
        }
        Ok(Self {
            head: head.into(),
            // The second byte of a type would say that it has no sign.
            types: statement.params.iter().flat_map(|kind| [number_of(*kind), 0]).collect(),
            typed: false,
            params: statement.params.into(),
            columns: statement.columns.into(),
            described: answer.columns,
        })
    }

    /// Refills `out` with one execution.
    #[inline]
    pub(super) fn flight(&self, out: &mut Vec<u8>, params: &[Value<'_>]) -> Result<()> {
        if params.len() != self.params.len() {
            return Err(wrong_count(params.len(), self.params.len()));
        }
        out.clear();
        out.extend_from_slice(&self.head);
        if params.is_empty() {
            return Ok(());
        }
        let bitmap = self.head.len() - 1 - bitmap_bytes(params.len());
        if self.typed {
            if let Some(mark) = out.last_mut() {
                *mark = 0;
            }
        } else {
            out.extend_from_slice(&self.types);
        }
        for (at, (kind, value)) in self.params.iter().zip(params).enumerate() {
            match value {
                Value::Null => out[bitmap + at / 8] |= 1 << (at % 8),
                value => binary::encode(out, *kind, value)?,
            }
        }
        Ok(())
    }

    /// The server has taken an execution, and with it the types.
    #[inline]
    pub(super) fn taken(&mut self) {
        self.typed = true;
    }
}

fn bitmap_bytes(params: usize) -> usize {
    params.div_ceil(8)
}

/// Makes the server forget a statement. It does not answer.
fn close(wire: &mut Wire, number: u32) -> Result<()> {
    packet::open(&mut wire.output);
    wire.output.push(CLOSE);
    wire.output.extend_from_slice(&number.to_le_bytes());
    wire.send("prepare")
}

/// What the server says of a statement that it parses and forgets again. Its parameters have the types of their values.
pub(super) fn describe(wire: &mut Wire, sql: &str) -> Result<Described> {
    packet::open(&mut wire.output);
    wire.output.push(PREPARE);
    wire.output.extend_from_slice(sql.as_bytes());
    wire.send("prepare")?;
    let answer = match Answer::read(wire) {
        // The protocol of prepared statements does not have it: it gives no rows.
        Err(error) if error.code == Code::number(UNSUPPORTED) => return Ok(Described::default()),
        answer => answer?,
    };
    close(wire, answer.number)?;
    let kinds = [Type::Int64, Type::Float64, Type::Text];
    let kind = |column: Column| kinds.into_iter().find(|kind| readable(*kind, column));
    let columns = answer.columns.into_iter().zip(answer.names).map(|(column, name)| (name, kind(column)));
    Ok(Described { params: Vec::new(), columns: columns.collect() })
}

/// The server's number for a command that cannot be prepared.
const UNSUPPORTED: i32 = 1295;

/// The answer to the command that prepares.
struct Answer {
    number: u32,
    params: usize,
    columns: Vec<Column>,
    names: Vec<String>,
}

impl Answer {
    fn read(wire: &mut Wire) -> Result<Self> {
        // Nothing was carried out yet when the connection goes now.
        Self::packets(wire).map_err(|stop| wire.stopped(stop, "prepare", ErrorKind::Disconnected))
    }

    fn packets(wire: &mut Wire) -> std::result::Result<Self, Stop> {
        let (number, columns, params) = match *wire.input.next(&mut wire.transport)? {
            [ERROR, ref rest @ ..] => return Err(Stop::refused(rest)),
            [0, ref rest @ ..] => {
                let mut fields = Fields(rest);
                (fields.int32()?, fields.int16()?, fields.int16()?)
            }
            _ => return Err(garbage("no answer to a statement to prepare").into()),
        };
        for _ in 0..params {
            wire.input.next(&mut wire.transport)?;
        }
        let mut described = Vec::with_capacity(columns.into());
        let mut names = Vec::with_capacity(columns.into());
        for _ in 0..columns {
            let definition = wire.input.next(&mut wire.transport)?;
            described.push(Column::read(definition)?);
            names.push(String::from_utf8_lossy(column_name(definition)?).into_owned());
        }
        Ok(Self { number, params: params.into(), columns: described, names })
    }

    /// Compares the numbers of parameters and columns with those that are declared. The types of
    /// columns are only certain at an execution, since they may be those of the parameters; a call
    /// has no columns before.
    fn check(&self, statement: &Statement<'_>) -> Result<()> {
        let message = match (self.params, self.columns.len()) {
            (params, _) if params != statement.params.len() => {
                format!("the statement has {params} placeholders and declares {} parameters", statement.params.len())
            }
            (_, columns) if columns != 0 && !statement.columns.is_empty() && columns != statement.columns.len() => {
                format!("the statement declares {} columns, but returns {columns}", statement.columns.len())
            }
            _ => return Ok(()),
        };
        Err(Error::with(ErrorKind::Statement, "prepare", message))
    }
}
