//! Test helper: checks that a trimmed or compacted conversation is a valid request, in which every
//! call has exactly one result directly after it.

use std::collections::BTreeMap;
use std::sync::Arc;

use proptest::prelude::*;
use serde_json::Value;
use toolcrib_providers::Format;
use toolcrib_providers::conversation::Message;
use toolcrib_providers::model::{ModelInfo, ModelRequest};
use toolcrib_providers::quirks::{Dialect, Server};
use toolcrib_providers::request::render_body;

use super::compaction::Summary;
use super::property_tests::history;
use super::token_estimate::MessageSizes;
use super::trim_history::trim_history;

/// Returns the ids of the calls and of the results of each message, in order. Gemini matches by
/// order, so its names serve as ids.
fn calls_and_results(format: Format, body: &Value) -> Vec<(Vec<String>, Vec<String>)> {
    let list = |value: &Value| value.as_array().cloned().unwrap_or_default();
    let texts = |items: &[Value], path: &str| -> Vec<String> {
        items.iter().filter_map(|i| i.pointer(path)).map(ToString::to_string).collect()
    };
    let of_type = |items: Vec<Value>, kind: &str| -> Vec<Value> {
        items.into_iter().filter(|item| item["type"] == kind).collect()
    };
    match format {
        Format::OpenAiResponses => list(&body["input"])
            .into_iter()
            .map(|item| {
                let calls = texts(&of_type(vec![item.clone()], "function_call"), "/call_id");
                (calls, texts(&of_type(vec![item], "function_call_output"), "/call_id"))
            })
            .collect(),
        Format::Gemini => list(&body["contents"])
            .iter()
            .map(|content| {
                let parts = list(&content["parts"]);
                (texts(&parts, "/functionCall/name"), texts(&parts, "/functionResponse/name"))
            })
            .collect(),
        Format::Anthropic => list(&body["messages"])
            .iter()
            .map(|message| {
                let blocks = list(&message["content"]);
                let calls = texts(&of_type(blocks.clone(), "tool_use"), "/id");
                (calls, texts(&of_type(blocks, "tool_result"), "/tool_use_id"))
            })
            .collect(),
        Format::OpenAiChat | Format::Text => list(&body["messages"])
            .iter()
            .map(|message| {
                let calls = texts(&list(&message["tool_calls"]), "/id");
                let is_tool = message["role"] == "tool";
                (calls, is_tool.then(|| message["tool_call_id"].to_string()).into_iter().collect())
            })
            .collect(),
    }
}

/// Checks that every result answers an open call, and that only results follow while calls are open
/// (in Responses the calls of one turn are separate, consecutive items). Returns the number of
/// calls.
pub(crate) fn check(format: Format, body: &Value) -> usize {
    let mut count = 0;
    let mut open: BTreeMap<String, usize> = BTreeMap::new();
    for (calls, results) in calls_and_results(format, body) {
        let more_calls = format == Format::OpenAiResponses && !calls.is_empty();
        if !open.is_empty() && !more_calls {
            assert!(!results.is_empty(), "{format}: {open:?} is not answered at once");
        }
        for result in results {
            let waiting = open.get_mut(&result);
            *waiting.unwrap_or_else(|| panic!("{format}: result {result} is an orphan")) -= 1;
            open.retain(|_, count| *count > 0);
        }
        count += calls.len();
        for call in calls {
            *open.entry(call).or_default() += 1;
        }
    }
    assert!(open.is_empty(), "{format}: {open:?} is not answered");
    count
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 32, ..ProptestConfig::default() })]

    #[test]
    fn every_call_of_a_trimmed_request_has_its_result(
        history in history(), covers in prop::option::of(0..16usize), budget in 0..6_000u64,
    ) {
        let sizes = MessageSizes::new(&history);
        let summary = covers.map(|covers| Summary { text: "what was".into(), covers });
        let messages: Vec<Arc<Message>> =
            trim_history(&history, summary.as_ref(), budget, &sizes).messages;
        let calls = messages.iter().map(|message| match &**message {
            Message::Model(message) => message.turn.calls.len(),
            Message::User(_) => 0,
        });
        let calls: usize = calls.sum();
        let request = ModelRequest {
            system: String::new(),
            messages,
            tools: None,
            temperature: None,
            max_output: None,
            stream: false,
        };
        for server in [Server::OpenaiChat, Server::OpenaiResponses, Server::Anthropic, Server::Gemini] {
            let dialect = Dialect::new(server);
            let format = dialect.format;
            // The provider that answered, whose turns are sent unchanged, and another one.
            for provider in ["provider", "another"] {
                let info = ModelInfo {
                    provider: provider.into(),
                    model: "model".into(),
                    format,
                    scripted: false,
                    on_device: false,
                    requested_window: None,
                };
                let body = serde_json::from_slice(&render_body(&info, &dialect, &request)).unwrap();
                prop_assert_eq!(check(format, &body), calls);
            }
        }
    }
}
