//! `[python]`: where code of models runs.

use std::path::PathBuf;

use serde::Deserialize;

/// `[python]`
#[derive(Debug, Clone, Default, PartialEq, Eq, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub(crate) struct PythonSection {
    /// Whether more than the embedded interpreter may be used; default: yes.
    pub(crate) full: Option<bool>,
    /// The Python of the level `full`; default: the managed environment, else the first that works
    /// in `PATH`.
    pub(crate) program: Option<PathBuf>,
}
