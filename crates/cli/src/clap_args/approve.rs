//! `toolcrib approve`.

use clap::{Args, Subcommand, ValueEnum};
use toolcrib_core::GrantScope;

const LIST_HELP: &str = "\
Expired questions stay in the list, marked as expired, until someone tries to decide them.";

const DECIDE_HELP: &str = "\
If a call outside a run has lost its process, this command runs it in its original context and prints the result. A call of a suspended run \
runs when the run resumes: `toolcrib resume RUN`, or --resume.

Exit codes: 0 decided, or that of the call that ran here; 2 the question is of another kind, or the id is ambiguous; 4 the question does not \
exist; 5 it is already decided; 6 it has expired.";

const ALWAYS_HELP: &str = "\
Examples:
  toolcrib approve always appr_0193 --dry-run
  toolcrib approve always appr_0193 --only 'path=build/*'
  toolcrib approve always appr_0193 --scope run

The command first prints what the approval will match, with the past calls that it would have matched. `toolcrib grant list` shows remembered \
approvals, `toolcrib grant revoke` revokes one.";

#[derive(Debug, Subcommand)]
pub(crate) enum Approve {
    /// List pending questions across all runs, oldest first.
    #[command(after_help = LIST_HELP)]
    List(ApproveListArgs),
    /// Show a question with everything that is needed to decide it.
    Show {
        /// Id of the question; a unique prefix is enough.
        id: String,
    },
    /// Approve the call once.
    #[command(after_help = DECIDE_HELP)]
    Yes(ApprovalArgs),
    /// Deny the call.
    #[command(after_help = DECIDE_HELP)]
    No(DenyArgs),
    /// Approve the call, and similar calls from now on without a question.
    #[command(after_help = ALWAYS_HELP)]
    Always(ApproveAlwaysArgs),
    /// Approve the call with changed arguments.
    #[command(after_help = DECIDE_HELP)]
    Edit(ApproveEditArgs),
    /// Skip the call and continue the run; a model's question remains unanswered.
    #[command(after_help = DECIDE_HELP)]
    Skip(ApprovalArgs),
    /// Answer a question of the model.
    #[command(after_help = DECIDE_HELP)]
    Answer(ApproveAnswerArgs),
}

#[derive(Debug, Args)]
pub(crate) struct ApproveListArgs {
    /// Include decided questions, newest first.
    #[arg(long)]
    pub(crate) all: bool,
}

/// The question to decide, and whether the run resumes.
#[derive(Debug, Args)]
pub(crate) struct ApprovalArgs {
    /// Id of the question; a unique prefix is enough.
    pub(crate) id: String,
    /// Resume the run at once if it is suspended.
    #[arg(long)]
    pub(crate) resume: bool,
}

#[derive(Debug, Args)]
pub(crate) struct DenyArgs {
    #[command(flatten)]
    pub(crate) approval: ApprovalArgs,
    /// Note for the model.
    #[arg(long, value_name = "TEXT")]
    pub(crate) note: Option<String>,
}

#[derive(Debug, Args)]
pub(crate) struct ApproveAlwaysArgs {
    #[command(flatten)]
    pub(crate) approval: ApprovalArgs,
    /// How long the approval is remembered.
    #[arg(long, value_enum, default_value_t = GrantScopeArg::Always)]
    pub(crate) scope: GrantScopeArg,
    /// Match only calls whose argument fits this glob, in which `*` is any text; may be repeated.
    #[arg(long, value_name = "ARG=GLOB", value_parser = parse_argument_glob)]
    pub(crate) only: Vec<(String, String)>,
    /// Match also after the run has read untrusted text, which remembered approvals exclude
    /// otherwise.
    #[arg(long)]
    pub(crate) taint: bool,
    /// Only show what it would match.
    #[arg(long)]
    pub(crate) dry_run: bool,
}

#[derive(Debug, Args)]
pub(crate) struct ApproveEditArgs {
    #[command(flatten)]
    pub(crate) approval: ApprovalArgs,
    /// New arguments as JSON; `-` reads standard input. Default: opens them in $VISUAL or $EDITOR.
    #[arg(long, value_name = "JSON")]
    pub(crate) args: Option<String>,
}

#[derive(Debug, Args)]
pub(crate) struct ApproveAnswerArgs {
    #[command(flatten)]
    pub(crate) approval: ApprovalArgs,
    /// Answer in your own words.
    #[arg(required_unless_present = "option")]
    pub(crate) text: Option<String>,
    /// Number of the chosen answer, as `approve show` lists them.
    #[arg(long, value_name = "N", conflicts_with = "text")]
    pub(crate) option: Option<usize>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum GrantScopeArg {
    /// Until the run ends.
    Run,
    /// Until the conversation ends.
    Conversation,
    /// Until it is revoked.
    Always,
}

impl From<GrantScopeArg> for GrantScope {
    fn from(scope: GrantScopeArg) -> Self {
        match scope {
            GrantScopeArg::Run => Self::Run,
            GrantScopeArg::Conversation => Self::Conversation,
            GrantScopeArg::Always => Self::Always,
        }
    }
}

fn parse_argument_glob(text: &str) -> Result<(String, String), String> {
    let (name, glob) =
        text.split_once('=').ok_or("write ARGUMENT=PATTERN, such as path=build/*")?;
    if name.trim().is_empty() || glob.is_empty() {
        return Err("neither the argument nor its pattern may be empty".to_owned());
    }
    Ok((name.trim().to_owned(), glob.to_owned()))
}
