//! How strongly a process is kept apart.

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};

/// How strongly a process is kept apart from the rest of the machine, weakest first (DESIGN 5, Sandbox ladder).
#[derive(
    Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default, Serialize, Deserialize,
)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum Level {
    /// Not at all: the program may do whatever the user may do. It has a clean environment and a process group of its own.
    #[default]
    None,
    /// Rules for paths (Landlock) and a filter for system calls (seccomp), where namespaces are not to be had. Other processes and the
    /// names of files elsewhere can be seen.
    Reduced,
    /// Namespaces of its own with a root folder of its own, and the rules and the filter of [`Level::Reduced`] on top.
    Namespace,
    /// Somebody else's boundary around all of it, such as a microVM or gVisor: what it enforces is that one's word.
    External,
}

impl Level {
    /// Every level, weakest first.
    pub const ALL: [Self; 4] = [Self::None, Self::Reduced, Self::Namespace, Self::External];

    /// The name that results and reports show.
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

/// A word that names no level.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("no level is called {0:?}: write none, reduced, namespace or external")]
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
