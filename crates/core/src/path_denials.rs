//! Path denials: the files and folders that rules keep from a call, for every reader and writer
//! below the gates, such as a search, a listing or a program in a sandbox.

use std::fmt;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use crate::RuleRef;

/// How a path is used.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum PathAccess {
    /// Its content or its entries are read.
    Read,
    /// It is changed.
    Edit,
}

/// How far denials reach into a folder.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum DenialReach {
    /// Nothing below the folder is denied.
    Nothing,
    /// Something below it may be denied.
    Something,
    /// Everything below it is denied.
    Everything,
}

/// The files and folders that deny rules keep from a call.
///
/// All paths are absolute. A caller asks about the real path, and about the path as it was named if
/// that differs.
pub trait PathDenials: Send + Sync {
    /// Returns the rule that denies this access to a path, or to a folder above it.
    fn denying_rule(&self, access: PathAccess, path: &Path) -> Option<&RuleRef>;

    /// Returns how far the denials reach into a folder.
    fn reach_into(&self, access: PathAccess, folder: &Path) -> DenialReach;

    /// Returns each rule with the deepest folder that contains every path that it can match: the
    /// root for a pattern that may match anywhere.
    fn scopes(&self) -> Vec<(&RuleRef, PathBuf)>;

    /// Returns whether nothing is denied.
    fn is_empty(&self) -> bool {
        self.scopes().is_empty()
    }
}

impl fmt::Debug for dyn PathDenials {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_list().entries(self.scopes().iter().map(|(rule, _)| &rule.rule)).finish()
    }
}

/// No denials.
#[derive(Debug, Clone, Copy, Default)]
pub struct NoPathDenials;

impl NoPathDenials {
    /// Returns the trait object for the context of a call.
    #[must_use]
    pub fn shared() -> Arc<dyn PathDenials> {
        Arc::new(Self)
    }
}

impl PathDenials for NoPathDenials {
    fn denying_rule(&self, _: PathAccess, _: &Path) -> Option<&RuleRef> {
        None
    }

    fn reach_into(&self, _: PathAccess, _: &Path) -> DenialReach {
        DenialReach::Nothing
    }

    fn scopes(&self) -> Vec<(&RuleRef, PathBuf)> {
        Vec::new()
    }
}
