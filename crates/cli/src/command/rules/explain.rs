//! `toolcrib rules explain`: the decision about a call, with the deciding rule and the reason.
//!
//! Exit codes: 0 = answered, with any verdict; 2 = usage; 3 = the rules cannot be used.

use std::path::Path;

use serde_json::json;
use toolcrib_app::rule_files::{self, RuleFile, RulesError};
use toolcrib_app::rules::{Layer, RuleSet};
use toolcrib_core::Origin;
use toolcrib_ops::rules::{
    self, AskedCall, ExplainReply, ExplainRequest, ExplainedSegment, LineJudge, LineQuestion,
};

use super::rules_context::RulesContext;
use crate::clap_args::RulesExplain;
use crate::output::{self, Failure};
use crate::terminal::{escape_controls, escape_to_line};
use crate::{bootstrap, jsonl, op_context, rule_layers};

pub(super) fn run(command: &RulesExplain, json: bool) -> Result<u8, Failure> {
    let call = asked_call(command)?;
    let here = RulesContext::load(&command.workspace_args)?;
    let rules = match &command.rules {
        Some(path) => rules_from_file(path, json)?,
        None => rule_layers::load_rules(Some(&here.workspace), &here.config)?,
    };
    let toolcrib = here.toolcrib_with_rules(&rules, json)?;
    let request = ExplainRequest {
        call,
        agent: command.agent.clone(),
        channel: command.channel.clone(),
        origin: Origin::Cli,
        rules,
        default: command.default,
    };
    let answer = bootstrap::block_on(async {
        Ok(rules::explain(&op_context::for_toolcrib(&toolcrib, None), request).await?)
    })?;
    if json {
        output::print_json(&json!(answer), true)?;
    } else {
        output::print_line(&to_text(&answer))?;
    }
    Ok(0)
}

/// `--lines`: reads one question and writes one answer per line.
pub(super) fn run_filter() -> Result<u8, Failure> {
    let mut judge = LineJudge::default();
    // The error of a line appears only in its answer.
    jsonl::run_filter(|line: LineQuestion| {
        judge.answer(&line).map(|answer| jsonl::into_object(json!(answer)))
    })?;
    Ok(0)
}

/// Returns the call that the command names.
fn asked_call(command: &RulesExplain) -> Result<AskedCall, Failure> {
    let args = command.args.as_deref().map(str::trim).filter(|args| !args.is_empty());
    match (&command.tool, &command.text) {
        (None, _) if command.args.is_some() => {
            Err(Failure::usage("--args are those of a tool; say which with --tool NAME"))
        }
        (Some(tool), _) => {
            let args = args.map_or(Ok(Default::default()), serde_json::from_str);
            let args = args
                .map_err(|error| Failure::usage(format!("--args is not a JSON object: {error}")))?;
            Ok(AskedCall::Tool { tool: tool.clone(), args })
        }
        (None, Some(text)) => Ok(AskedCall::Text(text.clone())),
        (None, None) => Err(Failure::usage("say what is asked about: a command line, or --tool")),
    }
}

/// Returns the rules of a file instead of all layers. Rules of other programs cannot be marked as
/// unsafe, so dangerous ones are evaluated, too.
fn rules_from_file(path: &Path, json: bool) -> Result<RuleSet, Failure> {
    let place = RuleFile { must_exist: true, ..RuleFile::new(Layer::User, path) };
    let text = place.text()?;
    let mut written = rule_files::parse_any_format(path, &text)?;
    if !text.trim_start().starts_with('{') {
        return Ok(RuleSet::compile(written).map_err(RulesError::Refused)?);
    }
    let Err(faults) = RuleSet::compile(written.clone()) else {
        return Ok(RuleSet::compile(written).map_err(RulesError::Refused)?);
    };
    written.iter_mut().for_each(|rule| rule.text.is_unsafe = true);
    let set = RuleSet::compile(written).map_err(RulesError::Refused)?;
    faults.iter().for_each(|fault| output::warn(&fault.to_string(), json));
    Ok(set)
}

fn to_text(answer: &ExplainReply) -> String {
    let mut text = format!("{}: {}\n", answer.verdict.as_str(), escape_to_line(&answer.call));
    match &answer.rule_line {
        Some(rule) => text += &format!("  rule    {}\n", escape_to_line(rule)),
        None => text += &format!("  by      the {}\n", answer.by),
    }
    text += &format!("  reason  {}\n", escape_controls(&answer.reason));
    if let Some(refused) = &answer.refused {
        text += &format!("  refused {}\n", escape_to_line(&refused.message));
    }
    if !answer.segments.is_empty() {
        text += "  parts\n";
    }
    answer.segments.iter().for_each(|part| text += &part_text(part));
    text
}

fn part_text(part: &ExplainedSegment) -> String {
    let mut text = format!("    {:<5}  {}\n", part.verdict.as_str(), escape_to_line(&part.text));
    if let Some(rule) = &part.rule_line {
        text += &format!("           {}\n", escape_to_line(rule));
    }
    if let Some(reason) = &part.reason {
        text += &format!("           {}\n", escape_controls(reason));
    }
    text
}
