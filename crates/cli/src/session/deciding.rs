//! People at this terminal, and decisions that were written on the command line.

use toolcrib_app::agent::drive::Person;
use toolcrib_app::agent::machine::{Question, Said};
use toolcrib_app::core::approval::Turn;
use toolcrib_app::core::{
    ApprovalRequest, Approver, Asked, BoxFuture, CallId, Decision, DecisionRecord,
};
use toolcrib_app::runner::WaitForDecision;

use crate::terminal::{self, Console, TERMINAL, TerminalApprover};

/// The person at the terminal; nobody where there is none.
#[derive(Clone)]
pub(crate) struct TerminalPerson(pub(crate) Console);

impl Person for TerminalPerson {
    fn answer<'a>(&'a self, question: &'a Question) -> BoxFuture<'a, Option<Said>> {
        Box::pin(async move {
            if !self.0.has_person() {
                return None;
            }
            let _seat = self.0.seat().await;
            terminal::ask_question(&self.0, question).await.ok()
        })
    }

    fn decide<'a>(&'a self, request: &'a ApprovalRequest) -> BoxFuture<'a, Option<DecisionRecord>> {
        Box::pin(async move {
            if !self.0.has_person() {
                return None;
            }
            let _seat = self.0.seat().await;
            let decision = terminal::decide(&self.0, request).await.ok()?;
            Some(record(decision, TERMINAL))
        })
    }
}

/// The person of a chat, or a decision of another terminal: whichever comes first.
pub(super) struct HereOrElsewhere {
    here: TerminalApprover,
    elsewhere: WaitForDecision,
}

impl HereOrElsewhere {
    pub(super) fn new(console: Console, elsewhere: WaitForDecision) -> Self {
        Self { here: TerminalApprover::new(console), elsewhere }
    }
}

impl Approver for HereOrElsewhere {
    fn turn(&self) -> BoxFuture<'_, Option<Turn>> {
        self.here.turn()
    }

    fn ask<'a>(&'a self, request: &'a ApprovalRequest) -> BoxFuture<'a, Asked> {
        Box::pin(async {
            tokio::select! {
                here = self.here.ask(request) => here,
                elsewhere = self.elsewhere.ask(request) => elsewhere,
            }
        })
    }
}

/// What was written on the command line; the person at the terminal for everything else.
pub(crate) struct Prepared {
    /// Who is asked when nothing was written.
    pub(crate) person: TerminalPerson,
    /// The call that is meant; `None` = the only one.
    pub(crate) call: Option<CallId>,
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
            None if self.is_empty() => self.person.answer(question),
            None => Box::pin(std::future::ready(None)),
        }
    }

    fn decide<'a>(&'a self, request: &'a ApprovalRequest) -> BoxFuture<'a, Option<DecisionRecord>> {
        match &self.decision {
            Some(_) if self.call.is_some_and(|call| call != request.call) => {
                Box::pin(std::future::ready(None))
            }
            Some(decision) => {
                let record = record(decision.clone(), "command line");
                Box::pin(std::future::ready(Some(record)))
            }
            None if self.is_empty() => self.person.decide(request),
            None => Box::pin(std::future::ready(None)),
        }
    }
}

/// The time is set by whoever stores it.
fn record(decision: Decision, by: &str) -> DecisionRecord {
    DecisionRecord { decision, decided_by: by.to_owned(), decided_at: 0 }
}
