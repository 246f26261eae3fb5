//! `toolcrib rules list`.

use serde_json::Value;
use toolcrib_app::rule_files::{self, RulesError};
use toolcrib_app::rules::{RuleSet, RuleText, Written};

use super::super::past;
use super::{Here, counts, layer_word, machine};
use crate::cli::RulesAt;
use crate::output::{self, Failure};
use crate::terminal::one_line;
use crate::world;

pub(super) fn run(at: &RulesAt, json: bool) -> Result<u8, Failure> {
    let here = Here::of(at)?;
    let rules = rule_files::read_all(&here.places())?;
    let numbered = || rules.iter().enumerate().map(|(at, rule)| (at + 1, rule));
    if json {
        output::document(
            &numbered().map(|(number, rule)| machine(number, rule)).collect::<Value>(),
            true,
        )?;
    } else if rules.is_empty() {
        output::note(
            "toolcrib: there are no rules, so the preset decides; `toolcrib rules add` adds one",
        );
    } else {
        let text: String = numbered().map(|(number, rule)| people(number, rule)).collect();
        output::data(&text)?;
    }
    if !json {
        remembered();
    }
    // They are listed all the same: who corrects them has to see them.
    if let Err(faults) = RuleSet::compile(rules) {
        return Err(RulesError::Refused(faults).into());
    }
    Ok(0)
}

/// What stands beside rules: approvals that were given once and for all. A store that cannot be opened hinders nobody.
fn remembered() {
    let exists = world::database().is_ok_and(|path| path.exists());
    let Some(stores) = exists.then(world::stores).and_then(Result::ok) else { return };
    let grants =
        world::block_on(async { stores.grants.list(past::OWNER).await.map_err(past::store) });
    match grants.map_or(0, |grants| grants.len()) {
        0 => {}
        1 => output::note(
            "toolcrib: beside them 1 remembered approval answers: `toolcrib grant list`",
        ),
        many => output::note(&format!(
            "toolcrib: beside them {many} remembered approvals answer: `toolcrib grant list`"
        )),
    }
}

fn people(number: usize, rule: &Written) -> String {
    let Written { text, layer, origin } = rule;
    let mut lines = format!(
        "{number:>4}  {:<5}  {}\n             {}, {}{}\n",
        text.effect.as_str(),
        one_line(&text.rule),
        layer_word(*layer),
        one_line(origin),
        if counts(rule) {
            ""
        } else {
            "; counts for nothing: nobody trusts this workspace (`trusted_workspaces`)"
        },
    );
    for fact in facts(text) {
        lines += &format!("             {fact}\n");
    }
    lines
}

/// What limits a rule, and why it is there.
fn facts(rule: &RuleText) -> Vec<String> {
    let list = |name: &str, values: &[String]| {
        (!values.is_empty()).then(|| format!("only {name}: {}", one_line(&values.join(", "))))
    };
    let until = rule.expires.as_ref().map(|end| format!("until {}", one_line(end)));
    let why = rule.reason.as_ref().map(|reason| format!("because: {}", one_line(reason)));
    let limits = [
        list("agents", &rule.agents),
        list("channels", &rule.channels),
        list("workspaces", &rule.workspaces),
        until,
        why,
    ];
    limits.into_iter().flatten().collect()
}
