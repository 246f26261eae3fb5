//! The version of a file that a caller has read before it changes the file.

use crate::error::{OpError, Resource};

/// The version of a file that a caller has read.
#[derive(Clone, Copy)]
pub enum ExpectedVersion<'a> {
    /// Any version: the caller replaces the present one.
    Any,
    /// The caller names no version.
    Unnamed,
    /// The caller expects that the file does not exist.
    New,
    /// The version with a text for which this function returns `true`.
    Matching(&'a (dyn Fn(&str) -> bool + Sync)),
}

impl ExpectedVersion<'_> {
    /// Compares the expected version with the current text; `None` if the file does not exist.
    pub(crate) fn check(
        &self,
        what: Resource,
        name: &str,
        text: Option<&str>,
    ) -> Result<(), OpError> {
        match (self, text) {
            (Self::Any, _) | (Self::Unnamed | Self::New, None) => Ok(()),
            (Self::New, Some(_)) => {
                let article = if what == Resource::Agent { "an" } else { "a" };
                Err(OpError::Conflict(format!("there is {article} {what} {name} already")))
            }
            (Self::Unnamed, Some(_)) => Err(OpError::NeedsVersion(format!(
                "the {what} {name} is there: send the ETag of what you have read as If-Match"
            ))),
            (Self::Matching(is_read), Some(text)) if is_read(text) => Ok(()),
            (Self::Matching(_), _) => Err(OpError::Stale(format!(
                "the {what} {name} is not what you have read any more; read it again"
            ))),
        }
    }
}
