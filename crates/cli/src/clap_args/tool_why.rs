//! `toolcrib tool list|why`.

use clap::Args;

use super::shared::{LibraryArgs, WorkspaceArgs};

pub(crate) const TOOL_WHY_HELP: &str = "\
Examples:
  toolcrib tool why execute_shell_command
  toolcrib tool why http_request --agent reviewer --json

Prints whether the tool is offered to the caller, and if not, the reason and the remedy. For the decision of policy about one call, use \
`toolcrib tool call NAME --args … --dry-run`. Exit codes: 0 answered, 4 the tool or agent does not exist.";

#[derive(Debug, Args)]
pub(crate) struct ToolList {
    /// Include tools that only agents have, and the reason for each one that is not offered.
    #[arg(long)]
    pub(crate) all: bool,
    #[command(flatten)]
    pub(crate) workspace_args: WorkspaceArgs,
}

#[derive(Debug, Args)]
pub(crate) struct ToolWhy {
    /// Name of the tool.
    pub(crate) name: String,
    /// Agent to check. Default: a caller without an agent.
    #[arg(long, value_name = "NAME")]
    pub(crate) agent: Option<String>,
    /// For an on-device model, which is offered only the tools of `on_device_tools`.
    #[arg(long)]
    pub(crate) on_device: bool,
    #[command(flatten)]
    pub(crate) library_args: LibraryArgs,
}
