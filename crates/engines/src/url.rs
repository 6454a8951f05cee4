//! Takes the URL of a target apart: `scheme://user:password@host:port/database?name=value&…`. Engines say what the parts
//! mean. `python/dsbench/spec/target.py` has the same rules.

use std::str::FromStr;

use dsbench_core::error::{Error, Result};

/// Looks a variable of the environment up; a function, so that tests need not touch the process.
pub(crate) type Environment<'a> = &'a dyn Fn(&str) -> Option<String>;

/// The parameters of a target URL that no engine has taken yet.
#[derive(Debug)]
pub(crate) struct Query {
    pairs: Vec<(String, String)>,
    known: Vec<&'static str>,
}

impl Query {
    /// Splits a URL at its `?`, gives the part before it (still percent-encoded) and the parameters.
    /// A parameter that is named twice, or has no value, is a `Configuration` error.
    pub(crate) fn split(url: &str) -> Result<(&str, Self)> {
        let (head, query) = Self::split_last(url)?;
        for (at, (name, _)) in query.pairs.iter().enumerate() {
            if query.pairs[..at].iter().any(|(seen, _)| seen == name) {
                return Err(Error::configuration(format!("{name:?} stands twice in the target's URL: leave one")));
            }
        }
        Ok((head, query))
    }

    /// The same, but the last of several parameters with one name counts.
    pub(crate) fn split_last(url: &str) -> Result<(&str, Self)> {
        let (head, tail) = url.split_once('?').unwrap_or((url, ""));
        let mut pairs = Vec::new();
        for pair in tail.split('&').filter(|pair| !pair.is_empty()) {
            let (name, value) = pair.split_once('=').ok_or_else(|| {
                Error::configuration("a parameter in the target's URL has no value: write name=value")
            })?;
            let name = decode("the name of a parameter", name)?;
            let value = decode(&format!("the parameter {name}"), value)?;
            pairs.push((name, value));
        }
        Ok((head, Self { pairs, known: Vec::new() }))
    }

    /// Takes the text of a parameter out.
    pub(crate) fn text(&mut self, name: &'static str) -> Option<String> {
        self.known.push(name);
        self.unoffered(name)
    }

    /// The same for a parameter that no error offers.
    pub(crate) fn unoffered(&mut self, name: &str) -> Option<String> {
        let (named, others) = self.pairs.drain(..).partition(|(found, _)| found == name);
        self.pairs = others;
        let mut named: Vec<(String, String)> = named;
        named.pop().map(|(_, value)| value)
    }

    /// Takes a number out.
    pub(crate) fn number<T: FromStr>(&mut self, name: &'static str) -> Result<Option<T>> {
        let Some(text) = self.text(name) else { return Ok(None) };
        match text.parse() {
            Ok(number) => Ok(Some(number)),
            Err(_) => {
                Err(Error::configuration(format!("{name}={text} in the target's URL: that is no number it can take")))
            }
        }
    }

    /// Takes one of a few words out.
    pub(crate) fn word(&mut self, name: &'static str, words: &[&'static str]) -> Result<Option<&'static str>> {
        let Some(text) = self.text(name) else { return Ok(None) };
        let found = words.iter().find(|word| word.eq_ignore_ascii_case(&text));
        found.copied().map(Some).ok_or_else(|| {
            Error::configuration(format!("{name}={text} in the target's URL: it takes one of {}", words.join(", ")))
        })
    }

    /// Takes out the parameters of these names, whatever they say; gives the names of those that were there.
    pub(crate) fn pass_over(&mut self, names: &[&str]) -> Vec<String> {
        let (passed, others) = self.pairs.drain(..).partition(|(name, _)| names.contains(&name.as_str()));
        self.pairs = others;
        let passed: Vec<(String, String)> = passed;
        let mut passed: Vec<String> = passed.into_iter().map(|(name, _)| name).collect();
        passed.sort_unstable();
        passed
    }

    /// A `Configuration` error when a parameter is left that the engine does not know.
    pub(crate) fn finish(mut self) -> Result<()> {
        let Some((name, _)) = self.pairs.first() else { return Ok(()) };
        self.known.sort_unstable();
        Err(Error::configuration(format!("unknown parameter {name:?} in the target's URL"))
            .remedy(format!("use one of {}", self.known.join(", "))))
    }
}

