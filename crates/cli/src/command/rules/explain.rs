//! `toolcrib rules explain`: the verdict on a call, with the rule that decides and why.
//!
//! Exit codes: 0 = answered, whatever the verdict is; 2 = usage; 3 = the rules cannot be used.

use std::path::Path;
use std::sync::Arc;

use serde_json::{Value, json};
use toolcrib_app::core::{
    Batch, Call, Clock as _, Context, Decider, Origin, RawArgs, RuleRef, Ruling, SystemClock,
    Verdict,
};
use toolcrib_app::rule_files::{self, Place, RulesError};
use toolcrib_app::rules::{Asked, Judgement, Layer, RuleSet, SegmentJudgement};
use toolcrib_app::{Forecast, Preset, Toolcrib};

use super::ask::{Question, SHELL};
use super::{Here, shown};
use crate::cli::RulesExplain;
use crate::output::{self, Failure};
use crate::terminal::{one_line, visible};
use crate::{rules, world};

pub(super) fn run(command: &RulesExplain, json: bool) -> Result<u8, Failure> {
    let here = Here::of(&command.at)?;
    let rules = match &command.rules {
        Some(path) => named(path, json)?,
        None => rules::load(Some(&here.workspace), &here.config)?,
    };
    let toolcrib = here.toolcrib()?;
    let mut question = Question::of(command, &toolcrib)?;
    let workspace = here.workspace.canonicalize().unwrap_or_else(|_| here.workspace.clone());
    let context = Context {
        agent: command.agent.clone(),
        channel: command.channel.clone(),
        workspace: shown(&workspace),
        ..Context::default()
    };
    let forecast = world::block_on(async { Ok(forecast(&toolcrib, &question, &context).await) })?;
    let ruling = forecast.and_then(|forecast| question.learn(forecast));
    let asked = Asked {
        operation: &question.operation,
        tool: &question.tool,
        args: &question.args,
        agent: &context.agent,
        channel: &context.channel,
        workspace: &context.workspace,
        now_ms: SystemClock.now_ms(),
    };
    let judged = match toolcrib.spec(&question.tool) {
        Some(spec) => rules.judge_tool(&asked, &spec),
        None => rules.judge(&asked),
    };
    let otherwise = match (command.default, ruling) {
        (Some(verdict), _) => Otherwise::by_default(verdict),
        (None, Some(ruling)) => Otherwise::ruled(ruling),
        (None, None) => Otherwise::unknown(&question, here.config.preset(None).unwrap_or_default()),
    };
    let answer = Answer::new(judged, &otherwise);
    if json {
        output::document(&answer.machine(), true)?;
    } else {
        output::data(&answer.people(&question))?;
    }
    Ok(0)
}

/// The rules of a file in place of all layers. What a file of another program cannot mark as unsafe is judged with all the same.
fn named(path: &Path, json: bool) -> Result<RuleSet, Failure> {
    let place = Place { named: true, ..Place::new(Layer::User, path) };
    let text = place.text()?;
    let mut written = rule_files::parse_judged(path, &text)?;
    if !text.trim_start().starts_with('{') {
        return Ok(RuleSet::compile(written).map_err(RulesError::Refused)?);
    }
    let Err(faults) = RuleSet::compile(written.clone()) else {
        return Ok(RuleSet::compile(written).map_err(RulesError::Refused)?);
    };
    written.iter_mut().for_each(|rule| rule.text.is_unsafe = true);
    let set = RuleSet::compile(written).map_err(RulesError::Refused)?;
    faults.iter().for_each(|fault| output::remark(&fault.to_string(), json));
    Ok(set)
}

/// What becomes of the call where there are no rules: through the same stages as a real one.
async fn forecast(toolcrib: &Toolcrib, question: &Question, context: &Context) -> Option<Forecast> {
    let call = Call::new(question.tool.clone(), RawArgs::Value(question.args.clone()));
    let context = Arc::new(context.clone());
    let batch = Batch { context, ..Batch::new(Origin::Cli, vec![call]) };
    toolcrib.engine().forecast(batch).await.pop()
}

/// What holds where no rule speaks.
pub(super) struct Otherwise {
    verdict: Verdict,
    /// `default`, `preset`, or the part of policy beside rules that has a word to say.
    by: &'static str,
    reason: String,
}

