//! `toolcrib rules suggest`: suggests rules for calls that were approved more than twice.

use serde_json::json;
use toolcrib_ops::rules::{self, APPROVALS, DAYS, RuleSuggestion};

use super::rules_context::RulesContext;
use crate::clap_args::RulesWorkspaceArgs;
use crate::output::{self, Failure};
use crate::terminal::{escape_to_line, quote_for_shell};
use crate::{bootstrap, op_context, rule_layers};

pub(super) fn run(at: &RulesWorkspaceArgs, json: bool) -> Result<u8, Failure> {
    let here = RulesContext::load(at)?;
    let current = rule_layers::load_rules(Some(&here.workspace), &here.config)?;
    let toolcrib = here.toolcrib()?;
    let stores = bootstrap::stores()?;
    let found = bootstrap::block_on(async {
        let ctx = op_context::for_history(&toolcrib, &stores);
        Ok(rules::suggest(&ctx, &current).await?)
    })?;
    if json {
        output::print_json(&json!({ "suggestions": found }), true)?;
    } else if found.is_empty() {
        output::eprint_line(&format!(
            "toolcrib: no rule to suggest: nothing was approved {APPROVALS} times in the last {DAYS} days for which an exact rule can be written"
        ));
    } else {
        output::print_line(&found.iter().map(to_text).collect::<String>())?;
    }
    Ok(0)
}

fn to_text(one: &RuleSuggestion) -> String {
    let option = |name: &str, value: &Option<String>| {
        value
            .as_ref()
            .map(|value| format!(" {name} {}", quote_for_shell(value)))
            .unwrap_or_default()
    };
    let command = format!(
        "toolcrib rules add allow {}{}{}",
        quote_for_shell(&one.rule),
        option("--workspace", &one.workspace),
        option("--agent", &one.agent)
    );
    format!(
        "allow {}\n  approved {} times in the last {DAYS} days; allows {} of the past calls\n  {}\n",
        escape_to_line(&one.rule),
        one.approvals,
        one.past_calls,
        escape_to_line(&command)
    )
}
