//! Where the part of a target's URL ends that may hold a password.

use dsbench_core::error::{Error, Result};

/// Refuses a URL with an `@` after its authority. A password with a bare `/` or `?` looks like that: its first
/// half would be taken for a port and its second for a database, and error messages would show both.
///
/// A URL without an authority, as of a file, holds no password there, unless a colon stands before the `@`.
pub(crate) fn check(url: &str) -> Result<()> {
    let Some((_, rest)) = url.split_once("://") else { return Ok(()) };
    let (authority, after) = rest.split_at(rest.find(['/', '?']).unwrap_or(rest.len()));
    let Some((before, _)) = after.rsplit_once('@') else { return Ok(()) };
    if authority.is_empty() && !before.contains(':') {
        return Ok(());
    }
    Err(Error::configuration(
        "the target's URL has an @ behind its host, so that a password may be cut in two there; in a user name, \
         password, path or parameter write / as %2F, ? as %3F and @ as %40",
    ))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_login_stands_before_the_first_slash_and_question_mark() {
        for right in [
            "postgresql://u:p%2Fw@h/db",
            "postgresql://u:p@w@h:5432/db?sslmode=require",
            "postgresql:///db?user=me@corp",
            "firebird:///home/me@work/a.fdb",
            "firebird:///C:/me%40work/a.fdb",
            "firebird://h//data/a.fdb",
            "mock:?fail_at=1",
        ] {
            assert!(check(right).is_ok(), "{right}");
        }
        for wrong in [
            "postgresql://u:p/w@h/db",
            "mysql://u:p?w@h/db",
            "mysql://u:p@w/x@h/db",
            "firebird://u:p@w?x@h/db",
            "postgresql:///u:p@h/db",
            "firebird:///u:/p@h/db",
            "firebird://h/me@work/a.fdb",
        ] {
            let error = check(wrong).unwrap_err().to_string();
            assert!(error.contains("%2F") && error.contains("%40"), "{wrong}: {error}");
        }
    }
}
