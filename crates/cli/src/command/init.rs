//! `toolcrib init`: finds a model that responds, and writes it to the configuration.

pub(crate) mod candidates;
mod imports;
pub(crate) mod trial;

use std::io::{self, IsTerminal as _};
use std::path::Path;

use serde_json::json;

use self::candidates::Candidate;
use crate::bootstrap;
use crate::clap_args::Init;
use crate::config::{self, Config, ConfigEditor, ConfigPaths, Env, ModelFlags};
use crate::output::{self, Failure};

pub(super) fn run(command: &Init, json: bool) -> Result<u8, Failure> {
    let env = Env::from_process();
    let config = config::load(&env, None)?;
    let chosen = choose(command, &config, &env, json)?;
    let path = ConfigPaths::user_file(&env)?;
    let mut edit = ConfigEditor::open(&path)?;
    for (key, value) in chosen.keys(command) {
        let value = config::parse_value(&key, &value)
            .map_err(|what| Failure::usage(format!("{key}: {what}")))?;
        edit.set(&key, &value)?;
    }
    // The file is replaced only after the model has responded: if the trial ends in any other way,
    // it stays unchanged.
    edit.store(|path, text| {
        let draft = config::load_draft(&env, path, text)?;
        if command.no_test { Ok(()) } else { test(&chosen, command, &draft, &env) }
    })?;
    report(&chosen, &path, !command.no_test, json)?;
    Ok(0)
}

/// Returns the model that the options name, or the one that the person chooses among those found
/// here.
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

/// Returns the index of the candidate whose number the person types.
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
                "no model was chosen; choose one with `toolcrib init --model NAME`",
            ));
        }
        match line.trim() {
            "" => return Ok(0),
            typed => match typed.parse::<usize>() {
                Ok(number) if (1..=found.len()).contains(&number) => return Ok(number - 1),
                _ => output::eprint_line(&format!("  {typed} is not a number of the list.")),
            },
        }
    }
}

/// Sends the chosen model one small request, with the future configuration.
fn test(chosen: &Candidate, command: &Init, draft: &Config, env: &Env) -> Result<(), Failure> {
    let flags = ModelFlags {
        model: Some(chosen.name()),
        base_url: command.base_url.clone(),
        ..ModelFlags::default()
    };
    let asked = config::resolve_model_chain(&flags, draft, env)
        .and_then(|chain| bootstrap::block_on(trial::ask(chain)));
    asked.map_err(|failure| {
        let why = &failure.message;
        let message = format!("{} did not answer, so nothing was written: {why}", chosen.name());
        Failure { message, ..failure }
    })
}

fn report(chosen: &Candidate, path: &Path, tested: bool, json: bool) -> Result<(), Failure> {
    let offers = imports::offers();
    let path = path.display().to_string();
    if json {
        let commands: Vec<&str> = offers.iter().map(|offer| offer.command.as_str()).collect();
        let written =
            json!({"model": chosen.name(), "path": path, "tested": tested, "imports": commands});
        return Ok(output::print_json(&written, true)?);
    }
    let answered = if tested { "answered, and " } else { "" };
    output::eprint_line(&format!("toolcrib: {} {answered}was written to {path}", chosen.name()));
    for offer in offers {
        output::eprint_line(&format!(
            "toolcrib: {}; to import them: {}",
            offer.what, offer.command
        ));
    }
    output::eprint_line("toolcrib: try it: toolcrib run \"What is in this folder?\"");
    Ok(())
}
