//! `toolcrib rules replay`: replays the history against changed rules.

use std::collections::BTreeMap;
use std::path::Path;

use serde_json::json;
use toolcrib_app::rule_files::{self, RuleFile};
use toolcrib_app::rules::Layer;
use toolcrib_ops::rules::{self, ReplayReply, ReplayRequest, ReplayedCall, RulesChange};

use super::rules_context::RulesContext;
use crate::clap_args::RulesReplay;
use crate::output::{self, Failure};
use crate::terminal::escape_to_line;
use crate::{bootstrap, op_context, rule_layers};

/// Number of characters of the arguments in a line.
const ARGS_CHARS: usize = 100;

pub(super) fn run(command: &RulesReplay, json: bool) -> Result<u8, Failure> {
    let here = RulesContext::load(&command.workspace_args)?;
    let in_force = rule_layers::load_rules(Some(&here.workspace), &here.config)?;
    let change = match &command.file {
        Some(path) => replaced_rules(&here, path, command.project)?,
        None if in_force.with_observed().is_none() => {
            return Err(Failure::usage(
                "no rule is only observed: name a FILE of changed rules, or add a rule with `toolcrib rules add --observe`",
            ));
        }
        None => RulesChange::EnforceObserved,
    };
    let toolcrib = here.toolcrib()?;
    let stores = bootstrap::stores()?;
    let reply = bootstrap::block_on(async {
        let ctx = op_context::for_history(&toolcrib, &stores);
        let preset = here.config.effective_preset(None).unwrap_or_default();
        let request = ReplayRequest { in_force: &in_force, change, preset };
        Ok(rules::replay(&ctx, request).await?)
    })?;
    if json {
        output::print_json(&json!(reply), true)?;
    } else {
        let text = to_text(&reply);
        if !text.is_empty() {
            output::print_line(&text)?;
        }
        output::eprint_line(&format!("toolcrib: {}", summary(&reply)));
    }
    Ok(0)
}

/// A file in place of the person's own or of the workspace's.
fn replaced_rules(here: &RulesContext, path: &Path, project: bool) -> Result<RulesChange, Failure> {
    let layer = match project {
        true => rule_layers::project_file(&here.workspace, &here.config).layer,
        false => Layer::User,
    };
    let file = RuleFile { must_exist: true, ..RuleFile::new(layer, path) };
    let rules = rule_files::parse_any_format(&file.path, &file.text()?)?;
    Ok(RulesChange::Replace { layer, rules })
}

/// Renders one line for all calls with the same arguments and verdicts.
fn to_text(reply: &ReplayReply) -> String {
    let mut groups: BTreeMap<String, (usize, &ReplayedCall)> = BTreeMap::new();
    for call in &reply.differences {
        let args: String =
            call.args.iter().flat_map(|args| args.chars()).take(ARGS_CHARS).collect();
        let line = escape_to_line(&format!(
            "{:<5} -> {:<5}  {} {args}",
            call.before, call.after, call.operation
        ));
        groups.entry(line).or_insert((0, call)).0 += 1;
    }
    let lines = groups.iter().map(|(line, (count, call))| {
        let rule = call.rule.as_deref().map(escape_to_line).unwrap_or_default();
        format!("{count:>4}x  {line}\n       {rule}\n")
    });
    lines.collect()
}

fn summary(reply: &ReplayReply) -> String {
    let ReplayReply { compared, skipped, truncated, differences } = reply;
    let older = if *truncated { "; older calls were left out" } else { "" };
    let without = match skipped {
        0 => String::new(),
        skipped => format!(
            "; {skipped} could not be compared (refused before the rules, or no arguments are stored)"
        ),
    };
    format!(
        "{} of {compared} past calls would be decided otherwise{without}{older}",
        differences.len()
    )
}
