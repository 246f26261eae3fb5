//! The arguments of the command line.

mod agent;
mod app;
mod approve;
mod artifact;
mod audit;
mod backup;
mod channel;
pub(crate) mod command_groups;
mod config;
mod conversation;
mod daemon;
mod db;
mod deprecated;
mod doctor;
mod document;
#[cfg(test)]
mod documented_commands;
mod draft;
mod goal;
mod grant;
mod heartbeat;
mod help_examples;
mod history;
mod init;
mod kill_switch;
mod list;
mod log_options;
mod mail;
mod mcp;
mod memory;
mod net;
mod node;
mod notification;
mod prompt;
mod python;
mod rules;
mod run;
mod sandbox;
mod saved_chains;
mod secret;
mod serve;
mod service;
mod shared;
mod sms;
mod switches;
mod task;
mod tool;
pub(crate) mod tool_arguments;
mod tool_search;
mod tool_why;
mod undo;
mod userland;
mod util;
mod variable_error;

use std::ffi::OsString;

use clap::{FromArgMatches as _, Parser, Subcommand};

use crate::output;
use help_examples::{ARGS_HELP, CHAT_HELP, EXEC_HELP, RESUME_HELP, RUN_HELP};

pub(crate) use agent::{Agent, AgentNew, AgentTools, Kit, Skill};
pub(crate) use app::{App, ConfirmApp, ReviewApp};
pub(crate) use approve::{
    ApprovalArgs, Approve, ApproveAlwaysArgs, ApproveAnswerArgs, ApproveEditArgs,
};
pub(crate) use artifact::Artifact;
pub(crate) use audit::{
    Audit, AuditExportArgs, AuditExportFormat, AuditTailArgs, AuditVerifyArgs, ExportStart,
};
pub(crate) use backup::{Backup, Restore};
pub(crate) use channel::{AddChannel, Channel, SetChannel};
pub(crate) use config::{ConfigCommand, ConfigList, ConfigSet, ConfigUnset, Trust};
pub(crate) use conversation::Conversation;
pub(crate) use daemon::{DaemonCommand, Open, StopDaemon, Token, TokenAdd};
pub(crate) use db::{Db, DbMigrate};
pub(crate) use doctor::DoctorArgs;
pub(crate) use document::Document;
pub(crate) use draft::{Draft, EditDraft, NewDraft, SendDraft};
pub(crate) use goal::Goal;
pub(crate) use grant::Grant;
pub(crate) use heartbeat::Heartbeat;
pub(crate) use history::{Explain, History, Metrics, Usage, UsageGrouping};
pub(crate) use init::Init;
pub(crate) use kill_switch::StopTools;
pub(crate) use list::{List, ListItems};
pub(crate) use log_options::{LogArgs, LogFormat};
pub(crate) use mail::{AddMail, Mail};
pub(crate) use mcp::{
    Mcp, McpAccess, McpAdd, McpAuth, McpClient, McpImport, McpPin, McpReview, McpSearch, McpServe,
    McpSet, McpSkills, McpTestArgs, McpWorkspace,
};
pub(crate) use memory::Memory;
pub(crate) use net::{Net, NetCheck};
pub(crate) use node::Node;
pub(crate) use notification::Notification;
pub(crate) use prompt::{Prompt, PromptShow};
pub(crate) use python::Python;
pub(crate) use rules::{
    Rules, RulesAdd, RulesEnforce, RulesExplain, RulesExport, RulesFilesArgs, RulesImport,
    RulesReplay, RulesRm, RulesWorkspaceArgs,
};
pub(crate) use run::{Chat, Exec, Resume, Run};
pub(crate) use sandbox::{Sandbox, SandboxExec, SandboxNet};
pub(crate) use saved_chains::{Chain, ChainRemove, ChainSave};
pub(crate) use secret::{Secret, SecretSet};
pub(crate) use serve::Serve;
pub(crate) use service::{ServiceCommand, ServiceInstall};
pub(crate) use shared::{LibraryArgs, ModelArgs, WorkspaceArgs};
pub(crate) use sms::{AddPhone, SetPhone, Sms};
pub(crate) use switches::SwitchArgs;
pub(crate) use task::{AddTask, Task};
pub(crate) use tool::{ArgsCommand, Sanitize, Spec, Tool, ToolCall, ToolNew};
pub(crate) use tool_search::Find;
pub(crate) use tool_why::{ToolList, ToolWhy};
pub(crate) use undo::{Redo, TakeChanges, Undo};
pub(crate) use userland::{
    PackagesCommand, UserlandInstall, UserlandNetworkArgs, UserlandPackages, UserlandUninstall,
};
pub(crate) use util::Util;

