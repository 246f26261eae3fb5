//! Audit records: the events that are recorded, each one line of canonical JSON.

use std::sync::Arc;

use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use crate::approval::{ApprovalRequest, Decision, DecisionRecord};
use crate::call::{Context, Origin};
use crate::canonical_json;
use crate::error::ErrorType;
use crate::grant::{Grant, GrantScope};
use crate::id::{ApprovalId, BatchId, CallId, GrantId, RunId};
use crate::outcome_kind::OutcomeKind;
use crate::spec::{Effect, Risk};
use crate::store::{AcceptedBatch, CallDetails, CallRecord, Intent, Switch, SwitchState};

/// Version of the record format; part of every record.
pub const AUDIT_VERSION: u32 = 1;
/// Kind of an audit record.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum AuditKind {
    /// A batch was accepted.
    Accepted,
    /// A call that may change something starts.
    Started,
    /// A call got its outcome.
    Settled,
    /// A person is asked.
    Asked,
    /// A person decided.
    Decided,
    /// A second decision about a question; the first one remains in force.
    DecidedAgain,
    /// A grant was stored.
    Granted,
    /// A grant was revoked.
    Revoked,
    /// A feature switch was set.
    Switched,
    /// An authorized person changed the configuration: rules, settings, secrets, tokens.
    Administered,
}

/// One event, without its position in a chain. Fields that do not apply are omitted from the
/// record.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct AuditEvent {
    /// Unix time in milliseconds. Records are ordered by number, not by time.
    pub at: i64,
    /// Kind of the event.
    pub kind: AuditKind,
    /// Owner, agent, conversation, topic, workspace, channel and device.
    pub context: Arc<Context>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    /// Where the call came from.
    pub origin: Option<Origin>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    /// The run.
    pub run: Option<RunId>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    /// The call.
    pub call: Option<CallId>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    /// The accepted batch.
    pub batch: Option<BatchId>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    /// The question.
    pub approval: Option<ApprovalId>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    /// The grant.
    pub grant: Option<GrantId>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    /// Canonical name of the tool, or the requested name if no tool has it.
    pub tool: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    /// The operation that policy evaluates.
    pub operation: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    /// Hash of the tool's definition.
    pub definition_hash: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    /// SHA-256 of the canonical arguments.
    pub args_hash: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    /// Assessed risk.
    pub risk: Option<Risk>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    /// Assessed effect.
    pub effect: Option<Effect>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    /// How the call ended.
    pub outcome: Option<OutcomeKind>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    /// Why it failed.
    pub error_type: Option<ErrorType>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    /// Attempts that were started.
    pub attempts: Option<u32>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    /// Nanoseconds that the tool ran.
    pub run_nanos: Option<u64>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    /// SHA-256 of the stored outcome.
    pub output_hash: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    /// SHA-256 of the complete stored row that the record is about: for an ended call its
    /// [`CallRecord`] as serialized by `serde_json`; for a question, decision, grant or switch the
    /// canonical JSON. `None` in records of older versions and if no row remains. A field added to
    /// one of these types must be skipped when empty, or older records no longer match.
    pub body_hash: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    /// The decision, or the new state of a switch.
    pub decision: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    /// Name of the person who decided, granted, revoked or switched.
    pub by: Option<String>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    /// Why a person is asked.
    pub reasons: Vec<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    /// The policy's ruling in one line.
    pub policy: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    /// Description of an administrative act; never contains a secret.
    pub about: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    /// Fencing epoch of the process that wrote the record.
    pub epoch: Option<u64>,
}

impl AuditEvent {
    /// Creates an event with only kind, time and context.
    #[must_use]
    pub fn new(kind: AuditKind, at: i64, context: Arc<Context>) -> Self {
        Self {
            at,
            kind,
            context,
            origin: None,
            run: None,
            call: None,
            batch: None,
            approval: None,
            grant: None,
            tool: None,
            operation: None,
            definition_hash: None,
            args_hash: None,
            risk: None,
            effect: None,
            outcome: None,
            error_type: None,
            attempts: None,
            run_nanos: None,
            output_hash: None,
            body_hash: None,
            decision: None,
            by: None,
            reasons: Vec::new(),
            policy: None,
            about: None,
            epoch: None,
        }
    }

    fn of_call(kind: AuditKind, at: i64, facts: &CallDetails) -> Self {
        let tool = facts.tool.as_ref().map(ToString::to_string);
        Self {
            origin: Some(facts.origin),
            run: facts.run,
            call: Some(facts.call),
            approval: facts.approval,
            tool: tool.or_else(|| facts.asked.clone()),
            operation: facts.operation.clone(),
            definition_hash: facts.definition_hash.clone(),
            args_hash: facts.args_hash.clone(),
            risk: facts.risk,
            effect: facts.effect,
            by: facts.approved_by.clone(),
            policy: facts.policy.clone(),
            ..Self::new(kind, at, Arc::clone(&facts.context))
        }
    }

