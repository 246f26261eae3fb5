//! `toolcrib mcp`.

use std::path::PathBuf;

use clap::{Args, Subcommand, ValueEnum};

use super::shared::WorkspaceArgs;

pub(super) const MCP_HELP: &str = "\
Examples:
  toolcrib mcp add files -- my-files-server --root .
  toolcrib mcp add tracker --url https://tracker.example/mcp --header 'Authorization=Bearer ${secret:tracker}'
  toolcrib mcp auth tracker              # logs in with a browser, where the server wants that
  toolcrib mcp test files                # starts it, shows its tools, and switches it on
  toolcrib mcp skills files              # skills that it has; --enable NAME takes one over
  toolcrib mcp import ~/.cursor/mcp.json # shows what would be taken over; --write does it
  toolcrib mcp serve                     # our tools for an MCP client, over standard input and output

Servers are in mcp.toml of the configuration folder. A new one is off until it was tested. What it said of its tools then counts as reviewed; \
what differs later is held until `toolcrib mcp review NAME --accept` (docs/mcp.md).

Exit codes: 1 a server cannot be reached, 2 usage, 3 the file of servers is wrong, 4 there is no such server, 5 tools are held.";

#[derive(Debug, Subcommand)]
pub(crate) enum Mcp {
    /// Add a server: a program after `--`, or an address.
    Add(McpAdd),
    /// Take over the servers of another program's file: Claude Desktop, Claude Code, Cursor, VS
    /// Code, Codex, goose, Gemini CLI, Zed.
    Import(McpImport),
    /// List the servers.
    List(WorkspaceArgs),
    /// Connect to a server, show its tools, and switch it on.
    Test(McpTestArgs),
    /// Show what a server has changed since it was reviewed.
    Review(McpReview),
    /// Show what a server wrote of errors.
    Logs {
        /// The server.
        name: String,
    },
    /// Log in at a server over HTTP that wants it: a browser is opened, and what it comes back with
    /// is kept as a secret.
    Auth(McpAuth),
    /// Show the skills that a server has, and take them over; what it says stays out of reach of
    /// models until then.
    Skills(McpSkills),
    /// Remove a server.
    Rm {
        /// The server.
        name: String,
    },
    /// Switch a server on without testing it.
    Enable {
        /// The server.
        name: String,
    },
    /// Switch a server off.
    Disable {
        /// The server.
        name: String,
    },
    /// Print what another program needs to connect to us.
    Connect {
        /// The program.
        client: McpClient,
    },
    /// Be an MCP server over standard input and output.
    Serve(McpServe),
}

#[derive(Debug, Args)]
pub(crate) struct McpAdd {
    /// Its name: a-z, 0-9, - and single _, at most 30.
    pub(crate) name: String,
    /// Its address, if it speaks HTTP.
    #[arg(long, value_name = "URL", conflicts_with = "command")]
    pub(crate) url: Option<String>,
    /// A header of every request, NAME=VALUE; may be repeated. `${secret:NAME}` stands for a
    /// secret.
    #[arg(long, value_name = "NAME=VALUE", requires = "url")]
    pub(crate) header: Vec<String>,
    /// The id of the client that you registered at its authorization server, where it takes no
    /// others.
    #[arg(long, value_name = "ID", requires = "url")]
    pub(crate) client_id: Option<String>,
    /// The secret of that client; `secret:NAME` stands for a secret.
    #[arg(long, value_name = "SECRET", requires = "client_id")]
    pub(crate) client_secret: Option<String>,
    /// A scope to ask for, instead of those that the server names; may be repeated.
    #[arg(long, requires = "url")]
    pub(crate) scope: Vec<String>,
    /// A variable of its program, NAME=VALUE; may be repeated. `secret:NAME` stands for a secret.
    #[arg(long, value_name = "NAME=VALUE", conflicts_with = "url")]
    pub(crate) env: Vec<String>,
    /// Give its program the network that programs may use.
    #[arg(long, conflicts_with = "url")]
    pub(crate) network: bool,
    /// Take it at its word where it says that a tool only reads.
    #[arg(long)]
    pub(crate) trusted: bool,
    /// The program with its arguments.
    #[arg(last = true, value_name = "COMMAND")]
    pub(crate) command: Vec<String>,
}

#[derive(Debug, Args)]
pub(crate) struct McpAuth {
    /// The server.
    pub(crate) name: String,
    /// Open nothing: show the address, and read the one that you were sent to. For machines that
    /// you sit far from.
    #[arg(long)]
    pub(crate) no_browser: bool,
    /// Forget the tokens, and the client that was registered for them.
    #[arg(long, conflicts_with = "no_browser")]
    pub(crate) forget: bool,
    #[command(flatten)]
    pub(crate) workspace_args: WorkspaceArgs,
}

#[derive(Debug, Args)]
pub(crate) struct McpSkills {
    /// The server.
    pub(crate) name: String,
    /// Take this skill over: its files are read, compared with what the server said of them, and
    /// kept; may be repeated.
    #[arg(long, value_name = "SKILL")]
    pub(crate) enable: Vec<String>,
    /// Forget this skill; may be repeated.
    #[arg(long, value_name = "SKILL", conflicts_with = "enable")]
    pub(crate) disable: Vec<String>,
    #[command(flatten)]
    pub(crate) workspace_args: WorkspaceArgs,
}

#[derive(Debug, Args)]
pub(crate) struct McpImport {
    /// Files of other programs.
    #[arg(required = true)]
    pub(crate) files: Vec<PathBuf>,
    /// Do it: add the servers, all of them off, and move secrets into the vault.
    #[arg(long)]
    pub(crate) write: bool,
}

#[derive(Debug, Args)]
pub(crate) struct McpTestArgs {
    /// The server.
    pub(crate) name: String,
    /// Leave it off.
    #[arg(long)]
    pub(crate) no_enable: bool,
    #[command(flatten)]
    pub(crate) workspace_args: WorkspaceArgs,
}

#[derive(Debug, Args)]
pub(crate) struct McpReview {
    /// The server.
    pub(crate) name: String,
    /// Take what it says now as reviewed.
    #[arg(long)]
    pub(crate) accept: bool,
    #[command(flatten)]
    pub(crate) workspace_args: WorkspaceArgs,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum McpClient {
    /// Claude Desktop.
    ClaudeDesktop,
    /// Claude Code.
    ClaudeCode,
    /// Cursor.
    Cursor,
    /// VS Code.
    Vscode,
    /// Codex.
    Codex,
    /// goose.
    Goose,
    /// Gemini CLI.
    Gemini,
    /// Zed.
    Zed,
}

#[derive(Debug, Args)]
pub(crate) struct McpServe {
    /// List a few tools alone: find_tools finds the others, call_tool calls them.
    #[arg(long)]
    pub(crate) lean: bool,
    #[command(flatten)]
    pub(crate) workspace_args: WorkspaceArgs,
}
