//! `toolcrib agent|skill|kit`.

use std::path::PathBuf;

use clap::{Args, Subcommand};

use super::help_examples::AGENT_TOOLS_HELP;
use super::shared::LibraryArgs;

#[derive(Debug, Subcommand)]
pub(crate) enum Agent {
    /// List all agents; errors in their files go to standard error.
    List(LibraryArgs),
    /// Show an agent and the tools that its list resolves to.
    #[command(
        after_help = "Exit codes: 3 the agent's file is invalid, 4 the agent does not exist."
    )]
    Show {
        /// The agent's name.
        name: String,
        #[command(flatten)]
        library_args: LibraryArgs,
    },
    /// Create the file of an agent, for you to edit.
    New(AgentNew),
    /// Show an agent's tools, or change them in its file.
    #[command(after_help = AGENT_TOOLS_HELP)]
    Tools(AgentTools),
}

#[derive(Debug, Args)]
pub(crate) struct AgentNew {
    /// Name: lower-case letters, digits and hyphens.
    pub(crate) name: String,
    /// Agent to copy from.
    #[arg(long, value_name = "NAME")]
    pub(crate) from: Option<String>,
    /// Write to `.toolcrib/agents` of the workspace instead of the configuration folder.
    #[arg(long)]
    pub(crate) project: bool,
    #[command(flatten)]
    pub(crate) library_args: LibraryArgs,
}

#[derive(Debug, Args)]
pub(crate) struct AgentTools {
    /// The agent's name.
    pub(crate) name: String,
    /// Set the whole list: names, group:G, server:S or globs with `*`, separated by commas. An
    /// empty value means no tools.
    #[arg(long, value_name = "LIST", value_delimiter = ',', conflicts_with_all = ["add", "remove"])]
    pub(crate) set: Option<Vec<String>>,
    /// Add these tools.
    #[arg(long, value_name = "LIST", value_delimiter = ',')]
    pub(crate) add: Vec<String>,
    /// Remove these tools.
    #[arg(long, value_name = "LIST", value_delimiter = ',')]
    pub(crate) remove: Vec<String>,
    #[command(flatten)]
    pub(crate) library_args: LibraryArgs,
}

#[derive(Debug, Subcommand)]
pub(crate) enum Skill {
    /// List all skills; errors in their files go to standard error.
    List(LibraryArgs),
    /// Check a skill, and copy its folder to your own skills.
    Add {
        /// The skill's folder, which holds a SKILL.md.
        folder: PathBuf,
        /// Copy to `.toolcrib/skills` of the workspace instead of the configuration folder.
        #[arg(long)]
        project: bool,
        #[command(flatten)]
        library_args: LibraryArgs,
    },
    /// Show a skill with its instructions.
    Show {
        /// The skill.
        name: String,
        #[command(flatten)]
        library_args: LibraryArgs,
    },
    /// Switch a skill on.
    Enable {
        /// The skill.
        name: String,
        #[command(flatten)]
        library_args: LibraryArgs,
    },
    /// Switch a skill off: no model is offered it or can load it, and agents work without it.
    Disable {
        /// The skill.
        name: String,
        #[command(flatten)]
        library_args: LibraryArgs,
    },
    /// Check a skill more strictly than loading does.
    #[command(
        after_help = "Exit codes: 0 no problem found, 3 problems found, 4 the folder does not exist."
    )]
    Validate {
        /// The skill's folder or its SKILL.md.
        path: PathBuf,
        #[command(flatten)]
        library_args: LibraryArgs,
    },
}

#[derive(Debug, Subcommand)]
pub(crate) enum Kit {
    /// List all kits; errors in their files go to standard error.
    List(LibraryArgs),
    /// Show the steps of a kit.
    Show {
        /// The kit's name.
        name: String,
        #[command(flatten)]
        library_args: LibraryArgs,
    },
}
