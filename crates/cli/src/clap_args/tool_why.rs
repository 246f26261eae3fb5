//! `toolcrib tool list|why`.

use clap::Args;

use super::shared::{LibraryArgs, WorkspaceArgs};

pub(crate) const TOOL_WHY_HELP: &str = "\
Examples:
  toolcrib tool why execute_shell_command
  toolcrib tool why http_request --agent reviewer --json

It says whether the tool is offered to the caller, else what keeps it away and how to change that. What policy makes of one call says \
`toolcrib tool call NAME --args … --dry-run`. Exit codes: 0 it is answered, 4 there is no such tool or agent.";

#[derive(Debug, Args)]
pub(crate) struct ToolList {
    /// The tools that only agents have too, and what keeps each one away that is not offered.
    #[arg(long)]
    pub(crate) all: bool,
    #[command(flatten)]
    pub(crate) workspace_args: WorkspaceArgs,
}

#[derive(Debug, Args)]
pub(crate) struct ToolWhy {
    /// The tool.
    pub(crate) name: String,
    /// The agent that it is to be offered to. Default: no particular agent.
    #[arg(long, value_name = "NAME")]
    pub(crate) agent: Option<String>,
    /// For a model that runs on this device: it is offered the tools of `on_device_tools` only.
    #[arg(long)]
    pub(crate) on_device: bool,
    #[command(flatten)]
    pub(crate) library_args: LibraryArgs,
}
