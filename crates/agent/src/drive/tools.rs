//! Running the calls of an answer: one batch through the door, watched.

use std::sync::Arc;
use std::time::Duration;

use toolcrib_core::{Batch, Call, Origin, RunStatus};

use super::Work;
use super::calls::Calls;
use crate::events::Event;
use crate::machine::{Machine, Next};

/// How long a stopped run waits for the outcomes of its calls; what is not there by then is answered as stopped (seed 001: stop returns to
/// idle at once).
pub(super) const STOPPING: Duration = Duration::from_secs(2);

impl Work<'_> {
    /// Announces the calls of an answer.
    pub(super) fn announce(&mut self, machine: &Machine, calls: &[Call]) {
        self.calls = Arc::new(Calls::of(&self.driver.events, machine.state().rounds, calls));
    }

    pub(super) async fn run_tools(&mut self, machine: &mut Machine) {
        let Next::CallTools(calls) = machine.next() else { return };
        let calls = calls.to_vec();
        if !calls.iter().any(|call| self.calls.has(call.id)) {
            self.announce(machine, &calls);
        }
        // After a crash these calls must be found, and not be asked for anew under other ids.
        if let Err(error) = self.kept(machine, RunStatus::Running).await {
            self.lost = Some(error);
            return;
        }
        let run = machine.state().run;
        let view = self.view_request(machine);
        let seen = self.driver.catalog.view(&view);
        self.show_tools(machine);
        let batch = Batch {
            run: Some(run),
            origin: Origin::Model,
            context: Arc::clone(&self.job.context),
            view,
            calls,
            again: self.again,
            within: None,
        };
        let running = self.driver.invoker.invoke_watched(batch, Arc::clone(&self.calls) as _);
        let mut running = Box::pin(running);
        let answers = tokio::select! {
            answers = &mut running => answers,
            () = self.control.token().cancelled() => {
                self.driver.invoker.cancel_run(run);
                match tokio::time::timeout(STOPPING, running).await {
                    Ok(answers) => answers,
                    Err(_) => {
                        // What the others of the batch wait for will not go on: nobody is asked about it any more.
                        for question in self.calls.take_asked() {
                            self.withdrawn(question).await;
                        }
                        // Those that have ended keep their results; only the others are answered as stopped.
                        for (index, answer) in self.calls.take_done() {
                            machine.keep(index, answer);
                        }
                        return machine.stop();
                    }
                }
            }
        };
        self.read_inbox(machine);
        self.take_added(machine);
        let (skills, messages) = (machine.state().skills.clone(), machine.history().len());
        machine.ran(answers, |tool| seen.find(tool).is_some_and(|entry| entry.spec().polling));
        for skill in machine.state().skills.iter().filter(|skill| !skills.contains(skill)) {
            let (name, allowed_tools) = (skill.name.clone(), skill.allowed_tools.clone());
            self.driver.tell(Event::Skill { name, allowed_tools });
        }
        self.tell_guards(machine, messages);
    }
}
