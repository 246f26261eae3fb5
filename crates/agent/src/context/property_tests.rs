//! Property tests of trimming and compaction for any conversation and budget, and message builders
//! for the tests of this folder.

use std::sync::Arc;

use proptest::prelude::*;
use serde_json::{Value, json};
use toolcrib_core::CallId;
use toolcrib_providers::conversation::{CallAnswer, Message, ModelMessage, UserKind, UserMessage};
use toolcrib_providers::{Format, Turn, parse};

use super::compaction::{
    CompactionPlan, CompactionRules, Summary, plan_compaction, plan_without_summary,
};
use super::context_windows::ContextWindow;
use super::token_estimate::{MessageSizes, estimate_message};
use super::trim_history::{OutgoingHistory, trim_history};
use super::{exchanges, summary_request};

pub(super) fn said(kind: UserKind, text: &str) -> Arc<Message> {
    Arc::new(Message::User(UserMessage { text: text.into(), images: vec![], kind }))
}

/// A message of the model with one call per result, all answered.
pub(super) fn answered(text: &str, results: &[&str]) -> Arc<Message> {
    let results: Vec<_> = results.iter().map(|result| Some((*result).to_owned())).collect();
    model(Format::OpenAiChat, text, &results)
}

fn model(format: Format, text: &str, results: &[Option<String>]) -> Arc<Message> {
    let mut message = ModelMessage::new(turn(format, text, results.len()), "provider", "model");
    for (place, result) in results.iter().enumerate() {
        let Some(result) = result else { continue };
        let answer = CallAnswer {
            wire: json!({"status": "success", "result": result}),
            is_error: false,
            elapsed_ms: None,
            ..CallAnswer::not_run(CallId::fresh(), "")
        };
        assert!(message.answer(place, answer));
    }
    Arc::new(Message::Model(Box::new(message)))
}

fn turn(format: Format, text: &str, calls: usize) -> Turn {
    let name = "read_file";
    let list = |call: &dyn Fn(usize) -> Value| (0..calls).map(call).collect::<Vec<_>>();
    let body = match format {
        Format::OpenAiChat | Format::Text => {
            let call = |n| json!({"id": format!("c{n}"), "type": "function", "function": {"name": name, "arguments": "{}"}});
            let mut message = json!({"role": "assistant", "content": text});
            if calls > 0 {
                message["tool_calls"] = list(&call).into();
            }
            json!({"choices": [{"finish_reason": "stop", "message": message}]})
        }
        Format::OpenAiResponses => {
            let call = |n| json!({"type": "function_call", "id": format!("i{n}"), "call_id": format!("c{n}"), "name": name, "arguments": "{}"});
            let mut output = list(&call);
            let content = json!([{"type": "output_text", "text": text, "annotations": []}]);
            output.insert(
                0,
                json!({"type": "message", "role": "assistant", "id": "m", "content": content}),
            );
            json!({"status": "completed", "output": output})
        }
        Format::Anthropic => {
            let call =
                |n| json!({"type": "tool_use", "id": format!("c{n}"), "name": name, "input": {}});
            let mut content = list(&call);
            content.insert(0, json!({"type": "text", "text": text}));
            json!({"type": "message", "role": "assistant", "stop_reason": "end_turn", "content": content})
        }
        Format::Gemini => {
            let call =
                |n| json!({"functionCall": {"id": format!("c{n}"), "name": name, "args": {}}});
            let mut parts = list(&call);
            parts.insert(0, json!({"text": text}));
            json!({"candidates": [{"finishReason": "STOP", "content": {"role": "model", "parts": parts}}]})
        }
    };
    let parsed = parse(format, body.to_string().as_bytes()).unwrap();
    assert_eq!(parsed.calls.len(), calls, "{format}");
    parsed
}

fn text() -> impl Strategy<Value = String> {
    (prop_oneof![4 => 0..60usize, 1 => 500..3_000usize], prop_oneof!["a", "\n", "\"", "é"])
        .prop_map(|(length, letter)| letter.repeat(length))
}

fn message() -> impl Strategy<Value = Arc<Message>> {
    let kinds = prop_oneof![
        4 => Just(UserKind::Typed),
        1 => Just(UserKind::Queued),
        1 => Just(UserKind::Answer),
        1 => Just(UserKind::Guard),
    ];
    let formats = prop_oneof![
        Just(Format::OpenAiChat),
        Just(Format::OpenAiResponses),
        Just(Format::Anthropic),
        Just(Format::Gemini),
    ];
    // A call without a result waits for a person.
    let results = prop::collection::vec(prop::option::weighted(0.8, text()), 0..4);
    prop_oneof![
        2 => (kinds, text()).prop_map(|(kind, text)| said(kind, &text)),
        3 => (formats, text(), results).prop_map(|(f, text, results)| model(f, &format!("t{text}"), &results)),
    ]
}

pub(super) fn history() -> impl Strategy<Value = Vec<Arc<Message>>> {
    prop::collection::vec(message(), 0..16)
}

/// The indexes of the history's messages in the copy: each is unchanged or has truncated results,
/// in order.
fn places(history: &[Arc<Message>], outgoing: &OutgoingHistory, made: usize) -> Vec<usize> {
    let mut next = 0;
    let mut places = Vec::new();
    let mut not_found = 0;
    for message in &outgoing.messages {
        let same = |stored: &Arc<Message>| match (&**stored, &**message) {
            (Message::Model(stored), Message::Model(sent)) => stored.turn == sent.turn,
            _ => Arc::ptr_eq(stored, message),
        };
        match history.iter().skip(next).position(same) {
            Some(at) => {
                places.push(next + at);
                next += at + 1;
            }
            None => not_found += 1,
        }
    }
    assert_eq!(not_found, made, "only the summary and the note are not the history's");
    places
}