    /// Creates the record of an accepted batch.
    #[must_use]
    pub fn accepted(batch: &AcceptedBatch) -> Self {
        Self {
            origin: Some(batch.batch.origin),
            run: batch.batch.run,
            batch: Some(batch.id),
            epoch: Some(batch.epoch),
            ..Self::new(AuditKind::Accepted, batch.accepted_at, Arc::clone(&batch.batch.context))
        }
    }

    /// Creates the record of a call's start.
    #[must_use]
    pub fn started(intent: &Intent) -> Self {
        Self {
            epoch: Some(intent.epoch),
            ..Self::of_call(AuditKind::Started, intent.started_at, &intent.facts)
        }
    }

    /// Creates the record of a call's outcome.
    #[must_use]
    pub fn settled(record: &CallRecord) -> Self {
        let end = &record.end;
        Self {
            outcome: Some(end.outcome),
            error_type: end.error_type,
            attempts: Some(end.attempts),
            run_nanos: Some(end.run_nanos),
            output_hash: end.output_hash.clone(),
            // This code runs for every call. The struct has a fixed field order, so the keys need
            // no sorting.
            body_hash: serde_json::to_string(record)
                .ok()
                .map(|text| canonical_json::sha256_text(&text)),
            epoch: Some(record.epoch),
            ..Self::of_call(AuditKind::Settled, end.ended_at, &record.facts)
        }
    }

    fn of_question(kind: AuditKind, at: i64, request: &ApprovalRequest) -> Self {
        Self {
            origin: Some(request.origin),
            run: request.run,
            call: Some(request.call),
            approval: Some(request.id),
            tool: Some(request.tool.to_string()),
            operation: Some(request.operation.clone()),
            definition_hash: Some(request.definition_hash.clone()),
            args_hash: Some(canonical_json::sha256(&request.args)),
            risk: Some(request.risk),
            effect: Some(request.effect),
            reasons: request.reasons.iter().map(|reason| reason.text.clone()).collect(),
            ..Self::new(kind, at, Arc::new(request.context.clone()))
        }
    }

    /// Creates the record of a question to a person.
    #[must_use]
    pub fn asked(request: &ApprovalRequest) -> Self {
        Self {
            body_hash: body_hash(request),
            ..Self::of_question(AuditKind::Asked, request.requested_at, request)
        }
    }

    /// Creates the record of a decision; `is_first` is `false` if the question was already decided.
    #[must_use]
    pub fn decided(request: &ApprovalRequest, record: &DecisionRecord, is_first: bool) -> Self {
        let kind = if is_first { AuditKind::Decided } else { AuditKind::DecidedAgain };
        let args_hash = match &record.decision {
            Decision::Edit { args } => canonical_json::sha256(args),
            _ => canonical_json::sha256(&request.args),
        };
        Self {
            decision: Some(decision_name(&record.decision).to_owned()),
            by: Some(record.decided_by.clone()),
            args_hash: Some(args_hash),
            body_hash: body_hash(record),
            reasons: Vec::new(),
            ..Self::of_question(kind, record.decided_at, request)
        }
    }

    fn of_grant(kind: AuditKind, at: i64, grant: &Grant) -> Self {
        let context = Context {
            owner: grant.owner.clone(),
            conversation: grant.conversation.clone().unwrap_or_default(),
            ..Context::default()
        };
        Self {
            run: grant.run,
            grant: Some(grant.id),
            operation: Some(grant.operation.clone()),
            definition_hash: Some(grant.definition_hash.clone()),
            risk: Some(grant.risk),
            decision: Some(scope_word(grant.scope).to_owned()),
            ..Self::new(kind, at, Arc::new(context))
        }
    }

    /// Creates the record of a stored grant.
    #[must_use]
    pub fn granted(grant: &Grant) -> Self {
        Self {
            by: Some(grant.created_by.clone()),
            body_hash: body_hash(grant),
            ..Self::of_grant(AuditKind::Granted, grant.created_at, grant)
        }
    }

    /// Creates the record of a revoked grant.
    #[must_use]
    pub fn revoked(grant: &Grant, by: &str, at: i64) -> Self {
        Self { by: Some(by.to_owned()), ..Self::of_grant(AuditKind::Revoked, at, grant) }
    }

    /// Creates the record of a switch that was set, or reset to its default if `state` is `None`.
    #[must_use]
    pub fn switched(switch: &Switch, state: Option<SwitchState>) -> Self {
        let context = Context { owner: switch.owner.clone(), ..Context::default() };
        let decision = state.map_or("default", SwitchState::as_str);
        Self {
            operation: Some(switch.name.clone()),
            decision: Some(decision.to_owned()),
            by: Some(switch.by.clone()),
            body_hash: state.and_then(|_| body_hash(&SwitchBody::of(switch))),
            ..Self::new(AuditKind::Switched, switch.at, Arc::new(context))
        }
    }

    /// Creates the record of an administrative change: `act` is a stable identifier such as
    /// `rule.add`, `about` describes its object.
    #[must_use]
    pub fn administered(owner: &str, by: &str, act: &str, about: String, at: i64) -> Self {
        let context = Context { owner: owner.to_owned(), ..Context::default() };
        Self {
            operation: Some(act.to_owned()),
            by: Some(by.to_owned()),
            about: Some(about),
            ..Self::new(AuditKind::Administered, at, Arc::new(context))
        }
    }

