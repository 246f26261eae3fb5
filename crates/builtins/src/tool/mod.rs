//! Tool handlers, one file per tool, and their shared helpers.

pub(crate) mod code_search;
pub(crate) mod copy_path;
pub(crate) mod delete_file;
pub(crate) mod diff_editor;
pub(crate) mod docs_search;
pub(crate) mod edit_file;
pub(crate) mod execute_shell_command;
pub(crate) mod fetch_url;
pub(crate) mod file_info;
pub(crate) mod find_files;
pub(crate) mod get_current_time;
pub(crate) mod get_location_from_ip;
pub(crate) mod get_weather;
pub(crate) mod git_manager;
pub(crate) mod http_request;
pub(crate) mod introspect;
pub(crate) mod list_dir;
pub(crate) mod lsp_manager;
pub(crate) mod make_dir;
pub(crate) mod manage_process;
pub(crate) mod move_path;
mod needs;
pub(crate) mod news;
pub(crate) mod open_file;
pub(crate) mod open_url;
pub(crate) mod pdf_read;
pub(crate) mod read;
pub(crate) mod read_artifact;
pub(crate) mod read_file;
pub(crate) mod review_tool_calls;
pub(crate) mod ssh_configure_host;
pub(crate) mod test_runner;
pub(crate) mod web_search;
pub(crate) mod write_file;

use schemars::JsonSchema;
use serde_json::Value;
use toolcrib_core::{
    Access, Assessment, Effect, Example, Permission, Risk, ToolError, ToolName, ToolOutput,
    ToolSpec, Trust, defaults, remote_name, schema,
};

use crate::executed_files;
use crate::fs::Roots;

/// The base definition of a built-in tool: system tier, schema of `A`, safe by default. The title
/// is for people: a verb and its object, because titles made from names ("Pdf read") read badly.
fn base_spec<A: JsonSchema>(name: &str, title: &str, description: &str) -> ToolSpec {
    // The names passed in are valid (tested); the other arm only avoids a panic.
    let name = ToolName::local(name).unwrap_or_else(|_| remote_name("builtin", name));
    let mut spec = ToolSpec::new(name, description, schema::for_type::<A>());
    title.clone_into(&mut spec.title);
    spec.needs = needs::of(spec.name.as_str());
    spec.risk = Risk::Safe;
    spec.effect = Effect::Read;
    spec
}

/// The base definition of a file tool: confined to the workspace, 10 s, output with workspace
/// trust.
fn file_spec<A: JsonSchema>(name: &str, title: &str, description: &str, writes: bool) -> ToolSpec {
    let mut spec = base_spec::<A>(name, title, description);
    spec.group = Some("files".to_owned());
    spec.timeout = defaults::TIMEOUT_FILE;
    spec.trust = Trust::Workspace;
    spec.permissions = vec![Permission::FsRead];
    if writes {
        spec.permissions.push(Permission::FsWrite);
        spec.effect = Effect::SideEffect;
    }
    spec
}

/// Example calls.
fn examples<const N: usize>(samples: [(&str, Value); N]) -> Vec<Example> {
    samples.into_iter().map(|(need, args)| Example { need: need.to_owned(), args }).collect()
}

/// Parameter aliases.
fn aliases<const N: usize>(pairs: [(&str, &str); N]) -> Vec<(String, String)> {
    pairs.into_iter().map(|(alias, name)| (alias.to_owned(), name.to_owned())).collect()
}

/// Aliases for the actions of the combined tool `file_manager`, a form that models know.
fn file_manager<const N: usize>(actions: [&str; N]) -> Vec<String> {
    actions.into_iter().map(|action| format!("file_manager.{action}")).collect()
}

/// Aliases of the parameter that names one file.
fn path_aliases() -> Vec<(String, String)> {
    aliases([("file_path", "path"), ("filepath", "path"), ("filename", "path"), ("file", "path")])
}

/// The assessment of a call on one file: as declared, locked on the file, with a summary for
/// approval.
fn on_file(
    spec: &ToolSpec,
    roots: &Roots,
    path: &str,
    access: Access,
    summary: String,
) -> Assessment {
    lock(Assessment::from_spec(spec).with_summary(summary), roots, path, access)
}

/// Adds a lock on one more path.
fn lock(assessment: Assessment, roots: &Roots, path: &str, access: Access) -> Assessment {
    match roots.lock_key(path) {
        Some(key) => assessment.with_lock(key, access),
        // An invalid path is refused when the tool runs.
        None => assessment,
    }
}

/// [`on_file`] of a call that changes the file.
///
/// # Errors
/// A refusal if no tool may change it.
fn on_changed_file(
    spec: &ToolSpec,
    roots: &Roots,
    path: &str,
    summary: String,
) -> Result<Assessment, ToolError> {
    lock_changed(Assessment::from_spec(spec).with_summary(summary), roots, path)
}

/// Adds the lock on a path that the call changes, and the question if another program executes it.
///
/// # Errors
/// A refusal if no tool may change it.
fn lock_changed(
    assessment: Assessment,
    roots: &Roots,
    path: &str,
) -> Result<Assessment, ToolError> {
    executed_files::assess_change(lock(assessment, roots, path, Access::Exclusive), roots, path)
}

/// Runs blocking file operations off the async threads; propagates panics.
pub(crate) async fn blocking<T: Send + 'static>(
    work: impl FnOnce() -> Result<T, ToolError> + Send + 'static,
) -> Result<T, ToolError> {
    match tokio::task::spawn_blocking(work).await {
        Ok(result) => result,
        Err(error) if error.is_panic() => std::panic::resume_unwind(error.into_panic()),
        Err(_) => Err(ToolError::execution(
            "The program is shutting down, so the call did not run. Try again later.",
        )),
    }
}

/// A text result of the tool itself.
fn text_output(text: String) -> ToolOutput {
    let mut output = ToolOutput::text(text);
    output.trust = Some(Trust::Tool);
    output
}

/// Appends a note if the change cannot be undone.
fn with_undo_note(mut text: String, not_undoable: Option<&str>) -> String {
    if let Some(reason) = not_undoable {
        text.push_str(&format!(" (Undo is not available for this change: {reason}.)"));
    }
    text
}

/// Appends a warning about the new content.
fn with_warning(mut text: String, warning: Option<String>) -> String {
    if let Some(warning) = warning {
        text.push_str(&format!("\nWarning: {warning}"));
    }
    text
}
/// A count with its noun in singular or plural.
fn count_noun(count: u64, what: &str) -> String {
    if count == 1 { format!("1 {what}") } else { format!("{count} {what}s") }
}
