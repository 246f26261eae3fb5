//! Stage 7: policy. Any deny, any error and any panic denies; an ask from permission or taint
//! applies even if a rule allows the call; a rule replaces the preset.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;

use toolcrib_core::{
    ApprovalReason, Catalog as _, Decider, ErrorType, EventKind, Gate, GateInput, Labels,
    ReasonKind, RuleRef, Ruling, Tier, ToolError, Verdict, Vote,
};

use super::phase::{Assessed, Plan, Ruled};
use super::resolve::unavailable;
use super::step::{StageExit, StagePass, StageResult};
use crate::call_state::CallState;
use crate::gate::{Preset, PresetOwner};
use crate::policy::ActivePolicy;
use crate::role_access;
use crate::view;

pub(crate) fn run(call: &mut CallState, Assessed(plan): Assessed) -> StageResult<Ruled> {
    let labels = call.scope.run.as_ref().map(|run| run.labels());
    let result = evaluate(call, &plan, labels.as_deref(), call.policy());
    call.facts.labels = labels.filter(|labels| !labels.is_empty());
    match result {
        GateResult::Denied { error, ruling } => {
            call.facts.ruling = Some(ruling);
            call.emit(EventKind::PermissionDenied, |event| {
                event.error_type = Some(error.error_type);
                event.error = Some(error.message.clone());
            });
            Err(StageExit::Fail(error))
        }
        GateResult::Open { asks, ruling } => {
            let note = match (asks.as_slice(), &ruling.rule) {
                ([], None) => None,
                ([], Some(rule)) => Some(rule.to_string()),
                (asks, _) => Some(format!("ask: {}", texts(asks))),
            };
            call.facts.ruling = Some(ruling);
            let ruled = Ruled { plan, asks };
            Ok(match note {
                Some(note) => StagePass::with_note(ruled, note),
                None => StagePass::plain(ruled),
            })
        }
    }
}

/// Refuses a call that is denied or switched off by now: it may have waited for a person or a slot
/// since policy was evaluated. New reasons to ask apply from the next call on.
pub(super) fn recheck(call: &CallState, plan: &Plan) -> Result<(), StageExit> {
    let registry = &call.engine().registry;
    let is_news = registry.generation() != call.scope.resolved_view.generation;
    if !is_news && call.facts.approved_by.is_none() {
        return Ok(());
    }
    if is_news {
        check_still_visible(call, plan)?;
    }
    let labels = call.scope.run.as_ref().map(|run| run.labels());
    match evaluate(call, plan, labels.as_deref(), &registry.policy()) {
        GateResult::Denied { error, .. } => Err(StageExit::Fail(error)),
        GateResult::Open { .. } => Ok(()),
    }
}

/// Checks that the tool is still on and still in the caller's view.
fn check_still_visible(call: &CallState, plan: &Plan) -> Result<(), StageExit> {
    let name = &plan.tool().spec().name;
    let state = call.engine().registry.read();
    // A tool that was unloaded since is used until the call ends.
    let Some(tool) = state.find(name.as_str()) else { return Ok(()) };
    let Some(barred) = view::blocked_by_owner(&state, &call.scope.view, tool) else {
        return Ok(());
    };
    Err(StageExit::Fail(unavailable(name.as_str(), Some(&barred), None)))
}

enum GateResult {
    Denied { error: ToolError, ruling: Ruling },
    Open { asks: Vec<ApprovalReason>, ruling: Ruling },
}

/// The collected votes of the gates.
#[derive(Default)]
struct Votes {
    /// The deciders that ask, with their reasons.
    asks: Vec<(Decider, ApprovalReason)>,
    /// The rule that allows.
    allowed: Option<RuleRef>,
}

