//! Compaction in the driver: requests the summary that replaces older messages.

use std::sync::Arc;

use toolcrib_providers::conversation::Message;
use toolcrib_providers::model::{Model, ModelRequest};

use super::RunDriver;
use crate::context::{self, CompactionPlan, ContextWindow, Summary};
use crate::events::Event;
use crate::machine::Machine;

/// Maximum number of attempts at a summary.
const ATTEMPTS: u32 = 2;

/// Number of messages to wait before a failed summary is attempted again: each attempt costs money.
const NEXT_TRY: usize = 8;

impl RunDriver<'_> {
    /// Summarizes the conversation if it exceeds its share of the window. If that fails, everything
    /// is sent while it fits; otherwise whole old exchanges are omitted from requests.
    pub(super) async fn compact(
        &mut self,
        machine: &mut Machine,
        model: &dyn Model,
        (window, overhead): (ContextWindow, u64),
    ) {
        if machine.history().len() < self.no_summary_before {
            return;
        }
        let rules = &self.driver.compaction;
        let summary = machine.state().summary.clone();
        let (history, sizes) = (machine.history(), &self.sent.sizes);
        let plan =
            context::plan_compaction(history, summary.as_ref(), overhead, &window, rules, sizes);
        let CompactionPlan::Compact { upto } = plan else { return };
        let most = context::input_budget(&window, 0, Some(rules.summary_tokens));
        let (system, prompt) =
            context::summary_request(history, summary.as_ref(), upto, most, rules);
        let request = ModelRequest {
            system,
            messages: vec![Arc::new(Message::User(prompt))],
            tools: None,
            temperature: None,
            max_output: Some(rules.summary_tokens),
            stream: false,
        };
        for _ in 0..ATTEMPTS {
            let asked = model.ask(&request, &mut |_| {}, self.control.token()).await;
            if self.control.is_stopped() {
                return;
            }
            let Ok(reply) = asked else { continue };
            let cost = self.cost(model.info(), reply.usage());
            machine.add_usage(reply.usage(), cost);
            self.note_usage(machine, model.info(), reply.usage(), cost);
            let tokens = reply.usage().and_then(|usage| usage.total()).unwrap_or(0);
            // If this exceeds a budget, the run ends after the next answer.
            let _ = self.driver.invoker.charge_tokens(machine.state().run, tokens);
            if let Some(text) = context::accept_summary(&reply.turn.text, rules) {
                machine.set_summary(Some(Summary { text, covers: upto }));
                self.driver.tell(Event::Compaction { covers: upto });
                return;
            }
        }
        self.no_summary_before = machine.history().len() + NEXT_TRY;
        let room = context::input_budget(&window, overhead, self.job.max_output);
        let rest = context::plan_without_summary(
            machine.history(),
            summary.as_ref(),
            room,
            &self.sent.sizes,
        );
        if rest.is_some() {
            machine.set_summary(rest);
        }
        let text = "older messages could not be summarised; the oldest are left out of requests that would not fit";
        self.driver.tell(Event::Notice { text: text.to_owned() });
    }
}
