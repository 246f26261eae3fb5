//! Telemetry of runs, recorded from their events.

use std::sync::{Arc, Mutex, PoisonError};
use std::time::SystemTime;

use toolcrib_agent::events::{Event, EventSink};
use toolcrib_core::{ConversationId, RunId};
use toolcrib_providers::Usage;

use super::recorder::Telemetry;
use super::span::{Attribute, FinishedSpan, SpanContext, SpanKind};
use super::{request_context, semantic_conventions};

/// Status of a run that stopped without an event: the daemon stopped, or its task panicked.
const STATUS_LEFT: &str = "left";

impl Telemetry {
    /// Wraps the event sink of a run, so that its events are counted and traced.
    #[must_use]
    pub fn instrument_run(&self, events: EventSink) -> EventSink {
        let run = RunTelemetry::new(self.clone());
        Arc::new(move |event| {
            run.record(&event);
            events(event);
        })
    }
}

/// Telemetry of one active run. If it is dropped without an end, the run is counted with
/// [`STATUS_LEFT`].
struct RunTelemetry {
    telemetry: Telemetry,
    /// The request that started the run.
    parent: Option<SpanContext>,
    open: Mutex<Option<OpenSpan>>,
}

struct OpenSpan {
    run: RunId,
    conversation: ConversationId,
    agent: String,
    provider: String,
    model: String,
    context: Option<SpanContext>,
    begun: SystemTime,
    /// The request to a model that has not been answered yet.
    request: Option<ModelRequest>,
}

struct ModelRequest {
    provider: String,
    model: String,
    begun: SystemTime,
}

impl RunTelemetry {
    /// Creates telemetry for a run, as a child of the current request, if there is one.
    fn new(telemetry: Telemetry) -> Self {
        Self { telemetry, parent: request_context::span_context(), open: Mutex::default() }
    }

    fn record(&self, event: &Event) {
        let mut open = self.open.lock().unwrap_or_else(PoisonError::into_inner);
        self.telemetry.metrics().record_run_event(event);
        match event {
            Event::RunStart { run, conversation, agent, provider, model, .. } => {
                *open = Some(OpenSpan {
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
                // The previous request failed: the run switches to another model.
                self.request_over(open, None, Some("failed"));
                let begun = SystemTime::now();
                open.request =
                    Some(ModelRequest { provider: provider.clone(), model: model.clone(), begun });
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

    /// Creates the span context of a run and registers it for the calls of the run.
    fn begin(&self, run: RunId) -> Option<SpanContext> {
        let spans = self.telemetry.spans()?;
        let parent = self.parent;
        let context =
            parent.map_or_else(|| SpanContext::root(spans.sample_ratio()), SpanContext::child);
        self.telemetry.run_contexts().put(run, context);
        Some(context)
    }

    fn request_over(&self, open: &mut OpenSpan, usage: Option<&Usage>, error: Option<&str>) {
        let Some(ModelRequest { provider, model, begun }) = open.request.take() else { return };
        let Some(parent) = open.context.filter(|context| context.sampled) else { return };
        let mut attributes: Vec<(&'static str, Attribute)> = vec![
            (semantic_conventions::OPERATION, semantic_conventions::CHAT.into()),
            (semantic_conventions::PROVIDER, provider.into()),
            (semantic_conventions::MODEL, model.as_str().into()),
            (semantic_conventions::CONVERSATION, open.conversation.to_string().into()),
        ];
        attributes.extend(tokens(usage));
        attributes.extend(error.map(|error| (semantic_conventions::ERROR, error.into())));
        self.export(FinishedSpan {
            name: format!("{} {model}", semantic_conventions::CHAT),
            kind: SpanKind::Client,
            context: parent.child(),
            parent: Some((parent.span, false)),
            start: begun,
            end: SystemTime::now(),
            attributes,
            error: error.map(str::to_owned),
        });
    }

    fn over(&self, open: Option<OpenSpan>, status: &str, usage: Option<&Usage>) {
        let Some(mut open) = open else { return };
        // A request without an answer counts as failed.
        self.request_over(&mut open, None, Some("failed"));
        self.telemetry.run_contexts().take(&open.run);
        let Some(context) = open.context.filter(|context| context.sampled) else { return };
        let mut attributes: Vec<(&'static str, Attribute)> = vec![
            (semantic_conventions::OPERATION, semantic_conventions::INVOKE_AGENT.into()),
            (semantic_conventions::AGENT, open.agent.as_str().into()),
            (semantic_conventions::PROVIDER, open.provider.into()),
            (semantic_conventions::MODEL, open.model.into()),
            (semantic_conventions::CONVERSATION, open.conversation.to_string().into()),
            (semantic_conventions::RUN, open.run.to_string().into()),
            (semantic_conventions::RUN_STATUS, status.into()),
        ];
        attributes.extend(tokens(usage));
        let failed = matches!(status, "failed" | STATUS_LEFT);
        attributes.extend(failed.then(|| (semantic_conventions::ERROR, status.into())));
        self.export(FinishedSpan {
            name: format!("{} {}", semantic_conventions::INVOKE_AGENT, open.agent),
            kind: SpanKind::Internal,
            context,
            parent: self.parent.map(|parent| (parent.span, false)),
            start: open.begun,
            end: SystemTime::now(),
            attributes,
            error: failed.then(|| status.to_owned()),
        });
    }

    fn export(&self, span: FinishedSpan) {
        if let Some(spans) = self.telemetry.spans() {
            spans.export(span);
        }
    }
}

impl Drop for RunTelemetry {
    fn drop(&mut self) {
        let open = self.open.get_mut().unwrap_or_else(PoisonError::into_inner).take();
        if open.is_some() {
            self.telemetry.metrics().record_run_end(STATUS_LEFT);
            self.over(open, STATUS_LEFT, None);
        }
    }
}

fn tokens(usage: Option<&Usage>) -> impl Iterator<Item = (&'static str, Attribute)> {
    let input = usage
        .and_then(|usage| usage.input)
        .map(|tokens| (semantic_conventions::INPUT_TOKENS, tokens.into()));
    let output = usage
        .and_then(|usage| usage.output)
        .map(|tokens| (semantic_conventions::OUTPUT_TOKENS, tokens.into()));
    input.into_iter().chain(output)
}
