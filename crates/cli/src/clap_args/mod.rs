//! The words of the command line.

mod agent;
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
pub(crate) use approve::{
    ApprovalArgs, Approve, ApproveAlwaysArgs, ApproveAnswerArgs, ApproveEditArgs,
};
pub(crate) use artifact::Artifact;
pub(crate) use audit::{
    Audit, AuditExportArgs, AuditExportFormat, AuditTailArgs, AuditVerifyArgs, ExportStart,
};
pub(crate) use backup::{Backup, Restore};
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
        let warnings = deprecated::replace_old_names(&mut args);
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
    /// Open the page of the daemon in a browser, signed in.
    #[command(after_help = daemon::OPEN_HELP)]
    Open(Open),
    /// Let the daemon end.
    #[command(after_help = daemon::STOP_DAEMON_HELP)]
    Stop(StopDaemon),
    /// Make the daemon read its configuration again, ask whether it takes calls, let the system
    /// start it.
    #[command(subcommand)]
    Daemon(DaemonCommand),
    /// Make tokens for programs that ask the daemon, and take them back.
    #[command(subcommand, after_help = daemon::TOKEN_HELP)]
    Token(Token),
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
    /// Look at tools, run one by hand through the same pipeline, or make one of your own.
    #[command(subcommand)]
    Tool(Tool),
    /// Use the tools of MCP servers, and be one.
    #[command(subcommand, after_help = mcp::MCP_HELP)]
    Mcp(Mcp),
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
    /// Repair and validate arguments, read from standard input, as the pipeline does.
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
    /// Show what models get as system prompt, and write your own part of it.
    #[command(subcommand, after_help = prompt::PROMPT_HELP)]
    Prompt(Prompt),
    /// Start goals that runs in the background pursue, look at them, cancel them.
    #[command(subcommand, after_help = goal::GOAL_HELP)]
    Goal(Goal),
    /// Look at what models wrote in your name; send it, change it, discard it.
    #[command(subcommand, after_help = draft::DRAFT_HELP)]
    Draft(Draft),
    /// Set up mail accounts.
    #[command(subcommand, after_help = mail::MAIL_HELP)]
    Mail(Mail),
    /// Put files in, search them, read them.
    #[command(subcommand, after_help = document::DOCUMENT_HELP)]
    Document(Document),
    /// Keep shopping and to-do lists.
    #[command(subcommand, after_help = list::LIST_HELP)]
    List(List),
    /// Make tasks that run later, look at them, change them.
    #[command(subcommand, after_help = task::TASK_HELP)]
    Task(Task),
    /// Look at the heartbeat, a regular check of what needs attention.
    #[command(subcommand, after_help = heartbeat::HEARTBEAT_HELP)]
    Heartbeat(Heartbeat),
    /// Look at notifications, send and dismiss them.
    #[command(subcommand, after_help = notification::NOTIFICATION_HELP)]
    Notification(Notification),
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
    /// Print completion scripts, manual pages, the table of errors, the OpenAPI document.
    #[command(subcommand)]
    Util(Util),
}
