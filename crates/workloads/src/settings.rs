//! Settings of one workload alone, as text: `--set name=value`.

use std::collections::BTreeMap;

use dsbench_core::error::{Error, Result};

/// Settings by name.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Settings(BTreeMap<String, String>);

impl Settings {
    /// Takes names with their values.
    pub fn new(pairs: impl IntoIterator<Item = (String, String)>) -> Self {
        Self(pairs.into_iter().collect())
    }

    /// The value of a setting, where it was given.
    pub fn get(&self, name: &str) -> Option<&str> {
        self.0.get(name).map(String::as_str)
    }

    /// Refuses settings that `workload` does not know, with an error of kind `Configuration`.
    pub fn only(&self, workload: &str, known: &[&str]) -> Result<()> {
        let Some((name, value)) = self.0.iter().find(|(name, _)| !known.contains(&name.as_str())) else {
            return Ok(());
        };
        let remedy = match known {
            [] => "it has no settings, leave it out".to_string(),
            names => format!("it knows {}", names.join(", ")),
        };
        Err(Error::configuration(format!("--set {name}={value}: the workload {workload} does not know it; {remedy}")))
    }

    /// The position among `words` of a setting's value, 0 when it was not given. An error of kind
    /// `Configuration` for any other value.
    pub fn word(&self, name: &str, words: &[&str]) -> Result<usize> {
        let Some(value) = self.get(name) else { return Ok(0) };
        words
            .iter()
            .position(|word| *word == value)
            .ok_or_else(|| Error::configuration(format!("--set {name}={value}: use {}", words.join(" or "))))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(name: &str, value: &str) -> Settings {
        Settings::new([(name.to_string(), value.to_string())])
    }

    #[test]
    fn what_a_workload_does_not_know_is_refused_with_a_remedy() {
        let refused = |settings: &Settings, known| settings.only("tpcb", known).unwrap_err().to_string();
        assert!(refused(&of("mix", "1"), &[]).contains("--set mix=1: the workload tpcb does not know it; it has no"));
        assert!(refused(&of("mixx", "1"), &["mix", "affinity"]).contains("it knows mix, affinity"));
        assert!(of("mix", "1").only("tpcc", &["mix"]).is_ok() && Settings::default().only("tpcb", &[]).is_ok());
    }

    #[test]
    fn a_word_is_one_of_a_few() {
        let words = ["on", "off"];
        assert_eq!(Settings::default().word("affinity", &words).unwrap(), 0);
        assert_eq!(of("affinity", "off").word("affinity", &words).unwrap(), 1);
        let message = of("affinity", "no").word("affinity", &words).unwrap_err().to_string();
        assert!(message.contains("--set affinity=no: use on or off"), "{message}");
    }
}
