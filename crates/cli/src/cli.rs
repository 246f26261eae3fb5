//! The words of the command line.

use std::path::PathBuf;

use clap::{Args, Parser, Subcommand};
use toolcrib_app::Preset;
use toolcrib_app::net::AddressPolicy;
use toolcrib_app::providers::Format;

const EXEC_HELP: &str = "\
Example:
  toolcrib exec --format anthropic --root ./workspace < response.json > follow-up.json

Exit codes: 0 every call has its result in the messages (failed calls too), 1 the answer was cut off and no call of it was run, 2 the answer \
cannot be read, 3 the set-up is wrong.";

const ARGS_HELP: &str = "\
Example:
  echo '{\"limit\": \"5\",}' | toolcrib args --schema schema.json

Exit codes: 0 usable, as sent or repaired; 1 not usable; 2 the schema cannot be read.";

const CALL_HELP: &str = "\
Examples:
  toolcrib tool call read_file --args '{\"path\": \"notes.md\"}'
  toolcrib tool call write_file --args - < arguments.json

The exit code is that of the outcome; `toolcrib errors` lists them.";

/// Gives AI agents their tools: finds, checks, runs, bounds and records every call.
#[derive(Debug, Parser)]
#[command(name = "toolcrib", version, propagate_version = true, arg_required_else_help = true)]
#[command(
    after_help = "Exit codes: 0 ok, 1 a tool or run failed, 2 usage, 3 configuration invalid, 4 not found, 5 denied, \
6 approval needed or expired, 7 budget exceeded, 124 timed out, 125 outcome unknown, 130 interrupted."
)]
pub(crate) struct Cli {
    /// Print for machines: one JSON document, or JSON lines, instead of text.
    #[arg(long, global = true)]
    pub(crate) json: bool,

    #[command(subcommand)]
    pub(crate) command: Command,
}

#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    /// Run the tool calls of a model's answer, read from standard input, and print the messages to append to its conversation.
    #[command(after_help = EXEC_HELP)]
    Exec(Exec),
    /// Look at tools, or run one by hand through the same door.
    #[command(subcommand)]
    Tool(Tool),
    /// Print the tool declarations to send to a provider.
    Spec(Spec),
    /// Repair and validate arguments, read from standard input, as the door does.
    #[command(after_help = ARGS_HELP)]
    Args(ArgsCommand),
    /// Show what a model would see of a tool's output, read from standard input.
    #[command(after_help = "Example:\n  toolcrib sanitize --type text/html --report < page.html")]
    Sanitize(Sanitize),
    /// Ask the network policy.
    #[command(subcommand)]
    Net(Net),
    /// Undo what tools changed in the workspace, newest first.
    #[command(
        after_help = "Exit codes: 0 undone, or nothing to undo; 1 something was changed again since and stands in the way."
    )]
    Undo(Undo),
    /// Print the table of errors: outcome, HTTP status, exit code.
    Errors,
    /// Print a completion script for a shell.
    Completions {
        /// The shell.
        shell: clap_complete::Shell,
    },
    /// Print the manual page, or write one page per command into a folder.
    Man {
        /// Folder for the pages.
        #[arg(long)]
        dir: Option<PathBuf>,
    },
}

/// What the tools may touch, and who is asked.
#[derive(Debug, Clone, Args)]
pub(crate) struct World {
    /// Folder that file tools may touch; may be repeated. Default: the current folder. `/` and the home folder count only when named here.
    #[arg(long, value_name = "DIR")]
    pub(crate) root: Vec<PathBuf>,
    /// What runs without asking: auto, ask-risky, ask-all or locked.
    #[arg(long, value_name = "PRESET", default_value_t = Preset::AskRisky, env = "TOOLCRIB_POLICY")]
    pub(crate) policy: Preset,
    /// Target that HTTP tools may reach although it is not public: HOST:PORT, ADDRESS:PORT or NETWORK/BITS; may be repeated.
    #[arg(long, value_name = "TARGET", value_delimiter = ',', value_parser = net_target, env = "TOOLCRIB_ALLOW_NET")]
    pub(crate) allow_net: Vec<String>,
}

/// Checked here, so that a slip of the pen is a usage error wherever a target is taken.
fn net_target(text: &str) -> Result<String, String> {
    AddressPolicy::allowing([text]).map(|_| text.to_owned()).map_err(|error| error.to_string())
}

