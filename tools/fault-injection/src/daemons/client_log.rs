//! The knowledge of callers and deciders.

use std::collections::HashMap;
use std::sync::{Mutex, MutexGuard, PoisonError};

use serde_json::Value;

use super::findings::{Finding, Findings};
use super::http_client::HttpReply;

/// A call as its caller knows it.
#[derive(Debug, Clone, Default)]
pub(super) struct KnownCall {
    /// Its id, once it was accepted.
    pub(super) id: Option<String>,
    /// How it ended.
    pub(super) status: Option<String>,
}

/// A run as its caller knows it.
#[derive(Debug, Clone, Default)]
pub(super) struct KnownRun {
    /// Its id, once it was begun.
    pub(super) id: Option<String>,
    /// How it ended.
    pub(super) status: Option<String>,
}

/// What was said about one question.
#[derive(Debug, Clone, Default)]
pub(super) struct KnownQuestion {
    /// Decisions that were accepted, in words.
    pub(super) won: Vec<String>,
    /// The first decision, as those were told who came too late.
    pub(super) first: Vec<String>,
}

#[derive(Default)]
struct ClientLogState {
    calls: Vec<KnownCall>,
    runs: Vec<KnownRun>,
    questions: HashMap<String, KnownQuestion>,
}

/// Everything that clients were told.
pub(super) struct ClientLog(Mutex<ClientLogState>);

impl ClientLog {
    pub(super) fn new(calls: u32, runs: u32) -> Self {
        let calls = vec![KnownCall::default(); calls as usize];
        let runs = vec![KnownRun::default(); runs as usize];
        Self(Mutex::new(ClientLogState { calls, runs, ..ClientLogState::default() }))
    }

    fn lock(&self) -> MutexGuard<'_, ClientLogState> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// A document about a call, as the answer to it or looked up.
    pub(super) fn record_call(&self, call: usize, document: &HttpReply, tally: &Findings) {
        let (Some(id), Some(status)) = (document.word("call"), document.word("status")) else {
            return tally
                .add_finding(Finding::Contradiction, &format!("no document: {document:?}"));
        };
        let mut inside = self.lock();
        let Some(known) = inside.calls.get_mut(call) else { return };
        if known.id.as_deref().is_some_and(|before| before != id) {
            let words = format!("one key, and the calls {:?} and {id}", known.id);
            tally.add_finding(Finding::Doubled, &words);
        }
        known.id = Some(id.to_owned());
        // A call whose process is gone is reported as unknown before that is recorded.
        let is_over = match status {
            "running" | "waiting" => false,
            "unknown" => document.word("error_type").is_some(),
            _ => true,
        };
        match &known.status {
            // A look from before its end may be told after it.
            _ if !is_over => {}
            Some(before) if before != status => {
                let words = format!("{id}: it was {before}, then {status}");
                tally.add_finding(Finding::Contradiction, &words);
            }
            _ => known.status = Some(status.to_owned()),
        }
    }

    /// A document about a run.
    pub(super) fn record_run(&self, run: usize, document: &HttpReply, tally: &Findings) {
        let (Some(id), Some(state)) = (document.word("run"), document.word("state")) else {
            return tally.add_finding(Finding::Contradiction, &format!("no run: {document:?}"));
        };
        let mut inside = self.lock();
        let Some(known) = inside.runs.get_mut(run) else { return };
        if known.id.as_deref().is_some_and(|before| before != id) {
            tally.add_finding(
                Finding::Doubled,
                &format!("one key, and the runs {:?} and {id}", known.id),
            );
        }
        known.id = Some(id.to_owned());
        if state == "ended" {
            known.status = document.word("status").map(str::to_owned);
        }
    }

    /// A decision was accepted.
    pub(super) fn record_accepted_decision(&self, approval: &str, decision: &str) {
        let mut inside = self.lock();
        inside.questions.entry(approval.to_owned()).or_default().won.push(decision.to_owned());
    }

    /// A decision came too late; the first one, as it was told.
    pub(super) fn record_rejected_decision(&self, approval: &str, first: &Value) {
        let first = first.get("decision").and_then(Value::as_str).unwrap_or_default().to_owned();
        self.lock().questions.entry(approval.to_owned()).or_default().first.push(first);
    }

    /// Calls that were accepted and are not over, with their places and ids.
    pub(super) fn open_calls(&self) -> Vec<(usize, String)> {
        let inside = self.lock();
        let open = inside.calls.iter().enumerate().filter(|(_, call)| call.status.is_none());
        open.filter_map(|(place, call)| Some((place, call.id.clone()?))).collect()
    }

    /// The same of runs.
    pub(super) fn open_runs(&self) -> Vec<(usize, String)> {
        let inside = self.lock();
        let open = inside.runs.iter().enumerate().filter(|(_, run)| run.status.is_none());
        open.filter_map(|(place, run)| Some((place, run.id.clone()?))).collect()
    }

    pub(super) fn calls(&self) -> Vec<KnownCall> {
        self.lock().calls.clone()
    }

    pub(super) fn runs(&self) -> Vec<KnownRun> {
        self.lock().runs.clone()
    }

    pub(super) fn questions(&self) -> HashMap<String, KnownQuestion> {
        self.lock().questions.clone()
    }
}
