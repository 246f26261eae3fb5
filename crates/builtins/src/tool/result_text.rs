//! Texts of results, and the notes at their end.

use toolcrib_core::{ToolOutput, Trust};

/// Creates a text result of the tool itself.
pub(super) fn text_output(text: String) -> ToolOutput {
    let mut output = ToolOutput::text(text);
    output.trust = Some(Trust::Tool);
    output
}

/// Appends a note if the change cannot be undone.
pub(super) fn with_undo_note(mut text: String, not_undoable: Option<&str>) -> String {
    if let Some(reason) = not_undoable {
        text.push_str(&format!(" (Undo is not available for this change: {reason}.)"));
    }
    text
}

/// Appends a warning about the new content.
pub(super) fn with_warning(mut text: String, warning: Option<String>) -> String {
    if let Some(warning) = warning {
        text.push_str(&format!("\nWarning: {warning}"));
    }
    text
}

/// Renders a count with its noun in singular or plural.
pub(super) fn count_noun(count: u64, what: &str) -> String {
    if count == 1 { format!("1 {what}") } else { format!("{count} {what}s") }
}