fn evaluate(
    call: &CallState,
    plan: &Plan,
    labels: Option<&Labels>,
    policy: &ActivePolicy,
) -> GateResult {
    let (tool, assessed) = (plan.tool(), &plan.assessment);
    let unlabelled = Labels::default();
    let proposal = GateInput {
        call: call.id,
        run: call.scope.run.as_ref().map(|run| run.id),
        origin: call.scope.origin,
        context: &call.scope.context,
        spec: tool.spec(),
        operation: call.operation(),
        args: plan.args(),
        risk: assessed.risk,
        effect: assessed.effect,
        reach: assessed.reach,
        unconfined: assessed.unconfined,
        extra_permissions: &assessed.permissions,
        labels: labels.unwrap_or(&unlabelled),
    };
    let flags = &policy.settings.flags;
    let role = &call.scope.view.role;
    if let Some(flag) = role_access::call_denied(flags, role, &assessed.permissions) {
        let reason = format!(
            "{} is not allowed: it runs programs, and the flag {flag} is false.",
            call.operation()
        );
        let error = ToolError::new(ErrorType::PermissionDenied, reason)
            .with_instruction("Do without that; only the owner changes it.");
        return denied(error, Decider::Gate, None);
    }
    let engine = call.engine();
    let mut votes = Votes::default();
    for gate in &policy.gates {
        if let Some(denied) = votes.take(run_gate(gate, &proposal), gate.decider()) {
            return denied;
        }
    }
    let switch = call.scope.resolved_view.asking_switch(&tool.spec().name);
    let owner = PresetOwner {
        ask: if switch.is_some() { Some(true) } else { tool.ask },
        switch,
        ruled: votes.allowed.is_some()
            || votes
                .asks
                .iter()
                .any(|(_, ask)| matches!(ask.kind, ReasonKind::Rule | ReasonKind::Floor)),
        innate: !tool.remote && tool.spec().tier == Tier::Innate,
    };
    let preset = engine.preset_of(&call.scope.context.agent, &policy.settings);
    let by = match owner {
        PresetOwner { switch: Some(_), .. } => Decider::Switch,
        PresetOwner { ask: Some(true), .. } => Decider::Tool,
        _ => Decider::Preset,
    };
    if let Some(denied) = votes.take(preset.judge(&proposal, owner), by) {
        return denied;
    }
    if preset == Preset::Locked && !votes.asks.is_empty() {
        let reason = format!(
            "{} is not allowed: it would need approval ({}), and nothing asks while tools are locked.",
            call.operation(),
            votes.asks.iter().map(|(_, ask)| ask.text.as_str()).collect::<Vec<_>>().join("; ")
        );
        let error = ToolError::new(ErrorType::PolicyDenied, reason)
            .with_instruction("Do not retry it; answer with what you can read.");
        return denied(error, Decider::Preset, None);
    }
    votes.open(preset)
}

fn denied(error: ToolError, by: Decider, rule: Option<RuleRef>) -> GateResult {
    let reason = error.message_for_people().to_owned().into();
    GateResult::Denied { error, ruling: Ruling { verdict: Verdict::Deny, by, rule, reason } }
}

impl Votes {
    /// Adds a vote; `Some` if it denies, which overrides all other votes.
    fn take(&mut self, vote: Vote, by: Decider) -> Option<GateResult> {
        match vote {
            Vote::Abstain => {}
            Vote::Deny { error, rule } => return Some(denied(error, by, rule)),
            Vote::Allow { rule } => self.allowed = Some(rule),
            Vote::Ask { kind, reason, rule } => {
                self.asks.push((by, ApprovalReason { kind, text: reason, rule }));
            }
        }
        None
    }

    /// Returns the result if no gate denies.
    fn open(self, preset: Preset) -> GateResult {
        let ruling = match (self.asks.first(), self.allowed) {
            (Some((by, ask)), _) => Ruling {
                verdict: Verdict::Ask,
                by: *by,
                rule: ask.rule.clone(),
                reason: ask.text.clone().into(),
            },
            (None, Some(rule)) => Ruling {
                verdict: Verdict::Allow,
                by: Decider::Rule,
                reason: "a rule allows it".into(),
                rule: Some(rule),
            },
            (None, None) => Ruling {
                verdict: Verdict::Allow,
                by: Decider::Preset,
                rule: None,
                reason: preset.lets_run().into(),
            },
        };
        let asks = self.asks.into_iter().map(|(_, ask)| ask).collect();
        GateResult::Open { asks, ruling }
    }
}

fn texts(asks: &[ApprovalReason]) -> String {
    asks.iter().map(|ask| ask.text.as_str()).collect::<Vec<_>>().join("; ")
}

/// Returns one gate's vote; an error or a panic in it denies.
fn run_gate(gate: &Arc<dyn Gate>, proposal: &GateInput<'_>) -> Vote {
    let fault = match catch_unwind(AssertUnwindSafe(|| gate.evaluate(proposal))) {
        Ok(Ok(vote)) => return vote,
        Ok(Err(fault)) => fault,
        Err(_) => "it broke".to_owned(),
    };
    let reason = format!(
        "{} is not allowed: the {} policy could not be checked ({fault}).",
        proposal.operation,
        gate.name()
    );
    let error =
        ToolError::new(ErrorType::PolicyDenied, reason).with_instruction("Do not retry it.");
    Vote::Deny { error, rule: None }
}
