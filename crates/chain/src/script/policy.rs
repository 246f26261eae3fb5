//! What a script may do (seed 003, ChainPolicy), and the tools that it cannot call.

use std::time::Duration;

use toolcrib_core::{Entry, View};

use super::stub;
use super::tool::NAME;

/// Calls of one script (seed 003).
pub(super) const MOST_CALLS: u32 = 50;

/// Lines in the trace of one script, those of calls that were refused included.
pub(super) const MOST_LINES: usize = 2 * MOST_CALLS as usize;

/// Calls and questions of one script, whatever becomes of them (as the worker's own bound).
pub(super) const MOST_ASKED: usize = 1000;

/// Time of one call, waiting for people and its turn excluded (seed 003).
pub(super) const CALL_TIME: Duration = Duration::from_secs(60);

/// Time of the whole script, waiting for people excluded (seed 003).
pub(super) const TOTAL_TIME: Duration = Duration::from_secs(300);

/// How long a script that cannot be put aside waits for one decision (SPEC 4.2, approval_timeout_s).
pub(super) const APPROVAL_TIME: Duration = Duration::from_secs(55);

/// Bytes of text and data together that a script is given of one result; what is longer is stored (seed 003).
pub(super) const INLINE_BYTES: usize = 4096;

/// The tools of a view, by the names that a script calls them by.
pub(super) fn names(view: &View) -> Vec<String> {
    view.tools.iter().map(|entry| stub::python_name(entry.spec().name.as_str())).collect()
}

/// The tool that a script means by this name.
pub(super) fn find<'v>(view: &'v View, name: &str) -> Option<&'v Entry> {
    view.find(name).or_else(|| {
        view.tools.iter().find(|entry| stub::python_name(entry.spec().name.as_str()) == name)
    })
}

/// Why a script cannot call this tool, whoever lets it (SPEC 4.3).
pub(super) fn refusal(entry: &Entry) -> Option<String> {
    let name = entry.spec().name.as_str();
    match entry {
        Entry::ProviderDefined { .. } => {
            Some(format!("Tool '{name}' is provider-defined and cannot be called from a chain."))
        }
        Entry::Hosted { .. } => {
            Some(format!("Tool '{name}' is provider-hosted and cannot be called from a chain."))
        }
        Entry::Local(handler) if name == NAME || handler.nesting().is_some() => {
            Some(format!("Recursive {NAME} calls are not allowed."))
        }
        Entry::Local(_) => None,
    }
}
