//! The agent, the conversation and the topic of calls that a person or a program makes directly.

use std::sync::Arc;

use toolcrib_agent::library::expand_tool_list;
use toolcrib_app::runner::tool_names;
use toolcrib_core::{Batch, Context, ConversationId, ViewRequest};

use crate::context::OpContext;
use crate::error::{OpError, Resource};
use crate::tools::find_agent;

/// Maximum number of characters of a topic.
pub const MAX_TOPIC_CHARS: usize = 200;
/// Maximum number of an owner's runs that are searched for those of a conversation.
const MAX_SCANNED_RUNS: usize = 1_000;

/// The agent, conversation and topic of calls.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct CallerContextRequest {
    /// Name of the agent that makes the calls: its tool list limits them, and rules for it apply.
    pub agent: Option<String>,
    /// A conversation of the caller, whose grants, shell and stored results apply.
    pub conversation: Option<ConversationId>,
    /// Purpose of the calls, in a few words, for history and audit.
    pub topic: Option<String>,
}

/// Adds the agent, the conversation and the topic that the caller names to the batch.
///
/// # Errors
/// [`OpError::NotFound`] for an unknown agent, and for a conversation that the owner does not have
/// or that a caller limited to some tools did not lead itself. [`OpError::Invalid`] for a topic of
/// more than 200 characters. [`OpError::Store`].
pub async fn with_caller_context(
    ctx: &OpContext<'_>,
    batch: Batch,
    request: CallerContextRequest,
) -> Result<Batch, OpError> {
    let CallerContextRequest { agent, conversation, topic } = request;
    let mut context = Context::clone(&batch.context);
    if let Some(topic) = topic {
        if topic.chars().count() > MAX_TOPIC_CHARS {
            return Err(OpError::Invalid(format!(
                "the topic has more than {MAX_TOPIC_CHARS} characters; say it in a few words"
            )));
        }
        context.topic = topic;
    }
    if let Some(id) = conversation {
        check_conversation(ctx, &batch, id).await?;
        context.conversation = id.to_string();
    }
    let mut view = Arc::clone(&batch.view);
    if let Some(name) = agent {
        let agent = find_agent(ctx, &name)?;
        context.agent.clone_from(&agent.name);
        let limited = ViewRequest {
            agent: both_lists(ctx, view.agent.as_deref(), agent.tools.as_deref()),
            ..ViewRequest::clone(&view)
        };
        view = Arc::new(limited);
    }
    Ok(Batch { context: Arc::new(context), view, ..batch })
}

/// Checks a conversation. A conversation of another owner is reported as not found. A caller that
/// is limited to some tools may use only its own conversations, because others contain results of
/// other tools.
async fn check_conversation(
    ctx: &OpContext<'_>,
    batch: &Batch,
    id: ConversationId,
) -> Result<(), OpError> {
    let runs = &ctx.store.stores.runs;
    let missing = || OpError::not_found(Resource::Conversation, id);
    let found = runs.conversation(id).await?.filter(|found| found.owner == ctx.store.owner);
    found.ok_or_else(missing)?;
    if batch.view.agent.is_none() {
        return Ok(());
    }
    let all = runs.runs(ctx.store.owner, None, MAX_SCANNED_RUNS).await?;
    let mut of_it = all.iter().filter(|run| run.conversation == id).peekable();
    let is_own =
        of_it.peek().is_some() && of_it.all(|run| run.context.device == batch.context.device);
    if is_own { Ok(()) } else { Err(missing()) }
}

/// Returns the tools that both lists contain; `None` if neither limits the tools.
fn both_lists(
    ctx: &OpContext<'_>,
    caller: Option<&[String]>,
    agent: Option<&[String]>,
) -> Option<Vec<String>> {
    let (caller, agent) = match (caller, agent) {
        (None, only) | (only, None) => return only.map(<[String]>::to_vec),
        (Some(caller), Some(agent)) => (caller, agent),
    };
    let names = tool_names(ctx.toolcrib);
    let of_caller = expand_tool_list(Some(caller), &names).tools;
    let mut both = expand_tool_list(Some(agent), &names).tools;
    both.retain(|tool| of_caller.contains(tool));
    Some(both)
}
