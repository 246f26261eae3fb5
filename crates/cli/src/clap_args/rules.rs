//! `toolcrib rules`.

use std::path::PathBuf;

use clap::{Args, Subcommand};
use toolcrib_app::rule_files::ImportFormat;
use toolcrib_core::Verdict;

const ADD_HELP: &str = "\
Examples:
  toolcrib rules add deny 'Read(./secrets/**)' --reason 'keys are in there'
  toolcrib rules add ask 'Bash(git push:*)' --match 'git push origin main' --not-match 'git status'
  toolcrib rules add allow 'WebFetch(domain:docs.rs)' --agent researcher --expires 2027-01-31

Exit codes: 0 added, or there already; 3 it can never match, is dangerous or fails its own examples: nothing is written.";

const EXPLAIN_HELP: &str = "\
Examples:
  toolcrib rules explain 'git status && git push'
  toolcrib rules explain 'Read(./secrets/key.pem)' --agent coder
  toolcrib rules explain --tool http_request --args '{\"url\": \"https://example.com\", \"method\": \"POST\"}'
  toolcrib rules explain --rules settings.json --default ask --json 'git push && rm -rf x'

With --lines every line of the input is a question of its own: `{\"id\", \"rules\": {\"allow\", \"ask\", \"deny\"}, \"default\"?, \"command\"}` is \
answered by `{\"id\", \"verdict\", \"rule\", \"segments\"}`, or by `{\"id\", \"error\"}` when it cannot be read. The rules of a line are judged \
with even where they are dangerous. No rule file is read then.

Exit codes: 0 answered, with any verdict, and with --lines for any lines; 2 usage; 3 the rules cannot be used.";

const LINT_HELP: &str = "\
Exit codes: 0 nothing is wrong with them, 3 something is: until it is corrected no call runs.";

const TEST_HELP: &str = "\
Exit codes: 0 every example is as it says, 1 one is not, 3 the rules cannot be read.";

const IMPORT_HELP: &str = "\
Examples:
  toolcrib rules import ~/.claude/settings.json
  toolcrib rules import .claude/settings.local.json --project --write
  toolcrib rules import ~/.codex/rules/default.rules --write

Without --write it only shows what would change. The files that are read stay as they are. Rules that cannot work here are named with the \
spelling that does, and left out.";

const REPLAY_HELP: &str = "\
The newest 1,000 calls of the history are judged by the rules in force and by the changed ones; those about which the two differ are listed. \
Remembered approvals, switches and taint are left out, because they are the same for both.

Examples:
  toolcrib rules add deny 'Bash(git push:*)' --observe && toolcrib rules replay
  cp ~/.config/toolcrib/rules.toml new.toml; toolcrib rules replay new.toml";

const SUGGEST_HELP: &str = "\
A suggested rule allows exactly what was approved, in the same workspace and for the same agent. It passes `rules lint`, and allows no call \
that a person denied. Nothing is written: each rule comes with the command that adds it.";

#[derive(Debug, Subcommand)]
pub(crate) enum Rules {
    /// List the rules of all layers: whose they are, where they stand, for whom they hold.
    List(RulesWorkspaceArgs),
    /// Add a rule to your own rules, or to those of the workspace.
    #[command(after_help = ADD_HELP)]
    Add(RulesAdd),
    /// Take a rule out of your own rules, or out of those of the workspace.
    Rm(RulesRm),
    /// Put a rule in force that is only observed.
    Enforce(RulesEnforce),
    /// Show what changed rules would have decided about the calls of the history.
    #[command(after_help = REPLAY_HELP)]
    Replay(RulesReplay),
    /// Suggest rules for what you approved more than twice.
    #[command(after_help = SUGGEST_HELP)]
    Suggest(RulesWorkspaceArgs),
    /// Say what the rules would say of a call: it need not have been made.
    #[command(after_help = EXPLAIN_HELP)]
    Explain(RulesExplain),
    /// Run the examples of rules: `match` and `not_match`.
    #[command(after_help = TEST_HELP)]
    Test(RulesFilesArgs),
    /// Look for what is wrong with rules: that can never match, that allow more than they seem to.
    #[command(after_help = LINT_HELP)]
    Lint(RulesFilesArgs),
    /// Take over rules of Claude Code or Codex.
    #[command(after_help = IMPORT_HELP)]
    Import(RulesImport),
    /// Print the rules of all layers as one file.
    Export(RulesExport),
}

/// Whose workspace is meant.
#[derive(Debug, Clone, Default, Args)]
pub(crate) struct RulesWorkspaceArgs {
    /// Workspace, whose `.toolcrib/rules.toml` counts too. Default: the current folder.
    #[arg(long, value_name = "DIR")]
    pub(crate) workspace: Option<PathBuf>,
}

