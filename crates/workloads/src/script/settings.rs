//! What the settings of the workload say: scripts with their weights, variables, tables.

use dsbench_core::error::{Error, Result};
use dsbench_script::Source;

use super::builtin;
use crate::Settings;

/// What is asked for.
#[derive(Debug)]
pub(super) struct Asked {
    /// The scripts: builtins first, in the order in which they were named, then files.
    pub(super) sources: Vec<Source>,
    /// How many of them are builtins.
    pub(super) builtins: usize,
    /// Variables with their texts.
    pub(super) defined: Vec<(String, String)>,
}

impl Asked {
    /// Errors of kind `Configuration`: a builtin that there is not, a weight or a definition that is none.
    pub(super) fn of(settings: &Settings) -> Result<Self> {
        let files = files(settings.get("scripts").unwrap_or_default())?;
        let named = settings.get("builtin").unwrap_or(if files.is_empty() { "tpcb-like" } else { "" });
        let mut sources = Vec::new();
        for one in named.split(',').map(str::trim).filter(|one| !one.is_empty()) {
            let (name, weight) = weighted(one)?;
            let (name, text) = builtin::find(name).map_err(|why| wrong("builtin", one, &why))?;
            sources.push(Source { name: name.into(), weight, text: text.into() });
        }
        let builtins = sources.len();
        sources.extend(files);
        Ok(Self { sources: told_apart(sources), builtins, defined: defined(settings)? })
    }
}

/// The variables of the setting `define`, with their texts.
pub(crate) fn defined(settings: &Settings) -> Result<Vec<(String, String)>> {
    let lines = settings.get("define").unwrap_or_default().lines().filter(|line| !line.is_empty());
    let pair = |line: &str| match line.split_once('=') {
        Some((name, text)) if !name.is_empty() => Ok((name.to_string(), text.to_string())),
        _ => Err(wrong("define", line, "invalid variable definition").remedy("write NAME=VALUE")),
    };
    lines.map(pair).collect()
}

fn wrong(setting: &str, value: &str, why: &str) -> Error {
    Error::configuration(format!("--{setting} {value}: {why}"))
}

/// `NAME@WEIGHT`, or `NAME` with the weight 1.
fn weighted(text: &str) -> Result<(&str, u64)> {
    let Some((name, weight)) = text.rsplit_once('@') else { return Ok((text, 1)) };
    let number = weight.parse::<u32>().ok().filter(|number| *number <= i32::MAX as u32);
    let refused = || wrong("script", text, "invalid weight specification").remedy("write a whole number after the @");
    number.map(|number| (name, number.into())).ok_or_else(refused)
}

/// Texts as settings hold them: for each a line `BYTES NAME`, then so many bytes on lines after it. `None`: there are none
/// like that.
pub(crate) fn texts(mut text: &str) -> Option<Vec<(&str, &str)>> {
    let mut found = Vec::new();
    while !text.is_empty() {
        let (head, rest) = text.split_once('\n').unwrap_or((text, ""));
        let (length, name) = head.split_once(' ')?;
        let inner = rest.get(..length.parse().ok()?)?;
        found.push((name, inner));
        text = &rest[inner.len()..];
        text = text.strip_prefix('\n').unwrap_or(text);
    }
    Some(found)
}

/// The setting `scripts`: the name of each has its weight behind it.
fn files(text: &str) -> Result<Vec<Source>> {
    let broken =
        || Error::configuration("--set scripts: it holds the texts of scripts").remedy("name their files by --script");
    let source = |(name, text): (&str, &str)| {
        let (name, weight) = weighted(name)?;
        Ok(Source { name: name.into(), weight, text: text.into() })
    };
    texts(text).ok_or_else(broken)?.into_iter().map(source).collect()
}

/// Scripts of one name get numbers: their figures are told apart by their names.
fn told_apart(mut sources: Vec<Source>) -> Vec<Source> {
    for at in 1..sources.len() {
        let before = sources[..at].iter().filter(|other| other.name == sources[at].name).count();
        if before > 0 {
            sources[at].name = format!("{}#{}", sources[at].name, before + 1);
        }
    }
    sources
}

#[cfg(test)]
mod tests {
    use super::*;

    fn asked(pairs: &[(&str, &str)]) -> Result<Vec<(String, u64)>> {
        let settings = Settings::new(pairs.iter().map(|(name, text)| (name.to_string(), text.to_string())));
        Ok(Asked::of(&settings)?.sources.into_iter().map(|source| (source.name, source.weight)).collect())
    }

    #[test]
    fn scripts_have_names_and_weights() {
        let of =
            |found: &[(&str, u64)]| found.iter().map(|(name, weight)| (name.to_string(), *weight)).collect::<Vec<_>>();
        assert_eq!(asked(&[]).unwrap(), of(&[("tpcb-like", 1)]));
        assert_eq!(asked(&[("builtin", "se@9, t")]).unwrap(), of(&[("select-only", 9), ("tpcb-like", 1)]));
        let files = "8 a.sql@2\nSELECT 1\n8 a.sql\nSELECT 2";
        assert_eq!(asked(&[("scripts", files)]).unwrap(), of(&[("a.sql", 2), ("a.sql#2", 1)]));
        assert_eq!(asked(&[("scripts", "8 x\nSELECT 1"), ("builtin", "si")]).unwrap().len(), 2);
    }

    #[test]
    fn what_is_no_script_is_refused() {
        for (name, value, why) in [
            ("builtin", "no-such", "no builtin script found"),
            ("builtin", "s", "ambiguous builtin name"),
            ("builtin", "select-only@one", "invalid weight specification"),
            ("builtin", "select-only@-1", "invalid weight specification"),
            ("define", "foobla", "invalid variable definition"),
            ("scripts", "SELECT 1", "name their files by --script"),
            ("scripts", "99 a\nSELECT 1", "name their files by --script"),
        ] {
            let said = format!("{:#}", asked(&[(name, value)]).unwrap_err());
            assert!(said.contains(why), "{value}: {said}");
        }
    }
}
