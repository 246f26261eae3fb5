//! The words of the command line.

mod approve;
mod artifact;
mod audit;
mod backup;
pub(crate) mod command_groups;
mod config;
mod conversation;
mod daemon;
mod db;
mod deprecated;
mod doctor;
#[cfg(test)]
mod documented_commands;
mod grant;
mod help_examples;
mod history;
mod init;
mod kill_switch;
mod log_options;
mod mcp;
mod memory;
mod python;
mod rules;
mod sandbox;
mod saved_chains;
mod secret;
mod serve;
mod service;
mod switches;
mod task;
pub(crate) mod tool_arguments;
mod tool_search;
mod tool_why;
mod undo;
mod userland;
mod variable_error;

use std::ffi::OsString;
use std::path::PathBuf;
use std::time::Duration;

use clap::builder::{PossibleValuesParser, TypedValueParser};
use clap::{Args, FromArgMatches as _, Parser, Subcommand};
use toolcrib_app::Preset;
use toolcrib_app::core::{CallId, ConversationId};
use toolcrib_app::net::AddressPolicy;
use toolcrib_app::providers::Format;

use crate::config::{OnAsk, duration_and_money};
use crate::output;
use help_examples::{
    AGENT_TOOLS_HELP, ARGS_HELP, CALL_HELP, CHAT_HELP, EXEC_HELP, RESUME_HELP, RUN_HELP,
};
use tool_why::TOOL_WHY_HELP;

pub(crate) use approve::{
    ApprovalArgs, Approve, ApproveAlwaysArgs, ApproveAnswerArgs, ApproveEditArgs, GrantScopeArg,
};
pub(crate) use artifact::Artifact;
pub(crate) use audit::{
    Audit, AuditExportArgs, AuditExportFormat, AuditTailArgs, AuditVerifyArgs, ExportStart,
};
pub(crate) use backup::{Backup, Restore};
pub(crate) use config::{ConfigCommand, ConfigList, ConfigSet, ConfigUnset, Trust};
pub(crate) use conversation::Conversation;
pub(crate) use daemon::{StopDaemon, Token, TokenAdd};
pub(crate) use db::{Db, DbMigrate};
pub(crate) use doctor::DoctorArgs;
pub(crate) use grant::Grant;
pub(crate) use history::{Explain, History, Metrics, Usage, UsageGrouping};
pub(crate) use init::Init;
pub(crate) use kill_switch::StopTools;
pub(crate) use log_options::{LogArgs, LogFormat};
pub(crate) use mcp::{
    Mcp, McpAdd, McpAuth, McpClient, McpImport, McpReview, McpServe, McpSkills, McpTestArgs,
};
pub(crate) use memory::Memory;
pub(crate) use python::Python;
pub(crate) use rules::{
    Rules, RulesAdd, RulesEnforce, RulesExplain, RulesExport, RulesFilesArgs, RulesImport,
    RulesReplay, RulesRm, RulesWorkspaceArgs,
};
pub(crate) use sandbox::{Sandbox, SandboxExec, SandboxNet};
pub(crate) use saved_chains::{Chain, ChainRemove, ChainSave};
pub(crate) use secret::{Secret, SecretSet};
pub(crate) use serve::Serve;
pub(crate) use service::{ServiceCommand, ServiceInstall};
pub(crate) use switches::SwitchArgs;
pub(crate) use task::{AddTask, Task};
pub(crate) use tool_search::Find;
pub(crate) use tool_why::{ToolList, ToolWhy};
pub(crate) use undo::{Redo, TakeChanges, Undo};
pub(crate) use userland::{
    PackagesCommand, UserlandInstall, UserlandNetworkArgs, UserlandPackages, UserlandUninstall,
};

/// Gives AI agents their tools: finds, checks, runs, bounds and records every call.
#[derive(Debug, Parser)]
#[command(name = "toolcrib", version, propagate_version = true, arg_required_else_help = true)]
#[command(
    after_help = "Exit codes: 0 ok, 1 a tool or run failed, 2 usage, 3 configuration invalid, 4 not found, 5 denied, \
6 approval needed or expired, 7 budget exceeded, 8 no daemon runs or it cannot be reached, 74 outcome not recorded, 124 timed out, 125 outcome unknown, 130 interrupted."
)]
pub(crate) struct Cli {
    /// Print for machines: one JSON document, or JSON lines, instead of text.
    #[arg(long, global = true)]
    pub(crate) json: bool,

