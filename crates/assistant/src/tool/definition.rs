//! Shared parts of the tools' definitions.

use schemars::JsonSchema;
use serde_json::Value;
use toolcrib_core::{
    Effect, Example, Risk, ToolName, ToolSpec, Trust, defaults, remote_name, schema,
};

/// Id of the source of these tools.
pub const SOURCE: &str = "assistant";
/// Feature switch and group of the memory tools.
pub(super) const MEMORY: &str = "memory";
/// Feature switch and group of the tools for tasks.
pub(super) const SCHEDULING: &str = "scheduling";
/// Feature switch and group of the tool for cards.
pub(super) const CARDS: &str = "cards";
/// Feature switch and group of the tool for documents.
pub(super) const DOCUMENTS: &str = "documents";
/// Feature switch and group of the tools for goals.
pub(super) const GOALS: &str = "goals";
/// Feature switch and group of the tool for lists.
pub(super) const LISTS: &str = "lists";

/// Group of the tools that reach the person.
const PERSONAL: &str = "personal";

/// Creates the base definition of a tool that reaches the person; each has a separate switch.
pub(super) fn personal_spec<A: JsonSchema>(name: &str, title: &str, description: &str) -> ToolSpec {
    let mut spec = base_spec::<A>(name, title, description, PERSONAL);
    spec.controlled_by = None;
    spec
}

/// Creates the base definition of a tool on the person's own rows, with a feature switch instead of
/// a separate one.
pub(super) fn base_spec<A: JsonSchema>(
    name: &str,
    title: &str,
    description: &str,
    feature: &str,
) -> ToolSpec {
    // The names passed in are valid (tested); the other arm only avoids a panic.
    let name = ToolName::local(name).unwrap_or_else(|_| remote_name(SOURCE, name));
    let mut spec = ToolSpec::new(name, description, schema::for_type::<A>());
    title.clone_into(&mut spec.title);
    spec.risk = Risk::Safe;
    spec.effect = Effect::SideEffect;
    spec.trust = Trust::Tool;
    spec.timeout = defaults::TIMEOUT_FILE;
    spec.group = Some(feature.to_owned());
    spec.controlled_by = Some(feature.to_owned());
    spec
}

/// Creates aliases of parameters.
pub(super) fn aliases<const N: usize>(pairs: [(&str, &str); N]) -> Vec<(String, String)> {
    pairs.into_iter().map(|(alias, name)| (alias.to_owned(), name.to_owned())).collect()
}

/// Creates example calls.
pub(super) fn examples<const N: usize>(samples: [(&str, Value); N]) -> Vec<Example> {
    samples.into_iter().map(|(need, args)| Example { need: need.to_owned(), args }).collect()
}
