//! Tests of streams whose pieces arrive in an unexpected order: a call runs with the arguments that
//! the stream has for it, or not at all.

use proptest::prelude::*;
use serde_json::{Value, json};
use toolcrib_argument_decoder::{Limits, Schema, decode};
use toolcrib_core::RawArgs;
use toolcrib_providers::{Format, Turn, parse};

use super::support::{is_broken, show};

fn events(chunks: &[Value]) -> String {
    chunks.iter().map(|chunk| format!("data: {chunk}\n\n")).collect()
}

/// A Chat Completions stream of these entries of `tool_calls`, one per chunk.
fn chat(pieces: &[Value]) -> Turn {
    let delta =
        |piece: &Value| json!({"choices": [{"index": 0, "delta": {"tool_calls": [piece]}}]});
    let mut chunks: Vec<Value> = pieces.iter().map(delta).collect();
    chunks.push(json!({"choices": [{"index": 0, "delta": {}, "finish_reason": "tool_calls"}]}));
    let body = events(&chunks) + "data: [DONE]\n\n";
    parse(Format::OpenAiChat, body.as_bytes()).unwrap()
}

#[track_caller]
fn check(pieces: Value, calls: &[&str]) {
    let turn = chat(pieces.as_array().unwrap());
    assert_eq!(show(&turn), calls, "{:?}", turn.notes);
}

#[track_caller]
fn check_refused(pieces: Value) {
    let turn = chat(pieces.as_array().unwrap());
    assert!(!turn.complete && turn.calls.iter().all(is_broken), "{turn:?}");
    let says = |note: &String| note.contains("missing or out of order");
    assert!(turn.notes.iter().any(says), "{:?}", turn.notes);
}

#[test]
fn arguments_before_their_id_and_name_ran_as_an_empty_object() {
    let args = json!({"index": 0, "function": {"arguments": "{\"path\":\"a\"}"}});
    let name = json!({"index": 0, "id": "x", "type": "function", "function": {"name": "f"}});
    check(json!([args, name]), &["f#x {\"path\":\"a\"}"]);
    let half = json!({"index": 0, "function": {"arguments": "{\"path\":"}});
    let rest = json!({"index": 0, "id": "x", "function": {"name": "f", "arguments": "\"a\"}"}});
    check(json!([half, rest]), &["f#x {\"path\":\"a\"}"]);
    // No piece identifies the call of these arguments.
    let lost = json!({"function": {"arguments": "{\"path\":\"a\"}"}});
    check_refused(json!([lost, name]));
    let name_alone = json!({"index": 1, "id": "x", "function": {"name": "f"}});
    check_refused(json!([args, name_alone]));
}

#[test]
fn pieces_of_several_calls_are_joined_by_index_and_id() {
    let begin = |index: u64, id: &str, name: &str| json!({"index": index, "id": id, "function": {"name": name, "arguments": ""}});
    let more = |index: u64, args: &str| json!({"index": index, "function": {"arguments": args}});
    check(
        json!([
            begin(0, "a", "f"),
            begin(1, "b", "g"),
            more(1, "{\"n\""),
            more(0, "{\"m\":"),
            more(1, ":2}"),
            more(0, "1}")
        ]),
        &["f#a {\"m\":1}", "g#b {\"n\":2}"],
    );
    let by_id = |id: &str, args: &str| json!({"id": id, "function": {"arguments": args}});
    check(
        json!([
            begin(0, "a", "f"),
            begin(0, "b", "g"),
            by_id("a", "{\"m\":1}"),
            by_id("b", "{\"n\":2}")
        ]),
        &["f#a {\"m\":1}", "g#b {\"n\":2}"],
    );
}