    #[command(subcommand)]
    pub(crate) command: Command,
}

impl Cli {
    /// What the command line says.
    pub(crate) fn from_process_args() -> Self {
        let mut args: Vec<OsString> = std::env::args_os().collect();
        let warnings = deprecated::replace_old_options(&mut args);
        for warning in warnings {
            // The command line is not parsed yet, and warnings are JSON where the output is.
            output::warn(&warning, args.iter().any(|arg| arg == "--json"));
        }
        match args.get(1..3) {
            Some([one, two]) if one == "sandbox" && two == "exec" => {
                let exec = SandboxExec::parse_fast_path(args.get(3..).unwrap_or_default());
                exec.unwrap_or_else(|| Self::parse_all(&args))
            }
            _ => Self::parse_all(&args),
        }
    }

    /// Parses with the grouped help; a wrong command line ends the process with exit code 2.
    fn parse_all(args: &[OsString]) -> Self {
        let mut command = command_groups::command();
        let parsed = command.try_get_matches_from_mut(args).and_then(|mut found| {
            Self::from_arg_matches_mut(&mut found).map_err(|error| error.format(&mut command))
        });
        parsed.unwrap_or_else(|error| {
            if let Some(message) = variable_error::describe(&command, args, &error) {
                let failure = output::Failure::configuration(message);
                output::print_failure(&failure, args.iter().any(|arg| arg == "--json"));
                std::process::exit(i32::from(failure.code));
            }
            error.exit()
        })
    }
}

