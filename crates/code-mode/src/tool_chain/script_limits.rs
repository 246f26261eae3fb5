//! Limits of a script, and the tools that it cannot call.

use std::time::Duration;

use toolcrib_core::{Entry, View};

use super::python_stubs;
use super::tool::NAME;

/// Maximum number of calls per script.
pub(super) const MAX_CALLS: u32 = 50;

/// Maximum number of lines in the trace of one script, including refused calls.
pub(super) const MAX_LOG_ENTRIES: usize = 2 * MAX_CALLS as usize;

/// Maximum number of calls and queries per script, regardless of their result (the same limit as in
/// the worker).
pub(super) const MAX_QUERIES: usize = 1000;

/// Time limit of one call, without waiting for people and for a slot.
pub(super) const CALL_TIME: Duration = Duration::from_secs(60);

/// Time limit of the whole script, without waiting for people.
pub(super) const TOTAL_TIME: Duration = Duration::from_secs(300);

/// Maximum time for which a script that cannot be suspended waits for one decision.
pub(super) const APPROVAL_TIME: Duration = Duration::from_secs(55);

/// Maximum bytes of text and data of one result that a script receives inline; a longer result is
/// stored.
pub(super) const INLINE_BYTES: usize = 4096;

/// Returns the tools of a view, under their Python names.
pub(super) fn tool_names(view: &View) -> Vec<String> {
    view.tools.iter().map(|entry| python_stubs::python_name(entry.spec().name.as_str())).collect()
}

/// Returns the tool with this name or Python name.
pub(super) fn find<'v>(view: &'v View, name: &str) -> Option<&'v Entry> {
    view.find(name).or_else(|| {
        view.tools
            .iter()
            .find(|entry| python_stubs::python_name(entry.spec().name.as_str()) == name)
    })
}

/// Returns the reason why a script can never call this tool.
pub(super) fn why_not_callable(entry: &Entry) -> Option<String> {
    let name = entry.spec().name.as_str();
    match entry {
        Entry::ProviderDefined { .. } => {
            Some(format!("Tool '{name}' is provider-defined and cannot be called from a chain."))
        }
        Entry::Hosted { .. } => {
            Some(format!("Tool '{name}' is provider-hosted and cannot be called from a chain."))
        }
        Entry::Local(handler) if name == NAME || handler.parent_handler().is_some() => {
            Some(format!("Recursive {NAME} calls are not allowed."))
        }
        Entry::Local(_) => None,
    }
}
