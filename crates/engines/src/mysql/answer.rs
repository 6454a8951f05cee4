//! How an answer begins, and why it may end early.

use std::io;

use dsbench_core::error::Error;

use super::fields::{garbage, Fields};
use super::reply::{Complaint, Done, ERROR, OK};

/// First byte of a request for a local file.
const LOCAL_FILE: u8 = 0xfb;

/// The first packet of an answer.
#[derive(Debug)]
pub(super) enum First {
    /// It is done; there are no rows.
    Done(Done),
    /// Rows follow.
    Rows {
        /// Number of their columns.
        count: usize,
        /// Whether the columns are described first.
        described: bool,
    },
    /// The server wants the content of a local file.
    LocalFile,
}

impl First {
    /// Reads it. With `caches` the server says whether it describes the columns.
    #[inline]
    pub(super) fn read(content: &[u8], caches: bool) -> Result<Self, Stop> {
        match *content {
            [OK, ref rest @ ..] => Ok(Self::Done(Done::read(rest)?)),
            [ERROR, ref rest @ ..] => Err(Stop::refused(rest)),
            [LOCAL_FILE, ..] => Ok(Self::LocalFile),
            [] => Err(garbage("an empty packet").into()),
            [..] => {
                let mut fields = Fields(content);
                let count = fields.length()? as usize;
                Ok(Self::Rows { count, described: !caches || fields.int8()? != 0 })
            }
        }
    }
}

/// Why an answer ended before its end.
#[derive(Debug)]
pub(super) enum Stop {
    /// The connection is gone or out of step.
    Lost(io::Error),
    /// The server complained: the number and the error, whose context is not known here.
    Refused(u16, Error),
}

impl Stop {
    /// What follows the first byte of an error.
    #[cold]
    pub(super) fn refused(rest: &[u8]) -> Self {
        match Complaint::read(rest) {
            Ok(complaint) => Self::Refused(complaint.number, complaint.error("execute")),
            Err(error) => Self::Lost(error),
        }
    }
}

impl From<io::Error> for Stop {
    fn from(error: io::Error) -> Self {
        Self::Lost(error)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn answers_begin_as_the_protocol_says() {
        let done = First::read(b"\0\x01\0\x02\0\0\0", false);
        assert!(matches!(done, Ok(First::Done(Done { rows: 1, status: 2, warnings: 0 }))), "{done:?}");
        assert!(matches!(First::read(&[3], false), Ok(First::Rows { count: 3, described: true })));
        assert!(matches!(First::read(&[3, 0], true), Ok(First::Rows { count: 3, described: false })));
        assert!(matches!(First::read(&[3, 1], true), Ok(First::Rows { count: 3, described: true })));
        assert!(matches!(First::read(b"\xfbname", false), Ok(First::LocalFile)));
        assert!(matches!(First::read(b"\xff\xbd\x04#40001x", false), Err(Stop::Refused(1213, _))));
        for bad in [&b""[..], b"\0\x01", b"\xfc\x01", b"\xff\x01"] {
            assert!(matches!(First::read(bad, false), Err(Stop::Lost(_))), "{bad:?}");
        }
    }
}