#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    /// Choose the model that answers, try it, and write that into the configuration.
    #[command(after_help = init::INIT_HELP)]
    Init(Init),
    /// Give a model a task and its tools, and run until the answer is there.
    #[command(after_help = RUN_HELP)]
    Run(Run),
    /// Talk with a model that has its tools, turn by turn.
    #[command(after_help = CHAT_HELP)]
    Chat(Chat),
    /// Answer over HTTP and a socket: the daemon.
    #[command(after_help = serve::SERVE_HELP)]
    Serve(Serve),
    /// Say whether a daemon runs, where, and what it does.
    #[command(after_help = daemon::STATUS_HELP)]
    Status,
    /// Let the daemon end.
    #[command(after_help = daemon::STOP_DAEMON_HELP)]
    Stop(StopDaemon),
    /// Let the daemon read its configuration again.
    Reload,
    /// Make tokens for programs that ask the daemon, and take them back.
    #[command(subcommand, after_help = daemon::TOKEN_HELP)]
    Token(Token),
    /// Say whether the daemon takes calls.
    #[command(after_help = daemon::HEALTH_HELP)]
    Healthcheck,
    /// Print the OpenAPI document of the daemon's interface; none needs to run.
    Openapi,
    /// Go on with a run that waits for a person.
    #[command(after_help = RESUME_HELP)]
    Resume(Resume),
    /// Decide about calls that wait for a person, and answer the questions of models: the inbox
    /// over all runs.
    #[command(subcommand)]
    Approve(Approve),
    /// Look at remembered approvals, and take them back.
    #[command(subcommand)]
    Grant(Grant),
    /// Say who may call what: look at rules, change them, ask them, take over those of other
    /// programs.
    #[command(subcommand)]
    Rules(Rules),
    /// Look at the configuration of all layers, change it, check it.
    #[command(subcommand, after_help = config::CONFIG_HELP)]
    Config(ConfigCommand),
    /// Trust a workspace: its tools, rules, hooks and configuration are taken at their word.
    #[command(after_help = config::TRUST_HELP)]
    Trust(Trust),
    /// Keep secrets, encrypted, and see who uses them.
    #[command(subcommand, after_help = secret::SECRET_HELP)]
    Secret(Secret),
    /// Run the tool calls of a model's answer, read from standard input, and print the messages to
    /// append to its conversation.
    #[command(after_help = EXEC_HELP)]
    Exec(Exec),
    /// Look at tools, run one by hand through the same door, or make one of your own.
    #[command(subcommand)]
    Tool(Tool),
    /// Use the tools of MCP servers, and be one.
    #[command(subcommand, after_help = mcp::MCP_HELP)]
    Mcp(Mcp),
    /// Find tools for a need in words, as models do.
    #[command(after_help = tool_search::FIND_HELP)]
    Find(Find),
    /// Stop every tool at once, in every process: the kill switch.
    #[command(after_help = kill_switch::STOP_TOOLS_HELP)]
    StopTools(StopTools),
    /// Let tools run again after `stop-tools`.
    StartTools,
    /// Look at agents, make one, choose its tools.
    #[command(subcommand)]
    Agent(Agent),
    /// Look at skills, copy one, check one.
    #[command(subcommand)]
    Skill(Skill),
    /// Look at kits: known good ways to use several tools for one goal.
    #[command(subcommand)]
    Kit(Kit),
    /// Keep scripts that call tools as tools of their own.
    #[command(subcommand, after_help = saved_chains::CHAIN_HELP)]
    Chain(Chain),
    /// Print the tool declarations to send to a provider.
    Spec(Spec),
    /// Repair and validate arguments, read from standard input, as the door does.
    #[command(after_help = ARGS_HELP)]
    Args(ArgsCommand),
    /// Show what a model would see of a tool's output, read from standard input.
    #[command(after_help = "Example:\n  toolcrib sanitize --type text/html --report < page.html")]
    Sanitize(Sanitize),
    /// Ask the network policy.
    #[command(subcommand)]
    Net(Net),
    /// Install and show what code execution needs.
    #[command(subcommand, after_help = python::PYTHON_HELP)]
    Python(Python),
    /// Run a program in a sandbox, see what this host enforces, and install a Linux userland for
    /// programs.
    #[command(subcommand)]
    Sandbox(Sandbox),
    /// Undo what tools changed in the workspace, newest first.
    #[command(after_help = undo::UNDO_HELP)]
    Undo(Undo),
    /// Make undone changes again, the last undone first.
    #[command(after_help = undo::REDO_HELP)]
    Redo(Redo),
    /// Look at memories, change them, take changes back.
    #[command(subcommand, after_help = memory::MEMORY_HELP)]
    Memory(Memory),
    /// Make tasks that run later, look at them, change them.
    #[command(subcommand, after_help = task::TASK_HELP)]
    Task(Task),
    /// Look at conversations, and delete them.
    #[command(subcommand)]
    Conversation(Conversation),
    /// Look back at calls, the newest first.
    #[command(after_help = history::HISTORY_HELP)]
    History(History),
    /// Explain one call or one run: who asked, who decided, what every stage said, how it ended,
    /// and what to do now.
    #[command(after_help = history::EXPLAIN_HELP)]
    Explain(Explain),
    /// Show how the calls of each tool went: success, times, the last error.
    #[command(after_help = history::METRICS_HELP)]
    Metrics(Metrics),
    /// Show what was used: tokens and estimated costs by model or agent, calls by tool.
    #[command(after_help = history::USAGE_HELP)]
    Usage(Usage),
    /// Look at stored results: what was too long to be shown.
    #[command(subcommand)]
    Artifact(Artifact),
    /// Show the audit, export it, prove that it was not edited.
    #[command(subcommand)]
    Audit(Audit),
    /// Let the system start the daemon.
    #[command(subcommand, after_help = service::SERVICE_HELP)]
    Service(ServiceCommand),
    /// Say what is wrong here, and what to do about it.
    #[command(after_help = doctor::DOCTOR_HELP)]
    Doctor(DoctorArgs),
    /// Prove on this machine that calls are allowed, denied, approved and undone, that the sandbox
    /// holds, and that an edited audit log is found out.
    #[command(
        after_help = "Each line is tried just now with commands of this program, which are printed, in a folder of their own that is removed at the end; nothing of yours is read or changed.\n\nExit codes: 0 everything holds; 1 something does not, or cannot be tried here."
    )]
    Prove,
    /// Look after the database.
    #[command(subcommand)]
    Db(Db),
    /// Write everything that is kept of you into one file, while a daemon works.
    #[command(after_help = backup::BACKUP_HELP)]
    Backup(Backup),
    /// Put a backup back.
    #[command(after_help = backup::RESTORE_HELP)]
    Restore(Restore),
    /// Print the table of errors: outcome, HTTP status, exit code.
    Errors,
    /// Print a completion script for a shell.
    Completions {
        /// The shell.
        shell: clap_complete::Shell,
    },
    /// Print the manual page, or write one page per command into a folder.
    #[command(after_help = "Examples:\n  toolcrib man\n  toolcrib man ./man")]
    Man {
        /// Folder for the pages. Default: print the page of `toolcrib` itself.
        #[arg(value_name = "FOLDER", conflicts_with = "dir")]
        folder: Option<PathBuf>,
        /// The same as FOLDER.
        #[arg(long, hide = true)]
        dir: Option<PathBuf>,
    },
}

