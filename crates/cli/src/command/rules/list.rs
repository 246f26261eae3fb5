//! `toolcrib rules list`.

use serde_json::json;
use toolcrib_app::rule_files::{self, RulesError};
use toolcrib_app::rules::{RuleSet, RuleSource, RuleText};
use toolcrib_ops::rules::{self, ObservedRule, is_effective, layer_word};

use super::super::lookup;
use super::observed::observed_rules;
use super::rules_context::RulesContext;
use crate::bootstrap;
use crate::clap_args::RulesWorkspaceArgs;
use crate::output::{self, Failure};
use crate::terminal::escape_to_line;

pub(super) fn run(at: &RulesWorkspaceArgs, json: bool) -> Result<u8, Failure> {
    let here = RulesContext::load(at)?;
    let written = rule_files::read_rules(&here.rule_files())?;
    let numbered = || written.iter().enumerate().map(|(at, rule)| (at + 1, rule));
    if json {
        output::print_json(&json!(rules::list(&written)), true)?;
    } else if written.is_empty() {
        output::eprint_line(
            "toolcrib: there are no rules, so the preset decides; `toolcrib rules add` adds one",
        );
    } else {
        let observed = observed_rules(&here, &written)?;
        let text: String = numbered()
            .map(|(number, rule)| to_text(number, rule, observed.get(&rule.origin)))
            .collect();
        output::print_line(&text)?;
    }
    if !json {
        note_grants();
    }
    // Invalid rules are listed, too, so that the person can correct them.
    if let Err(faults) = RuleSet::compile(written) {
        return Err(RulesError::Refused(faults).into());
    }
    Ok(0)
}

/// Prints the number of grants after the rules. A store that cannot be opened is ignored.
fn note_grants() {
    let exists = bootstrap::database_path().is_ok_and(|path| path.exists());
    let Some(stores) = exists.then(bootstrap::stores).and_then(Result::ok) else { return };
    let grants = bootstrap::block_on(async { Ok(stores.grants.list(lookup::LOCAL_OWNER).await?) });
    match grants.map_or(0, |grants| grants.len()) {
        0 => {}
        1 => output::eprint_line(
            "toolcrib: beside them 1 remembered approval answers: `toolcrib grant list`",
        ),
        many => output::eprint_line(&format!(
            "toolcrib: beside them {many} remembered approvals answer: `toolcrib grant list`"
        )),
    }
}

fn to_text(number: usize, rule: &RuleSource, observed: Option<&ObservedRule>) -> String {
    let RuleSource { text, layer, origin } = rule;
    let mut lines = format!(
        "{number:>4}  {:<5}  {}\n             {}, {}{}\n",
        text.effect.as_str(),
        escape_to_line(&text.rule),
        layer_word(*layer),
        escape_to_line(origin),
        if is_effective(rule) || text.is_observed {
            ""
        } else {
            "; no effect: this workspace is not trusted (`trusted_workspaces`)"
        },
    );
    if let Some(ObservedRule { matched, compared, .. }) = observed {
        lines += &format!(
            "             only observed: it would have decided {matched} of {compared} past calls; `toolcrib rules enforce {number}` puts it in force\n"
        );
    }
    for fact in condition_lines(text) {
        lines += &format!("             {fact}\n");
    }
    lines
}

/// Renders the conditions of a rule, and its reason.
fn condition_lines(rule: &RuleText) -> Vec<String> {
    let list = |name: &str, values: &[String]| {
        (!values.is_empty()).then(|| format!("only {name}: {}", escape_to_line(&values.join(", "))))
    };
    let until = rule.expires.as_ref().map(|end| format!("until {}", escape_to_line(end)));
    let why = rule.reason.as_ref().map(|reason| format!("because: {}", escape_to_line(reason)));
    let limits = [
        list("agents", &rule.agents),
        list("channels", &rule.channels),
        list("workspaces", &rule.workspaces),
        until,
        why,
    ];
    limits.into_iter().flatten().collect()
}
