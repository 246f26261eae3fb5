//! `toolcrib mcp`.

use std::path::PathBuf;

use clap::{Args, Subcommand, ValueEnum};

use super::shared::WorkspaceArgs;

pub(super) const MCP_HELP: &str = "\
Examples:
  toolcrib mcp add files -- npx -y @modelcontextprotocol/server-filesystem .
  toolcrib mcp add tracker --url https://tracker.example/mcp --header 'Authorization: Bearer TOKEN'
  toolcrib mcp auth tracker              # logs in with a browser, where the server wants that
  toolcrib mcp test files                # starts it, shows its tools, asks, and switches it on
  toolcrib mcp set files --write ./data  # gives its program what it needs
  toolcrib mcp skills files              # skills that it has; --enable NAME takes one over
  toolcrib mcp import ~/.cursor/mcp.json # shows what would be taken over; --write does it
  toolcrib mcp serve                     # our tools for an MCP client, over standard input and output

Servers are in mcp.toml of the configuration folder. A new one is off until you have seen its tools and agreed (`mcp test`); \
what differs later is held until `toolcrib mcp review NAME --accept` (docs/mcp.md). All of this takes effect in a running daemon at once.

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
    /// Show all about one server: its settings, how it stands, what is held.
    Show {
        /// The server.
        name: String,
        #[command(flatten)]
        workspace_args: WorkspaceArgs,
    },
    /// Change the settings of a server.
    Set(McpSet),
    /// Connect to a server, show its tools for a review, and switch it on.
    Test(McpTestArgs),
    /// End a server's program; the next call starts it again.
    Restart {
        /// The server.
        name: String,
        /// Fetch its package again, with a launcher such as npx or uvx.
        #[arg(long)]
        fetch: bool,
    },
    /// Find servers in the registry of MCP servers. Its entries are not reviewed.
    Search(McpSearch),
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
    /// Its name: letters, digits, - and single _, at most 30; capital letters become small ones.
    pub(crate) name: String,
    /// Its address, if it speaks HTTP.
    #[arg(long, value_name = "URL", conflicts_with = "command")]
    pub(crate) url: Option<String>,
    /// A header of every request, `NAME: VALUE` or NAME=VALUE; may be repeated. A value that looks
    /// like a secret goes into the vault; `${secret:NAME}` stands for one that is there.
    #[arg(long, value_name = "NAME: VALUE", requires = "url")]
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
    /// A variable of its program, NAME=VALUE; may be repeated. A value that looks like a secret
    /// goes into the vault; `secret:NAME` stands for one that is there.
    #[arg(long, value_name = "NAME=VALUE", conflicts_with = "url")]
    pub(crate) env: Vec<String>,
    /// Give its program the network that programs may use.
    #[arg(long, conflicts_with = "url")]
    pub(crate) network: bool,
    #[command(flatten)]
    pub(crate) access: McpAccess,
    /// Add it without the question about what its program needs.
    #[arg(long, short)]
    pub(crate) yes: bool,
    /// Take it at its word where it says that a tool only reads.
    #[arg(long)]
    pub(crate) trusted: bool,
    /// The program with its arguments.
    #[arg(last = true, value_name = "COMMAND")]
    pub(crate) command: Vec<String>,
}

/// What a server may reach, and for how long a call waits.
#[derive(Debug, Args)]
pub(crate) struct McpAccess {
    /// How its program sees the workspace; read unless said otherwise.
    #[arg(long = "workspace", value_name = "ACCESS")]
    pub(crate) workspace_access: Option<McpWorkspace>,
    /// A file or folder that its program may read too; may be repeated.
    #[arg(long, value_name = "PATH")]
    pub(crate) read: Vec<PathBuf>,
    /// A folder that its program may change too; may be repeated.
    #[arg(long, value_name = "PATH")]
    pub(crate) write: Vec<PathBuf>,
    /// A host that its program may reach, NAME or NAME:PORT; may be repeated.
    #[arg(long, value_name = "HOST")]
    pub(crate) allow_host: Vec<String>,
    /// Most memory of its program, in MB.
    #[arg(long, value_name = "MB", value_parser = clap::value_parser!(u64).range(16..=1_048_576))]
    pub(crate) memory: Option<u64>,
    /// Longest time of a call, in seconds.
    #[arg(long, value_name = "SECONDS", value_parser = clap::value_parser!(u64).range(1..=86_400))]
    pub(crate) timeout: Option<u64>,
    /// What must stay as it was reviewed: the definitions, or its version and program too.
    #[arg(long)]
    pub(crate) pin: Option<McpPin>,
    /// A tool whose results count as text of the workspace, by the server's name of it; may be
    /// repeated. `*` stands for all.
    #[arg(long, value_name = "TOOL")]
    pub(crate) trust_results: Vec<String>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum McpWorkspace {
    /// Not at all.
    None,
    /// Read-only.
    Read,
    /// It may change it.
    Write,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum McpPin {
    /// The definitions of its tools, and its name.
    Definition,
    /// Its version and its program too.
    Program,
}

#[derive(Debug, Args)]
pub(crate) struct McpSet {
    /// The server.
    pub(crate) name: String,
    /// A variable of its program, NAME=VALUE, or NAME= to remove it; may be repeated.
    #[arg(long, value_name = "NAME=VALUE")]
    pub(crate) env: Vec<String>,
    /// A header of every request, `NAME: VALUE`, or `NAME:` to remove it; may be repeated.
    #[arg(long, value_name = "NAME: VALUE")]
    pub(crate) header: Vec<String>,
    /// Whether its program gets the network that programs may use.
    #[arg(long, value_name = "BOOL")]
    pub(crate) network: Option<bool>,
    /// Whether it is taken at its word where it says that a tool only reads.
    #[arg(long, value_name = "BOOL")]
    pub(crate) trusted: Option<bool>,
    /// Whether only revisions of the protocol before 2026-07-28 are spoken.
    #[arg(long, value_name = "BOOL")]
    pub(crate) legacy: Option<bool>,
    #[command(flatten)]
    pub(crate) access: McpAccess,
    /// Take a path, a host or a tool out of the lists of its settings; may be repeated.
    #[arg(long, value_name = "ENTRY")]
    pub(crate) remove: Vec<String>,
}

#[derive(Debug, Args)]
pub(crate) struct McpSearch {
    /// Words to look for.
    pub(crate) words: String,
    /// The registry.
    #[arg(long, value_name = "URL", default_value = "https://registry.modelcontextprotocol.io")]
    pub(crate) registry: String,
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
    /// Take what it offers as reviewed, without a question.
    #[arg(long)]
    pub(crate) accept: bool,
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
