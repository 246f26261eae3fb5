//! `toolcrib tool|spec|args|sanitize`.

use std::path::PathBuf;

use clap::{Args, Subcommand};
use toolcrib_providers::Format;

use super::help_examples::CALL_HELP;
use super::shared::WorkspaceArgs;
use super::switches::SwitchArgs;
use super::tool_arguments;
use super::tool_search::{FIND_HELP, Find};
use super::tool_why::{TOOL_WHY_HELP, ToolList, ToolWhy};
use crate::config::OnAsk;

#[derive(Debug, Subcommand)]
pub(crate) enum Tool {
    /// List every tool with its risk and status.
    List(ToolList),
    /// Say whether a tool is offered to a caller, else what keeps it away.
    #[command(after_help = TOOL_WHY_HELP)]
    Why(ToolWhy),
    /// Show one tool: parameters, risk, effect, limits, examples.
    Show {
        /// The tool.
        name: String,
        #[command(flatten)]
        workspace_args: WorkspaceArgs,
    },
    /// Find tools for a need in words, as models do.
    #[command(after_help = FIND_HELP)]
    Find(Find),
    /// Run one tool.
    #[command(after_help = CALL_HELP)]
    Call(ToolCall),
    /// Print the tool declarations to send to a provider.
    Spec(Spec),
    /// Make a working example of a tool of your own, to be changed into what you need.
    New(ToolNew),
    /// Switch a tool on, or with a flag a group, a source, a tier, a feature or everything; it
    /// stays so until it is switched again.
    Enable(SwitchArgs),
    /// Ask about every call of a tool, or of a group.
    Ask(SwitchArgs),
    /// Switch it off.
    Disable(SwitchArgs),
    /// Take a switch back: what the tool itself and the configuration say holds again.
    Reset(SwitchArgs),
}

#[derive(Debug, Args)]
pub(crate) struct ToolNew {
    /// Its name: letters, digits and `_`.
    pub(crate) name: String,
    /// Folder of tools to put it into. Default: the one in the configuration folder, whose tools
    /// are there everywhere.
    #[arg(long, value_name = "DIR", conflicts_with = "project")]
    pub(crate) dir: Option<PathBuf>,
    /// Put it into `.toolcrib/tools` of the workspace.
    #[arg(long)]
    pub(crate) project: bool,
    /// The workspace. Default: the current folder.
    #[arg(long, value_name = "DIR")]
    pub(crate) workspace: Option<PathBuf>,
}

#[derive(Debug, Args)]
pub(crate) struct ToolCall {
    /// The tool; left out with --lines.
    #[arg(required_unless_present = "lines")]
    pub(crate) name: Option<String>,
    /// Its arguments: KEY=VALUE for a text (a number or a choice, too, where the tool wants one),
    /// KEY:=JSON for a list or an object.
    #[arg(value_name = "KEY=VALUE", value_parser = tool_arguments::parse_pair, conflicts_with_all = ["args", "lines"])]
    pub(crate) pairs: Vec<(String, serde_json::Value)>,
    /// Its arguments as one JSON object; `-` reads them from standard input. Default: none.
    #[arg(long, default_value = "", hide_default_value = true, allow_hyphen_values = true)]
    pub(crate) args: String,
    #[command(flatten)]
    pub(crate) workspace_args: WorkspaceArgs,
    /// What happens to a call that needs approval: deny it, fail (it waits, see `toolcrib
    /// approve`), or wait:DURATION for a decision of another terminal. Default: ask at the
    /// terminal; without one, deny.
    #[arg(long, value_name = "WHAT")]
    pub(crate) on_ask: Option<OnAsk>,
    /// Print what every stage decided, on stderr (with --json as JSON lines).
    #[arg(long)]
    pub(crate) explain: bool,
    /// Run nothing: say what policy makes of the call. Nothing is recorded and no approver is
    /// asked. Exit code 0 = it would run, 5 = it would be denied, 6 = a person would be asked; else
    /// that of its error.
    #[arg(long, conflicts_with_all = ["idempotency_key", "lines"])]
    pub(crate) dry_run: bool,
    /// Idempotency key, 1 to 200 characters: repeating the call with it returns the first result
    /// and runs nothing. Another call under the same key is refused (exit code 2).
    #[arg(long, value_name = "KEY", conflicts_with = "lines")]
    pub(crate) idempotency_key: Option<String>,
    /// Agent that makes the call: its tool list limits it, and rules for it apply.
    #[arg(long, value_name = "NAME", conflicts_with = "lines")]
    pub(crate) agent: Option<String>,
    /// Conversation that the call belongs to: its grants, its shell and its stored results count.
    /// The id may be cut.
    #[arg(long, value_name = "ID", conflicts_with = "lines")]
    pub(crate) conversation: Option<String>,
    /// What the call is about, in at most 200 characters, for history and audit.
    #[arg(long, value_name = "TEXT", conflicts_with = "lines")]
    pub(crate) topic: Option<String>,
    /// Most tokens of the result that is printed, at least 64; `toolcrib explain` shows all of it.
    #[arg(long, value_name = "N", conflicts_with = "lines")]
    pub(crate) max_tokens: Option<u32>,
    /// Filter: one `{"id", "tool", "args", "key"?}` in and one `{"id", "outcome", "error_type"?,
    /// "result"}` out per line.
    #[arg(long, conflicts_with_all = ["name", "args"])]
    pub(crate) lines: bool,
    /// Let the daemon do it, in its workspace; TOOLCRIB_DAEMON names one elsewhere.
    #[arg(long, conflicts_with_all = ["on_ask", "explain", "dry_run", "lines"])]
    pub(crate) daemon: bool,
}

#[derive(Debug, Args)]
pub(crate) struct Spec {
    /// The provider's format: openai-chat, openai-responses, anthropic, gemini or text.
    #[arg(long)]
    pub(crate) format: Format,
    /// Ask for strict mode where a schema can be expressed in it.
    #[arg(long)]
    pub(crate) strict: bool,
    /// Only the tools that this agent is offered.
    #[arg(long, value_name = "NAME")]
    pub(crate) agent: Option<String>,
    /// Only these: names, group:G, server:S or globs with `*`. A tool that is named is shown even
    /// if it is not offered, with a warning that says why.
    #[arg(value_name = "TOOL")]
    pub(crate) listed: Vec<String>,
    #[command(flatten)]
    pub(crate) workspace_args: WorkspaceArgs,
}

#[derive(Debug, Args)]
pub(crate) struct ArgsCommand {
    /// File with the JSON Schema of the arguments.
    #[arg(long, value_name = "FILE", required_unless_present = "lines")]
    pub(crate) schema: Option<PathBuf>,
    /// Filter: one `{"id", "schema", "raw" | "raw_b64"}` in and one `{"id", "outcome", "value"?,
    /// "changes"?, "error"?}` out per line.
    #[arg(long)]
    pub(crate) lines: bool,
}

#[derive(Debug, Args)]
pub(crate) struct Sanitize {
    /// Media type of the output, which says how it is decoded.
    #[arg(long = "type", value_name = "TYPE", default_value = "text/plain")]
    pub(crate) content_type: String,
    /// Say on stderr what was neutralised and whether the text was flagged.
    #[arg(long)]
    pub(crate) report: bool,
    /// Filter: one `{"id", "text", "content_type", "tool"?}` in and one `{"id", "text", "flagged",
    /// "changes"}` out per line.
    #[arg(long)]
    pub(crate) lines: bool,
}
