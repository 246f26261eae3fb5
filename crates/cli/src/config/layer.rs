//! Layers of the configuration, and values with the layer that they come from.

use std::fmt;

use toml::Value;

/// Whose word a value is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) enum Layer {
    /// Of the operator of the machine.
    Managed,
    /// The person's own file.
    User,
    /// The file of a workspace that the person trusts.
    Project,
    /// The file of an untrusted workspace.
    Untrusted,
    /// A variable of the environment.
    Environment,
    /// A word of the command line.
    Flag,
    /// Not set.
    Default,
}

impl Layer {
    /// Its name in lists.
    pub(crate) fn as_str(self) -> &'static str {
        match self {
            Self::Managed => "managed",
            Self::User => "user",
            Self::Project => "project",
            Self::Untrusted => "untrusted project",
            Self::Environment => "environment",
            Self::Flag => "flag",
            Self::Default => "default",
        }
    }
}

/// Where a value is written.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Origin {
    /// Whose word it is.
    pub(crate) layer: Layer,
    /// `PATH:LINE`, or the name of a variable or a flag.
    pub(crate) location: String,
}

/// A value that holds, with where it is written.
#[derive(Clone, PartialEq)]
pub(crate) struct ConfigValue {
    pub(crate) value: Value,
    pub(crate) origin: Origin,
}

impl fmt::Debug for ConfigValue {
    /// Where it is, and not what: it may be a key.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.origin.location)
    }
}