/// Replaces `%41` by `A`. Errors name the text by `what` it is, as it may be a password.
pub(crate) fn decode(what: &str, text: &str) -> Result<String> {
    let mut bytes = Vec::with_capacity(text.len());
    let mut rest = text.as_bytes();
    while let Some((&first, tail)) = rest.split_first() {
        let escape = || {
            let digits = std::str::from_utf8(tail.get(..2)?).ok()?;
            digits.bytes().all(|b| b.is_ascii_hexdigit()).then(|| u8::from_str_radix(digits, 16).ok())?
        };
        match first {
            b'%' => {
                bytes.push(escape().ok_or_else(|| {
                    Error::configuration(format!("{what} in the target's URL: write a percent sign as %25"))
                })?);
                rest = &tail[2..];
            }
            other => {
                bytes.push(other);
                rest = tail;
            }
        }
    }
    match String::from_utf8(bytes) {
        Ok(text) if !text.contains('\0') => Ok(text),
        _ => Err(Error::configuration(format!("{what} in the target's URL is no UTF-8 without zero bytes"))),
    }
}

/// What stands before the question mark, decoded; what is empty counts as not given.
#[derive(Debug)]
pub(crate) struct Parts {
    /// User name.
    pub(crate) user: Option<String>,
    /// Password.
    pub(crate) password: Option<String>,
    /// Host name or address.
    pub(crate) host: Option<String>,
    /// Port.
    pub(crate) port: Option<u16>,
    /// Database.
    pub(crate) database: Option<String>,
}

impl Parts {
    /// Takes apart `head`, what stands before the question mark of a URL with one of `schemes`. Error
    /// `Configuration`, made by `bad`; no message repeats a part, as it may be of a password.
    pub(crate) fn read(head: &str, schemes: &[&str], bad: fn(&str) -> Error) -> Result<Self> {
        let known = head.split_once("://").filter(|(scheme, _)| schemes.contains(scheme));
        let (_, rest) = known.ok_or_else(|| bad(&format!("it must start with {}://", schemes.join(":// or "))))?;
        let (authority, database) = rest.split_once('/').unwrap_or((rest, ""));
        let (login, place) = authority.rsplit_once('@').unwrap_or(("", authority));
        let (user, password) = login.split_once(':').unwrap_or((login, ""));
        let (host, port) = split_port(place).map_err(bad)?;
        if host.contains(',') || port.contains(',') {
            return Err(bad("it names several hosts").remedy("name the one to measure"));
        }
        let port = match port {
            "" => None,
            digits => Some(digits.parse().map_err(|_| bad("the port is no number it may be"))?),
        };
        Ok(Self {
            user: part("the user", user)?,
            password: part("the password", password)?,
            host: part("the host", host)?,
            port,
            database: part("the database", database)?,
        })
    }
}

/// What stands before the question mark with the first of several hosts, and the other hosts with their ports.
pub(crate) fn one_host(head: &str) -> (String, Vec<&str>) {
    let begin = head.find("://").map_or(0, |at| at + 3);
    let end = head[begin..].find('/').map_or(head.len(), |at| begin + at);
    let place = head[begin..end].rfind('@').map_or(begin, |at| begin + at + 1);
    let mut places = head[place..end].split(',');
    let first = places.next().unwrap_or_default();
    (format!("{}{first}{}", &head[..place], &head[end..]), places.collect())
}

