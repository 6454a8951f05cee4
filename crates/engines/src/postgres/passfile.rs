//! Looks a password up in a file of libpq's form: `host:port:database:user:password` by line.

use std::fs;
use std::path::Path;

/// What a line of the file must match.
pub struct Wanted<'a> {
    /// Host name, or `localhost` for the default socket folder.
    pub host: &'a str,
    /// Port number.
    pub port: u16,
    /// Database name.
    pub database: &'a str,
    /// User name.
    pub user: &'a str,
}

/// The password of the first line of the file at `path` that matches. `None` when no line does,
/// when there is no such file, and when others than its owner may read it: libpq ignores it then.
pub fn password(path: &Path, wanted: &Wanted<'_>) -> Option<String> {
    let about = fs::metadata(path).ok()?;
    if !about.is_file() || !private(&about) {
        return None;
    }
    let text = fs::read(path).ok()?;
    lookup(&String::from_utf8_lossy(&text), wanted)
}

/// Whether there is such a file, which others than its owner may read.
pub fn is_open(path: &Path) -> bool {
    fs::metadata(path).is_ok_and(|about| about.is_file() && !private(&about))
}

#[cfg(unix)]
fn private(about: &fs::Metadata) -> bool {
    std::os::unix::fs::MetadataExt::mode(about) & 0o077 == 0
}

#[cfg(not(unix))]
fn private(_about: &fs::Metadata) -> bool {
    true
}

/// The same in a text.
fn lookup(text: &str, wanted: &Wanted<'_>) -> Option<String> {
    let port = wanted.port.to_string();
    let keys = [wanted.host, &port, wanted.database, wanted.user];
    text.lines().filter(|line| !line.starts_with('#')).find_map(|line| {
        let fields = split(line);
        let matches =
            fields.len() >= 5 && keys.iter().zip(&fields).all(|(key, (raw, field))| *raw == "*" || field == key);
        (matches && !fields[4].1.is_empty()).then(|| fields[4].1.clone())
    })
}

/// The fields of a line, raw and with backslashes undone: `\:` and `\\` stand for `:` and `\`.
fn split(line: &str) -> Vec<(&str, String)> {
    let mut fields = Vec::with_capacity(5);
    let (mut start, mut value, mut escaped) = (0, String::new(), false);
    for (at, letter) in line.char_indices() {
        match letter {
            _ if escaped => {
                value.push(letter);
                escaped = false;
            }
            '\\' => escaped = true,
            ':' => {
                fields.push((&line[start..at], std::mem::take(&mut value)));
                start = at + 1;
            }
            _ => value.push(letter),
        }
    }
    fields.push((&line[start..], value));
    fields
}

#[cfg(test)]
mod tests {
    use super::*;

    const TEXT: &str = "# a comment:5432:db:me:no\n\
        short:line\n\
        h:5432:db:me:first\n\
        h:5432:*:me:any\\:base\\\\\n\
        *:5433:*:*:by port\n\
        \\*:5434:*:*:star\n";

    fn find(host: &str, port: u16, database: &str, user: &str) -> Option<String> {
        lookup(TEXT, &Wanted { host, port, database, user })
    }

    #[test]
    fn the_first_matching_line_counts() {
        assert_eq!(find("h", 5432, "db", "me").as_deref(), Some("first"));
        assert_eq!(find("h", 5432, "other", "me").as_deref(), Some("any:base\\"));
        assert_eq!(find("x", 5433, "y", "z").as_deref(), Some("by port"));
        assert_eq!(find("x", 5434, "y", "z"), None, "an escaped star is a star");
        assert_eq!(find("h", 5432, "db", "you"), None);
        assert_eq!(find("# a comment", 5432, "db", "me"), None);
    }

    #[cfg(unix)]
    #[test]
    fn a_file_that_others_may_read_is_ignored() {
        use std::os::unix::fs::PermissionsExt;
        let path = std::env::temp_dir().join(format!("dsbench-passfile-{}", std::process::id()));
        fs::write(&path, "*:*:*:*:secret\n").unwrap();
        let wanted = Wanted { host: "h", port: 1, database: "d", user: "u" };
        fs::set_permissions(&path, fs::Permissions::from_mode(0o640)).unwrap();
        assert_eq!(password(&path, &wanted), None);
        fs::set_permissions(&path, fs::Permissions::from_mode(0o600)).unwrap();
        assert_eq!(password(&path, &wanted).as_deref(), Some("secret"));
        fs::remove_file(&path).unwrap();
        assert_eq!(password(&path, &wanted), None);
    }
}
