//! Sockets and TLS, as engines need them that talk to a server.

pub(crate) mod certificate;
pub(crate) mod inbox;
pub(crate) mod secret;
pub(crate) mod socket;
pub(crate) mod tls;
pub(crate) mod transport;
pub(crate) mod verifier;
