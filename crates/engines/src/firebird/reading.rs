//! The transaction in which single SELECTs run, one after another.
//!
//! Starting a transaction makes Firebird write the database's first page, with forced writes down to the
//! storage, whatever the transaction does (3.0: one page per SELECT, which the paper, section
//! 4.4.3, saw as 32 kB of writing). Its remedy is a transaction that is read only and read committed:
//! it has no number, holds no old versions back, and may stay open for ever, while each of its
//! statements sees what was committed before. Where that is as strict as the level asked for, one
//! such transaction serves all single SELECTs of a session, each in one round trip:
//!
//! - at read committed always;
//! - at repeatable read from version 4 on, where a statement can be asked to see one snapshot: that is
//!   all that a transaction of one statement can see. Version 3 has no such promise for a statement,
//!   so that there each SELECT is a separate snapshot transaction.

use dsbench_core::engine::Isolation;
use dsbench_core::error::Result;

use super::api::Handle;
use super::attachment::Attachment;
use super::blocks;

/// The structure on disk of the first version that knows statements with a snapshot of their own.
const READ_CONSISTENT_STRUCTURE: u64 = 13;

/// How single SELECTs of a session are run.
pub(super) enum Reading {
    /// It is not known yet whether this server can do it.
    Unknown,
    /// In a transaction that is started when it is first needed.
    Ready(Vec<u8>),
    /// In this transaction, which was started by these parameters.
    Open(Handle, Vec<u8>),
    /// Each in a separate transaction.
    Never,
}

impl Reading {
    /// How they are run at a level of isolation.
    pub(super) fn at(isolation: Isolation) -> Self {
        match isolation {
            Isolation::ReadCommitted => Self::Ready(blocks::reading()),
            Isolation::RepeatableRead => Self::Unknown,
            Isolation::Serializable => Self::Never,
        }
    }

    /// The transaction for a SELECT; none when it needs a separate one.
    #[inline]
    pub(super) fn transaction(&mut self, at: &mut Attachment) -> Result<Option<&mut Handle>> {
        if !matches!(self, Self::Open(..) | Self::Never) {
            self.open(at)?;
        }
        match self {
            Self::Open(transaction, _) => Ok(Some(transaction)),
            _ => Ok(None),
        }
    }

    #[cold]
    fn open(&mut self, at: &mut Attachment) -> Result<()> {
        if let Self::Unknown = self {
            *self = match at.structure()? >= READ_CONSISTENT_STRUCTURE {
                true => Self::Ready(blocks::reading_consistently()),
                false => Self::Never,
            };
        }
        if let Self::Ready(parameters) = self {
            let transaction = at.start(parameters)?;
            *self = Self::Open(transaction, std::mem::take(parameters));
        }
        Ok(())
    }

    /// Ends the transaction until it is needed again: statements of schema want the tables for themselves.
    pub(super) fn end(&mut self, at: &mut Attachment) {
        if let Self::Open(transaction, parameters) = self {
            at.undo(transaction);
            *self = Self::Ready(std::mem::take(parameters));
        }
    }
}