/// Runs the tool calls of AI agents: finds, checks, runs, bounds and records every call.
#[derive(Debug, Parser)]
#[command(name = "toolcrib", version, propagate_version = true, arg_required_else_help = true)]
#[command(
    after_help = "Exit codes: 0 ok, 1 a tool or run failed, 2 usage, 3 configuration invalid, 4 not found, 5 denied, \
6 approval needed or expired, 7 budget exceeded, 8 no daemon is running or it is unreachable, 74 outcome not recorded, 124 timed out, 125 outcome unknown, 130 interrupted."
)]
pub(crate) struct Cli {
    /// Print machine-readable output: one JSON document or JSON lines.
    #[arg(long, global = true)]
    pub(crate) json: bool,

    #[command(subcommand)]
    pub(crate) command: Command,
}

impl Cli {
    /// Reads the arguments of the process; deprecated names are replaced, with a warning.
    pub(crate) fn from_process_args() -> Self {
        let mut args: Vec<OsString> = std::env::args_os().collect();
        let warnings = deprecated::replace_old_names(&mut args);
        for warning in warnings {
            // The command line is not parsed yet; warnings must be JSON if the output is.
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

    /// Parses with the grouped help; an invalid command line ends the process with exit code 2.
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
    /// Choose a model, test it, and write it to the configuration.
    #[command(after_help = init::INIT_HELP)]
    Init(Init),
    /// Run a task: the model calls tools until it has an answer.
    #[command(after_help = RUN_HELP)]
    Run(Run),
    /// Chat with a model that can call tools.
    #[command(after_help = CHAT_HELP)]
    Chat(Chat),
    /// Start the daemon: REST, MCP and the web page over HTTP, and a local socket.
    #[command(after_help = serve::SERVE_HELP)]
    Serve(Serve),
    /// Show whether a daemon is running, where, and what it is doing.
    #[command(after_help = daemon::STATUS_HELP)]
    Status,
    /// Open the daemon's web page in a browser, signed in.
    #[command(after_help = daemon::OPEN_HELP)]
    Open(Open),
    /// Stop the daemon.
    #[command(after_help = daemon::STOP_DAEMON_HELP)]
    Stop(StopDaemon),
    /// Reload the daemon's configuration, check its health, and install it as a service.
    #[command(subcommand)]
    Daemon(DaemonCommand),
    /// Create, list and revoke access tokens of the daemon.
    #[command(subcommand, after_help = daemon::TOKEN_HELP)]
    Token(Token),
    /// Resume a run that is waiting for a person.
    #[command(after_help = RESUME_HELP)]
    Resume(Resume),
    /// List and decide pending approvals, and answer questions of models, across all runs.
    #[command(subcommand)]
    Approve(Approve),
    /// List, show and revoke remembered approvals.
    #[command(subcommand)]
    Grant(Grant),
    /// List, change, test and explain rules, and import the rules of other programs.
    #[command(subcommand)]
    Rules(Rules),
    /// Show, change and check the configuration of all layers.
    #[command(subcommand, after_help = config::CONFIG_HELP)]
    Config(ConfigCommand),
    /// Trust a workspace: allow its tools, rules, hooks and configuration.
    #[command(after_help = config::TRUST_HELP)]
    Trust(Trust),
    /// Manage secrets in the encrypted vault, and show which components use them.
    #[command(subcommand, after_help = secret::SECRET_HELP)]
    Secret(Secret),
    /// Run the tool calls of a model's response read from standard input, and print the messages to
    /// append to the conversation.
    #[command(after_help = EXEC_HELP)]
    Exec(Exec),
    /// List, show, find and call tools, and create your own.
    #[command(subcommand)]
    Tool(Tool),
    /// Connect to MCP servers, and serve tools over MCP.
    #[command(subcommand, after_help = mcp::MCP_HELP)]
    Mcp(Mcp),
    /// Stop all tools in every process: the kill switch.
    #[command(after_help = kill_switch::STOP_TOOLS_HELP)]
    StopTools(StopTools),
    /// Allow tools to run again after `stop-tools`.
    StartTools,
    /// List, show and create agents, and choose their tools.
    #[command(subcommand)]
    Agent(Agent),
    /// List, copy and check skills.
    #[command(subcommand)]
    Skill(Skill),
    /// List and show kits: proven sequences of tools for one purpose.
    #[command(subcommand)]
    Kit(Kit),
    /// Save scripts that call tools as tools of their own.
    #[command(subcommand, after_help = saved_chains::CHAIN_HELP)]
    Chain(Chain),
    /// Repair and validate arguments read from standard input, as the pipeline does.
    #[command(after_help = ARGS_HELP)]
    Args(ArgsCommand),
    /// Show what a model would see of a tool's output, read from standard input.
    #[command(after_help = "Example:\n  toolcrib sanitize --type text/html --report < page.html")]
    Sanitize(Sanitize),
    /// Check a URL against the network policy.
    #[command(subcommand)]
    Net(Net),
    /// Install, show and remove the Python environment of code execution.
    #[command(subcommand, after_help = python::PYTHON_HELP)]
    Python(Python),
    /// Run a program in a sandbox, show what this host can enforce, and install a Linux userland.
    #[command(subcommand)]
    Sandbox(Sandbox),
    /// Undo changes that tools made in the workspace, newest first.
    #[command(after_help = undo::UNDO_HELP)]
    Undo(Undo),
    /// Redo changes that were undone, last undone first.
    #[command(after_help = undo::REDO_HELP)]
    Redo(Redo),
    /// List, edit, forget and restore memories.
    #[command(subcommand, after_help = memory::MEMORY_HELP)]
    Memory(Memory),
    /// Show the system prompt that models get, and edit your own part of it.
    #[command(subcommand, after_help = prompt::PROMPT_HELP)]
    Prompt(Prompt),
    /// Start, list and cancel goals, which runs in the background pursue.
    #[command(subcommand, after_help = goal::GOAL_HELP)]
    Goal(Goal),
    /// List drafts that models wrote in your name; edit, send or discard them.
    #[command(subcommand, after_help = draft::DRAFT_HELP)]
    Draft(Draft),
    /// Pair apps that offer their own tools; list, review and revoke them.
    #[command(subcommand, after_help = app::APP_HELP)]
    App(App),
    /// Offer tools of this machine to a daemon on another machine.
    #[command(after_help = node::NODE_HELP)]
    Node(Node),
    /// Add, list, test and remove mail accounts.
    #[command(subcommand, after_help = mail::MAIL_HELP)]
    Mail(Mail),
    /// Add chat channels (Telegram, Matrix) on which the assistant answers; allow people.
    #[command(subcommand, after_help = channel::CHANNEL_HELP)]
    Channel(Channel),
    /// Read and write SMS over your Android phone.
    #[command(subcommand, after_help = sms::SMS_HELP)]
    Sms(Sms),
    /// Add, search and read documents.
    #[command(subcommand, after_help = document::DOCUMENT_HELP)]
    Document(Document),
    /// Manage shopping and to-do lists.
    #[command(subcommand, after_help = list::LIST_HELP)]
    List(List),
    /// Create, list and change scheduled tasks.
    #[command(subcommand, after_help = task::TASK_HELP)]
    Task(Task),
    /// Show or run the heartbeat, a regular check of what needs attention.
    #[command(subcommand, after_help = heartbeat::HEARTBEAT_HELP)]
    Heartbeat(Heartbeat),
    /// List, send and dismiss notifications.
    #[command(subcommand, after_help = notification::NOTIFICATION_HELP)]
    Notification(Notification),
    /// List, show, delete and restore conversations.
    #[command(subcommand)]
    Conversation(Conversation),
    /// List recorded calls, newest first.
    #[command(after_help = history::HISTORY_HELP)]
    History(History),
    /// Explain a call or a run: who asked, who decided, the verdict of every stage, how it ended,
    /// and what to do next.
    #[command(after_help = history::EXPLAIN_HELP)]
    Explain(Explain),
    /// Show metrics per tool: success rate, durations, last error.
    #[command(after_help = history::METRICS_HELP)]
    Metrics(Metrics),
    /// Show usage: tokens and estimated costs by model or agent, calls by tool.
    #[command(after_help = history::USAGE_HELP)]
    Usage(Usage),
    /// List, show and remove artifacts: stored results that were too long to show.
    #[command(subcommand)]
    Artifact(Artifact),
    /// Show, export and verify the audit log.
    #[command(subcommand)]
    Audit(Audit),
    /// Diagnose problems of this installation, and say how to fix them.
    #[command(after_help = doctor::DOCTOR_HELP)]
    Doctor(DoctorArgs),
    /// Demonstrate on this machine that calls are allowed, denied, approved and undone, that the
    /// sandbox holds, and that an edited audit log is detected.
    #[command(
        after_help = "Every claim is tested now with the printed commands, in a temporary folder; your own data is neither read nor changed.\n\nExit codes: 0 every claim holds; 1 a claim does not hold or cannot be tested here."
    )]
    Prove,
    /// Maintain the database.
    #[command(subcommand)]
    Db(Db),
    /// Write all of your data to one file; the daemon may keep running.
    #[command(after_help = backup::BACKUP_HELP)]
    Backup(Backup),
    /// Restore a backup.
    #[command(after_help = backup::RESTORE_HELP)]
    Restore(Restore),
    /// Print shell completions, manual pages, the table of errors and the OpenAPI document.
    #[command(subcommand)]
    Util(Util),
}
