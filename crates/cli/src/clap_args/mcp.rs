//! `toolcrib mcp`.

use std::path::PathBuf;

use clap::{Args, Subcommand, ValueEnum};

use super::shared::WorkspaceArgs;

pub(super) const MCP_HELP: &str = "\
Examples:
  toolcrib mcp add files -- npx -y @modelcontextprotocol/server-filesystem .
  toolcrib mcp add tracker --url https://tracker.example/mcp --header 'Authorization: Bearer TOKEN'
  toolcrib mcp auth tracker              # logs in with a browser, if the server requires it
  toolcrib mcp test files                # starts it, shows its tools, asks, and switches it on
  toolcrib mcp set files --write ./data  # gives its program access
  toolcrib mcp skills files              # lists its skills; --enable NAME installs one
  toolcrib mcp import ~/.cursor/mcp.json # shows the changes; --write applies them
  toolcrib mcp serve                     # serves tools to an MCP client over standard input and output

The servers are stored in mcp.toml of the configuration folder. A new server is off until you accept its tools (`mcp test`); later changes of \
its definitions are held until `toolcrib mcp review NAME --accept` (docs/mcp.md). A running daemon applies all changes at once.

Exit codes: 1 a server is unreachable, 2 usage, 3 mcp.toml is invalid, 4 the server does not exist, 5 definitions are held for review.";

#[derive(Debug, Subcommand)]
pub(crate) enum Mcp {
    /// Add a server: a program after `--`, or a URL.
    Add(McpAdd),
    /// Import the servers of another program: Claude Desktop, Claude Code, Cursor, VS Code, Codex,
    /// goose, Gemini CLI, Zed.
    Import(McpImport),
    /// List servers.
    List(WorkspaceArgs),
    /// Show a server: settings, state, and definitions held for review.
    Show {
        /// Name of the server.
        name: String,
        #[command(flatten)]
        workspace_args: WorkspaceArgs,
    },
    /// Change the settings of a server.
    Set(McpSet),
    /// Connect to a server, review its tools, and switch it on.
    Test(McpTestArgs),
    /// Stop a server's program; the next call starts it again.
    Restart {
        /// Name of the server.
        name: String,
        /// Download its package again, for launchers such as npx or uvx.
        #[arg(long)]
        fetch: bool,
    },
    /// Search the public registry of MCP servers. Its entries are not reviewed.
    Search(McpSearch),
    /// Show changes of a server since its last review.
    Review(McpReview),
    /// Show the error output of a server.
    Logs {
        /// Name of the server.
        name: String,
    },
    /// Log in to an HTTP server that requires it: opens a browser, and saves the token as a secret.
    Auth(McpAuth),
    /// List the skills of a server, and install them; models see none of their text before.
    Skills(McpSkills),
    /// Remove a server.
    Rm {
        /// Name of the server.
        name: String,
    },
    /// Switch a server on without testing it.
    Enable {
        /// Name of the server.
        name: String,
    },
    /// Switch a server off.
    Disable {
        /// Name of the server.
        name: String,
    },
    /// Print the configuration with which another program connects to Toolcrib.
    Connect {
        /// The other program.
        client: McpClient,
    },
    /// Serve tools over MCP on standard input and output.
    Serve(McpServe),
}

#[derive(Debug, Args)]
pub(crate) struct McpAdd {
    /// Name: letters, digits, - and single _, at most 30 characters; capital letters become lower
    /// case.
    pub(crate) name: String,
    /// URL, for a server that speaks HTTP.
    #[arg(long, value_name = "URL", conflicts_with = "command")]
    pub(crate) url: Option<String>,
    /// Header of every request, `NAME: VALUE` or NAME=VALUE; may be repeated. A value that looks
    /// like a secret goes into the vault; `${secret:NAME}` refers to an existing secret.
    #[arg(long, value_name = "NAME: VALUE", requires = "url")]
    pub(crate) header: Vec<String>,
    /// OAuth client id that you registered at the authorization server, for servers that require
    /// one.
    #[arg(long, value_name = "ID", requires = "url")]
    pub(crate) client_id: Option<String>,
    /// OAuth client secret; `secret:NAME` refers to a secret.
    #[arg(long, value_name = "SECRET", requires = "client_id")]
    pub(crate) client_secret: Option<String>,
    /// OAuth scope to request instead of those that the server names; may be repeated.
    #[arg(long, requires = "url")]
    pub(crate) scope: Vec<String>,
    /// Environment variable of the program, NAME=VALUE; may be repeated. A value that looks like a
    /// secret goes into the vault; `secret:NAME` refers to an existing secret.
    #[arg(long, value_name = "NAME=VALUE", conflicts_with = "url")]
    pub(crate) env: Vec<String>,
    /// Give the program the network access that tools' programs have.
    #[arg(long, conflicts_with = "url")]
    pub(crate) network: bool,
    #[command(flatten)]
    pub(crate) access: McpAccess,
    /// Do not ask about the access that the program needs.
    #[arg(long, short)]
    pub(crate) yes: bool,
    /// Believe the server's statement that a tool only reads.
    #[arg(long)]
    pub(crate) trusted: bool,
    /// Program and its arguments.
    #[arg(last = true, value_name = "COMMAND")]
    pub(crate) command: Vec<String>,
}

