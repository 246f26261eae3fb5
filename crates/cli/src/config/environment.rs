//! The environment, as the configuration sees it: a table that tests can write.

use std::collections::HashMap;
use std::ffi::OsString;
use std::path::PathBuf;

use crate::output::Failure;

/// Variables of the environment. An empty one counts as not set.
#[derive(Clone, Default)]
pub(crate) struct Env(HashMap<OsString, OsString>);

impl Env {
    /// That of this process.
    pub(crate) fn from_process() -> Self {
        std::env::vars_os().collect()
    }

    /// A variable as text.
    ///
    /// # Errors
    /// One that is no UTF-8; its content is not shown.
    pub(crate) fn text(&self, name: &str) -> Result<Option<String>, Failure> {
        let Some(value) = self.get(name) else { return Ok(None) };
        let text = value.to_str().map(str::to_owned);
        let what = || Failure::configuration(format!("the variable {name} is not UTF-8 text"));
        text.map(Some).ok_or_else(what)
    }

    /// A variable as a path.
    pub(crate) fn path(&self, name: &str) -> Option<PathBuf> {
        self.get(name).map(PathBuf::from)
    }

    /// Names of variables that are set, in no order; one that is no UTF-8 is none of ours.
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
    /// Names only: values may be keys.
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_set().entries(self.0.keys()).finish()
    }
}
