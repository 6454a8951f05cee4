use rsa::pkcs8::{EncodePublicKey, LineEnding};
use rsa::{BoxedUint, RsaPrivateKey};

use super::*;

fn login(method: Method, password: &str, encrypted: bool, may_ask_for_key: bool) -> Authentication<'_> {
    let challenge = (1..=20).collect();
    Authentication { method, password, challenge, encrypted, trusted: encrypted, local: false, may_ask_for_key }
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

#[test]
fn answers_are_those_of_other_clients() {
    let native = login(Method::Native, "secret", false, false).first().unwrap();
    assert_eq!(hex(&native), "b32bb3a583e1340c0a1108d58b1be49781ad8c2f");
    let sha2 = login(Method::CachingSha2, "secret", false, false).first().unwrap();
    assert_eq!(hex(&sha2), "746ebe205d56a0707acb3e796e834e0dd7b1d61743b26bd5202c7a623230c7c9");
    for method in [Method::Native, Method::CachingSha2] {
        assert!(login(method, "", false, false).first().unwrap().is_empty());
    }
}

#[test]
fn a_password_goes_in_the_clear_only_where_no_third_party_reads_it() {
    for method in [Method::Sha256, Method::Clear] {
        assert_eq!(login(method, "secret", true, false).first().unwrap(), b"secret\0");
        let error = login(method, "secret", false, false).first().unwrap_err();
        assert!(error.kind == ErrorKind::Setup && !format!("{error:#}").contains("secret"), "{error}");
        let unchecked = Authentication { trusted: false, ..login(method, "secret", true, true) };
        let error = format!("{:#}", unchecked.first().unwrap_err());
        assert!(error.contains("ssl_ca=") && !error.contains("secret"), "{error}");
        assert_eq!(Authentication { local: true, ..unchecked }.first().unwrap(), b"secret\0");
    }
    assert!(login(Method::Clear, "secret", false, true).first().is_err());
    let private = login(Method::CachingSha2, "secret", true, false);
    assert_eq!(private.more(UNKNOWN).unwrap().as_deref(), Some(&b"secret\0"[..]));
    assert_eq!(private.more(KNOWN).unwrap(), None);
    let local = |method| Authentication { local: true, ..login(method, "secret", false, false) };
    assert_eq!(local(Method::CachingSha2).more(UNKNOWN).unwrap().as_deref(), Some(&b"secret\0"[..]));
    assert_eq!(local(Method::Clear).first().unwrap(), b"secret\0");
    assert_eq!(local(Method::Sha256).first().unwrap(), [1], "the server takes no password from there");
    let public = login(Method::CachingSha2, "secret", false, false);
    let error = format!("{:#}", public.more(UNKNOWN).unwrap_err());
    assert!(error.contains("allow_public_key_retrieval=true"), "{error}");
}

#[test]
fn the_key_is_asked_for_when_it_may_be() {
    assert_eq!(login(Method::CachingSha2, "secret", false, true).more(UNKNOWN).unwrap(), Some(vec![2]));
    assert_eq!(login(Method::Sha256, "secret", false, true).first().unwrap(), [1]);
    assert!(login(Method::Sha256, "secret", false, true).more(b"no key").is_err());
    assert!(login(Method::CachingSha2, "secret", false, false).more(b"-----BEGIN PUBLIC KEY").is_err());
}

#[test]
fn only_the_servers_key_decrypts_the_password() {
    let key = RsaPrivateKey::new(&mut UnwrapErr(SysRng), 1024).unwrap();
    let pem = key.to_public_key().to_public_key_pem(LineEnding::LF).unwrap();
    for password in ["", "x", "geheim", &"x".repeat(85)] {
        let login = login(Method::Sha256, password, false, true);
        let encrypted = login.more(pem.as_bytes()).unwrap().unwrap();
        let plain = key.decrypt(Oaep::<Sha1>::new(), &encrypted).unwrap();
        let mixed: Vec<u8> = plain.iter().zip(login.challenge.iter().cycle()).map(|(a, b)| a ^ b).collect();
        assert_eq!(mixed, [password.as_bytes(), &[0]].concat());
        assert_ne!(login.more(pem.as_bytes()).unwrap().unwrap(), encrypted, "no two are alike");
    }
    let error = login(Method::Sha256, &"x".repeat(86), false, true).more(pem.as_bytes()).unwrap_err();
    assert!(format!("{error:#}").contains("too long"), "{error}");
}

#[test]
fn what_is_no_sound_key_is_refused() {
    let damaged = "-----BEGIN PUBLIC KEY-----\nAAAA\n-----END PUBLIC KEY-----\n";
    let curve = rcgen::KeyPair::generate().unwrap().public_key_pem();
    for pem in [&b""[..], damaged.as_bytes(), b"\xff\0", curve.as_bytes()] {
        assert!(public_key(pem).is_none());
    }
    // Keys whose arithmetic would take minutes.
    let pem = |modulus: usize, exponent: usize| {
        let [modulus, exponent] = [modulus, exponent].map(|bytes| BoxedUint::from_be_slice_vartime(&vec![0x7f; bytes]));
        RsaPublicKey::new_unchecked(modulus, exponent).to_public_key_pem(LineEnding::LF).unwrap()
    };
    assert!(public_key(pem(256, 3).as_bytes()).is_some() && public_key(pem(1024, 3).as_bytes()).is_some());
    assert!(public_key(pem(1025, 3).as_bytes()).is_none() && public_key(pem(256, 5).as_bytes()).is_none());
}

#[test]
fn a_signature_is_one_of_the_key_that_the_password_makes() {
    let signed = login(Method::Ed25519, "secret", false, false).first().unwrap();
    let hash: [u8; 64] = Sha512::digest(b"secret").into();
    let key = VerifyingKey::from(&ExpandedSecretKey::from_bytes(&hash));
    let signature = ed25519_dalek::Signature::from_slice(&signed).unwrap();
    assert!(key.verify_strict(&(1..=20).collect::<Vec<u8>>(), &signature).is_ok());
}

#[test]
fn methods_are_known_by_their_names() {
    for (name, method) in METHODS {
        assert_eq!((Method::of(name), method.name()), (Some(*method), *name));
    }
    assert_eq!(Method::of("mysql_old_password"), None);
}
