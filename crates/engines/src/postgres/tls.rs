//! TLS as libpq has it: when it is asked for, what is trusted, who may read the client's key.

use std::io::{self, Read, Write};
use std::path::Path;

use dsbench_core::error::{Error, ErrorKind, Result};

use super::options::{Options, Roots, SslMode};
use crate::net::certificate;
use crate::net::tls::{self, Check, Wishes};
use crate::net::transport::Transport;

/// SSLRequest: its length and its code, 1234 in the upper and 5679 in the lower half.
const REQUEST: &[u8] = &[0, 0, 0, 8, 0x04, 0xd2, 0x16, 0x2f];

/// What came of asking for TLS.
pub enum Started {
    /// The server agreed, and the handshake is done.
    Encrypted(Transport),
    /// The server has no TLS; the connection is as it was.
    Declined(Transport),
}

/// TLS as `options` want it, made once for all connections; `None` where none is used. Error `Configuration`
/// when a certificate that they name cannot be used.
pub fn set_up(options: &Options) -> Result<Option<tls::Tls>> {
    if options.tls.mode == SslMode::Disable || options.host.starts_with('/') {
        return Ok(None);
    }
    let authorities = match &options.tls.roots {
        Roots::File(path) => Some(path.as_path()),
        Roots::Missing(path) if options.tls.mode >= SslMode::VerifyCa => {
            return Err(Error::configuration(format!(
                "sslmode verify-ca and verify-full need the certificate of the authority, but {} does not exist",
                path.display()
            ))
            .remedy("name it by sslrootcert=, or use sslrootcert=system"))
        }
        Roots::Missing(_) | Roots::System => None,
    };
    let identity = options.tls.identity.as_ref();
    identity.map_or(Ok(()), |(_, key)| check_private(key))?;
    let address = options.address.map(|address| address.to_string());
    let host = match options.host.as_str() {
        "" => address.as_deref().unwrap_or("localhost"),
        host => host,
    };
    // As in libpq: without certificates of authorities nothing is checked, so no list either.
    let revoked = if check(options) == Check::Nothing { &[][..] } else { &options.tls.revoked };
    let protocol = options.tls.direct.then_some("postgresql");
    tls::Tls::new(&Wishes { check: check(options), authorities, identity, host, revoked, protocol }).map(Some)
}

/// How much of the server's certificate is checked. As in libpq, authorities that are at hand are
/// always used: then sslmode=require is verify-ca.
fn check(options: &Options) -> Check {
    match (&options.tls.roots, options.tls.mode) {
        (_, SslMode::VerifyFull) => Check::Name,
        (_, SslMode::VerifyCa) | (Roots::File(_), _) => Check::Authority,
        _ => Check::Nothing,
    }
}

/// Refuses a private key that others may read.
fn check_private(key: &Path) -> Result<()> {
    #[cfg(unix)]
    {
        use std::os::unix::fs::MetadataExt;
        let bad = |what: &str| Error::configuration(format!("private key {}: {what}", key.display()));
        let about = std::fs::metadata(key).map_err(|e| bad(&e.to_string()))?;
        // The group may read a key that belongs to root, as in libpq.
        let forbidden = if about.uid() == 0 { 0o037 } else { 0o077 };
        if about.mode() & forbidden != 0 {
            return Err(bad("others may read it").remedy("chmod 600 it"));
        }
    }
    _ = key;
    Ok(())
}

/// Asks the server for TLS and, when it agrees, does the handshake.
pub fn start(transport: Transport, tls: Option<&tls::Tls>, options: &Options) -> Result<Started> {
    let failed = |error: io::Error| {
        let remedy = tls::remedy(&error, "sslrootcert=", "sslmode=verify-ca").map(Into::into);
        Error { remedy, ..Error::with(ErrorKind::Setup, "connect", format!("{}: TLS: {error}", options.place())) }
    };
    let (Transport::Plain(mut channel), Some(tls)) = (transport, tls) else {
        return Err(Error::with(ErrorKind::Setup, "connect", "TLS was not set up for this target"));
    };
    if options.tls.direct {
        return tls.handshake(channel).map(Started::Encrypted).map_err(failed);
    }
    channel.write_all(REQUEST).map_err(failed)?;
    // Exactly one byte: what follows belongs to the handshake, or was smuggled in and spoils it.
    let mut answer = [0];
    channel.read_exact(&mut answer).map_err(failed)?;
    match answer[0] {
        b'S' => {}
        b'N' => return Ok(Started::Declined(Transport::Plain(channel))),
        other => {
            return Err(failed(super::input::garbage(&format!("{:?} as the answer to SSLRequest", char::from(other)))))
        }
    }
    tls.handshake(channel).map(Started::Encrypted).map_err(failed)
}

/// By what the server's certificate is signed, when that has no hash of its own.
pub fn signature_without_hash(transport: &Transport) -> Option<String> {
    let Transport::Tls(stream) = transport else { return None };
    certificate::without_hash(stream.conn.peer_certificates()?.first()?)
}

/// Hash of the server's certificate, to which a login can be tied (RFC 5929, tls-server-end-point).
pub fn server_end_point(transport: &Transport) -> Option<Vec<u8>> {
    let Transport::Tls(stream) = transport else { return None };
    certificate::end_point(stream.conn.peer_certificates()?.first()?)
}
