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
    /// List all tools with risk and status.
    List(ToolList),
    /// Say whether a tool is offered to a caller, and if not, why.
    #[command(after_help = TOOL_WHY_HELP)]
    Why(ToolWhy),
    /// Show a tool: parameters, risk, effect, limits, examples.
    Show {
        /// Name of the tool.
        name: String,
        #[command(flatten)]
        workspace_args: WorkspaceArgs,
    },
    /// Find tools for a need in words, as models do.
    #[command(after_help = FIND_HELP)]
    Find(Find),
    /// Call a tool.
    #[command(after_help = CALL_HELP)]
    Call(ToolCall),
    /// Print the tool declarations to send to a provider.
    Spec(Spec),
    /// Create a working example of your own tool, for you to edit.
    New(ToolNew),
    /// Switch on a tool, group, source, tier, feature or everything, until the switch is changed
    /// again.
    Enable(SwitchArgs),
    /// Ask before every call of a tool or group.
    Ask(SwitchArgs),
    /// Switch off a tool, group, source, tier, feature or everything.
    Disable(SwitchArgs),
    /// Reset a switch: the tool's own setting and the configuration apply again.
    Reset(SwitchArgs),
}

#[derive(Debug, Args)]
pub(crate) struct ToolNew {
    /// Name: letters, digits and `_`.
    pub(crate) name: String,
    /// Folder of tools to write to. Default: the one in the configuration folder, whose tools exist
    /// in every workspace.
    #[arg(long, value_name = "DIR", conflicts_with = "project")]
    pub(crate) dir: Option<PathBuf>,
    /// Write to `.toolcrib/tools` of the workspace.
    #[arg(long)]
    pub(crate) project: bool,
    /// Workspace. Default: the current folder.
    #[arg(long, value_name = "DIR")]
    pub(crate) workspace: Option<PathBuf>,
}

#[derive(Debug, Args)]
pub(crate) struct ToolCall {
    /// Name of the tool; omitted with --lines.
    #[arg(required_unless_present = "lines")]
    pub(crate) name: Option<String>,
    /// Arguments: KEY=VALUE for text, numbers and choices, KEY:=JSON for lists and objects, or one
    /// JSON object.
    #[arg(value_name = "KEY=VALUE", value_parser = tool_arguments::parse_word, conflicts_with_all = ["args", "lines"])]
    pub(crate) arguments: Vec<serde_json::Map<String, serde_json::Value>>,
    /// Arguments as one JSON object; `-` reads standard input. Default: none.
    #[arg(long, default_value = "", hide_default_value = true, allow_hyphen_values = true)]
    pub(crate) args: String,
    #[command(flatten)]
    pub(crate) workspace_args: WorkspaceArgs,
    /// What to do with a call that needs approval: deny, fail (it waits, see `toolcrib approve`),
    /// or wait:DURATION for a decision in another terminal. Default: ask at the terminal; without a
    /// terminal, deny.
    #[arg(long, value_name = "WHAT")]
    pub(crate) on_ask: Option<OnAsk>,
    /// Print the verdict of every stage to standard error (with --json, as JSON lines).
    #[arg(long)]
    pub(crate) explain: bool,
    /// Run nothing: print what policy decides about the call. Nothing is recorded and no approver
    /// is asked. Exit code 0: it would run, 5: it would be denied, 6: it would need approval;
    /// otherwise that of its error.
    #[arg(long, conflicts_with_all = ["idempotency_key", "lines"])]
    pub(crate) dry_run: bool,
    /// Idempotency key, 1 to 200 characters: a repeated call with the same key returns the first
    /// result and runs nothing. A different call under the same key is refused (exit code 2).
    #[arg(long, value_name = "KEY", conflicts_with = "lines")]
    pub(crate) idempotency_key: Option<String>,
    /// Agent that makes the call: its list of tools and the rules for it apply.
    #[arg(long, value_name = "NAME", conflicts_with = "lines")]
    pub(crate) agent: Option<String>,
    /// Conversation of the call: its grants, its shell and its artifacts apply. A unique prefix of
    /// the id is enough.
    #[arg(long, value_name = "ID", conflicts_with = "lines")]
    pub(crate) conversation: Option<String>,
    /// Label of the call for history and audit, at most 200 characters.
    #[arg(long, value_name = "TEXT", conflicts_with = "lines")]
    pub(crate) topic: Option<String>,
    /// Maximum tokens of the printed result, at least 64; `toolcrib explain` shows the whole
    /// result.
    #[arg(long, value_name = "N", conflicts_with = "lines")]
    pub(crate) max_tokens: Option<u32>,
    /// Filter: reads one `{"id", "tool", "args", "key"?}` and writes one `{"id", "outcome",
    /// "error_type"?, "result"}` per line.
    #[arg(long, conflicts_with_all = ["name", "args"])]
    pub(crate) lines: bool,
    /// Run in the daemon, in its workspace. TOOLCRIB_DAEMON sets the URL of another daemon.
    #[arg(long, conflicts_with_all = ["on_ask", "explain", "dry_run", "lines"])]
    pub(crate) daemon: bool,
}

#[derive(Debug, Args)]
pub(crate) struct Spec {
    /// Format of the provider: openai-chat, openai-responses, anthropic, gemini or text.
    #[arg(long)]
    pub(crate) format: Format,
    /// Use strict mode for schemas that it can express.
    #[arg(long)]
    pub(crate) strict: bool,
    /// Only tools that this agent is offered.
    #[arg(long, value_name = "NAME")]
    pub(crate) agent: Option<String>,
    /// Only these: names, group:G, server:S or globs with `*`. A named tool is printed even if it
    /// is not offered, with a warning that says why.
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
    /// Filter: reads one `{"id", "schema", "raw" | "raw_b64"}` and writes one `{"id", "outcome",
    /// "value"?, "changes"?, "error"?}` per line.
    #[arg(long)]
    pub(crate) lines: bool,
}

#[derive(Debug, Args)]
pub(crate) struct Sanitize {
    /// Media type of the output, which determines how it is decoded.
    #[arg(long = "type", value_name = "TYPE", default_value = "text/plain")]
    pub(crate) content_type: String,
    /// Report on standard error what was neutralized, and whether the text was flagged.
    #[arg(long)]
    pub(crate) report: bool,
    /// Filter: reads one `{"id", "text", "content_type", "tool"?}` and writes one `{"id", "text",
    /// "flagged", "changes"}` per line.
    #[arg(long)]
    pub(crate) lines: bool,
}
