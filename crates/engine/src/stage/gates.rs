//! Stage 7: policy. Any deny, any error and any panic denies; an ask from permission or taint stands whatever is allowed; a rule
//! replaces the preset.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;

use toolcrib_core::{AskReason, ErrorType, EventKind, Gate, Proposal, ReasonKind, Tier, Vote};

use crate::flight::{InFlight, Passed, Step, Stop, fail};
use crate::gate::{Owner, Preset};

pub(crate) fn run(flight: &mut InFlight) -> Step {
    match judge(flight)? {
        Judged::Denied { error_type, reason } => {
            flight.tell(EventKind::PermissionDenied, |event| {
                event.error_type = Some(error_type);
                event.error = Some(reason.clone());
            });
            fail(error_type, reason)
        }
        Judged::Open { asks, note } => {
            flight.asks = asks;
            Ok(note.map_or(Passed::PLAIN, Passed::noting))
        }
    }
}

/// What policy denies by now: a call may have waited for a person or its turn since it was judged.
pub(crate) fn still_allowed(flight: &InFlight) -> Result<(), Stop> {
    match judge(flight)? {
        Judged::Denied { error_type, reason } => fail(error_type, reason),
        Judged::Open { .. } => Ok(()),
    }
}

enum Judged {
    Denied { error_type: ErrorType, reason: String },
    Open { asks: Vec<AskReason>, note: Option<String> },
}

fn judge(flight: &InFlight) -> Result<Judged, Stop> {
    let tool = flight.tool()?;
    let assessed = flight.assessed()?;
    let proposal = Proposal {
        call: flight.call,
        run: flight.scope.run.as_ref().map(|run| run.id),
        origin: flight.scope.origin,
        context: &flight.scope.context,
        spec: tool.spec(),
        operation: flight.operation(),
        args: &flight.args,
        risk: assessed.risk,
        effect: assessed.effect,
        reach: assessed.reach,
        extra_permissions: &assessed.permissions,
    };
    let engine = flight.engine();
    let mut asks = Vec::new();
    let mut ruled = None;
    for gate in &engine.gates {
        match vote(gate, &proposal) {
            Vote::Abstain => {}
            Vote::Deny { error_type, reason } => return Ok(Judged::Denied { error_type, reason }),
            Vote::Allow { reason } => ruled = Some(reason),
            Vote::Ask { kind, reason } => {
                if kind == ReasonKind::Rule {
                    ruled = Some(reason.clone());
                }
                asks.push(AskReason { kind, text: reason });
            }
        }
    }
    let owner = Owner {
        ask: tool.ask,
        ruled: ruled.is_some(),
        innate: !tool.remote && tool.spec().tier == Tier::Innate,
    };
    let preset = engine.preset_of(&flight.scope.context.agent);
    match preset.judge(&proposal, owner) {
        Vote::Deny { error_type, reason } => return Ok(Judged::Denied { error_type, reason }),
        Vote::Ask { kind, reason } => asks.push(AskReason { kind, text: reason }),
        Vote::Allow { .. } | Vote::Abstain => {}
    }
    if preset == Preset::Locked && !asks.is_empty() {
        let reason = format!(
            "{} is not allowed: nothing asks while tools are locked. Do not retry it.",
            flight.operation()
        );
        return Ok(Judged::Denied { error_type: ErrorType::PolicyDenied, reason });
    }
    let note = asks.iter().map(|ask| ask.text.as_str()).collect::<Vec<_>>().join("; ");
    let note = if note.is_empty() { ruled } else { Some(format!("ask: {note}")) };
    Ok(Judged::Open { asks, note })
}

/// One gate's vote; whatever goes wrong in it denies.
fn vote(gate: &Arc<dyn Gate>, proposal: &Proposal<'_>) -> Vote {
    let fault = match catch_unwind(AssertUnwindSafe(|| gate.judge(proposal))) {
        Ok(Ok(vote)) => return vote,
        Ok(Err(fault)) => fault,
        Err(_) => "it broke".to_owned(),
    };
    Vote::Deny {
        error_type: ErrorType::PolicyDenied,
        reason: format!(
            "{} is not allowed: the {} policy could not be checked ({fault}). Do not retry it.",
            proposal.operation,
            gate.name()
        ),
    }
}
