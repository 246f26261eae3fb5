//! `introspect`: shows an agent's own state: its environment, usage, tools and calls.

use std::collections::BTreeMap;
use std::sync::Arc;

use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::{Value, json};
use toolcrib_core::{
    CallCtx, CallFilter, Clock, Context, Reach, RunId, Status, StoreError, Tier, Tool, ToolError,
    ToolOutput, ToolSpec, Trust, defaults,
};

use super::{base_spec, examples};
use crate::introspection::{IntrospectionStores, call_summary, iso, store_error, truncate_chars};

/// Calls in the list.
const CALLS: usize = 10;
/// Questions in the list.
const QUESTIONS: usize = 5;
/// Conversations in the list.
const CONVERSATIONS: usize = 5;
/// Tool names listed per tier; the count covers all.
const NAMES: usize = 50;
/// Characters of a topic or a question.
const TEXT_CHARS: usize = 200;

/// Handler of `introspect`.
pub(crate) struct Introspect {
    pub(crate) records: IntrospectionStores,
    pub(crate) clock: Arc<dyn Clock>,
}

#[derive(Debug, Deserialize, JsonSchema)]
pub(crate) struct Args {}

pub(crate) fn spec() -> ToolSpec {
    let mut spec = base_spec::<Args>(
        "introspect",
        "Look at own state",
        "Look at your own state: agent, conversation, what this run has used and how full your context is, which tools there are, your last calls, questions that wait for a person, and recent conversations.",
    );
    spec.tier = Tier::Innate;
    spec.group = Some("self".to_owned());
    spec.timeout = defaults::TIMEOUT_SIMPLE;
    // The result mentions other conversations of the owner, which are private.
    spec.reach = Reach { private_read: true, ..Reach::default() };
    // Topics and questions are text of the owner's own conversations.
    spec.trust = Trust::Workspace;
    spec.examples = examples([("What have you been doing, and how much room is left?", json!({}))]);
    spec
}

impl Tool for Introspect {
    type Args = Args;

    const ASSESSES: bool = false;

    fn spec(&self) -> ToolSpec {
        spec()
    }

    async fn call(&self, ctx: &CallCtx, _: Args) -> Result<ToolOutput, ToolError> {
        let state = self.state(ctx).await.map_err(|error| store_error(&error))?;
        Ok(ToolOutput::structured(state))
    }
}

impl Introspect {
    async fn state(&self, ctx: &CallCtx) -> Result<Value, StoreError> {
        let context = &*ctx.context;
        let run = match ctx.run {
            Some(run) => self.run(run).await?,
            None => Value::Null,
        };
        Ok(json!({
            "now": iso(self.clock.now_ms()),
            "agent": some(&context.agent),
            "conversation": some(&context.conversation).map(|id| json!({
                "id": id,
                "topic": some(&context.topic).map(|topic| truncate_chars(topic, TEXT_CHARS).0),
            })),
            "run": run,
            "tools": self.tools(),
            "recent_activity": self.activity(ctx).await?,
            "open_questions": self.questions(context).await?,
            "recent_conversations": self.conversations(context).await?,
        }))
    }

    /// Returns the usage of the run. Values that were never reported are null, not 0.
    async fn run(&self, run: RunId) -> Result<Value, StoreError> {
        let used = (self.records.run_usage)(run);
        let answer = self.records.usage.last_usage(run).await?;
        let input = answer.as_ref().and_then(|row| row.input);
        let window = answer.as_ref().and_then(|row| row.window);
        let load = input.zip(window.filter(|window| *window > 0));
        Ok(json!({
            "id": run,
            "calls": used.map(|used| used.calls),
            "tokens": used.map(|used| used.tokens),
            "seconds": used.map(|used| (used.time.as_secs_f64() * 10.0).round() / 10.0),
            "context": {
                "input_tokens": input,
                "window_tokens": window,
                "percent_used": load.map(|(input, window)| input.saturating_mul(100) / window),
            },
        }))
    }

    /// Returns the enabled and ready tools, by tier.
    fn tools(&self) -> Value {
        let Some(catalog) = self.records.catalog.upgrade() else { return Value::Null };
        let infos = catalog.infos();
        let usable = infos.iter().filter(|info| {
            info.enabled && matches!(info.status, Status::System | Status::Connected)
        });
        let mut tiers: BTreeMap<&'static str, Vec<&str>> = BTreeMap::new();
        for info in usable {
            tiers.entry(tier(info.tier)).or_default().push(info.id.as_str());
        }
        let shown = tiers.into_iter().map(|(tier, names)| {
            let listed: Vec<&str> = names.iter().take(NAMES).copied().collect();
            (tier.to_owned(), json!({"count": names.len(), "names": listed}))
        });
        Value::Object(shown.collect())
    }

    /// Returns the newest calls, of this conversation if there is one.
    async fn activity(&self, ctx: &CallCtx) -> Result<Vec<Value>, StoreError> {
        let filter = CallFilter {
            owner: ctx.context.owner.clone(),
            conversation: some(&ctx.context.conversation).map(str::to_owned),
            limit: CALLS + 1,
            ..CallFilter::default()
        };
        let rows = self.records.history.calls(filter).await?;
        let others = rows.iter().filter(|row| row.facts.call != ctx.call).take(CALLS);
        Ok(others.map(|row| Value::Object(call_summary(row))).collect())
    }

    async fn questions(&self, context: &Context) -> Result<Vec<Value>, StoreError> {
        let pending = self.records.approvals.pending().await?;
        let own = pending.iter().filter(|request| request.context.owner == context.owner);
        let shown = own.take(QUESTIONS).map(|request| {
            let (kind, text) = match &request.question {
                Some(question) => ("question", &question.question),
                None => ("approval", &request.summary),
            };
            json!({
                "kind": kind,
                "about": truncate_chars(text, TEXT_CHARS).0,
                "tool": request.tool,
                "call": request.call,
                "since": iso(request.requested_at),
            })
        });
        Ok(shown.collect())
    }

    async fn conversations(&self, context: &Context) -> Result<Vec<Value>, StoreError> {
        let conversations =
            self.records.conversations.conversations(&context.owner, CONVERSATIONS + 1).await?;
        let others = conversations.iter().filter(|c| c.id.to_string() != context.conversation);
        let shown = others.take(CONVERSATIONS).map(|conversation| {
            json!({
                "id": conversation.id,
                "topic": some(&conversation.title).map(|title| truncate_chars(title, TEXT_CHARS).0),
                "agent": some(&conversation.agent),
                "last": iso(conversation.updated_at),
            })
        });
        Ok(shown.collect())
    }
}

/// Returns `None` for an empty text.
fn some(text: &str) -> Option<&str> {
    Some(text).filter(|text| !text.is_empty())
}

fn tier(tier: Tier) -> &'static str {
    match tier {
        Tier::Innate => "innate",
        Tier::FirstParty => "first_party",
        Tier::Interface => "interface",
    }
}
