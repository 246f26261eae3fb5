//! `toolcrib goal`.

use clap::{Args, Subcommand};

pub(super) const GOAL_HELP: &str = "\
Examples:
  toolcrib goal add \"Compare the libraries in libs.md; answer with a table.\"
  toolcrib goal list
  toolcrib goal show goal_019aabc00000000000000000000000a1

A daemon (`toolcrib serve`) pursues goals, each by a run in the background with a budget of its own. Models start them with goal_pursuit; \
`toolcrib tool disable --feature goals` switches that off.";

#[derive(Debug, Subcommand)]
pub(crate) enum Goal {
    /// Start a goal.
    Add(AddGoal),
    /// List the goals, the newest first.
    List,
    /// Show one goal with its result.
    Show {
        /// Its id.
        goal: String,
    },
    /// Cancel a goal; the daemon stops its run.
    Cancel {
        /// Its id.
        goal: String,
    },
    /// Let a waiting goal begin, also one that a model started from text from outside.
    Resume {
        /// Its id.
        goal: String,
    },
}

/// A goal to start.
#[derive(Debug, Args)]
pub(crate) struct AddGoal {
    /// What is to be reached, so that it can be understood on its own.
    pub(crate) text: String,
    /// The agent of its run. Default: the configured one.
    #[arg(long)]
    pub(crate) agent: Option<String>,
    /// Rounds of its run. Default: 40.
    #[arg(long)]
    pub(crate) rounds: Option<u32>,
    /// Tokens of its run. Default: 500000.
    #[arg(long)]
    pub(crate) tokens: Option<u64>,
}