#[derive(Debug, Args)]
pub(crate) struct Exec {
    /// Format of the answer: openai-chat, openai-responses, anthropic, gemini or text. Default: found out from the answer.
    #[arg(long)]
    pub(crate) format: Option<Format>,
    #[command(flatten)]
    pub(crate) world: World,
    /// Print what every stage decided, on stderr (with --json as JSON lines).
    #[arg(long)]
    pub(crate) explain: bool,
    /// Print the assistant's own turn before the results: what a caller that reads streams has to append too.
    #[arg(long)]
    pub(crate) with_assistant: bool,
}

#[derive(Debug, Subcommand)]
pub(crate) enum Tool {
    /// List every tool with its risk and status.
    List(World),
    /// Show one tool: parameters, risk, effect, limits, examples.
    Show {
        /// The tool.
        name: String,
        #[command(flatten)]
        world: World,
    },
    /// Run one tool.
    #[command(after_help = CALL_HELP)]
    Call(ToolCall),
}

#[derive(Debug, Args)]
pub(crate) struct ToolCall {
    /// The tool; left out with --lines.
    #[arg(required_unless_present = "lines")]
    pub(crate) name: Option<String>,
    /// Its arguments as JSON; `-` reads them from standard input. Default: none.
    #[arg(long, default_value = "", hide_default_value = true, allow_hyphen_values = true)]
    pub(crate) args: String,
    #[command(flatten)]
    pub(crate) world: World,
    /// Print what every stage decided, on stderr (with --json as JSON lines).
    #[arg(long)]
    pub(crate) explain: bool,
    /// Filter: one `{"id", "tool", "args"}` in and one `{"id", "outcome", "error_type"?, "result"}` out per line.
    #[arg(long, conflicts_with_all = ["name", "args"])]
    pub(crate) lines: bool,
}

#[derive(Debug, Args)]
pub(crate) struct Spec {
    /// The provider's format: openai-chat, openai-responses, anthropic, gemini or text.
    #[arg(long)]
    pub(crate) format: Format,
    /// Ask for strict mode where a schema can be expressed in it.
    #[arg(long)]
    pub(crate) strict: bool,
    #[command(flatten)]
    pub(crate) world: World,
}

#[derive(Debug, Args)]
pub(crate) struct ArgsCommand {
    /// File with the JSON Schema of the arguments.
    #[arg(long, value_name = "FILE", required_unless_present = "lines")]
    pub(crate) schema: Option<PathBuf>,
    /// Filter: one `{"id", "schema", "raw" | "raw_b64"}` in and one `{"id", "outcome", "value"?, "changes"?, "error"?}` out per line.
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
    /// Filter: one `{"id", "text", "content_type", "tool"?}` in and one `{"id", "text", "flagged", "changes"}` out per line.
    #[arg(long)]
    pub(crate) lines: bool,
}

#[derive(Debug, Subcommand)]
pub(crate) enum Net {
    /// Would our HTTP tools connect to this URL, to which address, and which rule says no?
    #[command(after_help = "Exit codes: 0 allow, 5 deny; with --lines 0 whatever the verdicts.")]
    Check(NetCheck),
}

#[derive(Debug, Args)]
pub(crate) struct NetCheck {
    /// The URL; left out with --lines.
    #[arg(required_unless_present = "lines")]
    pub(crate) url: Option<String>,
    /// Answers of name resolution to use instead of a look-up: HOST=ADDR[,ADDR…]; may be repeated.
    #[arg(long, value_name = "HOST=ADDR")]
    pub(crate) resolve: Vec<String>,
    /// Target that counts as opened by the owner: HOST:PORT, ADDRESS:PORT or NETWORK/BITS; may be repeated.
    #[arg(long, value_name = "TARGET", value_delimiter = ',', value_parser = net_target, env = "TOOLCRIB_ALLOW_NET")]
    pub(crate) allow_net: Vec<String>,
    /// Filter: one `{"id", "url", "dns"?}` in and one `{"id", "verdict", "rule", "address"?}` out per line.
    #[arg(long, conflicts_with = "url")]
    pub(crate) lines: bool,
}

#[derive(Debug, Args)]
pub(crate) struct Undo {
    /// How many changes to undo, newest first.
    #[arg(default_value_t = 1, value_parser = clap::value_parser!(u16).range(1..))]
    pub(crate) count: u16,
    /// Only list the changes that can be undone, newest first.
    #[arg(long)]
    pub(crate) list: bool,
    /// Undo even what was changed again since.
    #[arg(long)]
    pub(crate) force: bool,
    /// Folder of the workspace. Default: the current folder.
    #[arg(long, value_name = "DIR")]
    pub(crate) root: Vec<PathBuf>,
}
