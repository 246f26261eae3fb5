//! The tool `find_tools`: a model says what it needs and gets the tools that do it, from its next request on (SPEC 5.1, seed 004).
//!
//! The registry says which tools there are and what the caller may see ([`toolcrib_core::Catalog`]). What a conversation carries is
//! remembered by whoever builds its requests, behind [`Exposure`].

mod answer;
mod finder;
mod group;
mod known;
mod meaning;

use std::sync::{Arc, Weak};

use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::json;
use toolcrib_core::entry::FixedSource;
use toolcrib_core::exposure::FIND_TOOLS;
use toolcrib_core::{
    CallCtx, Catalog, Effect, Entry, Example, Exposure, Risk, Tier, Tool, ToolError, ToolName,
    ToolOutput, ToolSpec, Trust, Typed, defaults, remote_name, schema,
};

pub use finder::{Finder, ModelChoice};
pub use known::Sought;

/// Id of the source of these tools.
pub const SOURCE: &str = "discover";
/// Group that they are listed with.
const GROUP: &str = "self";
/// Tools that are offered when the model does not say how many, and at most (SPEC 5.1).
const LIMIT: usize = 5;
const MOST: usize = 10;

/// The source with `find_tools` and `load_tool_group`, over the tools of this catalog. The catalog is looked up and not held: it holds the
/// tools.
#[must_use]
pub fn source(
    catalog: Weak<dyn Catalog>,
    finder: Arc<Finder>,
    exposure: Arc<dyn Exposure>,
) -> FixedSource {
    let group = group::LoadToolGroup { catalog: catalog.clone(), exposure: exposure.clone() };
    let find = FindTools { catalog, exposure, finder };
    let tools = vec![Entry::Local(Typed::handler(find)), Entry::Local(Typed::handler(group))];
    FixedSource::new(SOURCE, tools)
}

/// The tool.
struct FindTools {
    catalog: Weak<dyn Catalog>,
    exposure: Arc<dyn Exposure>,
    finder: Arc<Finder>,
}

#[derive(Debug, Deserialize, JsonSchema)]
struct Args {
    /// What you need to do, in plain words: "send an e-mail with an attachment". Several needs can be several sentences. Or the exact name of a tool.
    query: String,
    /// How many tools to add at most. Default: 5.
    #[schemars(range(min = 1, max = 10))]
    limit: Option<usize>,
}

fn spec() -> ToolSpec {
    // The name is valid (tested); the other arm only keeps this total.
    let name = ToolName::local(FIND_TOOLS).unwrap_or_else(|_| remote_name("builtin", FIND_TOOLS));
    let mut spec = ToolSpec::new(
        name,
        "Find tools that are not in your list. Say what you need; the best tools are added and you can call them in this same turn. Try this before you say that something cannot be done.",
        schema::of::<Args>(),
    );
    spec.tier = Tier::Innate;
    spec.risk = Risk::Safe;
    spec.effect = Effect::Read;
    spec.group = Some(GROUP.to_owned());
    spec.timeout = defaults::TIMEOUT_FILE;
    // Names and summaries are those of tools that the caller may see and call anyway.
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
        let offer = Offer::of(&*self.exposure, ctx, entries, limit);
        Ok(ToolOutput::structured(answer::of(&args.query, &sought, &offer)))
    }
}

/// What becomes of tools that are to be in a conversation's requests.
struct Offer {
    /// In them already.
    carried: Vec<Entry>,
    /// In them from the next on.
    injected: Vec<Entry>,
    /// Without room in the budget.
    left_out: Vec<Entry>,
    /// Whether the next requests say how an injected tool is called.
    declared: bool,
}

impl Offer {
    /// Injects what is not carried yet, at most `limit` tools.
    fn of(
        exposure: &dyn Exposure,
        ctx: &CallCtx,
        entries: impl Iterator<Item = Entry>,
        limit: usize,
    ) -> Self {
        let (carried, new): (Vec<Entry>, Vec<Entry>) =
            entries.partition(|entry| exposure.carries(ctx, &entry.spec().name));
        let new: Vec<Entry> = new.into_iter().take(limit).collect();
        let names = if new.is_empty() { Vec::new() } else { exposure.inject(ctx, &new) };
        let (injected, left_out) =
            new.into_iter().partition(|entry| names.contains(&entry.spec().name));
        Self { carried, injected, left_out, declared: exposure.declares(ctx) }
    }
}

fn shutting_down() -> ToolError {
    ToolError::execution("The program is shutting down, so nothing was done. Try again later.")
}

#[cfg(test)]
mod tests;
