//! `toolcrib tool find`.

use std::path::PathBuf;

use clap::Args;

use super::shared::WorkspaceArgs;

pub(super) const FIND_HELP: &str = "\
Examples:
  toolcrib tool find \"what is the weather in Graz tomorrow\"
  toolcrib tool find --limit 3 --json \"post a message to the team\"
  toolcrib tool find --tools tools.jsonl \"read a file\"
  toolcrib tool find --tools tools.jsonl --queries queries.jsonl --limit 10 --lines

The result is what a model gets from `find_tools`, with scores from 0 to about 1 that are comparable between needs. With --tools, the tools are \
rows of a file, one JSON object per line: {\"id\", \"server\", \"name\", \"description\", \"parameters\": [{\"name\", \"description\"}]}. With --queries, every need is a row \
{\"id\", \"query\"} and every answer a row {\"id\", \"results\": [{\"id\", \"score\"}]}, without a minimum score.

Exit codes: 0 answered, also without a match; 1 a file cannot be read; 2 usage, or an invalid row; 3 the configured model cannot be loaded.";

#[derive(Debug, Args)]
pub(crate) struct Find {
    /// A need in plain words, or the name of a tool.
    #[arg(required_unless_present = "queries", conflicts_with = "queries")]
    pub(crate) need: Option<String>,
    /// Maximum number of tools.
    #[arg(long, value_name = "N", default_value_t = 5, value_parser = clap::value_parser!(u16).range(1..=1000))]
    pub(crate) limit: u16,
    /// Search the tools of this file (JSON lines) instead of Toolcrib's own; `-` reads standard
    /// input.
    #[arg(long = "tools", value_name = "FILE")]
    pub(crate) file: Option<PathBuf>,
    /// Answer every need of this file (JSON lines); `-` reads standard input.
    #[arg(long, value_name = "FILE", requires = "file")]
    pub(crate) queries: Option<PathBuf>,
    /// Print JSON lines, one per need, as with --queries.
    #[arg(long)]
    pub(crate) lines: bool,
    #[command(flatten)]
    pub(crate) workspace_args: FindWorkspaceArgs,
}

/// Where tools are loaded from; `--tools` is a file here.
#[derive(Debug, Args)]
pub(crate) struct FindWorkspaceArgs {
    /// Folder that file tools may access; may be repeated. Default: the current folder.
    #[arg(long = "root", value_name = "DIR")]
    root: Vec<PathBuf>,
    /// Workspace: a folder with tools, agents and skills. Default: the first root.
    #[arg(long, value_name = "DIR")]
    workspace: Option<PathBuf>,
}

impl FindWorkspaceArgs {
    /// Converts the options to those of other commands.
    pub(crate) fn to_workspace_args(&self) -> WorkspaceArgs {
        WorkspaceArgs {
            root: self.root.clone(),
            workspace: self.workspace.clone(),
            ..WorkspaceArgs::default()
        }
    }
}
