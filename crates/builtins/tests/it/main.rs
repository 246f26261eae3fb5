//! Integration tests of the tools that run programs, with real programs in a real sandbox.
#![expect(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::print_stderr,
    reason = "a failing test panics, and says what it could not try"
)]

mod document_fixtures;
mod documents;
mod git;
mod language_servers;
mod program_runner;
mod shell;
mod shell_background;
mod shell_execution_targets;
mod shell_hostile;
mod support;
mod test_runner;

/// Returns the text of a result.
fn text_of(output: &toolcrib_core::ToolOutput) -> String {
    let text = |block: &toolcrib_core::Block| match block {
        toolcrib_core::Block::Text { text, .. } => Some(text.clone()),
        _ => None,
    };
    output.content.iter().filter_map(text).collect::<Vec<_>>().join("\n")
}
