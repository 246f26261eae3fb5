//! `toolcrib prompt`.

use clap::{Args, Subcommand};

use super::{ModelArgs, WorkspaceArgs};

pub(super) const PROMPT_HELP: &str = "\
Examples:
  toolcrib prompt show
  toolcrib prompt set \"Answer briefly. I am a baker in Oslo.\"
  toolcrib prompt undo

Your custom instructions are in the system prompt of every run.";

#[derive(Debug, Subcommand)]
pub(crate) enum Prompt {
    /// Show exactly what a model would get with its first request, with tokens per part.
    Show(Box<PromptShow>),
    /// Show your custom instructions.
    Instructions,
    /// Set your custom instructions.
    Set {
        /// The text. Default: standard input.
        text: Option<String>,
    },
    /// Remove your custom instructions.
    Clear,
    /// Show the last changes of your custom instructions, newest first; changes are kept for 30
    /// days.
    History,
    /// Undo the last change of your custom instructions.
    Undo,
}

/// The agent and model whose prompt to show.
#[derive(Debug, Args)]
pub(crate) struct PromptShow {
    #[command(flatten)]
    pub(crate) model_args: ModelArgs,
    #[command(flatten)]
    pub(crate) workspace_args: WorkspaceArgs,
}
