//! Sockets and TLS, as engines need them that talk to a server.

pub(crate) mod certificate;
pub(crate) mod inbox;
pub(crate) mod socket;
pub(crate) mod tls;
pub(crate) mod transport;
pub(crate) mod url;
pub(crate) mod verifier;

use dsbench_core::error::Error;

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
