//! `toolcrib agent|skill|kit`.

use std::path::PathBuf;

use clap::{Args, Subcommand};

use super::help_examples::AGENT_TOOLS_HELP;
use super::shared::LibraryArgs;

#[derive(Debug, Subcommand)]
pub(crate) enum Agent {
    /// List every agent; what is wrong with broken files is said on standard error.
    List(LibraryArgs),
    /// Show one agent and what its list of tools comes to.
    #[command(after_help = "Exit codes: 3 its file is broken, 4 there is no such agent.")]
    Show {
        /// The agent.
        name: String,
        #[command(flatten)]
        library_args: LibraryArgs,
    },
    /// Make an agent's file, to be changed into what you need.
    New(AgentNew),
    /// Show which tools an agent has, or change its file.
    #[command(after_help = AGENT_TOOLS_HELP)]
    Tools(AgentTools),
}

#[derive(Debug, Args)]
pub(crate) struct AgentNew {
    /// Its name: lower-case letters, digits and hyphens.
    pub(crate) name: String,
    /// Agent to begin with.
    #[arg(long, value_name = "NAME")]
    pub(crate) from: Option<String>,
    /// Put it into `.toolcrib/agents` of the workspace instead of the configuration folder.
    #[arg(long)]
    pub(crate) project: bool,
    #[command(flatten)]
    pub(crate) library_args: LibraryArgs,
}

#[derive(Debug, Args)]
pub(crate) struct AgentTools {
    /// The agent.
    pub(crate) name: String,
    /// Give it these and no others: names, group:G, server:S or globs with `*`, separated by
    /// commas. Nothing = no tools at all.
    #[arg(long, value_name = "LIST", value_delimiter = ',', conflicts_with_all = ["add", "remove"])]
    pub(crate) set: Option<Vec<String>>,
    /// Give it these too.
    #[arg(long, value_name = "LIST", value_delimiter = ',')]
    pub(crate) add: Vec<String>,
    /// Take these from it.
    #[arg(long, value_name = "LIST", value_delimiter = ',')]
    pub(crate) remove: Vec<String>,
    #[command(flatten)]
    pub(crate) library_args: LibraryArgs,
}

#[derive(Debug, Subcommand)]
pub(crate) enum Skill {
    /// List every skill; what is wrong with broken ones is said on standard error.
    List(LibraryArgs),
    /// Copy a skill's folder to your own skills, after it was checked.
    Add {
        /// The folder, with its SKILL.md.
        folder: PathBuf,
        /// Copy it into `.toolcrib/skills` of the workspace instead of the configuration folder.
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
        after_help = "Exit codes: 0 nothing is wrong, 3 something is, 4 there is no such folder."
    )]
    Validate {
        /// Its folder, or its SKILL.md.
        path: PathBuf,
        #[command(flatten)]
        library_args: LibraryArgs,
    },
}

#[derive(Debug, Subcommand)]
pub(crate) enum Kit {
    /// List every kit; what is wrong with broken ones is said on standard error.
    List(LibraryArgs),
    /// Show the steps of one kit.
    Show {
        /// The kit.
        name: String,
        #[command(flatten)]
        library_args: LibraryArgs,
    },
}
