//! A password on its way from the target to the login.

use std::fmt;

/// A password, which no formatting shows.
#[derive(Clone, PartialEq, Eq)]
pub(crate) struct Secret(String);

impl Secret {
    /// Keeps `password`.
    pub(crate) fn new(password: String) -> Self {
        Self(password)
    }

    /// The password itself, for authentication only.
    pub(crate) fn reveal(&self) -> &str {
        &self.0
    }
}

impl fmt::Debug for Secret {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("(hidden)")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_password_is_not_shown() {
        let secret = Some(Secret::new("geheim".into()));
        assert!(!format!("{secret:?}").contains("geheim"));
    }
}
