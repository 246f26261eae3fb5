//! `toolcrib goal`.

use clap::{Args, Subcommand};

pub(super) const GOAL_HELP: &str = "\
Examples:
  toolcrib goal add \"Compare the libraries in libs.md; answer with a table.\"
  toolcrib goal list
  toolcrib goal show goal_019aabc00000000000000000000000a1

The daemon (`toolcrib serve`) pursues each goal with a background run that has its own budget. Models start goals with goal_pursuit; \
`toolcrib tool disable --feature goals` switches it off.";

#[derive(Debug, Subcommand)]
pub(crate) enum Goal {
    /// Start a goal.
    Add(AddGoal),
    /// List goals, newest first.
    List,
    /// Show a goal with its result.
    Show {
        /// Id of the goal.
        goal: String,
    },
    /// Cancel a goal; the daemon stops its run.
    Cancel {
        /// Id of the goal.
        goal: String,
    },
    /// Start a waiting goal, such as one that a model created from untrusted text.
    Resume {
        /// Id of the goal.
        goal: String,
    },
}

/// The goal to start.
#[derive(Debug, Args)]
pub(crate) struct AddGoal {
    /// What to achieve, understandable without further context.
    pub(crate) text: String,
    /// Agent of the run. Default: the configured one.
    #[arg(long)]
    pub(crate) agent: Option<String>,
    /// Maximum rounds of the run. Default: 40.
    #[arg(long)]
    pub(crate) rounds: Option<u32>,
    /// Maximum tokens of the run. Default: 500000.
    #[arg(long)]
    pub(crate) tokens: Option<u64>,
}
