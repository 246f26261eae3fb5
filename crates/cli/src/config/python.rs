//! `[python]`: the interpreter for code of models.

use std::path::PathBuf;

use serde::Deserialize;

/// `[python]`
#[derive(Debug, Clone, Default, PartialEq, Eq, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub(crate) struct PythonSection {
    /// Whether CPython may be used besides the embedded interpreter; default: yes.
    pub(crate) full: Option<bool>,
    /// The Python of the level `full`; default: the managed environment, else the first working one
    /// in `PATH`.
    pub(crate) program: Option<PathBuf>,
}
