//! Replacing older messages by a summary, in a model call of its own.

use std::sync::Arc;

use toolcrib_providers::chat::Message;
use toolcrib_providers::model::{Model, ModelRequest};

use super::Work;
use crate::context::{self, Plan, Summary, Window};
use crate::events::Event;
use crate::machine::Machine;

/// Attempts at a summary (SPEC 6.5, Compaction: 1 retry).
const ATTEMPTS: u32 = 2;

/// Messages that come before a summary is tried again that could not be made: each try costs money.
const NEXT_TRY: usize = 8;

impl Work<'_> {
    /// Makes a summary when the conversation has grown past its share of the window. When that fails, all is kept while it fits;
    /// else whole old exchanges are left out of what is sent.
    pub(super) async fn compact(
        &mut self,
        machine: &mut Machine,
        model: &dyn Model,
        (window, overhead): (Window, u64),
    ) {
        if machine.history().len() < self.no_summary_before {
            return;
        }
        let rules = &self.driver.compaction;
        let summary = machine.state().summary.clone();
        let (history, sizes) = (machine.history(), &self.sent.sizes);
        let plan = context::plan(history, summary.as_ref(), overhead, &window, rules, sizes);
        let Plan::Compact { upto } = plan else { return };
        let most = context::budget(&window, 0, Some(rules.summary_tokens));
        let (system, prompt) = context::request(history, summary.as_ref(), upto, most, rules);
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
            machine.charged(reply.usage(), cost);
            self.note_usage(machine, model.info(), reply.usage(), cost);
            let tokens = reply.usage().and_then(|usage| usage.total()).unwrap_or(0);
            // A budget that this exceeds ends the run with the next answer.
            let _ = self.driver.invoker.charge_tokens(machine.state().run, tokens);
            if let Some(text) = context::accept(&reply.turn.text, rules) {
                machine.summarised(Some(Summary { text, covers: upto }));
                self.driver.tell(Event::Compaction { covers: upto });
                return;
            }
        }
        self.no_summary_before = machine.history().len() + NEXT_TRY;
        let room = context::budget(&window, overhead, self.job.max_output);
        let rest = context::fallback(machine.history(), summary.as_ref(), room, &self.sent.sizes);
        if rest.is_some() {
            machine.summarised(rest);
        }
        let text = "older messages could not be summarised; the oldest are left out of requests that would not fit";
        self.driver.tell(Event::Notice { text: text.to_owned() });
    }
}
