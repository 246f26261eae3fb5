//! Layers of the configuration, and values with their layers.

use std::fmt;

use toml::Value;

/// The origin of a value.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) enum Layer {
    /// The operator of the machine.
    Managed,
    /// The person's own file.
    User,
    /// The file of a workspace that the person trusts.
    Project,
    /// The file of an untrusted workspace.
    Untrusted,
    /// A variable of the environment.
    Environment,
    /// An option of the command line.
    Flag,
    /// Not set.
    Default,
}

impl Layer {
    /// Returns its name in lists.
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

/// The position of a value.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Origin {
    /// Layer of the value.
    pub(crate) layer: Layer,
    /// `PATH:LINE`, or the name of a variable or a flag.
    pub(crate) location: String,
}

/// A value in force, with its position.
#[derive(Clone, PartialEq)]
pub(crate) struct ConfigValue {
    pub(crate) value: Value,
    pub(crate) origin: Origin,
}

impl fmt::Debug for ConfigValue {
    /// Prints only the origin: the value may be a key.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.origin.location)
    }
}
