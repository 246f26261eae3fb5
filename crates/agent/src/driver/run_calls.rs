//! Runs the calls of an answer as one batch, and watches for stop and hand-over.

use std::sync::Arc;
use std::time::Duration;

use toolcrib_core::{Batch, Call, ErrorType, Origin, OutcomeKind, RunStatus, ToolError};
use toolcrib_providers::conversation::CallAnswer;

use super::RunDriver;
use super::call_events::CallEvents;
use crate::events::Event;
use crate::machine::{Machine, NextStep, RequestMode, RunEnd};

/// Maximum time for which a stopped run waits for the outcomes of its calls; later ones are
/// recorded as stopped, so that a stop takes effect promptly.
pub(super) const STOPPING: Duration = Duration::from_secs(2);

impl RunDriver<'_> {
    /// Announces the calls of an answer.
    pub(super) fn announce(&mut self, machine: &Machine, calls: &[Call]) {
        self.calls =
            Arc::new(CallEvents::for_new_calls(&self.driver.events, machine.state().rounds, calls));
    }

    /// Announces calls that another process left, or that a stop precedes.
    pub(super) fn announce_open(&mut self, machine: &Machine) {
        let NextStep::CallTools(calls) = machine.next() else { return };
        if !calls.iter().any(|call| self.calls.has(call.id)) {
            self.announce(machine, calls);
        }
    }

    /// Records calls that the loop answered itself. An existing record stays.
    pub(super) async fn record_unsent(
        &mut self,
        machine: &Machine,
        unsent: Vec<(Call, CallAnswer)>,
    ) {
        for (call, answer) in unsent {
            let batch = Batch {
                run: Some(machine.state().run),
                origin: Origin::Model,
                context: Arc::clone(&self.job.context),
                view: self.view_request(machine),
                calls: vec![call],
                is_replay: false,
                environment: String::new(),
                parent_call: None,
            };
            let error = refusal(machine, &answer);
            let _ = self.driver.invoker.refuse(batch, error).await;
        }
    }

    pub(super) async fn run_tools(&mut self, machine: &mut Machine) {
        self.announce_open(machine);
        let NextStep::CallTools(calls) = machine.next() else { return };
        let calls = calls.to_vec();
        // After a crash the calls must be found under their ids, or the model would be asked again
        // and repeat them.
        if let Err(error) = self.save(machine, RunStatus::Running).await {
            self.lost = Some(error);
            return;
        }
        let run = machine.state().run;
        let view = self.view_request(machine);
        let seen = self.driver.catalog.view(&view);
        self.publish_request_tools(machine);
        let batch = Batch {
            run: Some(run),
            origin: Origin::Model,
            context: Arc::clone(&self.job.context),
            view,
            calls,
            is_replay: self.may_repeat_calls,
            environment: String::new(),
            parent_call: None,
        };
        self.calls.mark_sent();
        let mut running =
            self.driver.invoker.invoke_with_subscriber(batch, Arc::clone(&self.calls) as _);
        let answers = tokio::select! {
            answers = &mut running => answers,
            () = self.control.token().cancelled() => {
                self.driver.invoker.cancel_run(run);
                match tokio::time::timeout(STOPPING, running).await {
                    Ok(answers) => answers,
                    Err(_) => {
                        // The batch does not continue, so its approvals are withdrawn.
                        for question in self.calls.take_asked() {
                            self.withdraw_question(question).await;
                        }
                        // Ended calls keep their results; only the others are recorded as stopped.
                        for (index, answer) in self.calls.take_done() {
                            machine.record_answer(index, answer);
                        }
                        return machine.stop();
                    }
                }
            }
        };
        self.read_inbox(machine);
        self.take_found_tools(machine);
        let (skills, messages) = (machine.state().skills.clone(), machine.history().len());
        machine.calls_finished(answers, |tool| {
            seen.find(tool).is_some_and(|entry| entry.spec().polling)
        });
        for skill in machine.state().skills.iter().filter(|skill| !skills.contains(skill)) {
            let (name, allowed_tools) = (skill.name.clone(), skill.allowed_tools.clone());
            self.driver.tell(Event::Skill { name, allowed_tools });
        }
        self.emit_guard_messages(machine, messages);
    }
}

/// Returns the reason why the loop did not make a call, in the terms of the error table.
fn refusal(machine: &Machine, answer: &CallAnswer) -> ToolError {
    let error_type = match (answer.kind, machine.next()) {
        (Some(OutcomeKind::Cancelled), _) => ErrorType::Cancelled,
        (
            _,
            NextStep::Done(RunEnd::Repeated | RunEnd::Stalled)
            | NextStep::CallModel(RequestMode::Last { end: RunEnd::Repeated | RunEnd::Stalled }),
        ) => ErrorType::RepeatedCall,
        _ => ErrorType::BudgetExceeded,
    };
    let message = answer.wire.get("message").and_then(serde_json::Value::as_str);
    ToolError::new(error_type, message.unwrap_or_default())
}
