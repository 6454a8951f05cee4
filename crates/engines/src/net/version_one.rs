//! Certificates of X.509 version 1, which `openssl x509 -req` makes without more words and OpenSSL accepts, while the
//! library reads version 3 only: signed by an authority directly, for the name that they have as common name.

use rustls::crypto::WebPkiSupportedAlgorithms;
use rustls::pki_types::{CertificateDer, ServerName, UnixTime};
use rustls::{CertificateError, Error};
use x509_cert::certificate::{CertificateInner, Raw, Version};
use x509_cert::der::oid::ObjectIdentifier;
use x509_cert::der::{Decode, Encode};

type Certificate = CertificateInner<Raw>;

/// The certificate, if it is of version 1.
pub(crate) fn read(shown: &[u8]) -> Option<Certificate> {
    Certificate::from_der(shown).ok().filter(|read| read.tbs_certificate().version() == Version::V1)
}

/// Makes sure that one of `authorities` signed it, that it is valid `now`, and that it is for `name`, where one is given.
pub(crate) fn verify(
    one: &Certificate,
    authorities: &[CertificateDer<'_>],
    name: Option<&ServerName<'_>>,
    now: UnixTime,
    algorithms: WebPkiSupportedAlgorithms,
) -> Result<(), Error> {
    let refuse = |why| Err(Error::InvalidCertificate(why));
    let content = one.tbs_certificate();
    let seconds = |time: x509_cert::time::Time| time.to_unix_duration().as_secs();
    let (from, until) = (seconds(content.validity().not_before), seconds(content.validity().not_after));
    if now.as_secs() < from {
        return refuse(CertificateError::NotValidYet);
    }
    if now.as_secs() > until {
        return refuse(CertificateError::Expired);
    }
    let issuers = authorities.iter().filter_map(|known| Certificate::from_der(known).ok());
    let mut issuers = issuers.filter(|known| known.tbs_certificate().subject() == content.issuer()).peekable();
    if issuers.peek().is_none() {
        return refuse(CertificateError::UnknownIssuer);
    }
    if !issuers.any(|issuer| is_signed(one, &issuer, algorithms).unwrap_or(false)) {
        return refuse(CertificateError::BadSignature);
    }
    match name {
        Some(name) if !is_named(one, name) => refuse(CertificateError::NotValidForName),
        _ => Ok(()),
    }
}

/// Whether a certificate without alternative names has this one as its common name: then OpenSSL takes it.
pub(crate) fn has_common_name(shown: &[u8], name: &ServerName<'_>) -> bool {
    const ALTERNATIVE_NAMES: ObjectIdentifier = ObjectIdentifier::new_unwrap("2.5.29.17");
    Certificate::from_der(shown).is_ok_and(|one| {
        let extensions = one.tbs_certificate().extensions();
        extensions.is_none_or(|all| all.iter().all(|one| one.extn_id != ALTERNATIVE_NAMES)) && is_named(&one, name)
    })
}

fn is_named(one: &Certificate, name: &ServerName<'_>) -> bool {
    let common = one.tbs_certificate().subject().common_name().ok().flatten();
    common.is_some_and(|common| fits(&common.value(), &name.to_str()))
}

/// Whether `issuer` signed `one`; nothing where a part cannot be read.
fn is_signed(one: &Certificate, issuer: &Certificate, algorithms: WebPkiSupportedAlgorithms) -> Option<bool> {
    let (message, signature) = (one.tbs_certificate().to_der().ok()?, one.signature().as_bytes()?);
    let key = issuer.tbs_certificate().subject_public_key_info();
    let (signed_by, key_of) =
        (inside(&one.signature_algorithm().to_der().ok()?)?, inside(&key.algorithm.to_der().ok()?)?);
    let fitting = algorithms.all.iter().filter(|known| {
        known.signature_alg_id().as_ref() == signed_by.as_slice()
            && known.public_key_alg_id().as_ref() == key_of.as_slice()
    });
    let bits = key.subject_public_key.as_bytes()?;
    Some(fitting.into_iter().any(|known| known.verify_signature(bits, &message, signature).is_ok()))
}

/// What is in a sequence.
fn inside(sequence: &[u8]) -> Option<Vec<u8>> {
    Some(x509_cert::der::AnyRef::from_der(sequence).ok()?.value().to_vec())
}

/// Whether a common name is that of `host`: `*.` stands for its first part.
fn fits(common: &str, host: &str) -> bool {
    let rest = |name: &str| name.split_once('.').map(|(_, rest)| rest.to_ascii_lowercase());
    common.eq_ignore_ascii_case(host)
        || common.strip_prefix("*.").is_some_and(|_| common.matches('.').count() > 1 && rest(common) == rest(host))
}

#[cfg(test)]
mod tests {
    use rustls::pki_types::pem::PemObject;

    use super::*;

    /// Made by openssl req -x509 -days 36500 … -subj /CN=authority, and openssl x509 -req -days 36500 … of CN=localhost.
    const PEM: &str = include_str!("version_one.pem");

    fn check(name: &str, now: u64, authorities: &[CertificateDer<'_>], one: &[u8]) -> Result<(), Error> {
        let algorithms = rustls::crypto::ring::default_provider().signature_verification_algorithms;
        let name = ServerName::try_from(name).unwrap();
        let now = UnixTime::since_unix_epoch(std::time::Duration::from_secs(now));
        verify(&read(one).unwrap(), authorities, Some(&name), now, algorithms)
    }

    #[test]
    fn issuer_signature_time_and_name_count() {
        const NOW: u64 = 1_900_000_000;
        let read: Vec<_> = CertificateDer::pem_slice_iter(PEM.as_bytes()).map(|one| one.unwrap()).collect();
        let [authority, one] = <[_; 2]>::try_from(read).unwrap();
        assert!(super::read(&authority).is_none(), "of version 3");
        let named = |name: &str| has_common_name(&authority, &ServerName::try_from(name.to_owned()).unwrap());
        assert!(named("authority") && !named("localhost"));
        let trusted = [authority];
        let why = |done: Result<(), Error>| match done.unwrap_err() {
            Error::InvalidCertificate(why) => why,
            other => panic!("{other}"),
        };
        assert_eq!(check("localhost", NOW, &trusted, &one), Ok(()));
        assert_eq!(why(check("other", NOW, &trusted, &one)), CertificateError::NotValidForName);
        assert_eq!(why(check("localhost", 1, &trusted, &one)), CertificateError::NotValidYet);
        assert_eq!(why(check("localhost", u64::MAX, &trusted, &one)), CertificateError::Expired);
        assert_eq!(why(check("localhost", NOW, &[], &one)), CertificateError::UnknownIssuer);
        let mut damaged = one.to_vec();
        *damaged.last_mut().unwrap() ^= 1;
        assert_eq!(why(check("localhost", NOW, &trusted, &damaged)), CertificateError::BadSignature);
        assert!(fits("*.example.org", "db.example.org") && !fits("*.org", "example.org"));
    }
}
