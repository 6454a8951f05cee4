//! TLS by rustls: what is trusted, the client's certificate, the handshake.

use std::io;
use std::net::{IpAddr, Ipv4Addr};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use dsbench_core::error::{Error, Result};
use rustls::client::Resumption;
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, CertificateRevocationListDer, PrivateKeyDer, ServerName};
use rustls::sign::{CertifiedKey, SingleCertAndKey};
use rustls::{ClientConfig, ClientConnection, StreamOwned};

use super::channel::Channel;
use super::transport::Transport;
use super::verifier::Verifier;

/// How much of the server's certificate is checked.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Check {
    /// Only that the server has the key of the certificate that it shows.
    Nothing,
    /// Also that a trusted authority signed it.
    Authority,
    /// Also that it is for the host we wanted.
    Name,
}

/// What TLS to one server needs.
#[derive(Debug)]
pub(crate) struct Wishes<'a> {
    /// How much of the server's certificate is checked.
    pub(crate) check: Check,
    /// File of the trusted authorities; `None` takes those of the operating system where any are needed.
    pub(crate) authorities: Option<&'a Path>,
    /// Files of the client's certificate and key.
    pub(crate) identity: Option<&'a (PathBuf, PathBuf)>,
    /// Host name or address that the server's certificate must carry when it is checked.
    pub(crate) host: &'a str,
    /// Files of lists of revoked certificates.
    pub(crate) revoked: &'a [PathBuf],
    /// What is to be spoken inside, where the server has to be told (ALPN).
    pub(crate) protocol: Option<&'static str>,
}

/// TLS as one target wants it, made once for all connections.
pub(crate) struct Tls {
    config: Arc<ClientConfig>,
    name: ServerName<'static>,
}

impl Tls {
    /// Reads the certificates that are named. Error `Configuration` when one cannot be used.
    pub(crate) fn new(wishes: &Wishes<'_>) -> Result<Self> {
        let provider = Arc::new(rustls::crypto::ring::default_provider());
        let revoked = wishes.revoked.iter().map(|path| read_revoked(path)).collect::<Result<Vec<_>>>()?.concat();
        let verifier = Verifier::new(trusted(wishes)?, wishes.check, revoked, &provider)?;
        let builder = ClientConfig::builder_with_provider(provider)
            .with_safe_default_protocol_versions()
            .map_err(|e| Error::configuration(format!("TLS: {e}")))?
            .dangerous()
            .with_custom_certificate_verifier(Arc::new(verifier));
        let mut config = match wishes.identity {
            None => builder.with_no_client_auth(),
            Some((certificate, key)) => {
                let bad = |e| Error::configuration(format!("private key {}: {e}", key.display()));
                let signing = rustls::crypto::ring::sign::any_supported_type(&read_key(key)?).map_err(bad)?;
                // The library would not take a certificate of version 1, which servers take.
                let own = CertifiedKey::new(read_certificates(certificate)?, signing);
                builder.with_client_cert_resolver(Arc::new(SingleCertAndKey::from(own)))
            }
        };
        config.alpn_protocols = wishes.protocol.into_iter().map(|name| name.as_bytes().to_vec()).collect();
        // A connection that is measured is opened in full, as other clients do it.
        config.resumption = Resumption::disabled();
        Ok(Self { config: Arc::new(config), name: server_name(wishes)? })
    }

    /// Does the handshake on a socket whose other end expects it.
    pub(crate) fn handshake(&self, channel: Channel) -> io::Result<Transport> {
        let connection = ClientConnection::new(self.config.clone(), self.name.clone()).map_err(io::Error::other)?;
        let mut stream = StreamOwned::new(connection, channel);
        while stream.conn.is_handshaking() {
            stream.conn.complete_io(&mut stream.sock)?;
        }
        Ok(Transport::Tls(Box::new(stream)))
    }
}

