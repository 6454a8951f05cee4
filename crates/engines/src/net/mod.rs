//! Sockets and TLS, as engines need them that talk to a server.

pub(crate) mod certificate;
pub(crate) mod channel;
pub(crate) mod inbox;
pub(crate) mod socket;
pub(crate) mod tls;
pub(crate) mod transport;
pub(crate) mod verifier;
mod version_one;
#[cfg(target_os = "linux")]
pub(crate) mod whereabouts;

use dsbench_core::error::Error;

/// Most bytes of memory that the rows of one answer take: a server that never stops must not take all there is.
const MOST_OF_AN_ANSWER: usize = 512 << 20;

/// An error when the rows of one answer take too much memory.
#[inline]
pub(crate) fn check_size(bytes: usize) -> std::io::Result<()> {
    match bytes <= MOST_OF_AN_ANSWER {
        true => Ok(()),
        false => Err(too_large()),
    }
}

#[cold]
fn too_large() -> std::io::Error {
    let words = "one statement gave more than 512 MB of rows; ask for fewer at once";
    std::io::Error::new(std::io::ErrorKind::OutOfMemory, words)
}

/// Why a row could not be read.
pub(crate) enum RowError {
    /// What the server sent is damaged: the connection cannot go on.
    Protocol(std::io::Error),
    /// The row is not what was declared; the connection goes on.
    Statement(Error),
}

impl From<std::io::Error> for RowError {
    fn from(error: std::io::Error) -> Self {
        Self::Protocol(error)
    }
}