/// What the tools may touch, and who is asked.
#[derive(Debug, Clone, Default, Args)]
pub(crate) struct WorkspaceArgs {
    /// Folder that file tools may touch; may be repeated. Default: the current folder. `/` and the
    /// home folder count only when named here.
    #[arg(long, value_name = "DIR")]
    pub(crate) root: Vec<PathBuf>,
    /// What runs without asking: auto, ask-risky (default), ask-all or locked.
    #[arg(long, value_name = "PRESET", value_parser = preset_parser(), hide_possible_values = true, env = "TOOLCRIB_POLICY")]
    pub(crate) policy: Option<Preset>,
    /// Target that HTTP tools may reach although it is not public: HOST:PORT, ADDRESS:PORT or
    /// NETWORK/BITS; may be repeated.
    #[arg(long, value_name = "TARGET", value_delimiter = ',', value_parser = parse_net_target, env = "TOOLCRIB_ALLOW_NET")]
    pub(crate) allow_net: Vec<String>,
    /// Folder of tools of your own, one sub-folder each; may be repeated. Those of the
    /// configuration folder and of `.toolcrib/tools` in the workspace are always there.
    #[arg(long, value_name = "DIR")]
    pub(crate) tools: Vec<PathBuf>,
    /// Workspace: a folder with its tools, agents and skills, which file tools may touch. Default:
    /// the first root.
    #[arg(long, value_name = "DIR")]
    pub(crate) workspace: Option<PathBuf>,
}

/// Which model answers, as which agent, and what it may use.
#[derive(Debug, Clone, Default, Args)]
pub(crate) struct ModelArgs {
    /// Provider: openai-chat, openai-responses, anthropic, gemini, ollama, deepseek,
    /// openai-compatible, or the name of an entry of the configuration.
    #[arg(long, value_name = "PROVIDER")]
    pub(crate) provider: Option<String>,
    /// Where the provider is: with `/v1` for those like OpenAI, the host for the others. Default:
    /// its own service.
    #[arg(long, value_name = "URL")]
    pub(crate) base_url: Option<String>,
    /// Model: MODEL, PROVIDER/MODEL, or scripted:FILE to replay a file.
    #[arg(long, value_name = "MODEL")]
    pub(crate) model: Option<String>,
    /// Ask for whole answers instead of streams.
    #[arg(long)]
    pub(crate) no_stream: bool,
    /// Agent that answers; `toolcrib agent list` shows them.
    #[arg(long, value_name = "NAME")]
    pub(crate) agent: Option<String>,
    /// Rounds of calls before the answer is asked for without tools, 1 to 100 (default 15).
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=100))]
    pub(crate) max_rounds: Option<u32>,
    /// Calls of the run (default 500).
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u64).range(1..))]
    pub(crate) max_calls: Option<u64>,
    /// Tokens of the run, as providers report them (default: no limit).
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u64).range(1..))]
    pub(crate) max_tokens: Option<u64>,
    /// Time that tools may run, such as 90s, 15m or 1h (default 1h).
    #[arg(long, value_name = "TIME", value_parser = duration_and_money::parse_duration)]
    pub(crate) max_time: Option<Duration>,
    /// Money by estimate, in US dollars, where the price of the model is known (default: no limit).
    #[arg(long, value_name = "USD", value_parser = duration_and_money::parse_micro_usd)]
    pub(crate) max_cost: Option<u64>,
}

/// The presets by name, so that shells complete them and a wrong one is answered with the list.
fn preset_parser() -> impl TypedValueParser<Value = Preset> {
    PossibleValuesParser::new(Preset::ALL.map(Preset::as_str)).try_map(|name| name.parse())
}

/// Checked here, so that a slip of the pen is a usage error wherever a target is taken.
fn parse_net_target(text: &str) -> Result<String, String> {
    AddressPolicy::with_allowed([text]).map(|_| text.to_owned()).map_err(|error| error.to_string())
}

