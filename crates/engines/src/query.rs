//! The part of a target URL after the `?`: `name=value` pairs joined by `&`.

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
        let (head, tail) = url.split_once('?').unwrap_or((url, ""));
        let mut pairs: Vec<(String, String)> = Vec::new();
        for pair in tail.split('&').filter(|pair| !pair.is_empty()) {
            let (name, value) = pair.split_once('=').ok_or_else(|| {
                Error::configuration("a parameter in the target's URL has no value: write name=value")
            })?;
            let name = decode("the name of a parameter", name)?;
            let value = decode(&format!("the parameter {name}"), value)?;
            if pairs.iter().any(|(seen, _)| *seen == name) {
                return Err(Error::configuration(format!("{name:?} stands twice in the target's URL: leave one")));
            }
            pairs.push((name, value));
        }
        Ok((head, Self { pairs, known: Vec::new() }))
    }

    /// Takes the text of a parameter out.
    pub(crate) fn text(&mut self, name: &'static str) -> Option<String> {
        self.known.push(name);
        let at = self.pairs.iter().position(|(found, _)| found == name)?;
        Some(self.pairs.swap_remove(at).1)
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

    /// A `Configuration` error when a parameter is left that the engine does not know.
    pub(crate) fn finish(mut self) -> Result<()> {
        let Some((name, _)) = self.pairs.first() else { return Ok(()) };
        self.known.sort_unstable();
        Err(Error::configuration(format!(
            "unknown parameter {name:?} in the target's URL; it takes {}",
            self.known.join(", ")
        )))
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parameters_are_taken_and_the_rest_refused() {
        let (head, mut query) = Query::split("mock:?latency_us=100&fail=deadlock&what=1").unwrap();
        assert_eq!((head, query.number::<u64>("latency_us").unwrap()), ("mock:", Some(100)));
        assert_eq!(query.word("fail", &["busy", "deadlock"]).unwrap(), Some("deadlock"));
        assert_eq!(query.number::<u64>("absent").unwrap(), None);
        let message = query.finish().unwrap_err().to_string();
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
}
