//! Isolation levels.

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};

/// How strongly a process is isolated from the rest of the machine, weakest first.
#[derive(
    Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default, Serialize, Deserialize,
)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum Level {
    /// Not isolated: the program has all rights of the user. It gets a clean environment and its
    /// own process group.
    #[default]
    None,
    /// Path rules (Landlock) and a system call filter (seccomp), for hosts without user namespaces.
    /// Other processes, and the names of other files, are visible.
    Reduced,
    /// Its own namespaces and root file system, in addition to the rules and filter of
    /// [`Level::Reduced`].
    Namespace,
    /// Isolated by an external boundary, such as a microVM or gVisor, whose strength this program
    /// cannot verify.
    External,
}

impl Level {
    /// All levels, weakest first.
    pub const ALL: [Self; 4] = [Self::None, Self::Reduced, Self::Namespace, Self::External];

    /// Returns the name in results and reports.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::None => "none",
            Self::Reduced => "reduced",
            Self::Namespace => "namespace",
            Self::External => "external",
        }
    }
}

impl fmt::Display for Level {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

/// The text is not the name of a level.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{0:?} is not a sandbox level; use none, reduced, namespace or external")]
pub struct UnknownLevel(pub String);

impl FromStr for Level {
    type Err = UnknownLevel;

    fn from_str(word: &str) -> Result<Self, Self::Err> {
        let named = Self::ALL.into_iter().find(|level| level.as_str() == word);
        named.ok_or_else(|| UnknownLevel(word.to_owned()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn levels_are_ordered_and_read_as_they_are_written() {
        assert!(Level::ALL.is_sorted());
        for level in Level::ALL {
            assert_eq!(level.to_string().parse(), Ok(level));
        }
        assert!("strong".parse::<Level>().is_err());
    }
}