#[derive(Debug, Args)]
pub(crate) struct Run {
    /// The task; `-` or nothing reads it from standard input. `/NAME` at its start activates a
    /// skill.
    pub(crate) task: Option<String>,
    #[command(flatten)]
    pub(crate) model_args: ModelArgs,
    #[command(flatten)]
    pub(crate) workspace_args: WorkspaceArgs,
    /// Go on with a conversation.
    #[arg(long, value_name = "ID")]
    pub(crate) conversation: Option<ConversationId>,
    /// What happens to a call that needs approval: deny it, fail (the run waits, see `toolcrib
    /// resume`), or wait:DURATION for a decision of another terminal. Default: ask at the terminal;
    /// without one, deny.
    #[arg(long, value_name = "WHAT")]
    pub(crate) on_ask: Option<OnAsk>,
    /// Let the daemon do it, in its workspace; TOOLCRIB_DAEMON names one elsewhere.
    #[arg(long, conflicts_with = "on_ask")]
    pub(crate) daemon: bool,
}

#[derive(Debug, Args)]
pub(crate) struct Chat {
    #[command(flatten)]
    pub(crate) model_args: ModelArgs,
    #[command(flatten)]
    pub(crate) workspace_args: WorkspaceArgs,
    /// Go on with a conversation.
    #[arg(long, value_name = "ID")]
    pub(crate) conversation: Option<ConversationId>,
    /// Go on with the newest conversation.
    #[arg(long = "continue", conflicts_with = "conversation")]
    pub(crate) newest: bool,
    /// What happens to a call that needs approval; see `toolcrib run --help`. At a terminal
    /// wait:DURATION asks here too, and waits no longer.
    #[arg(long, value_name = "WHAT")]
    pub(crate) on_ask: Option<OnAsk>,
}

#[derive(Debug, Args)]
pub(crate) struct Resume {
    /// The run; its id may be cut, and left out when only one waits.
    pub(crate) run: Option<String>,
    /// Only list the runs that wait, and those that a process left in the middle.
    #[arg(long)]
    pub(crate) list: bool,
    /// The call that is meant, when several wait; `--list` shows them.
    #[arg(long, value_name = "ID")]
    pub(crate) call: Option<CallId>,
    /// Answer the model's question.
    #[arg(long, value_name = "TEXT", conflicts_with = "skip")]
    pub(crate) answer: Option<String>,
    /// Let the question, or the call, be skipped.
    #[arg(long, conflicts_with_all = ["approve", "deny", "args"])]
    pub(crate) skip: bool,
    /// Let the call run.
    #[arg(long, conflicts_with_all = ["deny", "args"])]
    pub(crate) approve: bool,
    /// Do not let the call run; the words are for the model.
    #[arg(long, value_name = "NOTE", num_args = 0..=1, default_missing_value = "")]
    pub(crate) deny: Option<String>,
    /// Let the call run with these arguments, as JSON, instead.
    #[arg(long, value_name = "JSON", conflicts_with = "deny")]
    pub(crate) args: Option<String>,
    /// What happens to further calls that need approval; see `toolcrib run --help`.
    #[arg(long, value_name = "WHAT")]
    pub(crate) on_ask: Option<OnAsk>,
    /// Let the daemon go on with it, and show what happens; decide with `toolcrib approve`.
    /// TOOLCRIB_DAEMON names one elsewhere.
    #[arg(long, requires = "run", conflicts_with_all = ["list", "call", "answer", "skip", "approve", "deny", "args", "on_ask"])]
    pub(crate) daemon: bool,
}

#[derive(Debug, Args)]
pub(crate) struct Exec {
    /// Format of the answer: openai-chat, openai-responses, anthropic, gemini or text. Default:
    /// found out from the answer.
    #[arg(long)]
    pub(crate) format: Option<Format>,
    #[command(flatten)]
    pub(crate) workspace_args: WorkspaceArgs,
    /// Print what every stage decided, on stderr (with --json as JSON lines).
    #[arg(long)]
    pub(crate) explain: bool,
    /// What happens to a call that needs approval: deny it, fail (it waits, see `toolcrib
    /// approve`), or wait:DURATION for a decision of another terminal. Default: ask at the
    /// terminal; without one, deny.
    #[arg(long, value_name = "WHAT")]
    pub(crate) on_ask: Option<OnAsk>,
    /// Print the assistant's own turn before the results: what a caller that reads streams has to
    /// append too.
    #[arg(long)]
    pub(crate) with_assistant: bool,
    /// Idempotency key, 1 to 200 characters: repeating the request with it runs no call twice and
    /// returns the same messages. Other calls under the same key are refused (exit code 2).
    #[arg(long, value_name = "KEY")]
    pub(crate) idempotency_key: Option<String>,
    /// Let the daemon do it, in its workspace; TOOLCRIB_DAEMON names one elsewhere.
    #[arg(long, conflicts_with_all = ["on_ask", "explain"])]
    pub(crate) daemon: bool,
}