/// What a server may access, and how long a call may take.
#[derive(Debug, Args)]
pub(crate) struct McpAccess {
    /// The program's access to the workspace. Default: read.
    #[arg(long = "workspace", value_name = "ACCESS")]
    pub(crate) workspace_access: Option<McpWorkspace>,
    /// File or folder that the program may also read; may be repeated.
    #[arg(long, value_name = "PATH")]
    pub(crate) read: Vec<PathBuf>,
    /// Folder that the program may also change; may be repeated.
    #[arg(long, value_name = "PATH")]
    pub(crate) write: Vec<PathBuf>,
    /// Host that the program may connect to, NAME or NAME:PORT; may be repeated.
    #[arg(long, value_name = "HOST")]
    pub(crate) allow_host: Vec<String>,
    /// Memory limit of the program, in MB.
    #[arg(long, value_name = "MB", value_parser = clap::value_parser!(u64).range(16..=1_048_576))]
    pub(crate) memory: Option<u64>,
    /// Maximum duration of a call, in seconds.
    #[arg(long, value_name = "SECONDS", value_parser = clap::value_parser!(u64).range(1..=86_400))]
    pub(crate) timeout: Option<u64>,
    /// What must not change after a review: the definitions, or also the version and the program.
    #[arg(long)]
    pub(crate) pin: Option<McpPin>,
    /// Tool whose results are trusted like the workspace, by the server's name for it; may be
    /// repeated. `*` means all.
    #[arg(long, value_name = "TOOL")]
    pub(crate) trust_results: Vec<String>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum McpWorkspace {
    /// No access.
    None,
    /// Read only.
    Read,
    /// Read and write.
    Write,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum McpPin {
    /// The definitions of its tools, and its name.
    Definition,
    /// Also its version and its program.
    Program,
}

#[derive(Debug, Args)]
pub(crate) struct McpSet {
    /// Name of the server.
    pub(crate) name: String,
    /// Environment variable of the program, NAME=VALUE, or NAME= to remove it; may be repeated.
    #[arg(long, value_name = "NAME=VALUE")]
    pub(crate) env: Vec<String>,
    /// Header of every request, `NAME: VALUE`, or `NAME:` to remove it; may be repeated.
    #[arg(long, value_name = "NAME: VALUE")]
    pub(crate) header: Vec<String>,
    /// Whether the program has the network access that tools' programs have.
    #[arg(long, value_name = "BOOL")]
    pub(crate) network: Option<bool>,
    /// Whether to believe the server's statement that a tool only reads.
    #[arg(long, value_name = "BOOL")]
    pub(crate) trusted: Option<bool>,
    /// Whether to speak only protocol revisions before 2026-07-28.
    #[arg(long, value_name = "BOOL")]
    pub(crate) legacy: Option<bool>,
    #[command(flatten)]
    pub(crate) access: McpAccess,
    /// Remove a path, a host or a tool from the lists of the settings; may be repeated.
    #[arg(long, value_name = "ENTRY")]
    pub(crate) remove: Vec<String>,
}

#[derive(Debug, Args)]
pub(crate) struct McpSearch {
    /// Words to search for.
    pub(crate) words: String,
    /// URL of the registry.
    #[arg(long, value_name = "URL", default_value = "https://registry.modelcontextprotocol.io")]
    pub(crate) registry: String,
}

#[derive(Debug, Args)]
pub(crate) struct McpAuth {
    /// Name of the server.
    pub(crate) name: String,
    /// Open no browser: print the URL, and read the URL that the browser was redirected to. For
    /// machines without a browser.
    #[arg(long)]
    pub(crate) no_browser: bool,
    /// Delete the tokens and the registered client.
    #[arg(long, conflicts_with = "no_browser")]
    pub(crate) forget: bool,
    #[command(flatten)]
    pub(crate) workspace_args: WorkspaceArgs,
}

#[derive(Debug, Args)]
pub(crate) struct McpSkills {
    /// Name of the server.
    pub(crate) name: String,
    /// Install this skill: its files are read, compared with the server's digests, and stored; may
    /// be repeated.
    #[arg(long, value_name = "SKILL")]
    pub(crate) enable: Vec<String>,
    /// Remove this skill; may be repeated.
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
    /// Add the servers, all switched off, and move secrets into the vault. Default: only show the
    /// changes.
    #[arg(long)]
    pub(crate) write: bool,
}

#[derive(Debug, Args)]
pub(crate) struct McpTestArgs {
    /// Name of the server.
    pub(crate) name: String,
    /// Leave the server switched off.
    #[arg(long)]
    pub(crate) no_enable: bool,
    /// Accept the definitions as reviewed, without a question.
    #[arg(long)]
    pub(crate) accept: bool,
    #[command(flatten)]
    pub(crate) workspace_args: WorkspaceArgs,
}

#[derive(Debug, Args)]
pub(crate) struct McpReview {
    /// Name of the server.
    pub(crate) name: String,
    /// Accept the present definitions as reviewed.
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
    /// List only a few tools: find_tools finds the others, call_tool calls them.
    #[arg(long)]
    pub(crate) lean: bool,
    #[command(flatten)]
    pub(crate) workspace_args: WorkspaceArgs,
}