fn part(what: &str, text: &str) -> Result<Option<String>> {
    Ok(Some(decode(what, text)?).filter(|decoded| !decoded.is_empty()))
}

/// Splits `host:port`, where the host may be an IPv6 address in brackets.
fn split_port(place: &str) -> std::result::Result<(&str, &str), &'static str> {
    match place.strip_prefix('[').map(|rest| rest.split_once(']')) {
        None => Ok(place.split_once(':').unwrap_or((place, ""))),
        Some(Some((host, ""))) => Ok((host, "")),
        Some(Some((host, after))) => {
            after.strip_prefix(':').map(|port| (host, port)).ok_or("only :port may follow an IPv6 address")
        }
        Some(None) => Err("a bracket of an IPv6 address is not closed"),
    }
}

/// Refuses a URL with an `@` after its authority. A password with a bare `/` or `?` looks like that: its first
/// half would be taken for a port and its second for a database, and error messages would show both.
///
/// A URL without an authority, as of a file, holds no password there, unless a colon stands before the `@`.
pub(crate) fn check_authority(url: &str) -> Result<()> {
    let Some((_, rest)) = url.split_once("://") else { return Ok(()) };
    let (authority, after) = rest.split_at(rest.find(['/', '?']).unwrap_or(rest.len()));
    let Some((before, _)) = after.rsplit_once('@') else { return Ok(()) };
    if authority.is_empty() && !before.contains(':') {
        return Ok(());
    }
    Err(Error::configuration("the target's URL has an @ behind its host, so that a password may be cut in two there")
        .remedy("in a user name, password, path or parameter write / as %2F, ? as %3F and @ as %40"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parameters_are_taken_and_the_rest_refused() {
        let (head, mut query) = Query::split("mock:?latency_us=100&fail=deadlock&what=1").unwrap();
        assert_eq!((head, query.number::<u64>("latency_us").unwrap()), ("mock:", Some(100)));
        assert_eq!(query.word("fail", &["busy", "deadlock"]).unwrap(), Some("deadlock"));
        assert_eq!(query.number::<u64>("absent").unwrap(), None);
        let message = format!("{:#}", query.finish().unwrap_err());
        assert!(message.contains("\"what\"") && message.contains("absent, fail, latency_us"), "{message}");
    }

    #[test]
    fn bad_parameters_say_what_is_wrong() {
        assert!(Query::split("x:?a").unwrap_err().to_string().contains("name=value"));
        assert!(Query::split("x:?a=%zz").unwrap_err().to_string().contains("the parameter a in"));
        assert!(Query::split("x:?a=1&a=2").unwrap_err().to_string().contains("twice"));
        let (_, mut query) = Query::split("x:?n=many&w=odd").unwrap();
        assert!(query.number::<u32>("n").unwrap_err().to_string().contains("n=many"));
        assert!(query.word("w", &["even"]).unwrap_err().to_string().contains("even"));
    }

    #[test]
    fn percent_signs_are_decoded() {
        assert_eq!(decode("it", "a%20b%3Fgr%C3%BCn").unwrap(), "a b?grün");
        for wrong in ["100%", "%4", "%+1", "%zz", "%ff", "%00"] {
            let error = decode("the password", wrong).unwrap_err().to_string();
            assert!(error.contains("the password") && !error.contains(wrong), "{wrong}: {error}");
        }
    }

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
            assert!(check_authority(right).is_ok(), "{right}");
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
            let error = format!("{:#}", check_authority(wrong).unwrap_err());
            assert!(error.contains("%2F") && error.contains("%40"), "{wrong}: {error}");
        }
    }

    #[test]
    fn the_last_of_several_counts_where_that_is_the_rule() {
        let (_, mut query) = Query::split_last("x:?a=1&b=2&a=3").unwrap();
        assert_eq!((query.text("a").as_deref(), query.text("b").as_deref()), (Some("3"), Some("2")));
        query.finish().unwrap();
    }
}
