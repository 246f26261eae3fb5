//! `toolcrib run|chat|resume|exec`.

use clap::Args;
use toolcrib_core::{CallId, ConversationId};
use toolcrib_providers::Format;

use super::shared::{ModelArgs, WorkspaceArgs};
use crate::config::OnAsk;

#[derive(Debug, Args)]
pub(crate) struct Run {
    /// The task; `-` or nothing reads it from standard input. `/NAME` at its start activates a
    /// skill.
    pub(crate) task: Option<String>,
    #[command(flatten)]
    pub(crate) model_args: ModelArgs,
    #[command(flatten)]
    pub(crate) workspace_args: WorkspaceArgs,
    /// Go on with a conversation.
    #[arg(long, value_name = "ID")]
    pub(crate) conversation: Option<ConversationId>,
    /// What happens to a call that needs approval: deny it, fail (the run waits, see `toolcrib
    /// resume`), or wait:DURATION for a decision of another terminal. Default: ask at the terminal;
    /// without one, deny.
    #[arg(long, value_name = "WHAT")]
    pub(crate) on_ask: Option<OnAsk>,
    /// Let the daemon do it, in its workspace; TOOLCRIB_DAEMON names one elsewhere.
    #[arg(long, conflicts_with = "on_ask")]
    pub(crate) daemon: bool,
}

#[derive(Debug, Args)]
pub(crate) struct Chat {
    #[command(flatten)]
    pub(crate) model_args: ModelArgs,
    #[command(flatten)]
    pub(crate) workspace_args: WorkspaceArgs,
    /// Go on with a conversation.
    #[arg(long, value_name = "ID")]
    pub(crate) conversation: Option<ConversationId>,
    /// Go on with the newest conversation.
    #[arg(long = "continue", conflicts_with = "conversation")]
    pub(crate) newest: bool,
    /// What happens to a call that needs approval; see `toolcrib run --help`. At a terminal
    /// wait:DURATION asks here too, and waits no longer.
    #[arg(long, value_name = "WHAT")]
    pub(crate) on_ask: Option<OnAsk>,
}

#[derive(Debug, Args)]
pub(crate) struct Resume {
    /// The run; its id may be cut, and left out when only one waits.
    pub(crate) run: Option<String>,
    /// Only list the runs that wait, and those that a process left in the middle.
    #[arg(long)]
    pub(crate) list: bool,
    /// The call that is meant, when several wait; `--list` shows them.
    #[arg(long, value_name = "ID")]
    pub(crate) call: Option<CallId>,
    /// Answer the model's question.
    #[arg(long, value_name = "TEXT", conflicts_with = "skip")]
    pub(crate) answer: Option<String>,
    /// Let the question, or the call, be skipped.
    #[arg(long, conflicts_with_all = ["approve", "deny", "args"])]
    pub(crate) skip: bool,
    /// Let the call run.
    #[arg(long, conflicts_with_all = ["deny", "args"])]
    pub(crate) approve: bool,
    /// Do not let the call run; the words are for the model.
    #[arg(long, value_name = "NOTE", num_args = 0..=1, default_missing_value = "")]
    pub(crate) deny: Option<String>,
    /// Let the call run with these arguments, as JSON, instead.
    #[arg(long, value_name = "JSON", conflicts_with = "deny")]
    pub(crate) args: Option<String>,
    /// What happens to further calls that need approval; see `toolcrib run --help`.
    #[arg(long, value_name = "WHAT")]
    pub(crate) on_ask: Option<OnAsk>,
    /// Let the daemon go on with it, and show what happens; decide with `toolcrib approve`.
    /// TOOLCRIB_DAEMON names one elsewhere.
    #[arg(long, requires = "run", conflicts_with_all = ["list", "call", "answer", "skip", "approve", "deny", "args", "on_ask"])]
    pub(crate) daemon: bool,
}

#[derive(Debug, Args)]
pub(crate) struct Exec {
    /// Format of the answer: openai-chat, openai-responses, anthropic, gemini or text. Default:
    /// found out from the answer.
    #[arg(long)]
    pub(crate) format: Option<Format>,
    #[command(flatten)]
    pub(crate) workspace_args: WorkspaceArgs,
    /// Print what every stage decided, on stderr (with --json as JSON lines).
    #[arg(long)]
    pub(crate) explain: bool,
    /// What happens to a call that needs approval: deny it, fail (it waits, see `toolcrib
    /// approve`), or wait:DURATION for a decision of another terminal. Default: ask at the
    /// terminal; without one, deny.
    #[arg(long, value_name = "WHAT")]
    pub(crate) on_ask: Option<OnAsk>,
    /// Print the assistant's own turn before the results: what a caller that reads streams has to
    /// append too.
    #[arg(long)]
    pub(crate) with_assistant: bool,
    /// Idempotency key, 1 to 200 characters: repeating the request with it runs no call twice and
    /// returns the same messages. Other calls under the same key are refused (exit code 2).
    #[arg(long, value_name = "KEY")]
    pub(crate) idempotency_key: Option<String>,
    /// Let the daemon do it, in its workspace; TOOLCRIB_DAEMON names one elsewhere.
    #[arg(long, conflicts_with_all = ["on_ask", "explain"])]
    pub(crate) daemon: bool,
}
