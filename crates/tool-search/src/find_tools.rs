//! The tool `find_tools`: a model describes a need, and the best tools for it are added to its next
//! requests.
//!
//! The registry defines which tools exist and which the caller may see
//! ([`toolcrib_core::Catalog`]). [`ToolSelection`] records the tools that the requests of a
//! conversation declare.

mod load_tool_group;
mod registry_index;
mod render_result;
mod rerank_by_model;
mod tool_finder;

use std::sync::{Arc, Weak};

use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::json;
use toolcrib_core::entry::FixedSource;
use toolcrib_core::tool_selection::FIND_TOOLS;
use toolcrib_core::{
    CallCtx, Catalog, Effect, Entry, Example, Risk, Tier, Tool, ToolError, ToolName, ToolOutput,
    ToolSelection, ToolSpec, Trust, TypedHandler, defaults, remote_name, schema,
};

pub use registry_index::ToolSearchResult;
pub use tool_finder::{ModelChoice, ToolFinder};

/// Id of the source of these tools.
pub const SOURCE: &str = "discover";
/// Group of these tools.
const GROUP: &str = "self";
/// Default and maximum number of tools per search.
const LIMIT: usize = 5;
const MOST: usize = 10;

/// Creates the source with `find_tools` and `load_tool_group` for the tools of this catalog. The
/// reference is weak, because the catalog owns the tools.
#[must_use]
pub fn source(
    catalog: Weak<dyn Catalog>,
    finder: Arc<ToolFinder>,
    exposure: Arc<dyn ToolSelection>,
) -> FixedSource {
    let group =
        load_tool_group::LoadToolGroup { catalog: catalog.clone(), exposure: exposure.clone() };
    let find = FindTools { catalog, exposure, finder };
    let tools =
        vec![Entry::Local(TypedHandler::handler(find)), Entry::Local(TypedHandler::handler(group))];
    FixedSource::new(SOURCE, tools)
}

/// The tool.
struct FindTools {
    catalog: Weak<dyn Catalog>,
    exposure: Arc<dyn ToolSelection>,
    finder: Arc<ToolFinder>,
}

#[derive(Debug, Deserialize, JsonSchema)]
struct Args {
    /// What you need to do, in plain words: "send an e-mail with an attachment". Several needs can
    /// be several sentences. Or the exact name of a tool.
    query: String,
    /// How many tools to add at most. Default: 5.
    #[schemars(range(min = 1, max = 10))]
    limit: Option<usize>,
}

fn spec() -> ToolSpec {
    // The name is valid (tested); the fallback only avoids a panic.
    let name = ToolName::local(FIND_TOOLS).unwrap_or_else(|_| remote_name("builtin", FIND_TOOLS));
    let mut spec = ToolSpec::new(
        name,
        "Find tools that are not in your list. Say what you need; the best tools are added and you can call them in this same turn. Try this before you say that something cannot be done.",
        schema::for_type::<Args>(),
    );
    spec.title = "Find tools".to_owned();
    spec.tier = Tier::Innate;
    spec.risk = Risk::Safe;
    spec.effect = Effect::Read;
    spec.group = Some(GROUP.to_owned());
    spec.timeout = defaults::TIMEOUT_FILE;
    // Names and summaries belong to tools that the caller may see and call anyway.
    spec.trust = Trust::Tool;
    let example = |need: &str, query: &str| Example {
        need: need.to_owned(),
        args: json!({ "query": query }),
    };
    spec.examples = vec![
        example("What is the weather in Oslo?", "weather forecast for a city"),
        example(
            "Book a table and tell my team",
            "book a restaurant table. Send a message to a channel.",
        ),
    ];
    spec
}

impl Tool for FindTools {
    type Args = Args;

    const ASSESSES: bool = false;

    fn spec(&self) -> ToolSpec {
        spec()
    }

    async fn call(&self, ctx: &CallCtx, args: Args) -> Result<ToolOutput, ToolError> {
        if args.query.trim().is_empty() {
            return Err(ToolError::validation(
                "The query is empty. Say in query what you need to do, in a few words.",
            ));
        }
        let Some(catalog) = self.catalog.upgrade() else { return Err(shutting_down()) };
        let limit = args.limit.unwrap_or(LIMIT).clamp(1, MOST);
        let view = catalog.view(&ctx.view);
        let sought = self.finder.find(catalog, view, &args.query, limit).await?;
        let entries = sought.usable.iter().map(|(entry, _)| entry.clone());
        let offer = InjectionResult::of(&*self.exposure, ctx, entries, limit);
        Ok(ToolOutput::structured(render_result::render(&args.query, &sought, &offer)))
    }
}

/// The result of adding tools to a conversation's requests.
struct InjectionResult {
    /// Already declared.
    carried: Vec<Entry>,
    /// Declared from the next request on.
    injected: Vec<Entry>,
    /// Not added: no room in the token budget.
    left_out: Vec<Entry>,
    /// Whether the next requests declare an injected tool.
    declared: bool,
}

impl InjectionResult {
    /// Injects at most `limit` tools that are not declared yet.
    fn of(
        exposure: &dyn ToolSelection,
        ctx: &CallCtx,
        entries: impl Iterator<Item = Entry>,
        limit: usize,
    ) -> Self {
        let (carried, new): (Vec<Entry>, Vec<Entry>) =
            entries.partition(|entry| exposure.contains(ctx, &entry.spec().name));
        let new: Vec<Entry> = new.into_iter().take(limit).collect();
        let names = if new.is_empty() { Vec::new() } else { exposure.inject(ctx, &new) };
        let (injected, left_out) =
            new.into_iter().partition(|entry| names.contains(&entry.spec().name));
        Self { carried, injected, left_out, declared: exposure.declares_tools(ctx) }
    }
}

fn shutting_down() -> ToolError {
    ToolError::execution("The program is shutting down, so nothing was done. Try again later.")
}

#[cfg(test)]
mod tests;
