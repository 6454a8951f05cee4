//! Checks the server's certificate: not at all, its authority, or also its name.

use std::sync::Arc;

use rustls::client::danger::{HandshakeSignatureValid, ServerCertVerified, ServerCertVerifier};
use rustls::client::{verify_server_cert_signed_by_trust_anchor, verify_server_name};
use rustls::crypto::{
    verify_tls12_signature, verify_tls13_signature, verify_tls13_signature_with_raw_key, CryptoProvider,
    WebPkiSupportedAlgorithms,
};
use rustls::pki_types::{CertificateDer, ServerName, UnixTime};
use rustls::server::ParsedCertificate;
use rustls::{CertificateError, DigitallySignedStruct, Error, RootCertStore, SignatureScheme};

use super::certificate;
use super::tls::Check;

/// Checks certificates as far as the target asks for it.
#[derive(Debug)]
pub(crate) struct Verifier {
    check: Check,
    authorities: Vec<CertificateDer<'static>>,
    store: RootCertStore,
    algorithms: WebPkiSupportedAlgorithms,
}

impl Verifier {
    /// Trusts `authorities`; those that cannot be used are left out, as the others may do.
    pub(crate) fn new(authorities: Vec<CertificateDer<'static>>, check: Check, provider: &Arc<CryptoProvider>) -> Self {
        let mut store = RootCertStore::empty();
        store.add_parsable_certificates(authorities.iter().cloned());
        Self { check, authorities, store, algorithms: provider.signature_verification_algorithms }
    }

    fn verify_authority(
        &self,
        shown: &CertificateDer<'_>,
        parsed: &ParsedCertificate<'_>,
        between: &[CertificateDer<'_>],
        now: UnixTime,
    ) -> Result<(), Error> {
        let done = verify_server_cert_signed_by_trust_anchor(parsed, &self.store, between, now, self.algorithms.all);
        match done {
            Err(Error::InvalidCertificate(problem)) if self.is_trusted_itself(shown) && !is_about_time(&problem) => {
                Ok(())
            }
            done => done,
        }
    }

    /// A self-signed certificate of the server that is named as the authority: OpenSSL takes it, while
    /// the library calls it an authority in the wrong place.
    fn is_trusted_itself(&self, shown: &CertificateDer<'_>) -> bool {
        self.authorities.iter().any(|authority| authority == shown)
    }
}

fn is_about_time(problem: &CertificateError) -> bool {
    use CertificateError as E;
    matches!(problem, E::Expired | E::ExpiredContext { .. } | E::NotValidYet | E::NotValidYetContext { .. })
}

impl ServerCertVerifier for Verifier {
    fn verify_server_cert(
        &self,
        shown: &CertificateDer<'_>,
        between: &[CertificateDer<'_>],
        name: &ServerName<'_>,
        _ocsp: &[u8],
        now: UnixTime,
    ) -> Result<ServerCertVerified, Error> {
        if self.check >= Check::Authority {
            let parsed = ParsedCertificate::try_from(shown)?;
            self.verify_authority(shown, &parsed, between, now)?;
            if self.check >= Check::Name {
                verify_server_name(&parsed, name)?;
            }
        }
        Ok(ServerCertVerified::assertion())
    }

    fn verify_tls12_signature(
        &self,
        message: &[u8],
        shown: &CertificateDer<'_>,
        signature: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        verify_tls12_signature(message, shown, signature, &self.algorithms)
    }

    fn verify_tls13_signature(
        &self,
        message: &[u8],
        shown: &CertificateDer<'_>,
        signature: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        // Certificates of version 1 are common among databases, and the library does not read them;
        // where nothing but the key counts, the key is taken out here.
        match certificate::public_key(shown) {
            Some(key) if self.check == Check::Nothing => {
                verify_tls13_signature_with_raw_key(message, &key.as_slice().into(), signature, &self.algorithms)
            }
            _ => verify_tls13_signature(message, shown, signature, &self.algorithms),
        }
    }

    fn supported_verify_schemes(&self) -> Vec<SignatureScheme> {
        self.algorithms.supported_schemes()
    }
}