    /// Returns the record with its position: canonical JSON on one line.
    #[must_use]
    pub fn text(&self, chain: u64, seq: u64) -> String {
        // Plain data always has a JSON form.
        let mut value = serde_json::to_value(self).unwrap_or_default();
        if let Value::Object(object) = &mut value {
            object.insert("v".to_owned(), json!(AUDIT_VERSION));
            object.insert("chain".to_owned(), json!(chain));
            object.insert("seq".to_owned(), json!(seq));
            if let Some(Value::Object(context)) = object.get_mut("context") {
                context.retain(|_, word| word.as_str().is_none_or(|word| !word.is_empty()));
            }
        }
        canonical_json::to_string(&value)
    }
}

/// A switch in the form that its hash covers. On and off are serialized as before the third state
/// (`ask`) existed, so that records of older rows still match.
#[derive(Serialize)]
struct SwitchBody<'a> {
    owner: &'a str,
    name: &'a str,
    #[serde(skip_serializing_if = "Option::is_none")]
    enabled: Option<bool>,
    #[serde(skip_serializing_if = "Option::is_none")]
    state: Option<SwitchState>,
    by: &'a str,
    at: i64,
}

impl<'a> SwitchBody<'a> {
    fn of(switch: &'a Switch) -> Self {
        let Switch { owner, name, state, by, at } = switch;
        let (enabled, state) = match state {
            SwitchState::Ask => (None, Some(SwitchState::Ask)),
            state => (Some(state.is_on()), None),
        };
        Self { owner, name, enabled, state, by, at: *at }
    }
}

fn body_hash(row: &impl Serialize) -> Option<String> {
    serde_json::to_value(row).ok().as_ref().map(canonical_json::sha256)
}

/// Returns the name of a decision on the wire.
#[must_use]
pub fn decision_name(decision: &Decision) -> &'static str {
    match decision {
        Decision::Approve { scope, .. } => match scope {
            GrantScope::Once => "approve",
            GrantScope::Run => "approve_run",
            GrantScope::Conversation => "approve_conversation",
            GrantScope::Always => "approve_always",
        },
        Decision::Deny { .. } => "deny",
        Decision::Edit { .. } => "edit",
        Decision::Skip => "skip",
        Decision::Answer { .. } => "answer",
    }
}

fn scope_word(scope: GrantScope) -> &'static str {
    match scope {
        GrantScope::Once => "once",
        GrantScope::Run => "run",
        GrantScope::Conversation => "conversation",
        GrantScope::Always => "always",
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::store::CallEnd;
    use crate::tool_name::ToolName;

    fn record() -> CallRecord {
        let facts = CallDetails {
            call: "call_00000000000000000000000000000001".parse().unwrap(),
            run: None,
            origin: Origin::Cli,
            context: Arc::new(Context { owner: "ann".into(), ..Context::default() }),
            tool: Some(ToolName::local("read_file").unwrap()),
            asked: None,
            operation: Some("read_file".into()),
            definition_hash: Some("d".into()),
            risk: Some(Risk::Safe),
            effect: Some(Effect::Read),
            args: Some(r#"{"path":"a"}"#.into()),
            args_hash: Some("a".into()),
            approval: None,
            approved_by: None,
            policy: None,
            parent: None,
            received_at: 1,
        };
        let end = CallEnd {
            outcome: OutcomeKind::Failed,
            error_type: Some(ErrorType::Timeout),
            message: Some("late".into()),
            attempts: 2,
            run_nanos: 3,
            ended_at: 4,
            output_hash: Some("o".into()),
        };
        CallRecord { facts, started_at: Some(2), epoch: 5, end }
    }

    /// A failure here means that the calls in every existing database would appear tampered with.
    #[test]
    fn the_hash_of_a_call_stays_what_it_is() {
        let hash = AuditEvent::settled(&record()).body_hash.unwrap();
        assert_eq!(hash, "4e2e6a79bf63be79b1e45daa274a36290c8c5dae82b3926ef9f7a71b805df9ae");
    }

    #[test]
    fn whatever_changes_in_a_call_changes_its_hash() {
        let untouched = AuditEvent::settled(&record()).body_hash;
        let check = |change: fn(&mut CallRecord)| {
            let mut changed = record();
            change(&mut changed);
            assert_ne!(AuditEvent::settled(&changed).body_hash, untouched, "{changed:?}");
        };
        check(|call| call.facts.args = Some(r#"{"path":"b"}"#.into()));
        check(|call| call.facts.args = None);
        check(|call| call.facts.asked = Some(String::new()));
        check(|call| call.facts.parent = Some(call.facts.call));
        check(|call| call.facts.received_at = 0);
        check(|call| call.started_at = None);
        check(|call| call.end.message = None);
        check(|call| call.end.attempts = 1);
        check(|call| Arc::make_mut(&mut call.facts.context).topic = "x".into());
    }
}
