//! The few parts of DER (X.690) that keys and certificates are taken apart with.

/// One element: its tag, its content, and the bytes of all of it.
pub(crate) struct Element<'a> {
    /// First byte.
    pub(crate) tag: u8,
    /// What it holds.
    pub(crate) content: &'a [u8],
    /// Tag, length and content.
    pub(crate) whole: &'a [u8],
}

/// Takes the first element off `bytes`; `None` when they hold no whole one.
pub(crate) fn element<'a>(bytes: &mut &'a [u8]) -> Option<Element<'a>> {
    let all = *bytes;
    let (&[tag, first], rest) = all.split_first_chunk()?;
    let (length, rest) = match usize::from(first) {
        short @ 0..=127 => (short, rest),
        long => {
            let (digits, rest) = rest.split_at_checked(long & 127).filter(|(digits, _)| digits.len() <= 4)?;
            (digits.iter().fold(0, |sum, digit| sum << 8 | usize::from(*digit)), rest)
        }
    };
    let (content, rest) = rest.split_at_checked(length)?;
    *bytes = rest;
    Some(Element { tag, content, whole: &all[..all.len() - rest.len()] })
}

/// The public key of an X.509 certificate of any version, as SubjectPublicKeyInfo.
pub(crate) fn public_key(certificate: &[u8]) -> Option<&[u8]> {
    let mut inside = element(&mut { certificate })?.content;
    let mut signed = element(&mut inside)?.content;
    // The number of the version is left out in version 1.
    if signed.first() == Some(&0xa0) {
        element(&mut signed)?;
    }
    // Serial number, signature algorithm, issuer, validity, subject.
    for _ in 0..5 {
        element(&mut signed)?;
    }
    element(&mut signed).filter(|key| key.tag == SEQUENCE).map(|key| key.whole)
}

/// Modulus and exponent of an RSA key in a SubjectPublicKeyInfo (RFC 8017, A.1.1), most significant
/// byte first; `None` for keys of other kinds.
pub(crate) fn rsa_key(info: &[u8]) -> Option<(&[u8], &[u8])> {
    const RSA: &[u8] = &[0x2a, 0x86, 0x48, 0x86, 0xf7, 0x0d, 0x01, 0x01, 0x01];
    let mut inside = element(&mut { info })?.content;
    let mut algorithm = element(&mut inside)?.content;
    if element(&mut algorithm)?.content != RSA {
        return None;
    }
    // A bit string: one byte says that no bits are unused.
    let mut key = element(&mut inside)?.content.strip_prefix(&[0])?;
    let mut numbers = element(&mut key)?.content;
    let modulus = element(&mut numbers)?.content;
    Some((modulus, element(&mut numbers)?.content))
}

/// Tag of a sequence.
const SEQUENCE: u8 = 0x30;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn damaged_certificates_never_panic() {
        let certificate = rcgen::generate_simple_self_signed(vec!["localhost".to_owned()]).unwrap().cert;
        let bytes = certificate.der().to_vec();
        assert!(public_key(&bytes).is_some_and(|key| key.len() > 64));
        assert!(rsa_key(public_key(&bytes).unwrap()).is_none(), "an elliptic curve");
        for end in 0..bytes.len() {
            let _ = (public_key(&bytes[..end]), rsa_key(&bytes[..end]));
        }
        for at in 0..bytes.len() {
            for value in [0, 0x7f, 0x80, 0x84, 0xff] {
                let mut damaged = bytes.clone();
                damaged[at] = value;
                let _ = public_key(&damaged).map(rsa_key);
            }
        }
    }
}
