//! The two parts of an X.509 certificate that the TLS library does not hand out.

use ring::digest::{digest, Algorithm, SHA256, SHA384, SHA512};
use x509_cert::certificate::{CertificateInner, Raw};
use x509_cert::der::oid::{db::rfc5912, ObjectIdentifier};
use x509_cert::der::{Decode, Encode};

/// A certificate of any version. Raw: what a certificate should look like, the verifier decides.
fn read(certificate: &[u8]) -> Option<CertificateInner<Raw>> {
    CertificateInner::from_der(certificate).ok()
}

/// Its public key, as SubjectPublicKeyInfo.
pub(crate) fn public_key(certificate: &[u8]) -> Option<Vec<u8>> {
    read(certificate)?.tbs_certificate().subject_public_key_info().to_der().ok()
}

/// Its hash by the function that its signature uses, at least SHA-256 (RFC 5929, section 4.1); `None` for
/// signatures without one, which have no channel binding.
pub(crate) fn end_point(certificate: &[u8]) -> Option<Vec<u8>> {
    let hash = signature_hash(read(certificate)?.signature_algorithm().oid)?;
    Some(digest(hash, certificate).as_ref().to_vec())
}

/// The name of its signature algorithm, when that has no hash function of its own.
pub(crate) fn without_hash(certificate: &[u8]) -> Option<String> {
    let oid = read(certificate)?.signature_algorithm().oid;
    let name = match oid.to_string().as_str() {
        "1.3.101.112" => "Ed25519".to_owned(),
        "1.3.101.113" => "Ed448".to_owned(),
        "1.2.840.113549.1.1.10" => "RSA-PSS".to_owned(),
        other => other.to_owned(),
    };
    signature_hash(oid).is_none().then_some(name)
}

/// The hash function of a signature algorithm.
fn signature_hash(algorithm: ObjectIdentifier) -> Option<&'static Algorithm> {
    use rfc5912::*;
    const ECDSA_WITH_SHA_1: ObjectIdentifier = ObjectIdentifier::new_unwrap("1.2.840.10045.4.1");
    match algorithm {
        // MD5 and SHA-1 are raised to SHA-256.
        MD_5_WITH_RSA_ENCRYPTION | SHA_1_WITH_RSA_ENCRYPTION | ECDSA_WITH_SHA_1 => Some(&SHA256),
        SHA_256_WITH_RSA_ENCRYPTION | ECDSA_WITH_SHA_256 => Some(&SHA256),
        SHA_384_WITH_RSA_ENCRYPTION | ECDSA_WITH_SHA_384 => Some(&SHA384),
        SHA_512_WITH_RSA_ENCRYPTION | ECDSA_WITH_SHA_512 => Some(&SHA512),
        // Ed25519 has none, and RSA-PSS says it in its parameters.
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn damaged_certificates_never_panic() {
        let certificate = rcgen::generate_simple_self_signed(vec!["localhost".to_owned()]).unwrap().cert;
        let bytes = certificate.der().to_vec();
        assert!(public_key(&bytes).is_some_and(|key| key.len() > 64));
        assert_eq!(end_point(&bytes).map(|hash| hash.len()), Some(32));
        for end in 0..bytes.len() {
            let _ = (public_key(&bytes[..end]), end_point(&bytes[..end]));
        }
        for at in 0..bytes.len() {
            for value in [0, 0x7f, 0x80, 0x84, 0xff] {
                let mut damaged = bytes.clone();
                damaged[at] = value;
                let _ = (public_key(&damaged), end_point(&damaged));
            }
        }
    }

    #[test]
    fn signatures_have_the_hash_that_their_name_says() {
        let hash = |name: &str| signature_hash(ObjectIdentifier::new(name).unwrap());
        assert_eq!(hash("1.2.840.113549.1.1.5"), Some(&SHA256));
        assert_eq!(hash("1.2.840.113549.1.1.11"), Some(&SHA256));
        assert_eq!(hash("1.2.840.113549.1.1.12"), Some(&SHA384));
        assert_eq!(hash("1.2.840.113549.1.1.13"), Some(&SHA512));
        assert_eq!(hash("1.2.840.113549.1.1.10"), None, "RSA-PSS");
        assert_eq!(hash("1.2.840.10045.4.3.3"), Some(&SHA384));
        assert_eq!(hash("1.3.101.112"), None, "Ed25519");
    }
}
