//! Stage 7: policy. Any deny, any error and any panic denies; an ask from permission or taint stands whatever is allowed; a rule
//! replaces the preset.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;

use toolcrib_core::{
    AskReason, Catalog as _, Decider, ErrorType, EventKind, Gate, Labels, Proposal, ReasonKind,
    RuleRef, Ruling, Tier, Verdict, Vote,
};

use super::resolve::unavailable;
use crate::flight::{InFlight, Passed, Step, Stop, fail};
use crate::gate::{Owner, Preset};
use crate::policy::InForce;
use crate::view;

pub(crate) fn run(flight: &mut InFlight) -> Step {
    let labels = flight.scope.run.as_ref().map(|run| run.labels());
    let judged = judge(flight, labels.as_deref(), flight.policy())?;
    flight.labels = labels.filter(|labels| !labels.is_empty());
    match judged {
        Judged::Denied { error_type, ruling } => {
            let reason = ruling.reason.clone().into_owned();
            flight.ruling = Some(ruling);
            flight.tell(EventKind::PermissionDenied, |event| {
                event.error_type = Some(error_type);
                event.error = Some(reason.clone());
            });
            fail(error_type, reason)
        }
        Judged::Open { asks, ruling } => {
            let note = match (asks.as_slice(), &ruling.rule) {
                ([], None) => None,
                ([], Some(rule)) => Some(rule.to_string()),
                (asks, _) => Some(format!("ask: {}", texts(asks))),
            };
            flight.asks = asks;
            flight.ruling = Some(ruling);
            Ok(note.map_or(Passed::PLAIN, Passed::noting))
        }
    }
}

/// What is denied or switched off by now: a call may have waited for a person or its turn since it was judged. Whatever is new to ask about
/// is asked about the next call.
pub(crate) fn still_allowed(flight: &InFlight) -> Result<(), Stop> {
    let registry = &flight.engine().registry;
    let is_news = registry.generation() != flight.scope.seen.generation;
    if !is_news && flight.approved_by.is_none() {
        return Ok(());
    }
    if is_news {
        still_there(flight)?;
    }
    let labels = flight.scope.run.as_ref().map(|run| run.labels());
    match judge(flight, labels.as_deref(), &registry.policy())? {
        Judged::Denied { error_type, ruling } => fail(error_type, ruling.reason.into_owned()),
        Judged::Open { .. } => Ok(()),
    }
}

/// Whether nobody has switched the tool off, or taken it from the caller, since the call was received.
fn still_there(flight: &InFlight) -> Result<(), Stop> {
    let name = &flight.tool()?.spec().name;
    let state = flight.engine().registry.read();
    // One that was unloaded since is used to the end.
    let Some(tool) = state.find(name.as_str()) else { return Ok(()) };
    let Some(barred) = view::barred(&state, &flight.scope.view, tool) else { return Ok(()) };
    let (error_type, text) = unavailable(name.as_str(), Some(&barred));
    fail(error_type, text)
}

enum Judged {
    Denied { error_type: ErrorType, ruling: Ruling },
    Open { asks: Vec<AskReason>, ruling: Ruling },
}

/// The gates' votes, gathered.
#[derive(Default)]
struct Votes {
    /// Who asks, and what.
    asks: Vec<(Decider, AskReason)>,
    /// The rule that allows.
    allowed: Option<RuleRef>,
}

fn judge(flight: &InFlight, labels: Option<&Labels>, policy: &InForce) -> Result<Judged, Stop> {
    let tool = flight.tool()?;
    let assessed = flight.assessed()?;
    let unlabelled = Labels::default();
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
        labels: labels.unwrap_or(&unlabelled),
    };
    let engine = flight.engine();
    let mut votes = Votes::default();
    for gate in &policy.gates {
        if let Some(denied) = votes.take(vote(gate, &proposal), gate.decider()) {
            return Ok(denied);
        }
    }
    let switch = flight.scope.seen.asks(&tool.spec().name);
    let owner = Owner {
        ask: if switch.is_some() { Some(true) } else { tool.ask },
        switch,
        ruled: votes.allowed.is_some()
            || votes.asks.iter().any(|(_, ask)| ask.kind == ReasonKind::Rule),
        innate: !tool.remote && tool.spec().tier == Tier::Innate,
    };
    let preset = engine.preset_of(&flight.scope.context.agent, &policy.settings);
    let by = match owner {
        Owner { switch: Some(_), .. } => Decider::Switch,
        Owner { ask: Some(true), .. } => Decider::Tool,
        _ => Decider::Preset,
    };
    if let Some(denied) = votes.take(preset.judge(&proposal, owner), by) {
        return Ok(denied);
    }
    if preset == Preset::Locked && !votes.asks.is_empty() {
        let reason = format!(
            "{} is not allowed: it would need approval ({}), and nothing asks while tools are locked. Do not retry it; answer with what you can read.",
            flight.operation(),
            votes.asks.iter().map(|(_, ask)| ask.text.as_str()).collect::<Vec<_>>().join("; ")
        );
        let by = Decider::Preset;
        let ruling = Ruling { verdict: Verdict::Deny, by, rule: None, reason: reason.into() };
        return Ok(Judged::Denied { error_type: ErrorType::PolicyDenied, ruling });
    }
    Ok(votes.open(preset))
}

impl Votes {
    /// Adds a vote; `Some` = it denies, and nothing else counts.
    fn take(&mut self, vote: Vote, by: Decider) -> Option<Judged> {
        match vote {
            Vote::Abstain => {}
            Vote::Deny { error_type, reason, rule } => {
                let ruling = Ruling { verdict: Verdict::Deny, by, rule, reason: reason.into() };
                return Some(Judged::Denied { error_type, ruling });
            }
            Vote::Allow { rule } => self.allowed = Some(rule),
            Vote::Ask { kind, reason, rule } => {
                self.asks.push((by, AskReason { kind, text: reason, rule }));
            }
        }
        None
    }

    /// Nothing denies.
    fn open(self, preset: Preset) -> Judged {
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
        Judged::Open { asks, ruling }
    }
}

fn texts(asks: &[AskReason]) -> String {
    asks.iter().map(|ask| ask.text.as_str()).collect::<Vec<_>>().join("; ")
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
        rule: None,
    }
}
