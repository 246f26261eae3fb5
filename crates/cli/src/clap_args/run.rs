//! `toolcrib run|chat|resume|exec`.

use clap::Args;
use toolcrib_core::{CallId, ConversationId};
use toolcrib_providers::Format;

use super::shared::{ModelArgs, WorkspaceArgs};
use crate::config::OnAsk;

#[derive(Debug, Args)]
pub(crate) struct Run {
    /// The task; `-`, or no task, reads standard input. `/NAME` at the start activates a skill.
    pub(crate) task: Option<String>,
    #[command(flatten)]
    pub(crate) model_args: ModelArgs,
    #[command(flatten)]
    pub(crate) workspace_args: WorkspaceArgs,
    /// Conversation to continue.
    #[arg(long, value_name = "ID")]
    pub(crate) conversation: Option<ConversationId>,
    /// What to do with a call that needs approval: deny, fail (the run waits, see `toolcrib
    /// resume`), or wait:DURATION for a decision in another terminal. Default: ask at the terminal;
    /// without a terminal, deny.
    #[arg(long, value_name = "WHAT")]
    pub(crate) on_ask: Option<OnAsk>,
    /// Run in the daemon, in its workspace. TOOLCRIB_DAEMON sets the URL of another daemon.
    #[arg(long, conflicts_with = "on_ask")]
    pub(crate) daemon: bool,
}

#[derive(Debug, Args)]
pub(crate) struct Chat {
    #[command(flatten)]
    pub(crate) model_args: ModelArgs,
    #[command(flatten)]
    pub(crate) workspace_args: WorkspaceArgs,
    /// Conversation to continue.
    #[arg(long, value_name = "ID")]
    pub(crate) conversation: Option<ConversationId>,
    /// Continue the newest conversation.
    #[arg(long = "continue", conflicts_with = "conversation")]
    pub(crate) newest: bool,
    /// What to do with a call that needs approval; see `toolcrib run --help`. At a terminal,
    /// wait:DURATION asks here too, for at most that time.
    #[arg(long, value_name = "WHAT")]
    pub(crate) on_ask: Option<OnAsk>,
}

#[derive(Debug, Args)]
pub(crate) struct Resume {
    /// Id of the run; a unique prefix is enough. Optional if only one run waits.
    pub(crate) run: Option<String>,
    /// Only list runs that wait, and runs that a stopped process left unfinished.
    #[arg(long)]
    pub(crate) list: bool,
    /// Id of the call to decide if several wait; `--list` shows them.
    #[arg(long, value_name = "ID")]
    pub(crate) call: Option<CallId>,
    /// Answer to the model's question.
    #[arg(long, value_name = "TEXT", conflicts_with = "skip")]
    pub(crate) answer: Option<String>,
    /// Skip the question or the call.
    #[arg(long, conflicts_with_all = ["approve", "deny", "args"])]
    pub(crate) skip: bool,
    /// Approve the call.
    #[arg(long, conflicts_with_all = ["deny", "args"])]
    pub(crate) approve: bool,
    /// Deny the call; the text is for the model.
    #[arg(long, value_name = "NOTE", num_args = 0..=1, default_missing_value = "")]
    pub(crate) deny: Option<String>,
    /// Approve the call with these arguments, as JSON.
    #[arg(long, value_name = "JSON", conflicts_with = "deny")]
    pub(crate) args: Option<String>,
    /// What to do with further calls that need approval; see `toolcrib run --help`.
    #[arg(long, value_name = "WHAT")]
    pub(crate) on_ask: Option<OnAsk>,
    /// Resume in the daemon, and print its events; decide with `toolcrib approve`. TOOLCRIB_DAEMON
    /// sets the URL of another daemon.
    #[arg(long, requires = "run", conflicts_with_all = ["list", "call", "answer", "skip", "approve", "deny", "args", "on_ask"])]
    pub(crate) daemon: bool,
}

#[derive(Debug, Args)]
pub(crate) struct Exec {
    /// Format of the response: openai-chat, openai-responses, anthropic, gemini or text. Default:
    /// detected from the response.
    #[arg(long)]
    pub(crate) format: Option<Format>,
    #[command(flatten)]
    pub(crate) workspace_args: WorkspaceArgs,
    /// Print the verdict of every stage to standard error (with --json, as JSON lines).
    #[arg(long)]
    pub(crate) explain: bool,
    /// What to do with a call that needs approval: deny, fail (it waits, see `toolcrib approve`),
    /// or wait:DURATION for a decision in another terminal. Default: ask at the terminal; without a
    /// terminal, deny.
    #[arg(long, value_name = "WHAT")]
    pub(crate) on_ask: Option<OnAsk>,
    /// Print the assistant's own message before the results, which a caller that reads a stream
    /// must append too.
    #[arg(long)]
    pub(crate) with_assistant: bool,
    /// Idempotency key, 1 to 200 characters: a repeated request with the same key runs no call
    /// twice and returns the same messages. Different calls under the same key are refused (exit
    /// code 2).
    #[arg(long, value_name = "KEY")]
    pub(crate) idempotency_key: Option<String>,
    /// Run in the daemon, in its workspace. TOOLCRIB_DAEMON sets the URL of another daemon.
    #[arg(long, conflicts_with_all = ["on_ask", "explain"])]
    pub(crate) daemon: bool,
}
