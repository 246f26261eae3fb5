//! The environment of the configuration: a table that tests can fill.

use std::collections::HashMap;
use std::ffi::OsString;
use std::path::PathBuf;

use crate::output::Failure;

/// Environment variables. An empty one counts as not set.
#[derive(Clone, Default)]
pub(crate) struct Env(HashMap<OsString, OsString>);

impl Env {
    /// Returns the environment of this process.
    pub(crate) fn from_process() -> Self {
        std::env::vars_os().collect()
    }

    /// Returns a variable as text.
    ///
    /// # Errors
    /// A variable that is not UTF-8; its content is not shown.
    pub(crate) fn text(&self, name: &str) -> Result<Option<String>, Failure> {
        let Some(value) = self.get(name) else { return Ok(None) };
        let text = value.to_str().map(str::to_owned);
        let what = || Failure::configuration(format!("the variable {name} is not UTF-8 text"));
        text.map(Some).ok_or_else(what)
    }

    /// Returns a variable as a path.
    pub(crate) fn path(&self, name: &str) -> Option<PathBuf> {
        self.get(name).map(PathBuf::from)
    }

    /// Returns the names of variables that are set, in any order; names that are not UTF-8 are
    /// omitted.
    pub(crate) fn names(&self) -> impl Iterator<Item = &str> {
        self.0.iter().filter(|(_, value)| !value.is_empty()).filter_map(|(name, _)| name.to_str())
    }

    fn get(&self, name: &str) -> Option<&OsString> {
        self.0.get(std::ffi::OsStr::new(name)).filter(|value| !value.is_empty())
    }
}

impl FromIterator<(OsString, OsString)> for Env {
    fn from_iter<I: IntoIterator<Item = (OsString, OsString)>>(variables: I) -> Self {
        Self(variables.into_iter().collect())
    }
}

impl std::fmt::Debug for Env {
    /// Prints only names, because values may be keys.
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_set().entries(self.0.keys()).finish()
    }
}
