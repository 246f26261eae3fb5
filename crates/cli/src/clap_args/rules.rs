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

Exit codes: 0 added, or already present; 3 the rule can never match, is dangerous or fails its own examples, and nothing was written.";

const EXPLAIN_HELP: &str = "\
Examples:
  toolcrib rules explain 'git status && git push'
  toolcrib rules explain 'Read(./secrets/key.pem)' --agent coder
  toolcrib rules explain --tool http_request --args '{\"url\": \"https://example.com\", \"method\": \"POST\"}'
  toolcrib rules explain --rules settings.json --default ask --json 'git push && rm -rf x'

With --lines, every line of the input is a question: `{\"id\", \"rules\": {\"allow\", \"ask\", \"deny\"}, \"default\"?, \"command\"}` is answered by \
`{\"id\", \"verdict\", \"rule\", \"segments\"}`, or by `{\"id\", \"error\"}` if it cannot be parsed. The rules of a line apply even if they are \
dangerous. No rule file is read.

Exit codes: 0 answered, whatever the verdict; 2 usage; 3 the rules are invalid.";

const LINT_HELP: &str = "\
Exit codes: 0 no error, 3 errors: no call runs until they are corrected.";

const TEST_HELP: &str = "\
Exit codes: 0 every example passes, 1 an example fails, 3 the rules cannot be read.";

const IMPORT_HELP: &str = "\
Examples:
  toolcrib rules import ~/.claude/settings.json
  toolcrib rules import .claude/settings.local.json --project --write
  toolcrib rules import ~/.codex/rules/default.rules --write

Without --write, the command only shows the changes. It never changes the imported files. It leaves out rules that cannot work here, and prints \
the spelling that does.";

const REPLAY_HELP: &str = "\
Evaluates the newest 1,000 calls of the history with the rules in force and with the changed rules, and lists the calls with different verdicts. \
Remembered approvals, switches and taint are left out, because they are the same in both evaluations.

Examples:
  toolcrib rules add deny 'Bash(git push:*)' --observe && toolcrib rules replay
  cp ~/.config/toolcrib/rules.toml new.toml; toolcrib rules replay new.toml";

const SUGGEST_HELP: &str = "\
A suggested rule allows exactly the approved calls, in the same workspace and for the same agent. It passes `rules lint`, and allows no call \
that a person denied. The command writes nothing; it prints the command that adds each rule.";

#[derive(Debug, Subcommand)]
pub(crate) enum Rules {
    /// List the rules of all layers with file, line and scope.
    List(RulesWorkspaceArgs),
    /// Add a rule to your rules, or to those of the workspace.
    #[command(after_help = ADD_HELP)]
    Add(RulesAdd),
    /// Remove a rule from your rules, or from those of the workspace.
    Rm(RulesRm),
    /// Enforce a rule that is only observed.
    Enforce(RulesEnforce),
    /// Show which past calls changed rules would have decided differently.
    #[command(after_help = REPLAY_HELP)]
    Replay(RulesReplay),
    /// Suggest rules for calls that you approved at least three times.
    #[command(after_help = SUGGEST_HELP)]
    Suggest(RulesWorkspaceArgs),
    /// Explain what the rules decide about a call, without making it.
    #[command(after_help = EXPLAIN_HELP)]
    Explain(RulesExplain),
    /// Test the examples of rules: `match` and `not_match`.
    #[command(after_help = TEST_HELP)]
    Test(RulesFilesArgs),
    /// Find problems of rules: rules that can never match, or allow more than they seem to.
    #[command(after_help = LINT_HELP)]
    Lint(RulesFilesArgs),
    /// Import rules of Claude Code or Codex.
    #[command(after_help = IMPORT_HELP)]
    Import(RulesImport),
    /// Print the rules of all layers as one file.
    Export(RulesExport),
}

/// The workspace.
#[derive(Debug, Clone, Default, Args)]
pub(crate) struct RulesWorkspaceArgs {
    /// Workspace whose `.toolcrib/rules.toml` applies too. Default: the current folder.
    #[arg(long, value_name = "DIR")]
    pub(crate) workspace: Option<PathBuf>,
}