/// The authorities that may sign the server's certificate.
fn trusted(wishes: &Wishes<'_>) -> Result<Vec<CertificateDer<'static>>> {
    match wishes.authorities {
        Some(path) => read_certificates(path),
        None if wishes.check == Check::Nothing => Ok(Vec::new()),
        None => {
            let found = rustls_native_certs::load_native_certs();
            if found.certs.is_empty() {
                return Err(Error::configuration(format!(
                    "the operating system has no certificates of authorities ({:?})",
                    found.errors
                ))
                .remedy("name a file of them"));
            }
            Ok(found.certs)
        }
    }
}

/// The certificates of a PEM file, one at least.
fn read_certificates(path: &Path) -> Result<Vec<CertificateDer<'static>>> {
    let bad = |what: String| Error::configuration(format!("certificates in {}: {what}", path.display()));
    let found = CertificateDer::pem_file_iter(path).map_err(|e| bad(e.to_string()))?;
    let found = found.collect::<std::result::Result<Vec<_>, _>>().map_err(|e| bad(e.to_string()))?;
    if found.is_empty() {
        return Err(bad("there is none in PEM form".into()));
    }
    Ok(found)
}

/// The lists of revoked certificates of a PEM file, one at least.
fn read_revoked(path: &Path) -> Result<Vec<CertificateRevocationListDer<'static>>> {
    let bad = |what: String| Error::configuration(format!("list of revoked certificates {}: {what}", path.display()));
    let found: std::result::Result<Vec<_>, _> =
        CertificateRevocationListDer::pem_file_iter(path).map_err(|e| bad(e.to_string()))?.collect();
    let found = found.map_err(|e| bad(e.to_string()))?;
    if found.is_empty() {
        return Err(bad("there is none in PEM form".into()));
    }
    Ok(found)
}

fn read_key(path: &Path) -> Result<PrivateKeyDer<'static>> {
    PrivateKeyDer::from_pem_file(path).map_err(|e| {
        let message = format!("private key {}: {e}", path.display());
        Error::configuration(message).remedy("name a key in PEM form that is not encrypted")
    })
}

/// The name that the server's certificate must carry; any will do when it is not checked.
fn server_name(wishes: &Wishes<'_>) -> Result<ServerName<'static>> {
    match ServerName::try_from(wishes.host.to_owned()) {
        Err(_) if wishes.check < Check::Name => Ok(ServerName::from(IpAddr::V4(Ipv4Addr::LOCALHOST))),
        named => named.map_err(|e| Error::configuration(format!("host {:?}: {e}", wishes.host))),
    }
}

/// What the user can do about a handshake that failed; `authorities` and `weaker` are how this engine's URL names
/// a file of authorities and a check without the name.
pub(crate) fn remedy(error: &io::Error, authorities: &str, weaker: &str) -> Option<String> {
    use rustls::{CertificateError as C, Error as E};
    match error.get_ref().and_then(|inner| inner.downcast_ref::<E>()) {
        Some(E::InvalidCertificate(C::Revoked)) => {
            Some("give the server another certificate: this one is revoked".into())
        }
        Some(E::InvalidCertificate(C::UnknownRevocationStatus)) => {
            Some("name a list of revoked certificates of this authority by sslcrl=, or leave it out".into())
        }
        Some(E::InvalidCertificate(C::UnknownIssuer)) => {
            Some(format!("name the authority's certificate by {authorities}"))
        }
        Some(E::InvalidCertificate(C::NotValidForName | C::NotValidForNameContext { .. })) => {
            Some(format!("use the name in the certificate's subjectAltName as host, or {weaker}"))
        }
        Some(E::InvalidCertificate(C::Expired | C::ExpiredContext { .. })) => {
            Some("renew the server's certificate".into())
        }
        Some(E::InvalidCertificate(_)) => {
            Some("give the server a certificate of version 3 with a subjectAltName".into())
        }
        _ => None,
    }
}