#[derive(Debug, Args)]
pub(crate) struct RulesAdd {
    /// What it says: allow, ask or deny.
    pub(crate) effect: Verdict,
    /// What it is about, such as 'Bash(git push:*)', 'Read(./secrets/**)',
    /// 'WebFetch(domain:example.com)' or the name of a tool.
    pub(crate) rule: String,
    /// Why: shown wherever the rule decides.
    #[arg(long, value_name = "TEXT")]
    pub(crate) reason: Option<String>,
    /// Agent it holds for; may be repeated. Default: all.
    #[arg(long, value_name = "NAME")]
    pub(crate) agent: Vec<String>,
    /// Channel it holds for: chat, background or external-agent; may be repeated. Default: all.
    #[arg(long, value_name = "CHANNEL")]
    pub(crate) channel: Vec<String>,
    /// Workspace folder it holds for; may be repeated. Default: all. With --project: the workspace
    /// whose file is written.
    #[arg(long, value_name = "DIR")]
    pub(crate) workspace: Vec<PathBuf>,
    /// When it ends: a date, or a time with its zone.
    #[arg(long, value_name = "DATE")]
    pub(crate) expires: Option<String>,
    /// Call that it must match, as it would stand in its brackets; may be repeated.
    #[arg(long = "match", value_name = "CALL", allow_hyphen_values = true)]
    pub(crate) matches: Vec<String>,
    /// Call that it must not match; may be repeated.
    #[arg(long, value_name = "CALL", allow_hyphen_values = true)]
    pub(crate) not_match: Vec<String>,
    /// Take an allow rule that allows more than it seems to.
    #[arg(long = "unsafe")]
    pub(crate) is_unsafe: bool,
    /// Only count the calls that it would decide, until `rules enforce` or the same command without
    /// this option puts it in force.
    #[arg(long = "observe")]
    pub(crate) is_observed: bool,
    /// Write it into the workspace's file, for everybody who works there.
    #[arg(long)]
    pub(crate) project: bool,
}

#[derive(Debug, Args)]
pub(crate) struct RulesEnforce {
    /// Number of the rule in `toolcrib rules list`.
    #[arg(value_name = "NUMBER")]
    pub(crate) number: usize,
    #[command(flatten)]
    pub(crate) workspace_args: RulesWorkspaceArgs,
}

#[derive(Debug, Args)]
pub(crate) struct RulesReplay {
    /// Changed rules, in place of your own rules file. Default: the rules in force, with those that
    /// are only observed.
    pub(crate) file: Option<PathBuf>,
    /// FILE stands in place of the workspace's rules file.
    #[arg(long, requires = "file")]
    pub(crate) project: bool,
    #[command(flatten)]
    pub(crate) workspace_args: RulesWorkspaceArgs,
}

#[derive(Debug, Args)]
pub(crate) struct RulesRm {
    /// The rule: its number in `toolcrib rules list`, or exactly as it is written.
    pub(crate) rule: String,
    /// The one of the workspace's file is meant.
    #[arg(long)]
    pub(crate) project: bool,
    #[command(flatten)]
    pub(crate) workspace_args: RulesWorkspaceArgs,
}

#[derive(Debug, Args)]
pub(crate) struct RulesExplain {
    /// A command line, or a call such as 'Read(./secrets/x)'.
    #[arg(value_name = "TEXT", allow_hyphen_values = true, required_unless_present_any = ["tool", "lines"])]
    pub(crate) text: Option<String>,
    /// Rules to judge with in place of all layers: TOML of ours, or lists of allow, ask and deny as
    /// JSON.
    #[arg(long, value_name = "FILE", conflicts_with = "lines")]
    pub(crate) rules: Option<PathBuf>,
    /// What holds where no rule speaks: allow, ask or deny. Default: what the preset says at the
    /// risk of the tool.
    #[arg(long, value_name = "VERDICT", conflicts_with = "lines")]
    pub(crate) default: Option<Verdict>,
    /// Agent that would call.
    #[arg(long, value_name = "NAME", default_value = "", hide_default_value = true)]
    pub(crate) agent: String,
    /// Channel of the call.
    #[arg(long, value_name = "CHANNEL", default_value = "chat")]
    pub(crate) channel: String,
    /// Tool that would be called.
    #[arg(long, value_name = "NAME", conflicts_with = "text")]
    pub(crate) tool: Option<String>,
    /// Its arguments, as JSON.
    #[arg(long, value_name = "JSON", allow_hyphen_values = true)]
    pub(crate) args: Option<String>,
    /// Filter: one question in and one answer out per line.
    #[arg(long, conflicts_with_all = ["text", "tool"])]
    pub(crate) lines: bool,
    #[command(flatten)]
    pub(crate) workspace_args: RulesWorkspaceArgs,
}

#[derive(Debug, Args)]
pub(crate) struct RulesFilesArgs {
    /// Files. Default: those of all layers.
    pub(crate) files: Vec<PathBuf>,
    #[command(flatten)]
    pub(crate) workspace_args: RulesWorkspaceArgs,
}

#[derive(Debug, Args)]
pub(crate) struct RulesImport {
    /// Files of the other program.
    #[arg(required = true)]
    pub(crate) files: Vec<PathBuf>,
    /// Whose they are: claude or codex. Default: found out from their names.
    #[arg(long)]
    pub(crate) format: Option<ImportFormat>,
    /// Write it.
    #[arg(long)]
    pub(crate) write: bool,
    /// Only show what would change; so it is without --write.
    #[arg(long, conflicts_with = "write")]
    pub(crate) dry_run: bool,
    /// Take allow rules too that allow more than they seem to.
    #[arg(long = "unsafe")]
    pub(crate) is_unsafe: bool,
    /// Write into the workspace's file.
    #[arg(long)]
    pub(crate) project: bool,
    #[command(flatten)]
    pub(crate) workspace_args: RulesWorkspaceArgs,
}

#[derive(Debug, Args)]
pub(crate) struct RulesExport {
    /// The form: toml, or claude for the settings of Claude Code.
    #[arg(long, value_parser = ["toml", "claude"], default_value = "toml")]
    pub(crate) format: String,
    #[command(flatten)]
    pub(crate) workspace_args: RulesWorkspaceArgs,
}