#[derive(Debug, Subcommand)]
pub(crate) enum Tool {
    /// List every tool with its risk and status.
    List(ToolList),
    /// Say whether a tool is offered to a caller, else what keeps it away.
    #[command(after_help = TOOL_WHY_HELP)]
    Why(ToolWhy),
    /// Show one tool: parameters, risk, effect, limits, examples.
    Show {
        /// The tool.
        name: String,
        #[command(flatten)]
        workspace_args: WorkspaceArgs,
    },
    /// Run one tool.
    #[command(after_help = CALL_HELP)]
    Call(ToolCall),
    /// Make a working example of a tool of your own, to be changed into what you need.
    New(ToolNew),
    /// Switch a tool on, or with a flag a group, a source, a tier, a feature or everything; it
    /// stays so until it is switched again.
    Enable(SwitchArgs),
    /// Ask about every call of a tool, or of a group.
    Ask(SwitchArgs),
    /// Switch it off.
    Disable(SwitchArgs),
    /// Take a switch back: what the tool itself and the configuration say holds again.
    Reset(SwitchArgs),
}

/// Where one looks for tools, agents and skills.
#[derive(Debug, Clone, Default, Args)]
pub(crate) struct LibraryArgs {
    /// Workspace: the folder whose tools, agents and skills count. Default: the current folder.
    #[arg(long, value_name = "DIR")]
    pub(crate) workspace: Option<PathBuf>,
    /// Folder of tools of your own, one sub-folder each; may be repeated.
    #[arg(long, value_name = "DIR")]
    pub(crate) tools: Vec<PathBuf>,
}

#[derive(Debug, Args)]
pub(crate) struct ToolNew {
    /// Its name: letters, digits and `_`.
    pub(crate) name: String,
    /// Folder of tools to put it into. Default: the one in the configuration folder, whose tools
    /// are there everywhere.
    #[arg(long, value_name = "DIR", conflicts_with = "project")]
    pub(crate) dir: Option<PathBuf>,
    /// Put it into `.toolcrib/tools` of the workspace.
    #[arg(long)]
    pub(crate) project: bool,
    /// The workspace. Default: the current folder.
    #[arg(long, value_name = "DIR")]
    pub(crate) workspace: Option<PathBuf>,
}

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

#[derive(Debug, Args)]
pub(crate) struct ToolCall {
    /// The tool; left out with --lines.
    #[arg(required_unless_present = "lines")]
    pub(crate) name: Option<String>,
    /// Its arguments: KEY=VALUE for a text (a number or a choice, too, where the tool wants one),
    /// KEY:=JSON for a list or an object.
    #[arg(value_name = "KEY=VALUE", value_parser = tool_arguments::parse_pair, conflicts_with_all = ["args", "lines"])]
    pub(crate) pairs: Vec<(String, serde_json::Value)>,
    /// Its arguments as one JSON object; `-` reads them from standard input. Default: none.
    #[arg(long, default_value = "", hide_default_value = true, allow_hyphen_values = true)]
    pub(crate) args: String,
    #[command(flatten)]
    pub(crate) workspace_args: WorkspaceArgs,
    /// What happens to a call that needs approval: deny it, fail (it waits, see `toolcrib
    /// approve`), or wait:DURATION for a decision of another terminal. Default: ask at the
    /// terminal; without one, deny.
    #[arg(long, value_name = "WHAT")]
    pub(crate) on_ask: Option<OnAsk>,
    /// Print what every stage decided, on stderr (with --json as JSON lines).
    #[arg(long)]
    pub(crate) explain: bool,
    /// Run nothing: say what policy makes of the call. Nothing is recorded and no approver is
    /// asked. Exit code 0 = it would run, 5 = it would be denied, 6 = a person would be asked; else
    /// that of its error.
    #[arg(long, conflicts_with_all = ["idempotency_key", "lines"])]
    pub(crate) dry_run: bool,
    /// Idempotency key, 1 to 200 characters: repeating the call with it returns the first result
    /// and runs nothing. Another call under the same key is refused (exit code 2).
    #[arg(long, value_name = "KEY", conflicts_with = "lines")]
    pub(crate) idempotency_key: Option<String>,
    /// Agent that makes the call: its tool list limits it, and rules for it apply.
    #[arg(long, value_name = "NAME", conflicts_with = "lines")]
    pub(crate) agent: Option<String>,
    /// Conversation that the call belongs to: its grants, its shell and its stored results count.
    /// The id may be cut.
    #[arg(long, value_name = "ID", conflicts_with = "lines")]
    pub(crate) conversation: Option<String>,
    /// What the call is about, in at most 200 characters, for history and audit.
    #[arg(long, value_name = "TEXT", conflicts_with = "lines")]
    pub(crate) topic: Option<String>,
    /// Filter: one `{"id", "tool", "args", "key"?}` in and one `{"id", "outcome", "error_type"?,
    /// "result"}` out per line.
    #[arg(long, conflicts_with_all = ["name", "args"])]
    pub(crate) lines: bool,
    /// Let the daemon do it, in its workspace; TOOLCRIB_DAEMON names one elsewhere.
    #[arg(long, conflicts_with_all = ["on_ask", "explain", "dry_run", "lines"])]
    pub(crate) daemon: bool,
}

