//! Masks secrets in events: model output, provider errors, user messages. Streamed pieces are held
//! back while they may be the start of a secret.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};

use toolcrib_agent::events::{Event, EventSink, PendingInput, ToolEvent, ToolState};
use toolcrib_agent::machine::QuestionAnswer;
use toolcrib_core::{ApprovalRequest, RawArgs, UserQuestion};
use toolcrib_engine::{Secrets, TextMask};

/// Returns a sink that masks before it forwards; the same sink if there are no secrets.
pub(super) fn mask_events(events: &EventSink, secrets: &Secrets) -> EventSink {
    if secrets.is_empty() {
        return Arc::clone(events);
    }
    let (events, pieces) = (Arc::clone(events), Mutex::new(EventMasker::new(secrets.clone())));
    Arc::new(move |event| {
        let mut pieces = pieces.lock().unwrap_or_else(PoisonError::into_inner);
        // Forward under the lock, which keeps the events in order.
        pieces.process(event).into_iter().for_each(|event| events(event));
    })
}

/// The text that a piece belongs to.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
enum TextPart {
    Text,
    Reasoning,
    /// Arguments of a call: round and index.
    Arguments(u32, usize),
}

struct EventMasker {
    secrets: Secrets,
    open: HashMap<TextPart, (TextMask, Event)>,
}

impl EventMasker {
    fn new(secrets: Secrets) -> Self {
        Self { secrets, open: HashMap::new() }
    }

    /// Returns the events that can be forwarded now.
    fn process(&mut self, event: Event) -> Vec<Event> {
        match part(&event) {
            Some(part) => {
                let mut told =
                    self.close(|other| *other != part && !matches!(part, TextPart::Arguments(..)));
                told.extend(self.mask_piece(part, event));
                told
            }
            None => {
                let mut told = self.close(|_| true);
                told.push(mask_event(event, &self.secrets));
                told
            }
        }
    }

    fn mask_piece(&mut self, part: TextPart, event: Event) -> Option<Event> {
        let text = text_of(&event)?.to_owned();
        let entry = self.open.entry(part);
        let (mask, _) = entry
            .or_insert_with(|| (TextMask::new(&self.secrets), with_text(&event, String::new())));
        let shown = mask.pass(&text);
        (!shown.is_empty()).then(|| with_text(&event, shown))
    }

    /// Returns the held-back rest of texts that have ended.
    fn close(&mut self, is_over: impl Fn(&TextPart) -> bool) -> Vec<Event> {
        let over: Vec<TextPart> = self.open.keys().copied().filter(|part| is_over(part)).collect();
        let rest = |part| {
            let (mut mask, event) = self.open.remove(&part)?;
            let text = mask.finish();
            (!text.is_empty()).then(|| with_text(&event, text))
        };
        over.into_iter().filter_map(rest).collect()
    }
}

fn part(event: &Event) -> Option<TextPart> {
    match event {
        Event::TextDelta { .. } => Some(TextPart::Text),
        Event::ReasoningDelta { .. } => Some(TextPart::Reasoning),
        Event::Tool(ToolEvent {
            round, index, state: ToolState::InputStreaming { .. }, ..
        }) => Some(TextPart::Arguments(*round, *index)),
        _ => None,
    }
}

fn text_of(event: &Event) -> Option<&str> {
    match event {
        Event::TextDelta { text } | Event::ReasoningDelta { text } => Some(text),
        Event::Tool(ToolEvent { state: ToolState::InputStreaming { delta }, .. }) => Some(delta),
        _ => None,
    }
}

fn with_text(event: &Event, new: String) -> Event {
    let mut event = event.clone();
    match &mut event {
        Event::TextDelta { text } | Event::ReasoningDelta { text } => *text = new,
        Event::Tool(ToolEvent { state: ToolState::InputStreaming { delta }, .. }) => *delta = new,
        _ => {}
    }
    event
}

