//! No error repeats a part of a password, however it was written into the target.

use dsbench_core::engine::{Isolation, Session};

const NASTY: &[&str] = &[
    "Tr0ub4dor%zz",
    "Tr0ub4dor%",
    "Tr0ub4dor%ff",
    "Tr0ub%004dorX",
    "Tr0ub4/dorXy",
    "Tr0ub4?dorXy",
    "Tr0ub4?dorX=y7wQ",
    "?Tr0ub4dor",
    "/Tr0ub4dor",
    "Tr0ub4#dorXy",
    "Tr0ub4@dorXy",
    "Tr0ub4@dorX/y7wQ",
    "Tr0ub4@dorX?y7wQ",
    "Tr0ub4/dorX@y7wQ",
    "Tr0ub4:dorXy",
    "Tr0ub4&dorX=y7wQ",
    "Tr0u?password=b4dorX",
    "Tr0u?connect_timeout=b4dorX",
    "Tr0u?ssl_mode=b4dorX&sslmode=b4dorX&wait=b4dorX",
    "Tr0u/b4dor?X7wQ=y",
    "Tr0ub4[dorXy",
    "[Tr0ub4dorXy",
    "Tr0ub4]dorXy",
    "Tr0ub4,dorXy",
    "Tr0ub4 dorXy",
    "Tr0ub4\\dorXy",
    "8675309/8675309",
    "gr\u{fc}\u{df}/Tr0ub4dor",
];

/// What people write, with PW for the password.
const FORMS: &[&str] = &[
    "SCHEME://u:PW@127.0.0.1:1/db",
    "SCHEME://u:PW@127.0.0.1:1/db?bogus=1",
    "SCHEME://u:PW@127.0.0.1:1//data/db.fdb?connect_timeout=x",
    "SCHEME://u:PW@127.0.0.1:99999/db",
    "SCHEME://u:PW@127.0.0.1:1",
    "SCHEME://:PW@127.0.0.1:1/db",
    "SCHEME://u:PW@/db?port=1&socket=/nowhere/s",
    "SCHEME:///u:PW@127.0.0.1:1/db",
    "SCHEME:u:PW@127.0.0.1:1/db",
    "SCHEME:/u:PW@127.0.0.1:1/db",
    "u:PW@127.0.0.1:1/db",
    "nothing://u:PW@127.0.0.1:1/db",
];

/// Four letters or digits in a row of `password`, wherever it has them.
fn fragments(password: &str) -> Vec<String> {
    let letters: Vec<char> = password.chars().collect();
    let words = letters.windows(4).filter(|word| word.iter().all(|letter| letter.is_alphanumeric()));
    words.map(|word| word.iter().collect()).collect()
}

/// Parts of the passwords above that are names of parameters, which errors may repeat.
const NAMES: &str = "password connect_timeout ssl_mode sslmode wait";

/// All that is said of `url` until there is a connection; nothing answers at its address.
fn said(url: &str) -> String {
    let session = Session { in_place: false, isolation: Isolation::ReadCommitted };
    match dsbench_engines::open(url) {
        Err(error) => format!("{error:#}"),
        // A file would be made here.
        Ok(_) if url.starts_with("sqlite:") => String::new(),
        Ok(engine) => {
            let connected = engine.connect(session).err().map(|error| format!("{error:#}"));
            connected.unwrap_or_default() + &engine.place().state().err().map(|e| format!("{e:#}")).unwrap_or_default()
        }
    }
}

#[test]
fn no_error_repeats_a_part_of_a_password() {
    for scheme in dsbench_engines::schemes() {
        for password in NASTY {
            for form in FORMS {
                // Three slashes of SQLite are the name of a file; the mock has nothing but parameters.
                if scheme == "mock" || scheme == "sqlite" && form.contains(":///") {
                    continue;
                }
                let url = form.replace("SCHEME", scheme).replace("PW", password);
                let words = said(&url);
                for fragment in fragments(password).iter().filter(|fragment| !NAMES.contains(fragment.as_str())) {
                    assert!(!words.contains(fragment.as_str()), "{url}: {words}");
                }
            }
        }
    }
}

#[test]
fn a_password_with_a_slash_is_told_how_to_be_written() {
    for scheme in dsbench_engines::schemes().into_iter().filter(|scheme| !["sqlite", "mock"].contains(scheme)) {
        for password in ["Tr0ub4dor/x", "Tr0ub4dor?x", "a@b/c", "a@b?c"] {
            let words = said(&format!("{scheme}://u:{password}@127.0.0.1:1/db"));
            assert!(words.contains("write / as %2F, ? as %3F and @ as %40"), "{scheme} {password}: {words}");
        }
        let words = said(&format!("{scheme}://u:Tr0ub4dor%zz@127.0.0.1:1/db"));
        assert!(words.contains("password") && words.contains("%25"), "{scheme}: {words}");
    }
}
