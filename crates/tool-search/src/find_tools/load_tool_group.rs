//! The tool `load_tool_group`: adds all tools of a group to the model's next requests.

use std::collections::BTreeMap;
use std::sync::{Arc, Weak};

use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::{Value, json};
use toolcrib_core::similar_names::similar_names;
use toolcrib_core::tool_selection::LOAD_TOOL_GROUP;
use toolcrib_core::{
    CallCtx, Catalog, Effect, Entry, Example, Risk, Tier, Tool, ToolError, ToolName, ToolOutput,
    ToolSelection, ToolSpec, Trust, View, defaults, remote_name, schema,
};

use super::{GROUP, InjectionResult, render_result, shutting_down};

/// Maximum number of groups listed for an unknown name; there can be as many groups as servers.
const MOST_GROUPS: usize = 50;

/// The tool.
pub(super) struct LoadToolGroup {
    pub(super) catalog: Weak<dyn Catalog>,
    pub(super) exposure: Arc<dyn ToolSelection>,
}

#[derive(Debug, Deserialize, JsonSchema)]
pub(super) struct Args {
    /// Name of the group, from the list of tool groups.
    group_name: String,
}

impl Tool for LoadToolGroup {
    type Args = Args;

    const ASSESSES: bool = false;

    fn spec(&self) -> ToolSpec {
        // The name is valid (tested); the fallback only avoids a panic.
        let name = ToolName::local(LOAD_TOOL_GROUP)
            .unwrap_or_else(|_| remote_name("builtin", LOAD_TOOL_GROUP));
        let mut spec = ToolSpec::new(
            name,
            "Add all tools of a group to your list. Take it when you need several of them; for a single one, find_tools costs less.",
            schema::for_type::<Args>(),
        );
        spec.parameter_aliases = vec![("group".to_owned(), "group_name".to_owned())];
        spec.title = "Load a group of tools".to_owned();
        spec.tier = Tier::Innate;
        spec.risk = Risk::Safe;
        spec.effect = Effect::Read;
        spec.group = Some(GROUP.to_owned());
        spec.timeout = defaults::TIMEOUT_SIMPLE;
        spec.trust = Trust::Tool;
        spec.examples = vec![Example {
            need: "Tidy up this repository".to_owned(),
            args: json!({"group_name": "files"}),
        }];
        spec
    }

    async fn call(&self, ctx: &CallCtx, args: Args) -> Result<ToolOutput, ToolError> {
        let Some(catalog) = self.catalog.upgrade() else { return Err(shutting_down()) };
        let groups = groups(&catalog.view(&ctx.view));
        let wanted = args.group_name.trim();
        let Some(entries) = groups.get(wanted) else { return Err(unknown(wanted, &groups)) };
        let all = entries.len();
        let offer = InjectionResult::of(&*self.exposure, ctx, entries.iter().cloned(), all);
        let mut told = render_result::render_injection(&offer);
        told.insert("group".to_owned(), json!(wanted));
        let next = match (offer.injected.is_empty(), offer.left_out.is_empty()) {
            (false, true) => render_result::injection_status(&offer),
            (_, false) => {
                "Not all of them have room in your list. Ask find_tools for the one that you need."
            }
            (true, true) => "All tools of this group are in your list already: call them.",
        };
        told.insert("next".to_owned(), next.into());
        Ok(ToolOutput::structured(Value::Object(told)))
    }
}

/// Returns the groups of a view with the tools that can be added; excludes innate and broken tools.
fn groups(view: &View) -> BTreeMap<String, Vec<Entry>> {
    let mut groups: BTreeMap<String, Vec<Entry>> = BTreeMap::new();
    for entry in view.tools.iter().filter(|entry| super::registry_index::is_callable(entry)) {
        if let Some(group) = &entry.spec().group {
            groups.entry(group.clone()).or_default().push(entry.clone());
        }
    }
    groups
}

fn unknown(wanted: &str, groups: &BTreeMap<String, Vec<Entry>>) -> ToolError {
    let wanted: String = wanted.chars().take(100).collect();
    let near = similar_names(&wanted, groups.keys().map(String::as_str));
    let near =
        if near.is_empty() { String::new() } else { format!("Did you mean {}? ", near.join(", ")) };
    let names: Vec<&str> = groups.keys().map(String::as_str).take(MOST_GROUPS).collect();
    let list = match (names.len(), groups.len()) {
        (0, _) => "There are no groups; ask find_tools for what you need.".to_owned(),
        (n, all) if n < all => format!("The first of {all} groups are: {}.", names.join(", ")),
        _ => format!("The groups are: {}.", names.join(", ")),
    };
    ToolError::validation(format!("There is no tool group \"{wanted}\". {near}{list}"))
}
