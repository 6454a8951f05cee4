//! Checks the server's certificate: not at all, its authority, or also its name.

use std::sync::Arc;

use rustls::client::danger::{HandshakeSignatureValid, ServerCertVerified, ServerCertVerifier};
use rustls::client::{verify_server_cert_signed_by_trust_anchor, verify_server_name, WebPkiServerVerifier};
use rustls::crypto::{
    verify_tls12_signature, verify_tls13_signature, verify_tls13_signature_with_raw_key, CryptoProvider,
    WebPkiSupportedAlgorithms,
};
use rustls::pki_types::{CertificateDer, CertificateRevocationListDer, ServerName, UnixTime};
use rustls::server::ParsedCertificate;
use rustls::{CertificateError, DigitallySignedStruct, Error, RootCertStore, SignatureScheme};

use super::tls::Check;
use super::{certificate, version_one};

/// Checks certificates as far as the target asks for it.
#[derive(Debug)]
pub(crate) struct Verifier {
    check: Check,
    authorities: Vec<CertificateDer<'static>>,
    store: RootCertStore,
    /// The library's own verifier, where there are lists of revoked certificates.
    with_lists: Option<Arc<WebPkiServerVerifier>>,
    algorithms: WebPkiSupportedAlgorithms,
}

impl Verifier {
    /// Trusts `authorities`; those that cannot be used are left out, as the others may do. Error `Configuration` for a
    /// list of `revoked` certificates that cannot be read.
    pub(crate) fn new(
        authorities: Vec<CertificateDer<'static>>,
        check: Check,
        revoked: Vec<CertificateRevocationListDer<'static>>,
        provider: &Arc<CryptoProvider>,
    ) -> Result<Self, dsbench_core::error::Error> {
        let mut store = RootCertStore::empty();
        store.add_parsable_certificates(authorities.iter().cloned());
        let with_lists = match revoked.is_empty() {
            true => None,
            false => {
                let builder = WebPkiServerVerifier::builder_with_provider(store.clone().into(), Arc::clone(provider));
                let bad = |e| dsbench_core::error::Error::configuration(format!("lists of revoked certificates: {e}"));
                Some(builder.with_crls(revoked).build().map_err(bad)?)
            }
        };
        let algorithms = provider.signature_verification_algorithms;
        Ok(Self { check, authorities, store, with_lists, algorithms })
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

fn is_about_name(error: &Error) -> bool {
    use CertificateError as E;
    matches!(error, Error::InvalidCertificate(E::NotValidForName | E::NotValidForNameContext { .. }))
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
        if let (true, Some(one)) = (self.check >= Check::Authority, version_one::read(shown)) {
            if self.with_lists.is_some() {
                // Lists are read by the library, which does not read these certificates.
                return Err(Error::InvalidCertificate(CertificateError::UnknownRevocationStatus));
            }
            let name = (self.check >= Check::Name).then_some(name);
            version_one::verify(&one, &self.authorities, name, now, self.algorithms)?;
        } else if self.check >= Check::Authority {
            let parsed = ParsedCertificate::try_from(shown)?;
            self.verify_authority(shown, &parsed, between, now)?;
            match self.with_lists.as_ref().map(|lists| lists.verify_server_cert(shown, between, name, &[], now)) {
                // The name is checked last, and below.
                Some(Err(error)) if !is_about_name(&error) => return Err(error),
                _ => {}
            }
            if self.check >= Check::Name {
                verify_server_name(&parsed, name).or_else(|error| match version_one::has_common_name(shown, name) {
                    true => Ok(()),
                    false => Err(error),
                })?;
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
            Some(key) if self.check == Check::Nothing || version_one::read(shown).is_some() => {
                verify_tls13_signature_with_raw_key(message, &key.as_slice().into(), signature, &self.algorithms)
            }
            _ => verify_tls13_signature(message, shown, signature, &self.algorithms),
        }
    }

    fn supported_verify_schemes(&self) -> Vec<SignatureScheme> {
        self.algorithms.supported_schemes()
    }
}
