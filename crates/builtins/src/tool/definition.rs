//! Shared parts of the tools' definitions.

use schemars::JsonSchema;
use serde_json::Value;
use toolcrib_core::{
    Effect, Example, Permission, Risk, ToolName, ToolSpec, Trust, defaults, remote_name, schema,
};

use super::needs;

/// Creates the base definition of a built-in tool: system tier, schema of `A`, safe by default. The
/// title is for people: a verb and its object, because titles made from names ("Pdf read") are hard
/// to read.
pub(super) fn base_spec<A: JsonSchema>(name: &str, title: &str, description: &str) -> ToolSpec {
    // The names passed in are valid (tested); the other arm only avoids a panic.
    let name = ToolName::local(name).unwrap_or_else(|_| remote_name("builtin", name));
    let mut spec = ToolSpec::new(name, description, schema::for_type::<A>());
    title.clone_into(&mut spec.title);
    spec.needs = needs::of(spec.name.as_str());
    spec.risk = Risk::Safe;
    spec.effect = Effect::Read;
    spec
}

/// Creates the base definition of a file tool: confined to the workspace, 10 s, output with
/// workspace trust.
pub(super) fn file_spec<A: JsonSchema>(
    name: &str,
    title: &str,
    description: &str,
    writes: bool,
) -> ToolSpec {
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

/// Creates example calls.
pub(super) fn examples<const N: usize>(samples: [(&str, Value); N]) -> Vec<Example> {
    samples.into_iter().map(|(need, args)| Example { need: need.to_owned(), args }).collect()
}

/// Creates parameter aliases.
pub(super) fn aliases<const N: usize>(pairs: [(&str, &str); N]) -> Vec<(String, String)> {
    pairs.into_iter().map(|(alias, name)| (alias.to_owned(), name.to_owned())).collect()
}

/// Returns aliases for the actions of the combined tool `file_manager`, which models know.
pub(super) fn file_manager<const N: usize>(actions: [&str; N]) -> Vec<String> {
    actions.into_iter().map(|action| format!("file_manager.{action}")).collect()
}

/// Returns the aliases of the parameter that names one file.
pub(super) fn path_aliases() -> Vec<(String, String)> {
    aliases([("file_path", "path"), ("filepath", "path"), ("filename", "path"), ("file", "path")])
}
