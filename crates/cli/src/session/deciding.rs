//! People at this terminal, and decisions that were written on the command line.

use std::io::IsTerminal as _;

use toolcrib_app::agent::drive::Person;
use toolcrib_app::agent::machine::{Question, Said};
use toolcrib_app::core::{ApprovalRequest, BoxFuture, Decision, DecisionRecord};

use crate::terminal;

/// Who decided, in records.
const TERMINAL: &str = "terminal";

/// The person at the terminal; nobody where there is none.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct TerminalPerson;

impl Person for TerminalPerson {
    fn answer<'a>(&'a self, question: &'a Question) -> BoxFuture<'a, Option<Said>> {
        Box::pin(async move {
            if !std::io::stderr().is_terminal() {
                return None;
            }
            let question = question.clone();
            let asked = tokio::task::spawn_blocking(move || terminal::ask_question(&question));
            asked.await.ok()?.ok()
        })
    }

    fn decide<'a>(&'a self, request: &'a ApprovalRequest) -> BoxFuture<'a, Option<DecisionRecord>> {
        Box::pin(async move {
            if !std::io::stderr().is_terminal() {
                return None;
            }
            let request = request.clone();
            let asked = tokio::task::spawn_blocking(move || terminal::ask(&request));
            Some(record(asked.await.ok()?.ok()?, TERMINAL))
        })
    }
}

/// What was written on the command line; the person at the terminal for everything else.
#[derive(Debug, Clone, Default)]
pub(crate) struct Prepared {
    /// To a question.
    pub(crate) said: Option<Said>,
    /// About a call.
    pub(crate) decision: Option<Decision>,
}

impl Prepared {
    fn is_empty(&self) -> bool {
        self.said.is_none() && self.decision.is_none()
    }
}

impl Person for Prepared {
    fn answer<'a>(&'a self, question: &'a Question) -> BoxFuture<'a, Option<Said>> {
        match &self.said {
            Some(said) => Box::pin(std::future::ready(Some(said.clone()))),
            None if self.is_empty() => TerminalPerson.answer(question),
            None => Box::pin(std::future::ready(None)),
        }
    }

    fn decide<'a>(&'a self, request: &'a ApprovalRequest) -> BoxFuture<'a, Option<DecisionRecord>> {
        match &self.decision {
            Some(decision) => {
                let record = record(decision.clone(), "command line");
                Box::pin(std::future::ready(Some(record)))
            }
            None if self.is_empty() => TerminalPerson.decide(request),
            None => Box::pin(std::future::ready(None)),
        }
    }
}

/// The time is set by whoever stores it.
fn record(decision: Decision, by: &str) -> DecisionRecord {
    DecisionRecord { decision, decided_by: by.to_owned(), decided_at: 0 }
}