fn mask_event(mut event: Event, secrets: &Secrets) -> Event {
    let mask = |text: &mut String| *text = secrets.mask(std::mem::take(text));
    match &mut event {
        Event::Retry { why, .. } | Event::Fallback { why, .. } => mask(why),
        Event::Answer { text, notes, .. } => {
            mask(text);
            notes.iter_mut().for_each(mask);
        }
        Event::Tool(tool) => {
            mask(&mut tool.tool);
            state(&mut tool.state, secrets);
        }
        Event::Question { question: asked, .. } => question(asked, secrets),
        Event::QuestionAnswered { said: QuestionAnswer::Answered { text }, .. }
        | Event::Message { text, .. }
        | Event::Notice { text } => mask(text),
        Event::RunPaused { waiting, .. } => {
            for waiting in waiting {
                match waiting {
                    PendingInput::Approval(approval) => request(approval, secrets),
                    PendingInput::Answer { question: asked, .. } => question(asked, secrets),
                }
            }
        }
        Event::RunEnd { message, text, .. } => {
            mask(text);
            message.iter_mut().for_each(mask);
        }
        _ => {}
    }
    event
}

fn state(state: &mut ToolState, secrets: &Secrets) {
    match state {
        ToolState::InputAvailable { args } => *args = masked_args(args, secrets),
        ToolState::ApprovalRequested { approval } => request(approval, secrets),
        ToolState::OutputAvailable { output, .. } => *output = secrets.mask_json(output),
        ToolState::OutputError { output, reason, .. }
        | ToolState::OutputDenied { output, reason, .. } => {
            *output = secrets.mask_json(output);
            *reason = reason.take().map(|reason| secrets.mask(reason));
        }
        ToolState::Progress { progress } => {
            progress.message = secrets.mask(std::mem::take(&mut progress.message));
        }
        ToolState::InputStreaming { .. } | ToolState::ApprovalResponded { .. } => {}
    }
}

fn masked_args(args: &RawArgs, secrets: &Secrets) -> RawArgs {
    match args {
        RawArgs::Text(text) => RawArgs::Text(secrets.mask(text.clone())),
        RawArgs::Broken(text) => RawArgs::Broken(secrets.mask(text.clone())),
        RawArgs::Value(value) => RawArgs::Value(secrets.mask_json(value)),
        RawArgs::Sealed(sealed) => RawArgs::Sealed(sealed.clone()),
    }
}

fn question(question: &mut UserQuestion, secrets: &Secrets) {
    let mask = |text: &mut String| *text = secrets.mask(std::mem::take(text));
    mask(&mut question.question);
    mask(&mut question.context);
    question.options.iter_mut().for_each(mask);
}

fn request(request: &mut ApprovalRequest, secrets: &Secrets) {
    request.args = secrets.mask_json(&request.args);
    request.summary = secrets.mask(std::mem::take(&mut request.summary));
    request.question.iter_mut().for_each(|asked| question(asked, secrets));
}

#[cfg(test)]
mod tests {
    use super::*;

    fn delta(text: &str) -> Event {
        Event::TextDelta { text: text.to_owned() }
    }

    #[test]
    fn a_secret_that_is_split_over_pieces_is_masked() {
        let secrets = Secrets::default();
        secrets.add(["s3cr3t-value"]);
        let told = Arc::new(Mutex::new(Vec::new()));
        let sink: EventSink = {
            let told = Arc::clone(&told);
            Arc::new(move |event| told.lock().unwrap().push(event))
        };
        let sink = mask_events(&sink, &secrets);
        "it is s3cr3t-value, you see".chars().for_each(|c| sink(delta(&c.to_string())));
        sink(Event::ReasoningDelta { text: "s3cr3t-".into() });
        sink(Event::ReasoningDelta { text: "value".into() });
        sink(Event::Notice { text: "the key s3cr3t-value is wrong".into() });
        sink(delta("s3cr3t-vague"));
        sink(Event::Notice { text: "end".into() });
        let told = told.lock().unwrap();
        let texts = |wanted: fn(&Event) -> Option<&str>| -> String {
            told.iter().filter_map(wanted).collect()
        };
        let text = texts(|event| match event {
            Event::TextDelta { text } => Some(text),
            _ => None,
        });
        assert_eq!(text, "it is ***, you sees3cr3t-vague");
        let all = texts(|event| match event {
            Event::ReasoningDelta { text } | Event::Notice { text } => Some(text),
            _ => None,
        });
        assert_eq!(all, "***the key *** is wrongend");
    }
}
