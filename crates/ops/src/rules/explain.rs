//! Predicts the decision about a call, with the deciding rule. Nothing runs.

use std::sync::Arc;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use toolcrib_app::rules::{Evaluation, RuleQuery, RuleSet};
use toolcrib_app::{DryRunReport, Preset};
use toolcrib_core::{
    Batch, Call, Clock as _, Context, Effect as CallEffect, Origin, RawArgs, Risk, SystemClock,
    Verdict,
};

use super::hypothetical_call::{AskedCall, HypotheticalCall, SHELL_TOOL};
use super::verdict::{CallVerdict, DefaultVerdict, SegmentVerdict};
use crate::context::OpContext;
use crate::error::OpError;

/// A question about a hypothetical call.
#[derive(Debug, Clone)]
pub struct ExplainRequest {
    /// The call.
    pub call: AskedCall,
    /// Agent that makes the call; empty = none.
    pub agent: String,
    /// Channel of the call, such as `chat`.
    pub channel: String,
    /// Origin of the call.
    pub origin: Origin,
    /// The rules to evaluate.
    pub rules: RuleSet,
    /// The verdict if no rule matches; `None` uses the rest of policy.
    pub default: Option<Verdict>,
}

/// The decision about a call.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[schemars(rename = "RuleExplained")]
pub struct ExplainReply {
    /// The call, for people.
    pub call: String,
    /// The decision: `allow`, `ask` or `deny`.
    pub verdict: Verdict,
    /// The part of policy that decides: `rule`, `floor`, `preset`, `permission`, `taint`, `tool`,
    /// `switch`, `gate`, or `default` (the verdict that the request names).
    pub by: String,
    /// The reason, in words.
    pub reason: String,
    /// The deciding rule; null = no rule decides.
    pub rule: Option<String>,
    /// Position of that rule: `PATH:LINE`.
    pub origin: Option<String>,
    /// The reason in that rule.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub rule_reason: Option<String>,
    /// The rule with its position and reason, in one line for people.
    #[serde(skip)]
    pub rule_line: Option<String>,
    /// Parts of a command line, in order; empty for other calls.
    pub segments: Vec<ExplainedSegment>,
    /// The meaning of `ask` for this caller; null = no person would be asked.
    pub asking: Option<String>,
    /// The obstacle that stops the call before rules decide, such as a disabled tool; null = only
    /// policy decides.
    pub refused: Option<RefusedBeforeRules>,
}

/// The decision about one part of a command line.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct ExplainedSegment {
    /// The part as written.
    pub text: String,
    /// The decision.
    pub verdict: Verdict,
    /// The deciding rule; null = no rule decides.
    pub rule: Option<String>,
    /// Position of that rule: `PATH:LINE`.
    pub origin: Option<String>,
    /// The reason in that rule.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub rule_reason: Option<String>,
    /// The rule with its position and reason, in one line for people.
    #[serde(skip)]
    pub rule_line: Option<String>,
    /// The reason, in words.
    pub reason: Option<String>,
}

/// An obstacle that stops a call before the rules decide.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct RefusedBeforeRules {
    /// The type of the error.
    pub error_type: String,
    /// The reason, in words for people.
    pub message: String,
}

/// Predicts the decision about a call: the call passes the stages up to policy, once without rules
/// and once with them.
///
/// # Errors
/// [`OpError::Invalid`] for a question that names no call.
pub async fn explain(
    ctx: &OpContext<'_>,
    request: ExplainRequest,
) -> Result<ExplainReply, OpError> {
    let mut question = HypotheticalCall::new(&request.call, ctx.toolcrib)?;
    let without = forecast(ctx, &question, &request, RuleSet::default()).await?;
    let within = forecast(ctx, &question, &request, request.rules.clone()).await?;
    let default = without.report.ruling.clone();
    if default.is_some() {
        question.adopt(&without);
    }
    let otherwise = match (request.default, default) {
        (Some(verdict), _) => DefaultVerdict::given(verdict),
        (None, Some(ruling)) => DefaultVerdict::from_ruling(ruling),
        (None, None) => default_for_unknown_tool(&question, ctx.toolcrib.preset()),
    };
    let context = context(ctx, &request);
    let judged = evaluate(ctx, &question, &request.rules, &context);
    let mut verdict = CallVerdict::new(judged, &otherwise);
    // The ruling of the engine applies to real calls: an ask from a permission or from taint has
    // precedence over a rule that allows.
    if let Some(ruling) = within.report.ruling.clone().filter(|_| request.default.is_none())
        && ruling.verdict != verdict.verdict
    {
        verdict = verdict.overruled(ruling);
    }
    Ok(ExplainReply::new(question.display, verdict, within))
}