#[test]
fn pieces_that_fit_several_calls_or_none_run_nothing() {
    let begin = |index: u64, id: &str, name: &str, args: &str| json!({"index": index, "id": id, "function": {"name": name, "arguments": args}});
    let more = |index: u64, args: &str| json!({"index": index, "function": {"arguments": args}});
    let bare = |args: &str| json!({"function": {"arguments": args}});
    let rename = json!({"index": 0, "function": {"name": "g", "arguments": "{\"n\":2}"}});
    for pieces in [
        // Two open calls, and no index.
        json!([begin(0, "a", "f", ""), begin(1, "b", "g", ""), bare("{\"n\":2}")]),
        // One index for two open calls.
        json!([begin(0, "a", "f", "{\"m\":"), begin(0, "b", "g", ""), more(0, "1}")]),
        // An index that no call has.
        json!([begin(0, "a", "f", ""), more(3, "{\"m\":1}")]),
        // The id of one call and the index of another.
        json!([
            begin(0, "a", "f", ""),
            begin(1, "b", "g", ""),
            {"index": 1, "id": "a", "function": {"arguments": "{\"m\":1}"}}
        ]),
        // Another name under the index of an unfinished call.
        json!([{"index": 0, "function": {"name": "f"}}, rename]),
        // More arguments after complete ones.
        json!([begin(0, "a", "f", "{\"m\":1}"), more(0, "{\"m\":2}"), begin(1, "b", "g", "")]),
        // A changed id without a name.
        json!([
            begin(0, "a", "f", "{\"m\":"),
            {"index": 0, "id": "b", "function": {"arguments": "1}"}}
        ]),
        // No entry at all.
        json!([begin(0, "a", "f", "{}"), "more"]),
    ] {
        check_refused(pieces);
    }
}

#[test]
fn a_named_piece_without_an_id_ran_as_a_call_of_its_own() {
    let begin = |id: Value, args: &str| json!({"index": 0, "id": id, "function": {"name": "f", "arguments": args}});
    // The call ended with the id; these may be its arguments, or those of a call that lost its id.
    check_refused(json!([
        begin(json!("a"), "{}"),
        begin(Value::Null, "{\"m\":1}"),
        {"index": 0, "function": {"arguments": " "}}
    ]));
    check_refused(json!([begin(json!("a"), "{\"m\":1}"), begin(Value::Null, "{\"m\":2}")]));
    // A server that gives no ids at all, and one that gives each call its own.
    let plain = [begin(Value::Null, "{\"m\":1}"), begin(Value::Null, "{\"m\":2}")];
    assert_eq!(chat(&plain).calls.len(), 2);
    check(
        json!([begin(json!("a"), "{\"m\":1}"), begin(json!("b"), "{\"m\":2}")]),
        &["f#a {\"m\":1}", "f#b {\"m\":2}"],
    );
}

#[test]
fn an_anthropic_piece_for_another_block_runs_nothing() {
    let start = |index: Value, block: Value| json!({"type": "content_block_start", "index": index, "content_block": block});
    let tool =
        |id: &str, name: &str| json!({"type": "tool_use", "id": id, "name": name, "input": {}});
    let args = |index: Value| json!({"type": "content_block_delta", "index": index, "delta": {"type": "input_json_delta", "partial_json": "{\"m\":1}"}});
    let stop = |index: u64| json!({"type": "content_block_stop", "index": index});
    let text = json!({"type": "text", "text": ""});
    let begin = json!({"type": "message_start", "message": {}});
    let end = json!({"type": "message_stop"});
    for chunks in [
        // Arguments in a block of text; the call would run without them.
        vec![
            start(json!(0), text),
            start(json!(1), tool("a", "f")),
            args(json!(0)),
            stop(0),
            stop(1),
        ],
        // No index, and two open blocks.
        vec![
            start(json!(0), tool("a", "f")),
            start(json!(1), tool("b", "g")),
            args(Value::Null),
            stop(0),
            stop(1),
        ],
        // After the end of the block.
        vec![start(json!(0), tool("a", "f")), stop(0), args(json!(0))],
        // Before its start.
        vec![args(json!(0)), start(json!(0), tool("a", "f")), stop(0)],
        // Another call under an open index.
        vec![
            start(json!(0), tool("a", "f")),
            start(json!(0), tool("a", "g")),
            args(json!(0)),
            stop(0),
        ],
        // Two messages in one stream.
        vec![start(json!(0), tool("a", "f")), begin.clone(), args(json!(0)), stop(0)],
    ] {
        let all: Vec<Value> =
            [begin.clone()].into_iter().chain(chunks).chain([end.clone()]).collect();
        let turn = parse(Format::Anthropic, events(&all).as_bytes()).unwrap();
        assert!(!turn.complete && turn.calls.iter().all(is_broken), "{all:?}: {turn:?}");
    }
}