#[derive(Debug, Args)]
pub(crate) struct RulesAdd {
    /// Effect: allow, ask or deny.
    pub(crate) effect: Verdict,
    /// Pattern, such as 'Bash(git push:*)', 'Read(./secrets/**)', 'WebFetch(domain:example.com)' or
    /// the name of a tool.
    pub(crate) rule: String,
    /// Reason, shown wherever the rule decides.
    #[arg(long, value_name = "TEXT")]
    pub(crate) reason: Option<String>,
    /// Agent that the rule applies to; may be repeated. Default: all.
    #[arg(long, value_name = "NAME")]
    pub(crate) agent: Vec<String>,
    /// Channel that the rule applies to: chat, message, background or external-agent; may be
    /// repeated.
    /// Default: all.
    #[arg(long, value_name = "CHANNEL")]
    pub(crate) channel: Vec<String>,
    /// Workspace folder that the rule applies to; may be repeated. Default: all. With --project:
    /// the workspace whose file is written.
    #[arg(long, value_name = "DIR")]
    pub(crate) workspace: Vec<PathBuf>,
    /// When the rule expires: a date, or a time with its zone.
    #[arg(long, value_name = "DATE")]
    pub(crate) expires: Option<String>,
    /// Example that the rule must match, as written inside the parentheses; may be repeated.
    #[arg(long = "match", value_name = "CALL", allow_hyphen_values = true)]
    pub(crate) matches: Vec<String>,
    /// Example that the rule must not match; may be repeated.
    #[arg(long, value_name = "CALL", allow_hyphen_values = true)]
    pub(crate) not_match: Vec<String>,
    /// Accept an allow rule that allows more than it seems to.
    #[arg(long = "unsafe")]
    pub(crate) is_unsafe: bool,
    /// Only count the calls that the rule would decide, until `rules enforce`, or the same command
    /// without this option, enforces it.
    #[arg(long = "observe")]
    pub(crate) is_observed: bool,
    /// Write to the workspace's file, which applies to everyone who works there.
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
    /// File with changed rules that replaces your rules file. Default: the rules in force, with the
    /// observed rules enforced.
    pub(crate) file: Option<PathBuf>,
    /// FILE replaces the workspace's rules file.
    #[arg(long, requires = "file")]
    pub(crate) project: bool,
    #[command(flatten)]
    pub(crate) workspace_args: RulesWorkspaceArgs,
}

#[derive(Debug, Args)]
pub(crate) struct RulesRm {
    /// Number of the rule in `toolcrib rules list`, or its exact text.
    pub(crate) rule: String,
    /// Remove it from the workspace's file.
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
    /// Rules to use instead of those of all layers: TOML, or JSON lists of allow, ask and deny.
    #[arg(long, value_name = "FILE", conflicts_with = "lines")]
    pub(crate) rules: Option<PathBuf>,
    /// Verdict where no rule matches: allow, ask or deny. Default: the preset's verdict for the
    /// risk of the tool.
    #[arg(long, value_name = "VERDICT", conflicts_with = "lines")]
    pub(crate) default: Option<Verdict>,
    /// Calling agent.
    #[arg(long, value_name = "NAME", default_value = "", hide_default_value = true)]
    pub(crate) agent: String,
    /// Channel of the call.
    #[arg(long, value_name = "CHANNEL", default_value = "chat")]
    pub(crate) channel: String,
    /// Tool to call.
    #[arg(long, value_name = "NAME", conflicts_with = "text")]
    pub(crate) tool: Option<String>,
    /// Arguments of the tool, as JSON.
    #[arg(long, value_name = "JSON", allow_hyphen_values = true)]
    pub(crate) args: Option<String>,
    /// Filter: reads one question and writes one answer per line.
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
    /// Program of the files: claude or codex. Default: detected from the names.
    #[arg(long)]
    pub(crate) format: Option<ImportFormat>,
    /// Write the rules.
    #[arg(long)]
    pub(crate) write: bool,
    /// Only show the changes; this is the default.
    #[arg(long, conflicts_with = "write")]
    pub(crate) dry_run: bool,
    /// Also import allow rules that allow more than they seem to.
    #[arg(long = "unsafe")]
    pub(crate) is_unsafe: bool,
    /// Write to the workspace's file.
    #[arg(long)]
    pub(crate) project: bool,
    #[command(flatten)]
    pub(crate) workspace_args: RulesWorkspaceArgs,
}

#[derive(Debug, Args)]
pub(crate) struct RulesExport {
    /// Format: toml, or claude for the settings of Claude Code.
    #[arg(long, value_parser = ["toml", "claude"], default_value = "toml")]
    pub(crate) format: String,
    #[command(flatten)]
    pub(crate) workspace_args: RulesWorkspaceArgs,
}
