//! The paths that rules deny to one call, for file tools.

use std::path::Path;
use std::sync::Arc;

use toolcrib_core::{PathAccess, PathDenials};

use super::error::FsErrorKind;
use super::resolve::ResolvedPath;

/// The paths that rules deny to one call; none by default.
#[derive(Debug, Clone, Default)]
pub(crate) struct CallDenials {
    denials: Option<Arc<dyn PathDenials>>,
}

impl CallDenials {
    /// Creates the denials of a call.
    pub(crate) fn new(denials: Arc<dyn PathDenials>) -> Self {
        Self { denials: (!denials.is_empty()).then_some(denials) }
    }

    /// Returns whether a rule denies reading a real path. Walks omit such an entry.
    pub(crate) fn hides(&self, path: &Path) -> bool {
        let hides =
            |denials: &Arc<dyn PathDenials>| denials.denying_rule(PathAccess::Read, path).is_some();
        self.denials.as_ref().is_some_and(hides)
    }

    /// Refuses an access that a rule denies. The gates have evaluated the path as the call named
    /// it; this check evaluates the real path.
    pub(super) fn check(&self, access: PathAccess, spot: &ResolvedPath) -> Result<(), FsErrorKind> {
        let Some(denials) = &self.denials else { return Ok(()) };
        match denials.denying_rule(access, &spot.real_path()) {
            Some(rule) => Err(FsErrorKind::Denied(rule.named())),
            None => Ok(()),
        }
    }
}

/// Returns a note for a model on entries that a rule hides; `None` if there are none.
pub(crate) fn hidden_note(count: usize) -> Option<String> {
    let text = match count {
        0 => return None,
        1 => "1 entry is left out: a rule keeps it from this call.".to_owned(),
        n => format!("{n} entries are left out: rules keep them from this call."),
    };
    Some(text)
}
