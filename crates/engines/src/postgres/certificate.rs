//! The few parts of an X.509 certificate that the TLS library does not hand out.

use std::io;

use ring::digest::{digest, Algorithm, SHA256, SHA384, SHA512};

use crate::net::der::element;

/// Hash of a certificate by the function that its signature uses, at least SHA-256 (RFC 5929,
/// section 4.1); `None` for signatures without one, which have no channel binding.
pub fn end_point(certificate: &[u8]) -> Option<Vec<u8>> {
    let mut inside = element(&mut { certificate })?.content;
    element(&mut inside)?;
    let mut algorithm = element(&mut inside)?.content;
    let hash = signature_hash(element(&mut algorithm)?.content)?;
    Some(digest(hash, certificate).as_ref().to_vec())
}

/// The hash function of a signature algorithm, by its object identifier.
fn signature_hash(identifier: &[u8]) -> Option<&'static Algorithm> {
    const RSA: &[u8] = &[0x2a, 0x86, 0x48, 0x86, 0xf7, 0x0d, 0x01, 0x01];
    const ECDSA: &[u8] = &[0x2a, 0x86, 0x48, 0xce, 0x3d, 0x04];
    match (identifier.strip_prefix(RSA), identifier.strip_prefix(ECDSA)) {
        // MD5 and SHA-1 are raised to SHA-256.
        (Some([4 | 5 | 11]), _) | (_, Some([1] | [3, 2])) => Some(&SHA256),
        (Some([12]), _) | (_, Some([3, 3])) => Some(&SHA384),
        (Some([13]), _) | (_, Some([3, 4])) => Some(&SHA512),
        _ => None,
    }
}

/// What the user can do about a handshake that failed.
pub fn hint(error: &io::Error) -> &'static str {
    use rustls::{CertificateError as C, Error as E};
    let inner = error.get_ref().and_then(|inner| inner.downcast_ref::<E>());
    match inner {
        Some(E::InvalidCertificate(C::UnknownIssuer)) => "; name the authority's certificate by sslrootcert=",
        Some(E::InvalidCertificate(C::NotValidForName | C::NotValidForNameContext { .. })) => {
            "; use the name in the certificate's subjectAltName as host, or sslmode=verify-ca"
        }
        Some(E::InvalidCertificate(C::Expired | C::ExpiredContext { .. })) => "; renew the server's certificate",
        Some(E::InvalidCertificate(_)) => "; it needs a certificate of version 3 with a subjectAltName",
        _ => "",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn damaged_certificates_never_panic() {
        let certificate = rcgen::generate_simple_self_signed(vec!["localhost".to_owned()]).unwrap().cert;
        let bytes = certificate.der().to_vec();
        assert_eq!(end_point(&bytes).map(|hash| hash.len()), Some(32));
        for end in 0..bytes.len() {
            let _ = end_point(&bytes[..end]);
        }
        for at in 0..bytes.len() {
            for value in [0, 0x7f, 0x80, 0x84, 0xff] {
                let mut damaged = bytes.clone();
                damaged[at] = value;
                let _ = end_point(&damaged);
            }
        }
    }

    #[test]
    fn signatures_have_the_hash_that_their_name_says() {
        let rsa = |last| [0x2a, 0x86, 0x48, 0x86, 0xf7, 0x0d, 0x01, 0x01, last];
        assert_eq!(signature_hash(&rsa(5)), Some(&SHA256));
        assert_eq!(signature_hash(&rsa(12)), Some(&SHA384));
        assert_eq!(signature_hash(&rsa(13)), Some(&SHA512));
        assert_eq!(signature_hash(&rsa(10)), None, "RSA-PSS says it in its parameters");
        assert_eq!(signature_hash(&[0x2a, 0x86, 0x48, 0xce, 0x3d, 0x04, 3, 3]), Some(&SHA384));
        assert_eq!(signature_hash(&[0x2b, 0x65, 0x70]), None, "Ed25519");
    }
}
