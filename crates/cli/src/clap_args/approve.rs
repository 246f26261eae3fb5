//! `toolcrib approve`.

use clap::{Args, Subcommand, ValueEnum};
use toolcrib_core::GrantScope;

const LIST_HELP: &str = "\
Questions whose time is over stay in the list, marked as expired, until a decision about them is tried.";

const DECIDE_HELP: &str = "\
A call outside a run whose process is gone is carried out here, in the surroundings it was asked in, and its result is printed. A call of a \
run that is put aside runs when the run goes on: `toolcrib resume RUN`, or --resume.

Exit codes: 0 decided, or the outcome of the call that ran here; 2 the question is of another kind, or the id fits several; 4 there is no \
such question; 5 it was decided before; 6 its time is over.";

const ALWAYS_HELP: &str = "\
Examples:
  toolcrib approve always appr_0193 --dry-run
  toolcrib approve always appr_0193 --only 'path=build/*'
  toolcrib approve always appr_0193 --scope run

What it will match is printed before it is given, with the past calls that it would have matched. `toolcrib grant list` shows what was given, \
`toolcrib grant revoke` takes it back.";

#[derive(Debug, Subcommand)]
pub(crate) enum Approve {
    /// List the questions that wait for a person, over all runs, the oldest first.
    #[command(after_help = LIST_HELP)]
    List(ApproveListArgs),
    /// Show one question with everything that the decision is about.
    Show {
        /// The question; a beginning of its id that no other has is enough.
        id: String,
    },
    /// Let the call run, this once.
    #[command(after_help = DECIDE_HELP)]
    Yes(ApprovalArgs),
    /// Do not let the call run.
    #[command(after_help = DECIDE_HELP)]
    No(DenyArgs),
    /// Let the call run, and calls like it from now on without asking.
    #[command(after_help = ALWAYS_HELP)]
    Always(ApproveAlwaysArgs),
    /// Let the call run with other arguments.
    #[command(after_help = DECIDE_HELP)]
    Edit(ApproveEditArgs),
    /// Do not let the call run, and let the run go on; a question of the model stays unanswered.
    #[command(after_help = DECIDE_HELP)]
    Skip(ApprovalArgs),
    /// Answer a question of the model.
    #[command(after_help = DECIDE_HELP)]
    Answer(ApproveAnswerArgs),
}

#[derive(Debug, Args)]
pub(crate) struct ApproveListArgs {
    /// Those that are decided too, the newest first.
    #[arg(long)]
    pub(crate) all: bool,
}

/// Which question, and what happens after.
#[derive(Debug, Args)]
pub(crate) struct ApprovalArgs {
    /// The question; a beginning of its id that no other has is enough.
    pub(crate) id: String,
    /// Go on at once with the run, if it is put aside.
    #[arg(long)]
    pub(crate) resume: bool,
}

#[derive(Debug, Args)]
pub(crate) struct DenyArgs {
    #[command(flatten)]
    pub(crate) approval: ApprovalArgs,
    /// Words for the model.
    #[arg(long, value_name = "TEXT")]
    pub(crate) note: Option<String>,
}

#[derive(Debug, Args)]
pub(crate) struct ApproveAlwaysArgs {
    #[command(flatten)]
    pub(crate) approval: ApprovalArgs,
    /// How long it holds.
    #[arg(long, value_enum, default_value_t = GrantScopeArg::Always)]
    pub(crate) scope: GrantScopeArg,
    /// Only for calls whose argument looks like this, `*` being any text; may be repeated.
    #[arg(long, value_name = "ARG=GLOB", value_parser = parse_argument_glob)]
    pub(crate) only: Vec<(String, String)>,
    /// Also when the run has read text from outside, which no other remembered approval answers
    /// for.
    #[arg(long)]
    pub(crate) taint: bool,
    /// Only say what it would match.
    #[arg(long)]
    pub(crate) dry_run: bool,
}

#[derive(Debug, Args)]
pub(crate) struct ApproveEditArgs {
    #[command(flatten)]
    pub(crate) approval: ApprovalArgs,
    /// The new arguments as JSON; `-` reads them from standard input. Without it they are opened in
    /// $VISUAL or $EDITOR.
    #[arg(long, value_name = "JSON")]
    pub(crate) args: Option<String>,
}

#[derive(Debug, Args)]
pub(crate) struct ApproveAnswerArgs {
    #[command(flatten)]
    pub(crate) approval: ApprovalArgs,
    /// The answer in your own words.
    #[arg(required_unless_present = "option")]
    pub(crate) text: Option<String>,
    /// The answer of this number, as `approve show` has it.
    #[arg(long, value_name = "N", conflicts_with = "text")]
    pub(crate) option: Option<usize>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum GrantScopeArg {
    /// For the rest of the run.
    Run,
    /// For the rest of the conversation.
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