fn context(ctx: &OpContext<'_>, request: &ExplainRequest) -> Context {
    let batch = ctx.toolcrib.manual_batch(Vec::new(), request.origin);
    Context {
        owner: ctx.store.owner.to_owned(),
        agent: request.agent.clone(),
        channel: request.channel.clone(),
        ..Context::clone(&batch.context)
    }
}

async fn forecast(
    ctx: &OpContext<'_>,
    question: &HypotheticalCall,
    request: &ExplainRequest,
    rules: RuleSet,
) -> Result<DryRunReport, OpError> {
    let call = Call::new(question.tool.clone(), RawArgs::Value(question.args.clone()));
    let context = Arc::new(context(ctx, request));
    let batch = Batch { context, ..Batch::new(request.origin, vec![call]) };
    let mut reports = ctx.toolcrib.engine().dry_run_with_rules(batch, rules).await;
    reports.pop().ok_or_else(|| OpError::Internal("the dry run has no result".to_owned()))
}

fn evaluate(
    ctx: &OpContext<'_>,
    question: &HypotheticalCall,
    rules: &RuleSet,
    context: &Context,
) -> Evaluation {
    let asked = RuleQuery {
        operation: &question.operation,
        tool: &question.tool,
        args: &question.args,
        agent: &context.agent,
        channel: &context.channel,
        workspace: &context.workspace,
        now_ms: SystemClock.now_ms(),
    };
    match ctx.toolcrib.spec(&question.tool) {
        Some(spec) => rules.evaluate_tool(&asked, &spec),
        None => rules.evaluate(&asked),
    }
}

/// Returns the default for a tool that does not exist or is disabled, or for arguments that it
/// would not accept: the call counts as that of a tool that declares no risk.
fn default_for_unknown_tool(question: &HypotheticalCall, preset: Preset) -> DefaultVerdict {
    let verdict = preset.verdict(Risk::High, CallEffect::default());
    let what = if question.tool == SHELL_TOOL { "a command line" } else { "such a call" };
    let reason = format!("the preset {preset} says {verdict} to {what}");
    DefaultVerdict { verdict, by: "preset", reason }
}

impl ExplainReply {
    fn new(call: String, verdict: CallVerdict, forecast: DryRunReport) -> Self {
        let CallVerdict { verdict, rule, reason, by, segments } = verdict;
        let refused = forecast.refused.filter(|_| forecast.report.ruling.is_none());
        Self {
            call,
            verdict,
            by: by.to_owned(),
            reason,
            rule_line: rule.as_ref().map(ToString::to_string),
            rule: rule.as_ref().map(|rule| rule.rule.clone()),
            origin: rule.as_ref().map(|rule| rule.origin.clone()),
            rule_reason: rule.and_then(|rule| rule.reason),
            segments: segments.into_iter().map(ExplainedSegment::from).collect(),
            asking: forecast.asking.map(|asking| asking.as_str().to_owned()),
            refused: refused.map(|error| RefusedBeforeRules {
                error_type: error.error_type.to_string(),
                message: error.message_for_people().to_owned(),
            }),
        }
    }
}

impl From<SegmentVerdict> for ExplainedSegment {
    fn from(part: SegmentVerdict) -> Self {
        let SegmentVerdict { evaluation, verdict } = part;
        let rule = evaluation.rule;
        Self {
            text: evaluation.text,
            verdict,
            rule_line: rule.as_ref().map(ToString::to_string),
            rule: rule.as_ref().map(|rule| rule.rule.clone()),
            origin: rule.as_ref().map(|rule| rule.origin.clone()),
            rule_reason: rule.and_then(|rule| rule.reason),
            reason: evaluation.reason,
        }
    }
}
