//! `toolcrib rules explain`: the verdict on a call, with the rule that decides and why.
//!
//! Exit codes: 0 = answered, with any verdict; 2 = usage; 3 = the rules cannot be used.

use std::path::Path;
use std::sync::Arc;

use serde_json::{Value, json};
use toolcrib_app::rule_files::{self, RuleFile, RulesError};
use toolcrib_app::rules::{Layer, RuleQuery, RuleSet};
use toolcrib_app::{DryRunReport, Preset, Toolcrib};
use toolcrib_core::{Batch, Call, Clock as _, Context, Effect, Origin, RawArgs, Risk, SystemClock};
use toolcrib_ops::rules::{CallVerdict, DefaultVerdict, SegmentVerdict};

use super::hypothetical_call::{HypotheticalCall, SHELL_TOOL};
use super::rules_context::{RulesContext, path_text};
use crate::clap_args::RulesExplain;
use crate::output::{self, Failure};
use crate::terminal::{escape_controls, escape_to_line};
use crate::{bootstrap, rule_layers};

pub(super) fn run(command: &RulesExplain, json: bool) -> Result<u8, Failure> {
    let here = RulesContext::load(&command.workspace_args)?;
    let rules = match &command.rules {
        Some(path) => rules_from_file(path, json)?,
        None => rule_layers::load_rules(Some(&here.workspace), &here.config)?,
    };
    let toolcrib = here.toolcrib()?;
    let mut question = HypotheticalCall::from_args(command, &toolcrib)?;
    let workspace = here.workspace.canonicalize().unwrap_or_else(|_| here.workspace.clone());
    let context = Context {
        agent: command.agent.clone(),
        channel: command.channel.clone(),
        workspace: path_text(&workspace),
        ..Context::default()
    };
    let forecast =
        bootstrap::block_on(async { Ok(forecast(&toolcrib, &question, &context).await) })?;
    let ruling = forecast.and_then(|forecast| question.apply_dry_run(forecast));
    let asked = RuleQuery {
        operation: &question.operation,
        tool: &question.tool,
        args: &question.args,
        agent: &context.agent,
        channel: &context.channel,
        workspace: &context.workspace,
        now_ms: SystemClock.now_ms(),
    };
    let judged = match toolcrib.spec(&question.tool) {
        Some(spec) => rules.evaluate_tool(&asked, &spec),
        None => rules.evaluate(&asked),
    };
    let otherwise = match (command.default, ruling) {
        (Some(verdict), _) => DefaultVerdict::given(verdict),
        (None, Some(ruling)) => DefaultVerdict::from_ruling(ruling),
        (None, None) => default_for_unknown_tool(
            &question,
            here.config.effective_preset(None).unwrap_or_default(),
        ),
    };
    let answer = Explanation(CallVerdict::new(judged, &otherwise));
    if json {
        output::print_json(&answer.to_json(), true)?;
    } else {
        output::print_line(&answer.to_text(&question))?;
    }
    Ok(0)
}

/// The rules of a file in place of all layers. What a file of another program cannot mark as unsafe
/// is judged with all the same.
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

/// What becomes of the call where there are no rules: through the same stages as a real one.
async fn forecast(
    toolcrib: &Toolcrib,
    question: &HypotheticalCall,
    context: &Context,
) -> Option<DryRunReport> {
    let call = Call::new(question.tool.clone(), RawArgs::Value(question.args.clone()));
    let context = Arc::new(context.clone());
    let batch = Batch { context, ..Batch::new(Origin::Cli, vec![call]) };
    toolcrib.engine().dry_run(batch).await.pop()
}

/// Of a tool that is not there, or arguments that it would not take: as risky as one that says
/// nothing of itself.
fn default_for_unknown_tool(question: &HypotheticalCall, preset: Preset) -> DefaultVerdict {
    let verdict = preset.verdict(Risk::High, Effect::default());
    let what = if question.tool == SHELL_TOOL { "a command line" } else { "such a call" };
    let reason = format!("the preset {preset} says {verdict} to {what}");
    DefaultVerdict { verdict, by: "preset", reason }
}

/// The answer in the forms of the command.
pub(super) struct Explanation(pub(super) CallVerdict);

impl Explanation {
    /// One part of the answer for machines.
    fn segments_json(&self) -> Vec<Value> {
        let part = |part: &SegmentVerdict| {
            json!({
                "text": part.evaluation.text,
                "verdict": part.verdict,
                "rule": part.evaluation.rule.as_ref().map(|rule| &rule.rule),
                "origin": part.evaluation.rule.as_ref().map(|rule| &rule.origin),
                "reason": part.evaluation.reason,
            })
        };
        self.0.segments.iter().map(part).collect()
    }

    fn to_json(&self) -> Value {
        json!({
            "verdict": self.0.verdict,
            "rule": self.0.rule.as_ref().map(|rule| &rule.rule),
            "origin": self.0.rule.as_ref().map(|rule| &rule.origin),
            "reason": self.0.reason,
            "by": self.0.by,
            "segments": self.segments_json(),
        })
    }

    /// The answer of the filter.
    pub(super) fn to_jsonl_row(&self) -> Value {
        json!({
            "verdict": self.0.verdict,
            "rule": self.0.rule.as_ref().map(|rule| &rule.rule),
            "segments": self.segments_json(),
        })
    }

    fn to_text(&self, question: &HypotheticalCall) -> String {
        let mut text = format!("{}: {}\n", self.0.verdict, escape_to_line(&question.display));
        match &self.0.rule {
            Some(rule) => text += &format!("  rule    {}\n", escape_to_line(&rule.to_string())),
            None => text += &format!("  by      the {}\n", self.0.by),
        }
        text += &format!("  reason  {}\n", escape_controls(&self.0.reason));
        if !self.0.segments.is_empty() {
            text += "  parts\n";
        }
        for part in &self.0.segments {
            text += &format!(
                "    {:<5}  {}\n",
                part.verdict.as_str(),
                escape_to_line(&part.evaluation.text)
            );
            if let Some(rule) = &part.evaluation.rule {
                text += &format!("           {}\n", escape_to_line(&rule.to_string()));
            }
            if let Some(reason) = &part.evaluation.reason {
                text += &format!("           {}\n", escape_controls(reason));
            }
        }
        text
    }
}
