//! `toolcrib init`: from nothing to a model that answers, written into the configuration.

mod candidates;
mod imports;
mod trial;

use std::io::{self, IsTerminal as _};

use serde_json::json;

use self::candidates::Candidate;
use crate::bootstrap;
use crate::clap_args::Init;
use crate::command::config::write_user_value;
use crate::config::{self, Config, Env, KeyPath, ModelFlags};
use crate::output::{self, Failure};

pub(super) fn run(command: &Init, json: bool) -> Result<u8, Failure> {
    let env = Env::from_process();
    let config = config::load(&env, None)?;
    let chosen = choose(command, &config, &env, json)?;
    let keys = chosen.keys(command);
    let before: Vec<Option<String>> = keys.iter().map(|(key, _)| text_at(&config, key)).collect();
    for (key, value) in &keys {
        write_user_value(key, Some(value), None)?;
    }
    if !command.no_test
        && let Err(failure) = test(&chosen, &env)
    {
        // What did not work does not stay.
        for ((key, _), before) in keys.iter().zip(before) {
            write_user_value(key, before.as_deref(), None)?;
        }
        return Err(Failure {
            message: format!(
                "{} did not answer, so nothing was written: {}",
                chosen.name(),
                failure.message
            ),
            ..failure
        });
    }
    report(&chosen, &config, !command.no_test, json)?;
    Ok(0)
}

/// The text of a value of the person's file; `None` = it is not set.
fn text_at(config: &Config, key: &KeyPath) -> Option<String> {
    let held = config.layered.values.get(key)?;
    Some(held.value.as_str().map_or_else(|| held.value.to_string(), str::to_owned))
}

/// The model that the options name, or the one that the person chooses of those that are here.
fn choose(command: &Init, config: &Config, env: &Env, json: bool) -> Result<Candidate, Failure> {
    if let Some(named) = candidates::named(command)? {
        return Ok(named);
    }
    let mut found = bootstrap::block_on(candidates::find(command, config, env))?;
    if found.is_empty() {
        return Err(Failure::configuration(candidates::NOTHING_FOUND));
    }
    let at = if found.len() > 1 && !json && io::stdin().is_terminal() { ask(&found)? } else { 0 };
    Ok(found.swap_remove(at))
}

/// The place of the candidate that the person types the number of.
fn ask(found: &[Candidate]) -> Result<usize, Failure> {
    output::eprint_line("toolcrib: these models can answer:");
    for (number, candidate) in (1..).zip(found) {
        output::eprint_line(&format!("  {number}) {} ({})", candidate.name(), candidate.origin));
    }
    loop {
        output::eprint_prompt(&format!("Which one? [1 to {}, nothing for 1]: ", found.len()));
        let mut line = String::new();
        if io::stdin().read_line(&mut line)? == 0 {
            return Err(Failure::usage(
                "no model was chosen; `toolcrib init --model NAME` names one",
            ));
        }
        match line.trim() {
            "" => return Ok(0),
            typed => match typed.parse::<usize>() {
                Ok(number) if (1..=found.len()).contains(&number) => return Ok(number - 1),
                _ => output::eprint_line(&format!("  There is no number {typed}.")),
            },
        }
    }
}

/// Asks the model that the configuration names now one small question.
fn test(chosen: &Candidate, env: &Env) -> Result<(), Failure> {
    let config = config::load(env, None)?;
    let flags = ModelFlags { model: Some(chosen.name()), ..ModelFlags::default() };
    let chain = config::resolve_model_chain(&flags, &config, env)?;
    bootstrap::block_on(trial::ask(chain))
}

fn report(chosen: &Candidate, config: &Config, tested: bool, json: bool) -> Result<(), Failure> {
    let offers = imports::offers();
    let path = config.path.display().to_string();
    if json {
        let commands: Vec<&str> = offers.iter().map(|offer| offer.command.as_str()).collect();
        let written =
            json!({"model": chosen.name(), "path": path, "tested": tested, "imports": commands});
        return Ok(output::print_json(&written, true)?);
    }
    let answered = if tested { "answered, and " } else { "" };
    output::eprint_line(&format!("toolcrib: {} {answered}is written into {path}", chosen.name()));
    for offer in offers {
        output::eprint_line(&format!(
            "toolcrib: {}; to take them over: {}",
            offer.what, offer.command
        ));
    }
    output::eprint_line("toolcrib: try it: toolcrib run \"What is in this folder?\"");
    Ok(())
}
