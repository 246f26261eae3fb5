//! `toolcrib rules enforce`: puts an observed rule in force.

use serde_json::json;
use toolcrib_app::rule_files;
use toolcrib_app::rules::Layer;

use super::rules_context::RulesContext;
use crate::clap_args::RulesEnforce;
use crate::output::{self, Failure};
use crate::terminal::escape_to_line;

pub(super) fn run(command: &RulesEnforce, json: bool) -> Result<u8, Failure> {
    let here = RulesContext::load(&command.workspace_args)?;
    let target = here.numbered_rule(command.number)?;
    let text = &target.rule.text;
    let what = format!("{} {} ({})", text.effect, escape_to_line(&text.rule), target.rule.origin);
    if target.place.layer == Layer::Managed {
        let message =
            format!("{what} is a rule of the operator of this machine; it is changed there");
        return Err(Failure { code: 5, message });
    }
    let enforced = text.is_observed;
    if enforced {
        rule_files::write_rules(&target.place, |now| {
            target.check_unchanged(now)?;
            rule_files::enforce_rule(&target.place, now, target.index)
        })?;
    }
    if json {
        let value = json!({"enforced": enforced, "effect": text.effect, "rule": text.rule, "origin": target.rule.origin});
        output::print_json(&value, true)?;
    } else if enforced {
        output::eprint_line(&format!("toolcrib: in force: {what}"));
    } else {
        output::eprint_line(&format!("toolcrib: already in force: {what}"));
    }
    Ok(0)
}
