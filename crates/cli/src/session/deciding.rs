//! People at this terminal, and decisions that were written on the command line.

use std::sync::Arc;
use std::time::Duration;

use toolcrib_app::agent::drive::Person;
use toolcrib_app::agent::machine::{Question, Said};
use toolcrib_app::core::approval::Turn;
use toolcrib_app::core::{
    ApprovalRequest, ApprovalStore, Approver, Asked, BoxFuture, CallId, Decision, DecisionRecord,
};
use toolcrib_app::runner::{AskLater, WaitForDecision};

use crate::config::OnAsk;
use crate::person;
use crate::terminal::{self, Console, TerminalApprover};

/// The person at the terminal; nobody where there is none.
#[derive(Clone)]
pub(crate) struct TerminalPerson {
    console: Console,
    name: String,
    /// How long somebody elsewhere is waited for.
    patience: Option<Duration>,
}

impl TerminalPerson {
    pub(crate) fn new(console: Console, on_ask: Option<OnAsk>) -> Self {
        let patience = match on_ask {
            Some(OnAsk::Wait(limit)) => Some(limit),
            Some(OnAsk::Fail | OnAsk::Deny) | None => None,
        };
        Self { console, name: person::name(), patience }
    }
}

impl Person for TerminalPerson {
    fn answer<'a>(&'a self, question: &'a Question) -> BoxFuture<'a, Option<Said>> {
        Box::pin(async move {
            if !self.console.has_person() {
                return None;
            }
            let _seat = self.console.seat().await;
            terminal::ask_question(&self.console, question).await.ok()
        })
    }

    fn decide<'a>(&'a self, request: &'a ApprovalRequest) -> BoxFuture<'a, Option<DecisionRecord>> {
        Box::pin(async move {
            if !self.console.has_person() {
                return None;
            }
            let _seat = self.console.seat().await;
            let decision = terminal::decide(&self.console, request).await.ok()?;
            Some(record(decision))
        })
    }

    fn name(&self) -> &str {
        &self.name
    }

    fn patience(&self) -> Option<Duration> {
        self.patience
    }
}

/// Who is asked: what was said, else the person at the terminal, else nobody. Where somebody is asked here, a decision of another process
/// counts as well.
pub(crate) fn approver(
    on_ask: Option<OnAsk>,
    console: &Console,
    approvals: &Arc<dyn ApprovalStore>,
) -> Option<Arc<dyn Approver>> {
    let elsewhere = || WaitForDecision::new(Arc::clone(approvals));
    let here_too = || Arc::new(HereOrElsewhere::new(console.clone(), elsewhere()));
    match on_ask {
        None => Some(here_too()),
        Some(OnAsk::Deny) => None,
        Some(OnAsk::Fail) => Some(Arc::new(AskLater)),
        Some(OnAsk::Wait(_)) if console.is_chat() => Some(here_too()),
        Some(OnAsk::Wait(_)) => Some(Arc::new(elsewhere())),
    }
}

/// The person at this terminal, or a decision of another process: whichever comes first.
struct HereOrElsewhere {
    here: TerminalApprover,
    elsewhere: WaitForDecision,
}

impl HereOrElsewhere {
    fn new(console: Console, elsewhere: WaitForDecision) -> Self {
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
            Some(decision) => Box::pin(std::future::ready(Some(record(decision.clone())))),
            None if self.is_empty() => self.person.decide(request),
            None => Box::pin(std::future::ready(None)),
        }
    }

    fn name(&self) -> &str {
        self.person.name()
    }

    fn patience(&self) -> Option<Duration> {
        self.person.patience()
    }
}

/// The time is set by whoever stores it.
fn record(decision: Decision) -> DecisionRecord {
    DecisionRecord { decision, decided_by: person::name(), decided_at: 0 }
}