#[test]
fn a_responses_item_that_contradicts_its_pieces_is_not_run() {
    let added = json!({"type": "response.output_item.added", "output_index": 0, "item":
        {"type": "function_call", "id": "fc", "call_id": "a", "name": "f", "arguments": ""}});
    let delta = json!({"type": "response.function_call_arguments.delta", "output_index": 0, "item_id": "fc", "delta": "{\"m\":1}"});
    let done = |name: &str, args: &str| {
        json!({"type": "response.output_item.done", "output_index": 0, "item":
        {"type": "function_call", "id": "fc", "call_id": "a", "name": name, "arguments": args}})
    };
    let end = json!({"type": "response.completed", "response": {"status": "completed"}});
    let run = |chunks: &[&Value]| {
        let all: Vec<Value> = chunks.iter().copied().chain([&end]).cloned().collect();
        parse(Format::OpenAiResponses, events(&all).as_bytes()).unwrap()
    };
    let good = run(&[&added, &delta, &done("f", "{\"m\":1}")]);
    assert_eq!(show(&good), ["f#a {\"m\":1}"]);
    for chunks in [
        vec![&added, &delta, &done("f", "")],
        vec![&added, &delta, &done("f", "{}")],
        vec![&added, &done("g", "{\"m\":1}")],
        vec![&added, &done("f", "{}"), &delta],
        vec![&delta, &added, &done("f", "{}")],
    ] {
        let turn = run(&chunks);
        assert!(!turn.complete && turn.calls.iter().all(is_broken), "{chunks:?}: {turn:?}");
    }
}

/// A call that a model asked for.
#[derive(Debug, Clone)]
struct Asked {
    id: String,
    name: String,
    args: String,
    /// How many bytes of the arguments each piece has.
    cut: usize,
}

fn any_calls() -> impl Strategy<Value = Vec<Asked>> {
    let name = prop::sample::select(vec!["f", "g", "h"]);
    let call = (name, any::<bool>(), 1usize..12);
    prop::collection::vec(call, 1..4).prop_map(|calls| {
        let call = |(at, (name, empty, cut)): (usize, (&str, bool, usize))| {
            let args = json!({"call": at, "text": format!("of {at}")}).to_string();
            let args = if empty { "{}".to_owned() } else { args };
            Asked { id: format!("id{at}"), name: name.to_owned(), args, cut }
        };
        calls.into_iter().enumerate().map(call).collect()
    })
}

fn pieces(call: &Asked) -> Vec<String> {
    call.args
        .as_bytes()
        .chunks(call.cut)
        .map(|piece| String::from_utf8_lossy(piece).into_owned())
        .collect()
}

/// The events of each call, in their order.
fn chat_events(call: &Asked, index: usize) -> Vec<Value> {
    let begin = json!({"index": index, "id": call.id, "type": "function", "function": {"name": call.name, "arguments": ""}});
    let more = |args: String| json!({"index": index, "function": {"arguments": args}});
    [begin].into_iter().chain(pieces(call).into_iter().map(more)).collect()
}

fn anthropic_events(call: &Asked, index: usize) -> Vec<Value> {
    let start = json!({"type": "content_block_start", "index": index, "content_block":
        {"type": "tool_use", "id": call.id, "name": call.name, "input": {}}});
    let more = |args: String| {
        json!({"type": "content_block_delta", "index": index, "delta":
        {"type": "input_json_delta", "partial_json": args}})
    };
    let stop = json!({"type": "content_block_stop", "index": index});
    [start].into_iter().chain(pieces(call).into_iter().map(more)).chain([stop]).collect()
}

