//! The commands, one file each.

mod agent;
mod agent_tools;
mod args;
mod chat;
mod completions;
mod exec;
mod kit;
mod net;
mod resume;
pub(crate) mod run;
mod sanitize;
mod shelf;
mod skill;
mod spec;
mod tool;
mod tool_new;
mod undo;

use serde_json::Value;

use crate::cli::{Agent, Cli, Command, Kit, Net, Skill, Tool};
use crate::output::{self, Failure};

/// Runs the command; the result is the exit code.
pub(crate) fn run(cli: Cli) -> Result<u8, Failure> {
    let json = cli.json;
    match cli.command {
        Command::Run(command) => run::run(&command, json),
        Command::Chat(command) => chat::run(&command, json),
        Command::Resume(command) => resume::run(&command, json),
        Command::Exec(command) => exec::run(&command, json),
        Command::Tool(Tool::List(world)) => tool::list(&world, json),
        Command::Tool(Tool::Show { name, world }) => tool::show(&name, &world, json),
        Command::Tool(Tool::Call(command)) => tool::call(&command, json),
        Command::Tool(Tool::New(command)) => tool_new::run(&command, json),
        Command::Agent(Agent::List(places)) => agent::list(&places, json),
        Command::Agent(Agent::Show { name, places }) => agent::show(&name, &places, json),
        Command::Agent(Agent::New(command)) => agent::new(&command, json),
        Command::Agent(Agent::Tools(command)) => agent_tools::run(&command, json),
        Command::Skill(Skill::List(places)) => skill::list(&places, json),
        Command::Skill(Skill::Add { folder, project, places }) => {
            skill::add(&folder, project, &places, json)
        }
        Command::Skill(Skill::Validate { path, places }) => skill::validate(&path, &places, json),
        Command::Kit(Kit::List(places)) => kit::list(&places, json),
        Command::Kit(Kit::Show { name, places }) => kit::show(&name, &places, json),
        Command::Spec(command) => spec::run(&command, json),
        Command::Args(command) => args::run(&command, json),
        Command::Sanitize(command) => sanitize::run(&command, json),
        Command::Net(Net::Check(command)) => net::run(&command, json),
        Command::Undo(command) => undo::run(&command, json),
        Command::Errors => errors(json),
        Command::Completions { shell } => completions::completions(shell),
        Command::Man { dir } => completions::man(dir.as_deref()),
    }
}

fn errors(json: bool) -> Result<u8, Failure> {
    let table = output::error_table();
    if json {
        output::document(&Value::Array(table), true)?;
        return Ok(0);
    }
    let mut text = format!("{:<20} {:<10} {:>5} {:>5}\n", "error type", "outcome", "HTTP", "exit");
    for row in table {
        let word = |key: &str| row.get(key).and_then(Value::as_str).unwrap_or_default().to_owned();
        let number = |key: &str| row.get(key).and_then(Value::as_u64).unwrap_or_default();
        text += &format!(
            "{:<20} {:<10} {:>5} {:>5}\n",
            word("error_type"),
            word("outcome"),
            number("http_status"),
            number("exit_code")
        );
    }
    output::data(&text)?;
    Ok(0)
}
