//! TLS by rustls: asking the server for it, the handshake, the client's certificate.

use std::io::{self, Read};
use std::path::Path;
use std::sync::Arc;

use dsbench_core::error::{Error, ErrorKind, Result};
use rustls::client::Resumption;
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, PrivateKeyDer, ServerName};
use rustls::{ClientConfig, ClientConnection, StreamOwned};

use super::certificate;
use super::options::{Options, Roots, SslMode};
use crate::net::tls::{read_certificates, Check};
use crate::net::transport::Transport;
use crate::net::verifier::Verifier;

/// SSLRequest: its length and its code, 1234 in the upper and 5679 in the lower half.
const REQUEST: &[u8] = &[0, 0, 0, 8, 0x04, 0xd2, 0x16, 0x2f];

/// TLS as one target wants it, made once for all connections.
pub struct Tls(Option<(Arc<ClientConfig>, ServerName<'static>)>);

/// What came of asking for TLS.
pub enum Started {
    /// The server agreed, and the handshake is done.
    Encrypted(Transport),
    /// The server has no TLS; the connection is as it was.
    Declined(Transport),
}

impl Tls {
    /// Reads the certificates that `options` name. Error `Configuration` when one cannot be used.
    pub fn new(options: &Options) -> Result<Self> {
        if options.tls.mode == SslMode::Disable || options.host.starts_with('/') {
            return Ok(Self(None));
        }
        let provider = Arc::new(rustls::crypto::ring::default_provider());
        let verifier = Verifier::new(trusted(options)?, check(options), &provider);
        let builder = ClientConfig::builder_with_provider(provider)
            .with_safe_default_protocol_versions()
            .map_err(|e| Error::configuration(format!("TLS: {e}")))?
            .dangerous()
            .with_custom_certificate_verifier(Arc::new(verifier));
        let mut config = match &options.tls.identity {
            None => builder.with_no_client_auth(),
            Some((certificate, key)) => builder
                .with_client_auth_cert(read_certificates(certificate)?, read_key(key)?)
                .map_err(|e| Error::configuration(format!("{}: {e}", certificate.display())))?,
        };
        // Servers of PostgreSQL never resume; a store of tickets would only take memory.
        config.resumption = Resumption::disabled();
        Ok(Self(Some((Arc::new(config), server_name(options)?))))
    }
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

/// The authorities that may sign the server's certificate.
fn trusted(options: &Options) -> Result<Vec<CertificateDer<'static>>> {
    match &options.tls.roots {
        Roots::System => {
            let found = rustls_native_certs::load_native_certs();
            if found.certs.is_empty() {
                return Err(Error::configuration(format!(
                    "sslrootcert=system, but the system has no certificates: {:?}; name a file",
                    found.errors
                )));
            }
            Ok(found.certs)
        }
        Roots::File(path) => read_certificates(path),
        Roots::Missing(path) if options.tls.mode >= SslMode::VerifyCa => Err(Error::configuration(format!(
            "sslmode verify-ca and verify-full need the certificate of the authority, but {} does not exist; \
             name it by sslrootcert=, or use sslrootcert=system",
            path.display()
        ))),
        Roots::Missing(_) => Ok(Vec::new()),
    }
}

fn read_key(path: &Path) -> Result<PrivateKeyDer<'static>> {
    let bad = |what: String| Error::configuration(format!("private key {}: {what}", path.display()));
    #[cfg(unix)]
    {
        use std::os::unix::fs::MetadataExt;
        let about = std::fs::metadata(path).map_err(|e| bad(e.to_string()))?;
        // The group may read a key that belongs to root, as in libpq.
        let forbidden = if about.uid() == 0 { 0o037 } else { 0o077 };
        if about.mode() & forbidden != 0 {
            return Err(bad("others may read it; chmod 600 it".into()));
        }
    }
    PrivateKeyDer::from_pem_file(path).map_err(|e| bad(format!("{e}; it must be in PEM form and not encrypted")))
}

/// The name that the server's certificate must carry; any will do when it is not checked.
fn server_name(options: &Options) -> Result<ServerName<'static>> {
    let named = match (options.host.as_str(), options.address) {
        ("", Some(address)) => Ok(ServerName::from(address)),
        ("", None) => ServerName::try_from("localhost".to_owned()),
        (host, _) => ServerName::try_from(host.to_owned()),
    };
    match named {
        Err(_) if options.tls.mode != SslMode::VerifyFull => {
            Ok(ServerName::from(std::net::IpAddr::from([127, 0, 0, 1])))
        }
        named => named.map_err(|e| Error::configuration(format!("host {:?}: {e}", options.host))),
    }
}

/// Asks the server for TLS and, when it agrees, does the handshake.
pub fn start(transport: Transport, tls: &Tls, options: &Options) -> Result<Started> {
    let failed = |error: io::Error| {
        let hint = certificate::hint(&error);
        Error::with(ErrorKind::Setup, "connect", format!("{}: TLS: {error}{hint}", options.place()))
    };
    let (Transport::Plain(mut channel), Some((config, name))) = (transport, &tls.0) else {
        return Err(Error::with(ErrorKind::Setup, "connect", "TLS was not set up for this target"));
    };
    std::io::Write::write_all(&mut channel, REQUEST).map_err(failed)?;
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
    let connection = ClientConnection::new(config.clone(), name.clone()).map_err(|e| failed(io::Error::other(e)))?;
    let mut stream = StreamOwned::new(connection, channel);
    while stream.conn.is_handshaking() {
        stream.conn.complete_io(&mut stream.sock).map_err(failed)?;
    }
    Ok(Started::Encrypted(Transport::Tls(Box::new(stream))))
}

/// Hash of the server's certificate, to which a login can be tied (RFC 5929, tls-server-end-point).
pub fn server_end_point(transport: &Transport) -> Option<Vec<u8>> {
    let Transport::Tls(stream) = transport else { return None };
    certificate::end_point(stream.conn.peer_certificates()?.first()?)
}
