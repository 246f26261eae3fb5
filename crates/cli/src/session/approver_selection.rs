//! Approvers: the person at this terminal, and decisions from the command line.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use toolcrib_agent::driver::HumanInput;
use toolcrib_agent::machine::{Question, QuestionAnswer};
use toolcrib_app::runner::{DeferApproval, WaitForDecision};
use toolcrib_core::approval::PromptPermit;
use toolcrib_core::{
    ApprovalRequest, ApprovalStore, Approver, ApproverReply, BoxFuture, CallId, Decision,
    DecisionRecord,
};

use crate::config::OnAsk;
use crate::os_user;
use crate::terminal::{self, Console, TerminalApprover};

/// The person at the terminal, if there is one.
#[derive(Clone)]
pub(crate) struct TerminalPerson {
    console: Console,
    name: String,
    /// Time for which the run waits for a decision of another process.
    patience: Option<Duration>,
}

impl TerminalPerson {
    pub(crate) fn new(console: Console, on_ask: Option<OnAsk>) -> Self {
        let patience = match on_ask {
            Some(OnAsk::Wait(limit)) => Some(limit),
            Some(OnAsk::Fail | OnAsk::Deny) | None => None,
        };
        Self { console, name: os_user::current_user(), patience }
    }
}

impl HumanInput for TerminalPerson {
    fn answer<'a>(&'a self, question: &'a Question) -> BoxFuture<'a, Option<QuestionAnswer>> {
        Box::pin(async move {
            if !self.console.has_person() {
                return None;
            }
            let _seat = self.console.lock_modal().await;
            terminal::ask_question(&self.console, question).await.ok()
        })
    }

    fn decide<'a>(&'a self, request: &'a ApprovalRequest) -> BoxFuture<'a, Option<DecisionRecord>> {
        Box::pin(async move {
            if !self.console.has_person() {
                return None;
            }
            let _seat = self.console.lock_modal().await;
            let decision = terminal::ask_decision(&self.console, request).await.ok()?;
            Some(decision_record(decision))
        })
    }

    fn name(&self) -> &str {
        &self.name
    }

    fn wait_limit(&self) -> Option<Duration> {
        self.patience
    }
}

/// Returns the approver: the one that the caller chose, else the person at the terminal, else none.
/// While a person is asked here, a decision of another process also applies.
pub(crate) fn select_approver(
    on_ask: Option<OnAsk>,
    console: &Console,
    approvals: &Arc<dyn ApprovalStore>,
) -> Option<Arc<dyn Approver>> {
    let elsewhere = || WaitForDecision::new(Arc::clone(approvals));
    let here_too = || Arc::new(TerminalOrInbox::new(console.clone(), elsewhere()));
    match on_ask {
        None => Some(here_too()),
        Some(OnAsk::Deny) => None,
        Some(OnAsk::Fail) => Some(Arc::new(DeferApproval)),
        Some(OnAsk::Wait(_)) if console.is_chat() => Some(here_too()),
        Some(OnAsk::Wait(_)) => Some(Arc::new(elsewhere())),
    }
}

/// The person at this terminal, or another process: the first decision applies.
struct TerminalOrInbox {
    terminal_approver: TerminalApprover,
    inbox_approver: WaitForDecision,
}

impl TerminalOrInbox {
    fn new(console: Console, inbox_approver: WaitForDecision) -> Self {
        Self { terminal_approver: TerminalApprover::new(console), inbox_approver }
    }
}

impl Approver for TerminalOrInbox {
    fn acquire_prompt(&self) -> BoxFuture<'_, Option<PromptPermit>> {
        self.terminal_approver.acquire_prompt()
    }

    fn ask<'a>(&'a self, request: &'a ApprovalRequest) -> BoxFuture<'a, ApproverReply> {
        Box::pin(async {
            tokio::select! {
                here = self.terminal_approver.ask(request) => here,
                elsewhere = self.inbox_approver.ask(request) => elsewhere,
            }
        })
    }
}

/// The decision from the command line; the person at the terminal decides everything else.
pub(crate) struct CommandLineDecision {
    /// The person who is asked if the command line has no decision.
    pub(crate) person: TerminalPerson,
    /// The call in question; `None` if there is only one.
    pub(crate) call: Option<CallId>,
    /// The answer to a question.
    pub(crate) question_answer: Option<QuestionAnswer>,
    /// The decision about a call.
    pub(crate) decision: Option<Decision>,
    /// Whether the answer or decision was used: it applies to one question only.
    is_given: AtomicBool,
}

impl CommandLineDecision {
    /// Creates an approver without a decision from the command line: the person at the terminal is
    /// asked.
    pub(crate) fn none(person: TerminalPerson) -> Self {
        let is_given = AtomicBool::new(false);
        Self { person, call: None, question_answer: None, decision: None, is_given }
    }

    /// Marks the decision as used; returns whether it was unused.
    fn give(&self) -> bool {
        !self.is_given.swap(true, Ordering::Relaxed)
    }

    fn is_empty(&self) -> bool {
        self.question_answer.is_none() && self.decision.is_none()
    }
}

impl HumanInput for CommandLineDecision {
    fn answer<'a>(&'a self, question: &'a Question) -> BoxFuture<'a, Option<QuestionAnswer>> {
        match &self.question_answer {
            Some(_) if !self.give() => Box::pin(std::future::ready(None)),
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
            Some(_) if !self.give() => Box::pin(std::future::ready(None)),
            Some(decision) => Box::pin(std::future::ready(Some(decision_record(decision.clone())))),
            None if self.is_empty() => self.person.decide(request),
            None => Box::pin(std::future::ready(None)),
        }
    }

    fn name(&self) -> &str {
        self.person.name()
    }

    fn wait_limit(&self) -> Option<Duration> {
        self.person.wait_limit()
    }
}

/// Creates a record; the store sets the time.
fn decision_record(decision: Decision) -> DecisionRecord {
    DecisionRecord { decision, decided_by: os_user::current_user(), decided_at: 0 }
}
