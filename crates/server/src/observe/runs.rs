//! Runs as they are counted and traced: by the events that everybody else is told.

use std::sync::{Mutex, PoisonError};
use std::time::SystemTime;

use toolcrib_app::agent::events::Event;
use toolcrib_app::core::{ConversationId, RunId};
use toolcrib_app::providers::Usage;

use super::span::{Attribute, FinishedSpan, SpanContext, SpanKind};
use super::{Observe, here, names};

/// What a run that no longer works, and never said how it ended, is counted as: the daemon stopped, or its task broke.
const LEFT: &str = "left";

/// One run at work. Dropped in the middle, it is counted as left.
pub(super) struct Watched {
    observe: Observe,
    /// The request that began it.
    parent: Option<SpanContext>,
    open: Mutex<Option<Open>>,
}

struct Open {
    run: RunId,
    conversation: ConversationId,
    agent: String,
    provider: String,
    model: String,
    context: Option<SpanContext>,
    begun: SystemTime,
    /// The request to a model that has no answer yet.
    request: Option<Request>,
}

struct Request {
    provider: String,
    model: String,
    begun: SystemTime,
}

impl Watched {
    /// Of a run that begins where this is called.
    pub(super) fn new(observe: Observe) -> Self {
        Self { observe, parent: here::context(), open: Mutex::default() }
    }

    pub(super) fn see(&self, event: &Event) {
        let mut open = self.open.lock().unwrap_or_else(PoisonError::into_inner);
        self.observe.inner.meters.run_event(event);
        match event {
            Event::RunStart { run, conversation, agent, provider, model, .. } => {
                *open = Some(Open {
                    run: *run,
                    conversation: *conversation,
                    agent: agent.clone(),
                    provider: provider.clone(),
                    model: model.clone(),
                    context: self.begin(*run),
                    begun: SystemTime::now(),
                    request: None,
                });
            }
            Event::Request { provider, model, .. } => {
                let Some(open) = &mut *open else { return };
                // The one before was given up: another model is asked.
                self.request_over(open, None, Some("failed"));
                let begun = SystemTime::now();
                open.request =
                    Some(Request { provider: provider.clone(), model: model.clone(), begun });
            }
            Event::Answer { usage, .. } => {
                if let Some(open) = &mut *open {
                    self.request_over(open, usage.as_ref(), None);
                }
            }
            Event::RunPaused { status, .. } => self.over(open.take(), status, None),
            Event::RunEnd { status, usage, .. } => self.over(open.take(), status, Some(usage)),
            _ => {}
        }
    }

    /// The place of a run in its trace, where its calls find it.
    fn begin(&self, run: RunId) -> Option<SpanContext> {
        let spans = self.observe.spans()?;
        let parent = self.parent;
        let context = parent.map_or_else(|| SpanContext::root(spans.ratio()), SpanContext::child);
        let mut runs = self.observe.inner.runs.lock().unwrap_or_else(PoisonError::into_inner);
        runs.put(run, context);
        Some(context)
    }

    fn request_over(&self, open: &mut Open, usage: Option<&Usage>, error: Option<&str>) {
        let Some(Request { provider, model, begun }) = open.request.take() else { return };
        let Some(parent) = open.context.filter(|context| context.sampled) else { return };
        let mut attributes: Vec<(&'static str, Attribute)> = vec![
            (names::OPERATION, names::CHAT.into()),
            (names::PROVIDER, provider.into()),
            (names::MODEL, model.as_str().into()),
            (names::CONVERSATION, open.conversation.to_string().into()),
        ];
        attributes.extend(tokens(usage));
        attributes.extend(error.map(|error| (names::ERROR, error.into())));
        self.tell(FinishedSpan {
            name: format!("{} {model}", names::CHAT),
            kind: SpanKind::Client,
            context: parent.child(),
            parent: Some((parent.span, false)),
            start: begun,
            end: SystemTime::now(),
            attributes,
            error: error.map(str::to_owned),
        });
    }

    fn over(&self, open: Option<Open>, status: &str, usage: Option<&Usage>) {
        let Some(mut open) = open else { return };
        // What was asked and never answered failed.
        self.request_over(&mut open, None, Some("failed"));
        {
            let mut runs = self.observe.inner.runs.lock().unwrap_or_else(PoisonError::into_inner);
            runs.take(&open.run);
        }
        let Some(context) = open.context.filter(|context| context.sampled) else { return };
        let mut attributes: Vec<(&'static str, Attribute)> = vec![
            (names::OPERATION, names::INVOKE_AGENT.into()),
            (names::AGENT, open.agent.as_str().into()),
            (names::PROVIDER, open.provider.into()),
            (names::MODEL, open.model.into()),
            (names::CONVERSATION, open.conversation.to_string().into()),
            (names::RUN, open.run.to_string().into()),
            (names::RUN_STATUS, status.into()),
        ];
        attributes.extend(tokens(usage));
        let failed = matches!(status, "failed" | LEFT);
        attributes.extend(failed.then(|| (names::ERROR, status.into())));
        self.tell(FinishedSpan {
            name: format!("{} {}", names::INVOKE_AGENT, open.agent),
            kind: SpanKind::Internal,
            context,
            parent: self.parent.map(|parent| (parent.span, false)),
            start: open.begun,
            end: SystemTime::now(),
            attributes,
            error: failed.then(|| status.to_owned()),
        });
    }

    fn tell(&self, span: FinishedSpan) {
        if let Some(spans) = self.observe.spans() {
            spans.ended(span);
        }
    }
}

impl Drop for Watched {
    fn drop(&mut self) {
        let open = self.open.get_mut().unwrap_or_else(PoisonError::into_inner).take();
        if open.is_some() {
            self.observe.inner.meters.run_over(LEFT);
            self.over(open, LEFT, None);
        }
    }
}

fn tokens(usage: Option<&Usage>) -> impl Iterator<Item = (&'static str, Attribute)> {
    let input =
        usage.and_then(|usage| usage.input).map(|tokens| (names::INPUT_TOKENS, tokens.into()));
    let output =
        usage.and_then(|usage| usage.output).map(|tokens| (names::OUTPUT_TOKENS, tokens.into()));
    input.into_iter().chain(output)
}
