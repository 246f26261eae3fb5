//! Shell target setting (`shell.target`): where commands of the shell tool run.

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};

/// Where commands of the shell tool run: the setting `shell.target`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum ShellTarget {
    /// In the userland: the default once it is installed.
    Userland,
    /// In a sandbox with the host's system.
    HostSandbox,
    /// On the host itself, without a sandbox.
    Native,
}

/// The text is not a target.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{0:?} is not a shell target; use userland, host-sandbox or native")]
pub struct UnknownTarget(pub String);

impl ShellTarget {
    /// All targets.
    pub const ALL: [Self; 3] = [Self::Userland, Self::HostSandbox, Self::Native];

    /// Returns the name in configuration and reports.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Userland => "userland",
            Self::HostSandbox => "host-sandbox",
            Self::Native => "native",
        }
    }
}

impl fmt::Display for ShellTarget {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

impl FromStr for ShellTarget {
    type Err = UnknownTarget;

    fn from_str(word: &str) -> Result<Self, Self::Err> {
        let named = Self::ALL.into_iter().find(|target| target.as_str() == word);
        named.ok_or_else(|| UnknownTarget(word.to_owned()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn targets_are_read_as_they_are_written() {
        for target in ShellTarget::ALL {
            assert_eq!(target.to_string().parse(), Ok(target));
            assert_eq!(serde_json::to_value(target).unwrap(), target.as_str());
        }
        assert!("sandbox".parse::<ShellTarget>().is_err());
    }
}