fn responses_events(call: &Asked, index: usize) -> Vec<Value> {
    let item = |args: &str| json!({"type": "function_call", "id": format!("fc_{}", call.id), "call_id": call.id, "name": call.name, "arguments": args});
    let event = |kind: &str| json!({"type": kind, "output_index": index, "item_id": format!("fc_{}", call.id)});
    let with = |mut event: Value, key: &str, value: Value| {
        event[key] = value;
        event
    };
    let begin = with(event("response.output_item.added"), "item", item(""));
    let kind = "response.function_call_arguments";
    let more = |args: String| with(event(&format!("{kind}.delta")), "delta", args.into());
    let all = with(event(&format!("{kind}.done")), "arguments", call.args.clone().into());
    let end = with(event("response.output_item.done"), "item", item(&call.args));
    [begin].into_iter().chain(pieces(call).into_iter().map(more)).chain([all, end]).collect()
}

fn gemini_events(call: &Asked, _: usize) -> Vec<Value> {
    let args: Value = serde_json::from_str(&call.args).unwrap();
    vec![json!({"functionCall": {"name": call.name, "args": args, "id": call.id}})]
}

/// Change of an event by a proxy.
#[derive(Debug, Clone, Copy)]
enum Damage {
    NoIndex,
    IndexZero,
    NoId,
    RepeatName,
    LateId,
    Repeat,
    Drop,
    Swap,
}

const ALL_DAMAGE: [Damage; 8] = [
    Damage::NoIndex,
    Damage::IndexZero,
    Damage::NoId,
    Damage::RepeatName,
    Damage::LateId,
    Damage::Repeat,
    Damage::Drop,
    Damage::Swap,
];

/// Whether the event carries a piece of arguments. Without numbers on the events, a lost,
/// repeated or exchanged piece of one text cannot be noticed.
fn is_piece(format: Format, event: &Value) -> bool {
    match format {
        Format::OpenAiChat => event["function"]["arguments"] != "",
        Format::Anthropic => event["type"] == "content_block_delta",
        _ => false,
    }
}

fn damage(format: Format, events: &mut Vec<Value>, at: usize, how: Damage) {
    let index = if format == Format::OpenAiResponses { "output_index" } else { "index" };
    let next = at + 1;
    let moves = |event: &Value| !is_piece(format, event);
    match how {
        Damage::NoIndex => drop(events[at].as_object_mut().unwrap().remove(index)),
        Damage::IndexZero => {
            let indexed = events.iter_mut().filter(|event| !event[index].is_null());
            indexed.for_each(|event| event[index] = json!(0));
        }
        Damage::NoId => {
            for place in ["/id", "/content_block/id", "/item/id", "/functionCall/id"] {
                if let Some(id) = events[at].pointer_mut(place) {
                    *id = Value::Null;
                }
            }
        }
        Damage::RepeatName
            if format == Format::OpenAiChat
                && events.get(next).is_some_and(|event| event[index] == events[at][index]) =>
        {
            events[next]["function"]["name"] = events[at]["function"]["name"].clone();
        }
        Damage::LateId
            if format == Format::OpenAiChat
                && events.get(next).is_some_and(|event| event[index] == events[at][index]) =>
        {
            events[next]["id"] = events[at]["id"].clone();
            events[at]["id"] = Value::Null;
        }
        Damage::Repeat if moves(&events[at]) => events.insert(at, events[at].clone()),
        Damage::Drop if moves(&events[at]) => drop(events.remove(at)),
        Damage::Swap if next < events.len() && (moves(&events[at]) || moves(&events[next])) => {
            events.swap(at, next);
        }
        _ => {}
    }
}

