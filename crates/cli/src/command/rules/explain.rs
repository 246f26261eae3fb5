//! `toolcrib rules explain`: the verdict on a call, with the rule that decides and why.
//!
//! Exit codes: 0 = answered, with any verdict; 2 = usage; 3 = the rules cannot be used.

use std::path::Path;
use std::sync::Arc;

use serde_json::{Value, json};
use toolcrib_app::core::{
    Batch, Call, Clock as _, Context, Decider, Origin, RawArgs, RuleRef, Ruling, SystemClock,
    Verdict,
};
use toolcrib_app::rule_files::{self, RuleFile, RulesError};
use toolcrib_app::rules::{Evaluation, Layer, RuleQuery, RuleSet, SegmentEvaluation};
use toolcrib_app::{DryRunReport, Preset, Toolcrib};

use super::hypothetical_call::{HypotheticalCall, SHELL_TOOL};
use super::{RulesContext, path_text};
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
        (Some(verdict), _) => DefaultVerdict::from_flag(verdict),
        (None, Some(ruling)) => DefaultVerdict::from_ruling(ruling),
        (None, None) => DefaultVerdict::for_unknown_tool(
            &question,
            here.config.effective_preset(None).unwrap_or_default(),
        ),
    };
    let answer = Explanation::new(judged, &otherwise);
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

/// What holds where no rule speaks.
pub(super) struct DefaultVerdict {
    verdict: Verdict,
    /// `default`, `preset`, `floor`, or the part of policy beside rules that has a word to say.
    by: &'static str,
    reason: String,
}

impl DefaultVerdict {
    /// What the caller says.
    pub(super) fn from_flag(verdict: Verdict) -> Self {
        Self { verdict, by: "default", reason: format!("the default is {verdict}") }
    }

    /// What everything but rules says.
    fn from_ruling(ruling: Ruling) -> Self {
        let by = match ruling.by {
            Decider::Permission => "permission",
            Decider::Taint => "taint",
            Decider::Tool => "tool",
            Decider::Switch => "switch",
            Decider::Gate => "gate",
            Decider::Rule | Decider::Preset => "preset",
        };
        Self { verdict: ruling.verdict, by, reason: ruling.reason.into_owned() }
    }

    /// Of a tool that is not there, or arguments that it would not take: as risky as one that says
    /// nothing of itself.
    fn for_unknown_tool(question: &HypotheticalCall, preset: Preset) -> Self {
        let verdict = match preset {
            Preset::Auto => Verdict::Allow,
            Preset::AskRisky | Preset::AskAll => Verdict::Ask,
            Preset::Locked => Verdict::Deny,
        };
        let what = if question.tool == SHELL_TOOL { "a command line" } else { "such a call" };
        Self {
            verdict,
            by: "preset",
            reason: format!("the preset {preset} says {verdict} to {what}"),
        }
    }
}

/// What is said of a call.
pub(super) struct Explanation {
    verdict: Verdict,
    rule: Option<RuleRef>,
    reason: String,
    by: &'static str,
    segments: Vec<Segment>,
}

/// A file that is only read asks for no rule.
fn is_input_redirect(text: &str) -> bool {
    text.trim_start_matches(|c: char| c.is_ascii_digit()).starts_with('<')
}

struct Segment {
    judged: SegmentEvaluation,
    verdict: Verdict,
}

impl Explanation {
    /// What rules say, and what holds besides: the strictest of all parts wins, and a part of which
    /// no rule speaks has the other verdict.
    pub(super) fn new(judged: Evaluation, otherwise: &DefaultVerdict) -> Self {
        let Evaluation { verdict, rule, always_asks, reason, segments } = judged;
        let resolved = |said: Option<Verdict>, rule: &Option<RuleRef>| match (said, rule) {
            (Some(said), Some(_)) => said,
            (Some(least), None) => least.max(otherwise.verdict),
            (None, _) => otherwise.verdict,
        };
        let is_allowed = verdict == Some(Verdict::Allow);
        let part = |judged: SegmentEvaluation| {
            let needs_no_rule =
                judged.verdict.is_none() && (is_allowed || is_input_redirect(&judged.text));
            let verdict =
                if needs_no_rule { Verdict::Allow } else { resolved(judged.verdict, &judged.rule) };
            Segment { judged, verdict }
        };
        let segments: Vec<Segment> = segments.into_iter().map(part).collect();
        let own = resolved(verdict, &rule);
        let whole = segments.iter().map(|part| part.verdict).max().unwrap_or(own).max(own);
        if rule.is_some() && verdict == Some(whole) {
            return Self { verdict: whole, rule, reason, by: "rule", segments };
        }
        let reason = match verdict {
            Some(said) if said == whole => reason,
            _ => format!("{reason}; {}", otherwise.reason),
        };
        let by = if always_asks && whole == Verdict::Ask { "floor" } else { otherwise.by };
        Self { verdict: whole, rule: None, reason, by, segments }
    }

    /// One part of the answer for machines.
    fn segments_json(&self) -> Vec<Value> {
        let part = |part: &Segment| {
            json!({
                "text": part.judged.text,
                "verdict": part.verdict,
                "rule": part.judged.rule.as_ref().map(|rule| &rule.rule),
                "origin": part.judged.rule.as_ref().map(|rule| &rule.origin),
                "reason": part.judged.reason,
            })
        };
        self.segments.iter().map(part).collect()
    }

    fn to_json(&self) -> Value {
        json!({
            "verdict": self.verdict,
            "rule": self.rule.as_ref().map(|rule| &rule.rule),
            "origin": self.rule.as_ref().map(|rule| &rule.origin),
            "reason": self.reason,
            "by": self.by,
            "segments": self.segments_json(),
        })
    }

    /// The answer of the filter.
    pub(super) fn to_jsonl_row(&self) -> Value {
        json!({
            "verdict": self.verdict,
            "rule": self.rule.as_ref().map(|rule| &rule.rule),
            "segments": self.segments_json(),
        })
    }

    fn to_text(&self, question: &HypotheticalCall) -> String {
        let mut text = format!("{}: {}\n", self.verdict, escape_to_line(&question.display));
        match &self.rule {
            Some(rule) => text += &format!("  rule    {}\n", escape_to_line(&rule.to_string())),
            None => text += &format!("  by      the {}\n", self.by),
        }
        text += &format!("  reason  {}\n", escape_controls(&self.reason));
        if !self.segments.is_empty() {
            text += "  parts\n";
        }
        for part in &self.segments {
            text += &format!(
                "    {:<5}  {}\n",
                part.verdict.as_str(),
                escape_to_line(&part.judged.text)
            );
            if let Some(rule) = &part.judged.rule {
                text += &format!("           {}\n", escape_to_line(&rule.to_string()));
            }
            if let Some(reason) = &part.judged.reason {
                text += &format!("           {}\n", escape_controls(reason));
            }
        }
        text
    }
}