impl Otherwise {
    /// What the caller says.
    pub(super) fn by_default(verdict: Verdict) -> Self {
        Self { verdict, by: "default", reason: format!("the default is {verdict}") }
    }

    /// What everything but rules says.
    fn ruled(ruling: Ruling) -> Self {
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

    /// Of a tool that is not there, or arguments that it would not take: as risky as one that says nothing of itself.
    fn unknown(question: &Question, preset: Preset) -> Self {
        let verdict = match preset {
            Preset::Auto => Verdict::Allow,
            Preset::AskRisky | Preset::AskAll => Verdict::Ask,
            Preset::Locked => Verdict::Deny,
        };
        let what = if question.tool == SHELL { "a command line" } else { "such a call" };
        Self {
            verdict,
            by: "preset",
            reason: format!("the preset {preset} says {verdict} to {what}"),
        }
    }
}

/// What is said of a call.
pub(super) struct Answer {
    verdict: Verdict,
    rule: Option<RuleRef>,
    reason: String,
    by: &'static str,
    segments: Vec<Part>,
}

/// A file that is only read asks for no rule.
fn is_reading(text: &str) -> bool {
    text.trim_start_matches(|c: char| c.is_ascii_digit()).starts_with('<')
}

struct Part {
    judged: SegmentJudgement,
    verdict: Verdict,
}

impl Answer {
    /// What rules say, and what holds besides: the strictest of all parts wins, and a part of which no rule speaks has the other verdict.
    pub(super) fn new(judged: Judgement, otherwise: &Otherwise) -> Self {
        let Judgement { verdict, rule, reason, segments } = judged;
        let resolved = |said: Option<Verdict>, rule: &Option<RuleRef>| match (said, rule) {
            (Some(said), Some(_)) => said,
            (Some(least), None) => least.max(otherwise.verdict),
            (None, _) => otherwise.verdict,
        };
        let is_allowed = verdict == Some(Verdict::Allow);
        let part = |judged: SegmentJudgement| {
            let needs_no_rule =
                judged.verdict.is_none() && (is_allowed || is_reading(&judged.text));
            let verdict =
                if needs_no_rule { Verdict::Allow } else { resolved(judged.verdict, &judged.rule) };
            Part { judged, verdict }
        };
        let segments: Vec<Part> = segments.into_iter().map(part).collect();
        let own = resolved(verdict, &rule);
        let whole = segments.iter().map(|part| part.verdict).max().unwrap_or(own).max(own);
        if rule.is_some() && verdict == Some(whole) {
            return Self { verdict: whole, rule, reason, by: "rule", segments };
        }
        let reason = match verdict {
            Some(said) if said == whole => reason,
            _ => format!("{reason}; {}", otherwise.reason),
        };
        Self { verdict: whole, rule: None, reason, by: otherwise.by, segments }
    }

    /// One part of the answer for machines.
    fn parts(&self) -> Vec<Value> {
        let part = |part: &Part| {
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

    fn machine(&self) -> Value {
        json!({
            "verdict": self.verdict,
            "rule": self.rule.as_ref().map(|rule| &rule.rule),
            "origin": self.rule.as_ref().map(|rule| &rule.origin),
            "reason": self.reason,
            "by": self.by,
            "segments": self.parts(),
        })
    }

    /// The answer of the filter.
    pub(super) fn line(&self) -> Value {
        json!({
            "verdict": self.verdict,
            "rule": self.rule.as_ref().map(|rule| &rule.rule),
            "segments": self.parts(),
        })
    }

    fn people(&self, question: &Question) -> String {
        let mut text = format!("{}: {}\n", self.verdict, one_line(&question.shown));
        match &self.rule {
            Some(rule) => text += &format!("  rule    {}\n", one_line(&rule.to_string())),
            None => text += &format!("  by      the {}\n", self.by),
        }
        text += &format!("  reason  {}\n", visible(&self.reason));
        if !self.segments.is_empty() {
            text += "  parts\n";
        }
        for part in &self.segments {
            text += &format!("    {:<5}  {}\n", part.verdict.as_str(), one_line(&part.judged.text));
            if let Some(rule) = &part.judged.rule {
                text += &format!("           {}\n", one_line(&rule.to_string()));
            }
            if let Some(reason) = &part.judged.reason {
                text += &format!("           {}\n", visible(reason));
            }
        }
        text
    }
}
