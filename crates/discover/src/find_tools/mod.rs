//! The tool `find_tools`: a model says what it needs and gets the tools that do it, from its next request on (SPEC 5.1, seed 004).
//!
//! The registry says which tools there are and what the caller may see ([`toolcrib_core::Catalog`]). What a conversation carries is
//! remembered by whoever builds its requests, behind [`Exposure`].

mod answer;
mod known;

use std::sync::{Arc, Mutex, PoisonError, Weak};

use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::json;
use toolcrib_core::entry::FixedSource;
use toolcrib_core::{
    CallCtx, Catalog, Effect, Entry, Example, Risk, Tier, Tool, ToolError, ToolName, ToolOutput,
    ToolSpec, Trust, Typed, ViewRequest, defaults, remote_name, schema,
};

use crate::model::Model;
use known::{Known, Sought};

/// Id of the source of `find_tools`.
pub const SOURCE: &str = "discover";
/// Name of the tool.
const NAME: &str = "find_tools";
/// Tools that are offered when the model does not say how many, and at most (SPEC 5.1).
const LIMIT: usize = 5;
const MOST: usize = 10;

/// What the requests of a conversation carry. The agent loop implements it; a caller without a conversation gives [`NoExposure`].
pub trait Exposure: Send + Sync {
    /// What decides which tools the caller of this call sees: the very request that its batch was sent with.
    fn view(&self, ctx: &CallCtx) -> Arc<ViewRequest>;

    /// Whether the caller's requests carry this tool already.
    fn carries(&self, ctx: &CallCtx, tool: &ToolName) -> bool;

    /// Adds tools, best first, to what the next requests of the conversation carry, and makes room in the token budget by letting go of
    /// those used longest ago. Returns the names that are in; a tool that is larger than the whole budget is not.
    fn inject(&self, ctx: &CallCtx, tools: &[Entry]) -> Vec<ToolName>;
}

/// For callers whose requests carry nothing: every tool that is found can be called, by its name.
#[derive(Debug, Clone, Copy, Default)]
pub struct NoExposure;

impl Exposure for NoExposure {
    fn view(&self, _: &CallCtx) -> Arc<ViewRequest> {
        Arc::default()
    }

    fn carries(&self, _: &CallCtx, _: &ToolName) -> bool {
        false
    }

    fn inject(&self, _: &CallCtx, tools: &[Entry]) -> Vec<ToolName> {
        tools.iter().map(|entry| entry.spec().name.clone()).collect()
    }
}

/// The source with `find_tools`, over the tools of this catalog. The catalog is looked up and not held: it holds the tools.
#[must_use]
pub fn source(
    catalog: Weak<dyn Catalog>,
    model: Arc<Model>,
    exposure: Arc<dyn Exposure>,
) -> FixedSource {
    let known = Arc::new(Mutex::new(Known::new(model)));
    let tool = FindTools { catalog, exposure, known };
    FixedSource::new(SOURCE, vec![Entry::Local(Typed::handler(tool))])
}

/// The tool.
struct FindTools {
    catalog: Weak<dyn Catalog>,
    exposure: Arc<dyn Exposure>,
    known: Arc<Mutex<Known>>,
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
    let name = ToolName::local(NAME).unwrap_or_else(|_| remote_name("builtin", NAME));
    let mut spec = ToolSpec::new(
        name,
        "Find tools that are not in your list. Say what you need; the best tools are added and you can call them in this same turn. Try this before you say that something cannot be done.",
        schema::of::<Args>(),
    );
    spec.tier = Tier::Innate;
    spec.risk = Risk::Safe;
    spec.effect = Effect::Read;
    spec.group = Some("self".to_owned());
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
        let view = catalog.view(&self.exposure.view(ctx));
        let (known, query) = (Arc::clone(&self.known), args.query.clone());
        let seen = Arc::clone(&view);
        // The first search indexes every tool, which may take half a second.
        let sought = tokio::task::spawn_blocking(move || {
            let mut known = known.lock().unwrap_or_else(PoisonError::into_inner);
            known.sync(&*catalog, &seen);
            known.seek(&query, limit, &seen)
        });
        let sought: Sought = match sought.await {
            Ok(sought) => sought,
            Err(error) if error.is_panic() => std::panic::resume_unwind(error.into_panic()),
            Err(_) => return Err(shutting_down()),
        };
        let (carried, new): (Vec<Entry>, Vec<Entry>) = sought
            .usable
            .iter()
            .cloned()
            .partition(|entry| self.exposure.carries(ctx, &entry.spec().name));
        let new: Vec<Entry> = new.into_iter().take(limit).collect();
        let injected = if new.is_empty() { Vec::new() } else { self.exposure.inject(ctx, &new) };
        Ok(ToolOutput::structured(answer::of(&args.query, &sought, &carried, &new, &injected)))
    }
}

fn shutting_down() -> ToolError {
    ToolError::execution("The program is shutting down, so nothing was searched. Try again later.")
}

#[cfg(test)]
mod tests;