fn body(format: Format, events: Vec<Value>) -> String {
    let mut chunks = Vec::new();
    match format {
        Format::OpenAiChat => {
            for piece in events {
                chunks.push(json!({"choices": [{"index": 0, "delta": {"tool_calls": [piece]}}]}));
            }
            chunks.push(
                json!({"choices": [{"index": 0, "delta": {}, "finish_reason": "tool_calls"}]}),
            );
        }
        Format::Anthropic => {
            chunks.push(json!({"type": "message_start", "message": {}}));
            chunks.extend(events);
            chunks.push(json!({"type": "message_delta", "delta": {"stop_reason": "tool_use"}}));
            chunks.push(json!({"type": "message_stop"}));
        }
        Format::OpenAiResponses => {
            chunks.extend(events);
            chunks.push(json!({"type": "response.completed", "response": {"status": "completed"}}));
        }
        _ => {
            for part in events {
                chunks
                    .push(json!({"candidates": [{"content": {"role": "model", "parts": [part]}}]}));
            }
            chunks
                .push(json!({"candidates": [{"content": {"parts": []}, "finishReason": "STOP"}]}));
        }
    }
    self::events(&chunks)
}

/// Interleaves the events of all calls as given by `order`; the events of each call stay in order.
fn interleave(mut calls: Vec<Vec<Value>>, order: &[prop::sample::Index]) -> Vec<Value> {
    calls.iter_mut().for_each(|events| events.reverse());
    let mut all = Vec::new();
    let mut order = order.iter().cycle();
    while !calls.is_empty() {
        let which = order.next().map_or(0, |at| at.index(calls.len()));
        all.extend(calls[which].pop());
        calls.retain(|events| !events.is_empty());
    }
    all
}

type EventMaker = fn(&Asked, usize) -> Vec<Value>;

proptest! {
    #![proptest_config(ProptestConfig::with_cases(400))]

    #[test]
    fn what_cannot_be_joined_is_never_run(
        calls in any_calls(),
        order in prop::collection::vec(any::<prop::sample::Index>(), 1..40),
        mixed in any::<bool>(),
        changes in prop::collection::vec((any::<prop::sample::Index>(), prop::sample::select(ALL_DAMAGE.to_vec())), 0..3),
    ) {
        let schema = Schema::check(&json!({"type": "object"})).unwrap();
        let makers: [(Format, EventMaker); 4] = [
            (Format::OpenAiChat, chat_events),
            (Format::Anthropic, anthropic_events),
            (Format::OpenAiResponses, responses_events),
            (Format::Gemini, gemini_events),
        ];
        // A server that gives every call the index 0 sends one call after the other.
        let mixed = mixed && !changes.iter().any(|(_, how)| matches!(how, Damage::IndexZero));
        for (format, maker) in makers {
            let each: Vec<Vec<Value>> = calls.iter().enumerate().map(|(i, call)| maker(call, i)).collect();
            let mut events = if mixed { interleave(each, &order) } else { each.concat() };
            for (at, how) in &changes {
                if !events.is_empty() {
                    let at = at.index(events.len());
                    damage(format, &mut events, at, *how);
                }
            }
            let body = body(format, events);
            let Ok(turn) = parse(format, body.as_bytes()) else { continue };
            if changes.is_empty() {
                prop_assert!(turn.complete && turn.calls.len() == calls.len(), "{format}: {turn:?}\n{body}");
            }
            for call in &turn.calls {
                let RawArgs::Text(args) = &call.args else { continue };
                // A tool receives the decoded arguments, including repairs.
                let decoded = decode(args, &schema, &Limits::DEFAULT);
                let Some(read) = decoded.value() else { continue };
                let asked = calls.iter().any(|asked| {
                    asked.name == call.name
                        && serde_json::from_str::<Value>(&asked.args).is_ok_and(|args| args == *read)
                });
                // A call without a name runs nothing.
                prop_assert!(asked || call.name.is_empty(), "{format}: {call:?}\n{body}");
            }
        }
    }
}
