//! The record and the report of a call.

use std::borrow::Cow;
use std::sync::Arc;

use toolcrib_core::store::{ARGS_BYTES, MESSAGE_CHARS};
use toolcrib_core::{
    CallDetails, CallEnd, CallId, CallRecord, ModelResult, Outcome, OutcomeKind, Report, Ruling,
    StageRecord, ToolError, Verdict, canonical_json,
};

use super::CallState;
use crate::secrets::Secrets;

/// The text of the arguments, if it is short enough, and the hash of the unmasked arguments.
pub(crate) type StoredArgs = (Option<String>, Option<String>);

/// Characters of an unknown name that are stored (a canonical name has at most 64).
const NAME_CHARS: usize = 100;

impl CallState {
    /// Returns the requested name, if it is not the canonical one.
    fn alias(&self) -> Option<&str> {
        let name = self.facts.tool.as_ref().map(|tool| tool.spec().name.as_str());
        (name != Some(self.asked.as_str())).then_some(&self.asked)
    }

    /// Returns the details that the store records at the start and at the end of the call.
    pub(crate) fn details(&self) -> CallDetails {
        let evidence = self.engine().calls.keeps_details();
        let assessed = self.facts.assessed.as_ref();
        let tool = self.facts.tool.as_ref();
        let start = self.facts.start.as_ref();
        let kept = || start.map_or_else(|| self.stored_args(), |start| start.args.clone());
        let (args, args_hash) = if evidence { kept() } else { (None, None) };
        CallDetails {
            call: self.id,
            run: self.scope.run.as_ref().map(|run| run.id),
            origin: self.scope.origin,
            context: Arc::clone(&self.scope.context),
            tool: tool.map(|tool| tool.spec().name.clone()),
            asked: self.alias().map(|name| self.stored_name(name)),
            operation: tool.filter(|_| evidence).map(|_| self.operation().to_owned()),
            definition_hash: tool.filter(|_| evidence).map(|t| t.definition_hash().to_owned()),
            risk: assessed.map(|a| a.risk),
            effect: assessed.map(|a| a.effect),
            args,
            args_hash,
            approval: self.facts.approval,
            approved_by: self.facts.approved_by.clone(),
            policy: self.policy_line().filter(|_| evidence),
            parent: self.parent_call(),
            received_at: self.received_at,
        }
    }

    /// Returns the running call that made this one.
    fn parent_call(&self) -> Option<CallId> {
        let parent = self.scope.parent.as_ref()?;
        parent.within.parent.calls.first().map(|call| call.id)
    }

    /// Returns the ruling as stored: the rule, or the part of policy that asked or denied. A call
    /// that ran without a rule or question has no such line.
    fn policy_line(&self) -> Option<String> {
        let ruling = self.facts.ruling.as_ref()?;
        let line = match &ruling.rule {
            Some(rule) => rule.to_string(),
            None if ruling.verdict == Verdict::Allow => return None,
            None => format!("{}: {}", ruling.verdict, ruling.reason),
        };
        Some(self.engine().secrets.mask(line).chars().take(MESSAGE_CHARS).collect())
    }

    /// Returns the name masked and cut to the maximum length of names, because a model may have
    /// invented it.
    fn stored_name(&self, name: &str) -> String {
        bounded_name(self.engine().secrets.mask(name.to_owned()))
    }

    /// Returns the masked arguments, and the hash of the unmasked ones.
    fn stored_args(&self) -> StoredArgs {
        let Some(args) = self.args.display() else { return (None, None) };
        let text = canonical_json::to_string(args);
        let hash = canonical_json::sha256_text(&text);
        let secrets = &self.engine().secrets;
        let kept = if secrets.is_empty() {
            text
        } else {
            canonical_json::to_string(&secrets.mask_json(args))
        };
        (Some(kept).filter(|text| text.len() <= ARGS_BYTES), Some(hash))
    }

    /// Creates the record of the end.
    pub(crate) fn call_record(&self, kind: OutcomeKind, error: Option<&ToolError>) -> CallRecord {
        let message = |error: &ToolError| error.message.chars().take(MESSAGE_CHARS).collect();
        let end = CallEnd {
            outcome: kind,
            error_type: error.map(|error| error.error_type),
            message: error.filter(|_| self.engine().calls.keeps_details()).map(message),
            attempts: self.attempts.count,
            run_nanos: self.attempts.run_time.as_nanos() as u64,
            ended_at: self.engine().clock.now_ms(),
            output_hash: None,
        };
        let start = self.facts.start.as_ref();
        let epoch = start.map_or_else(|| self.engine().epoch(), |start| start.epoch);
        let started_at = start.and_then(|start| start.at);
        CallRecord { facts: self.details(), started_at, epoch, end }
    }

    /// Returns the lines of the trace since the previous call of this function.
    pub(crate) fn take_trace(&mut self) -> Vec<StageRecord> {
        self.log.take()
    }

    /// Returns the outcome with the trace so far.
    pub(crate) fn outcome(
        &mut self,
        kind: OutcomeKind,
        result: Result<ModelResult, ToolError>,
    ) -> Outcome {
        self.succeeded = result.is_ok();
        let report = self.report();
        Outcome {
            call: self.id,
            asked: self.stored_name(&self.asked),
            tool: self.facts.tool.as_ref().map(|tool| tool.spec().name.clone()),
            kind,
            result,
            notes: std::mem::take(&mut self.notes),
            report,
            unrecorded: None,
        }
    }

    /// Returns the report of the stages so far and takes the lines of the trace.
    pub(crate) fn report(&mut self) -> Report {
        let stages = self.log.take();
        let facts = &self.facts;
        let assessed = facts.assessed.as_ref();
        let secrets = &self.engine().secrets;
        Report {
            attempts: self.attempts.count,
            run_nanos: self.attempts.run_time.as_nanos() as u64,
            operation: facts.tool.is_some().then(|| self.operation().to_owned()),
            risk: assessed.map(|a| a.risk),
            effect: assessed.map(|a| a.effect),
            reach: assessed.map(|a| a.reach),
            approved_by: facts.approved_by.clone(),
            unapproved_children: self.attempts.unapproved_children,
            ruling: facts.ruling.clone().map(|ruling| mask_ruling(secrets, ruling)),
            labels: facts.labels.as_deref().cloned().unwrap_or_default(),
            stages,
        }
    }
}

/// Cuts a masked name to the maximum length of names, because the outcome of a refused call is
/// stored too.
fn bounded_name(name: String) -> String {
    match name.char_indices().nth(NAME_CHARS) {
        Some((end, _)) => name.get(..end).unwrap_or_default().to_owned(),
        None => name,
    }
}

/// Masks the reason, which may repeat arguments. Rules are the owner's own text and stay unchanged.
fn mask_ruling(secrets: &Secrets, ruling: Ruling) -> Ruling {
    let reason = match ruling.reason {
        Cow::Owned(reason) => Cow::Owned(secrets.mask(reason)),
        fixed => fixed,
    };
    Ruling { reason, ..ruling }
}
