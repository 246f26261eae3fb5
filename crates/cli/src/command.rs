//! The commands, one file each.

mod agent;
mod agent_tools;
mod app;
mod approve;
mod args;
mod artifact;
mod audit;
mod backup;
mod call_json;
mod channel;
mod chat;
pub(crate) mod config;
mod conversation;
mod daemon;
mod db;
mod doctor;
mod document;
mod draft;
mod dry_run;
mod exec;
mod exec_in_daemon;
mod explain;
mod explain_run;
mod goal;
mod grant;
pub(crate) mod grant_preview;
mod heartbeat;
mod history;
pub(crate) mod init;
mod kill_switch;
mod kit;
mod library_snapshot;
mod list;
mod lookup;
mod mail;
pub(crate) mod mcp;
mod memory;
mod metrics;
mod net_check;
mod node;
mod notification;
mod prompt;
mod prove;
mod python;
mod result_media;
mod resume;
mod rules;
pub(crate) mod run;
mod run_in_daemon;
mod sandbox;
mod sandbox_shell;
mod sanitize;
mod saved_chains;
mod secret;
mod serve;
mod short_id;
mod skill;
mod sms;
mod spec;
pub(crate) mod switches;
mod task;
mod tool;
mod tool_call_in_daemon;
mod tool_new;
mod tool_search;
mod tool_why;
mod trust;
mod undo;
mod usage;
mod userland;
mod util;

use toolcrib_core::SwitchState;

use crate::clap_args::{Agent, Cli, Command, Kit, Net, Skill, Tool};
use crate::output::Failure;

/// Runs the command; returns the exit code.
pub(crate) fn run(cli: Cli) -> Result<u8, Failure> {
    let json = cli.json;
    match cli.command {
        Command::Init(command) => init::run(&command, json),
        Command::Run(command) => run::run(&command, json),
        Command::Serve(command) => serve::run(&command, json),
        Command::Status => daemon::status(json),
        Command::Open(command) => daemon::open(&command, json),
        Command::Stop(command) => daemon::stop(&command, json),
        Command::Daemon(command) => daemon::run(&command, json),
        Command::Token(command) => daemon::token(&command, json),
        Command::Chat(command) => chat::run(&command, json),
        Command::Resume(command) => resume::run(&command, json),
        Command::Exec(command) => exec::run(&command, json),
        Command::Tool(Tool::List(command)) => tool::list(&command, json),
        Command::Tool(Tool::Why(command)) => tool_why::run(&command, json),
        Command::Tool(Tool::Show { name, workspace_args: world }) => {
            tool::show(&name, &world, json)
        }
        Command::Tool(Tool::Find(command)) => tool_search::run(&command, json),
        Command::Tool(Tool::Call(command)) => tool::call(&command, json),
        Command::Tool(Tool::Spec(command)) => spec::run(&command, json),
        Command::Tool(Tool::New(command)) => tool_new::run(&command, json),
        Command::Tool(Tool::Enable(command)) => {
            switches::set_switch(&command, Some(SwitchState::On), json)
        }
        Command::Tool(Tool::Ask(command)) => {
            switches::set_switch(&command, Some(SwitchState::Ask), json)
        }
        Command::Tool(Tool::Disable(command)) => {
            switches::set_switch(&command, Some(SwitchState::Off), json)
        }
        Command::Tool(Tool::Reset(command)) => switches::set_switch(&command, None, json),
        Command::Mcp(command) => mcp::run(&command, json),
        Command::StopTools(command) => kill_switch::stop_tools(&command, json),
        Command::StartTools => kill_switch::start_tools(json),
        Command::Agent(Agent::List(places)) => agent::list(&places, json),
        Command::Agent(Agent::Show { name, library_args: places }) => {
            agent::show(&name, &places, json)
        }
        Command::Agent(Agent::New(command)) => agent::new(&command, json),
        Command::Agent(Agent::Tools(command)) => agent_tools::run(&command, json),
        Command::Skill(Skill::List(places)) => skill::list(&places, json),
        Command::Skill(Skill::Show { name, library_args }) => {
            skill::show(&name, &library_args, json)
        }
        Command::Skill(Skill::Enable { name, library_args }) => {
            skill::switch(&name, SwitchState::On, &library_args, json)
        }
        Command::Skill(Skill::Disable { name, library_args }) => {
            skill::switch(&name, SwitchState::Off, &library_args, json)
        }
        Command::Skill(Skill::Add { folder, project, library_args: places }) => {
            skill::add(&folder, project, &places, json)
        }
        Command::Skill(Skill::Validate { path, library_args: places }) => {
            skill::validate(&path, &places, json)
        }
        Command::Kit(Kit::List(places)) => kit::list(&places, json),
        Command::Kit(Kit::Show { name, library_args: places }) => kit::show(&name, &places, json),
        Command::Chain(command) => saved_chains::run(&command, json),
        Command::Args(command) => args::run(&command, json),
        Command::Sanitize(command) => sanitize::run(&command, json),
        Command::Net(Net::Check(command)) => net_check::run(&command, json),
        Command::Python(command) => python::run(command, json),
        Command::Sandbox(command) => sandbox::run(&command, json),
        Command::Approve(command) => approve::run(command, json),
        Command::Grant(command) => grant::run(&command, json),
        Command::Secret(command) => secret::run(&command, json),
        Command::Rules(command) => rules::run(&command, json),
        Command::Config(command) => config::run(&command, json),
        Command::Trust(command) => trust::run(&command, json),
        Command::Undo(command) => undo::undo(&command, json),
        Command::Redo(command) => undo::redo(&command, json),
        Command::Memory(command) => memory::run(command, json),
        Command::Prompt(command) => prompt::run(command, json),
        Command::Goal(command) => goal::run(command, json),
        Command::Draft(command) => draft::run(command, json),
        Command::App(command) => app::run(command, json),
        Command::Node(command) => node::run(&command, json),
        Command::Mail(command) => mail::run(command, json),
        Command::Channel(command) => channel::run(command, json),
        Command::Sms(command) => sms::run(command, json),
        Command::List(command) => list::run(command, json),
        Command::Document(command) => document::run(command, json),
        Command::Task(command) => task::run(command, json),
        Command::Heartbeat(command) => heartbeat::run(command, json),
        Command::Notification(command) => notification::run(command, json),
        Command::History(command) => history::run(&command, json),
        Command::Conversation(command) => conversation::run(&command, json),
        Command::Explain(command) => explain::run(&command, json),
        Command::Metrics(command) => metrics::run(&command, json),
        Command::Usage(command) => usage::run(&command, json),
        Command::Artifact(command) => artifact::run(&command, json),
        Command::Audit(command) => audit::run(&command, json),
        Command::Doctor(command) => doctor::run(&command, json),
        Command::Prove => prove::run(json),
        Command::Db(command) => db::run(&command, json),
        Command::Backup(command) => backup::take(&command, json),
        Command::Restore(command) => backup::restore(&command, json),
        Command::Util(command) => util::run(command, json),
    }
}
