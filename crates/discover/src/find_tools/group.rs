//! The tool `load_tool_group`: all tools of a group at once, from the model's next request on (SPEC 2.8, FEAT-040).

use std::collections::BTreeMap;
use std::sync::{Arc, Weak};

use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::{Value, json};
use toolcrib_core::exposure::LOAD_TOOL_GROUP;
use toolcrib_core::near::nearest;
use toolcrib_core::{
    CallCtx, Catalog, Effect, Entry, Example, Exposure, Risk, Tier, Tool, ToolError, ToolName,
    ToolOutput, ToolSpec, Trust, View, defaults, remote_name, schema,
};

use super::{GROUP, Offer, answer, shutting_down};

/// Groups that are listed where a name is unknown; there may be as many as servers.
const MOST_GROUPS: usize = 50;

/// The tool.
pub(super) struct LoadToolGroup {
    pub(super) catalog: Weak<dyn Catalog>,
    pub(super) exposure: Arc<dyn Exposure>,
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
        // The name is valid (tested); the other arm only keeps this total.
        let name = ToolName::local(LOAD_TOOL_GROUP)
            .unwrap_or_else(|_| remote_name("builtin", LOAD_TOOL_GROUP));
        let mut spec = ToolSpec::new(
            name,
            "Add all tools of a group to your list. Take it when you need several of them; for a single one, find_tools costs less.",
            schema::of::<Args>(),
        );
        spec.parameter_aliases = vec![("group".to_owned(), "group_name".to_owned())];
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
        let offer = Offer::of(&*self.exposure, ctx, entries.iter().cloned(), all);
        let mut told = answer::offered(&offer);
        told.insert("group".to_owned(), json!(wanted));
        let next = match (offer.injected.is_empty(), offer.left_out.is_empty()) {
            (false, true) => answer::said(&offer),
            (_, false) => {
                "Not all of them have room in your list. Ask find_tools for the one that you need."
            }
            (true, true) => "All tools of this group are in your list already: call them.",
        };
        told.insert("next".to_owned(), next.into());
        Ok(ToolOutput::structured(Value::Object(told)))
    }
}

/// The groups of a view with the tools that can be added: what is always in the list, and what is broken, is in none.
fn groups(view: &View) -> BTreeMap<String, Vec<Entry>> {
    let mut groups: BTreeMap<String, Vec<Entry>> = BTreeMap::new();
    for entry in view.tools.iter().filter(|entry| super::known::can_be_offered(entry)) {
        if let Some(group) = &entry.spec().group {
            groups.entry(group.clone()).or_default().push(entry.clone());
        }
    }
    groups
}

fn unknown(wanted: &str, groups: &BTreeMap<String, Vec<Entry>>) -> ToolError {
    let wanted: String = wanted.chars().take(100).collect();
    let near = nearest(&wanted, groups.keys().map(String::as_str));
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