#[derive(Debug, Args)]
pub(crate) struct Spec {
    /// The provider's format: openai-chat, openai-responses, anthropic, gemini or text.
    #[arg(long)]
    pub(crate) format: Format,
    /// Ask for strict mode where a schema can be expressed in it.
    #[arg(long)]
    pub(crate) strict: bool,
    /// Only the tools that this agent is offered.
    #[arg(long, value_name = "NAME")]
    pub(crate) agent: Option<String>,
    /// Only these: names, group:G, server:S or globs with `*`. A tool that is named is shown even
    /// if it is not offered, with a warning that says why.
    #[arg(value_name = "TOOL")]
    pub(crate) listed: Vec<String>,
    #[command(flatten)]
    pub(crate) workspace_args: WorkspaceArgs,
}

#[derive(Debug, Args)]
pub(crate) struct ArgsCommand {
    /// File with the JSON Schema of the arguments.
    #[arg(long, value_name = "FILE", required_unless_present = "lines")]
    pub(crate) schema: Option<PathBuf>,
    /// Filter: one `{"id", "schema", "raw" | "raw_b64"}` in and one `{"id", "outcome", "value"?,
    /// "changes"?, "error"?}` out per line.
    #[arg(long)]
    pub(crate) lines: bool,
}

#[derive(Debug, Args)]
pub(crate) struct Sanitize {
    /// Media type of the output, which says how it is decoded.
    #[arg(long = "type", value_name = "TYPE", default_value = "text/plain")]
    pub(crate) content_type: String,
    /// Say on stderr what was neutralised and whether the text was flagged.
    #[arg(long)]
    pub(crate) report: bool,
    /// Filter: one `{"id", "text", "content_type", "tool"?}` in and one `{"id", "text", "flagged",
    /// "changes"}` out per line.
    #[arg(long)]
    pub(crate) lines: bool,
}

#[derive(Debug, Subcommand)]
pub(crate) enum Net {
    /// Would our HTTP tools connect to this URL, to which address, and which rule says no?
    #[command(after_help = "Exit codes: 0 allow, 5 deny; with --lines 0 for any verdicts.")]
    Check(NetCheck),
}

#[derive(Debug, Args)]
pub(crate) struct NetCheck {
    /// The URL; left out with --lines.
    #[arg(required_unless_present = "lines")]
    pub(crate) url: Option<String>,
    /// Answers of name resolution to use instead of a look-up: HOST=ADDR[,ADDR…]; may be repeated.
    #[arg(long, value_name = "HOST=ADDR")]
    pub(crate) resolve: Vec<String>,
    /// Target that counts as opened by the owner: HOST:PORT, ADDRESS:PORT or NETWORK/BITS; may be
    /// repeated.
    #[arg(long, value_name = "TARGET", value_delimiter = ',', value_parser = parse_net_target, env = "TOOLCRIB_ALLOW_NET")]
    pub(crate) allow_net: Vec<String>,
    /// Filter: one `{"id", "url", "dns"?}` in and one `{"id", "verdict", "rule", "address"?}` out
    /// per line.
    #[arg(long, conflicts_with = "url")]
    pub(crate) lines: bool,
}
