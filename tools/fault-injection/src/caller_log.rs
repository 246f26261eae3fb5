//! The replies that callers received, from all workers of one database.

use std::collections::{HashMap, HashSet};

use toolcrib_core::{ApprovalId, CallId, OutcomeKind};

use crate::protocol::{CallAnswer, SentBatch, WorkerMessage};
use crate::report::Tally;
use crate::verify::FailureKind;
use crate::worker::{races, word};

/// A call as its callers know it.
#[derive(Debug, Clone, Default)]
pub(crate) struct CallerRecord {
    /// The tool; empty for a call under a key that another client sent first.
    pub(crate) tool: String,
    /// What a person is to decide about it.
    pub(crate) decision: String,
    /// Whether two people decide about it at once, each otherwise.
    pub(crate) races: bool,
    /// Whether its batch was accepted.
    pub(crate) accepted: bool,
    /// The answer that was given.
    pub(crate) told: Option<(OutcomeKind, String)>,
    /// The question that it waits for, as its caller was told.
    pub(crate) asked: Option<ApprovalId>,
}

/// Everything that was said.
#[derive(Debug, Default)]
pub(crate) struct CallerLog {
    pub(crate) calls: HashMap<CallId, CallerRecord>,
    /// Batches that were sent under a key, for the first time.
    pub(crate) keyed: HashMap<String, SentBatch>,
    /// Decisions that a client was told have been taken.
    pub(crate) decided: HashMap<ApprovalId, (CallId, String)>,
    /// Calls that something was said of since they were last judged.
    pub(crate) fresh: HashSet<CallId>,
    /// Keys that were used since everything was last asked for again.
    pub(crate) fresh_keys: HashSet<String>,
}

impl CallerLog {
    /// Takes one line into account.
    pub(crate) fn record(&mut self, said: &WorkerMessage, after: FailureKind, tally: &mut Tally) {
        match said {
            WorkerMessage::Sending(sent) => self.sending(sent),
            WorkerMessage::Accepted { calls } => {
                for call in calls {
                    tally.acknowledged += 1;
                    self.known(*call).accepted = true;
                }
            }
            WorkerMessage::Answered(given) => self.answered(given, after, tally),
            WorkerMessage::Decided { approval, call, word } => {
                tally.acknowledged += 1;
                self.fresh.insert(*call);
                self.decided.insert(*approval, (*call, word.clone()));
            }
            WorkerMessage::Raced { approval, taken } => {
                tally.raced += 1;
                if *taken > 1 {
                    tally
                        .contradiction(format!("{approval}: {taken} decisions at once were taken"));
                }
            }
            WorkerMessage::Again { key, first, second } => {
                self.again((key, first, second), after, tally);
            }
            WorkerMessage::NotOpened { error } if after == FailureKind::Fault => {
                tally.refused(error);
            }
            WorkerMessage::NotOpened { error } => {
                tally.contradiction(format!("not opened: {error}"));
            }
            WorkerMessage::Refused { error } => tally.refused(error),
            WorkerMessage::Ready
            | WorkerMessage::Recovered { .. }
            | WorkerMessage::Drained
            | WorkerMessage::Probe { .. }
            | WorkerMessage::Ended => {}
        }
    }

    fn known(&mut self, call: CallId) -> &mut CallerRecord {
        self.fresh.insert(call);
        self.calls.entry(call).or_default()
    }

    fn sending(&mut self, sent: &SentBatch) {
        for call in &sent.calls {
            let known = self.known(call.id);
            known.tool.clone_from(&call.tool);
            known.decision = word(&call.args, "decision").to_owned();
            known.races = races(&call.args);
        }
        if let Some(key) = &sent.key {
            self.keyed.entry(key.clone()).or_insert_with(|| sent.clone());
            self.fresh_keys.insert(key.clone());
        }
    }

    fn answered(&mut self, given: &CallAnswer, after: FailureKind, tally: &mut Tally) {
        tally.acknowledged += 1;
        let known = self.known(given.call);
        match given.kind {
            None => known.asked = given.text.parse().ok().or(known.asked),
            Some(kind) => match &known.told {
                Some((before, _)) if after.may_become(*before, &known.tool) => {
                    known.told = Some((kind, given.text.clone()));
                }
                Some((_, before)) if *before != given.text => {
                    let words = format!("{}: answered {before}, then {}", given.call, given.text);
                    tally.contradiction(words);
                }
                _ => known.told = Some((kind, given.text.clone())),
            },
        }
    }

    /// Asked again for a batch, all have to get the same (reliability, K5).
    fn again(
        &mut self,
        (key, first, second): (&str, &[CallAnswer], &[CallAnswer]),
        after: FailureKind,
        tally: &mut Tally,
    ) {
        tally.resent += 1;
        let is_same = |(first, second): (&CallAnswer, &CallAnswer)| {
            // What had no outcome yet may have one by now.
            first == second || (first.call == second.call && first.kind.is_none())
        };
        if first.len() != second.len() || !first.iter().zip(second).all(is_same) {
            tally.contradiction(format!("{key}: answered {first:?}, then {second:?}"));
        }
        for given in first.iter().chain(second) {
            self.answered(given, after, tally);
        }
    }
}