fn summary_of(history: &[Arc<Message>], covers: Option<usize>) -> Option<Summary> {
    let covers = covers.map(|covers| covers % (history.len() + 1));
    covers.map(|covers| Summary { text: "what was".into(), covers })
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 128, ..ProptestConfig::default() })]

    #[test]
    fn the_outgoing_copy(history in history(), covers in prop::option::of(0..99usize), budget in 0..6_000u64) {
        let stored = serde_json::to_value(&history).unwrap();
        let sizes = MessageSizes::new(&history);
        let summary = summary_of(&history, covers);
        let covered = summary.as_ref().map_or(0, |summary| summary.covers);
        let copy = trim_history(&history, summary.as_ref(), budget, &sizes);
        prop_assert_eq!(stored, serde_json::to_value(&history).unwrap(), "the history is untouched");

        let note = usize::from(copy.dropped > 0);
        let places = places(&history, &copy, usize::from(summary.is_some()) + note);
        prop_assert!(places.iter().all(|place| *place >= covered));
        prop_assert_eq!(covered + copy.dropped + places.len(), history.len());
        prop_assert_eq!(copy.estimate, copy.messages.iter().map(|m| estimate_message(m)).sum::<u64>());

        // The newest message, and the last message of a person, are always included.
        if covered < history.len() {
            prop_assert_eq!(places.last().copied(), Some(history.len() - 1));
        }
        if let Some(newest) = exchanges::starts(&history, covered).next_back() {
            prop_assert!(places.contains(&newest));
        }
        // At most one gap besides the one before the last message of a person, and no copy that
        // begins with an orphaned turn.
        if copy.dropped > 0 {
            prop_assert!(matches!(&*copy.messages[0], Message::User(_)));
        }
        // Over the budget only if the newest round alone is.
        if copy.estimate > budget {
            let rounds = places.iter().filter(|p| matches!(*history[**p], Message::Model(_)));
            prop_assert!(rounds.count() <= 1);
        }
        // A message that is not truncated is shared, not copied.
        let changed = copy.messages.iter().filter(|sent| !history.iter().any(|m| Arc::ptr_eq(m, sent)));
        prop_assert!(changed.count() <= usize::from(summary.is_some()) + note + usize::from(copy.shortened > 0));
        for sent in &copy.messages {
            if let Message::Model(sent) = &**sent {
                prop_assert_eq!(sent.answers().len(), sent.turn.calls.len());
            }
        }
        prop_assert_eq!(&copy, &trim_history(&history, summary.as_ref(), budget, &sizes), "and always the same");
    }

    #[test]
    fn compaction_moves_forward_over_whole_exchanges(
        history in history(), keep in 0..5usize, tokens in 0..3_000u64, overhead in 0..500u64,
    ) {
        let rules = CompactionRules { keep, ..CompactionRules::default() };
        let window = ContextWindow { tokens, max_output: None, known: true };
        let mut summary: Option<Summary> = None;
        let mut rounds = 0;
        // The conversation grows, message by message.
        for end in 0..=history.len() {
            let history = &history[..end];
            let sizes = MessageSizes::new(history);
            let decided = plan_compaction(history, summary.as_ref(), overhead, &window, &rules, &sizes);
            prop_assert_eq!(decided, plan_compaction(history, summary.as_ref(), overhead, &window, &rules, &sizes));
            let CompactionPlan::Compact { upto } = decided else { continue };
            rounds += 1;
            let covered = summary.as_ref().map_or(0, |summary| summary.covers);
            prop_assert!(upto > covered && upto < end);
            prop_assert!(exchanges::begins(&history[upto]));
            prop_assert!(exchanges::starts(history, upto).count() >= keep.max(1));
            summary = Some(Summary { text: "short".into(), covers: upto });
            let again = plan_compaction(history, summary.as_ref(), overhead, &window, &rules, &sizes);
            prop_assert_eq!(again, CompactionPlan::Fits, "what was compacted is not compacted again");
        }
        prop_assert!(rounds <= history.len());
    }

    #[test]
    fn the_fallback_drops_whole_exchanges_only_when_it_must(history in history(), covers in prop::option::of(0..99usize), budget in 0..6_000u64) {
        let sizes = MessageSizes::new(&history);
        let old = summary_of(&history, covers);
        let covered = old.as_ref().map_or(0, |summary| summary.covers);
        let whole = trim_history(&history, old.as_ref(), u64::MAX, &sizes).estimate;
        match plan_without_summary(&history, old.as_ref(), budget, &sizes) {
            None => prop_assert!(whole <= budget || exchanges::starts(&history, covered + 1).next().is_none()),
            Some(new) => {
                prop_assert!(whole > budget && new.covers > covered);
                prop_assert!(exchanges::begins(&history[new.covers]));
                let rest = trim_history(&history, Some(&new), u64::MAX, &sizes).estimate;
                let is_newest = exchanges::starts(&history, new.covers + 1).next().is_none();
                prop_assert!(rest <= budget || is_newest);
            }
        }
    }

    #[test]
    fn the_request_for_a_summary_is_bounded(history in history(), max_input in 600..3_000u64) {
        let rules = CompactionRules::default();
        let (system, prompt) = summary_request(&history, None, history.len(), max_input, &rules);
        let size = super::estimate_text(&system) + estimate_message(&Message::User(prompt));
        prop_assert!(size <= max_input, "{size}");
    }
}
