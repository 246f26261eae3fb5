//! Tests of recordings that are split, cut or damaged.

use std::sync::OnceLock;

use proptest::prelude::*;
use serde_json::json;

use super::*;
use crate::parse_response::{parse, parse_with_text_tools};

fn all() -> &'static [(Format, String, Vec<u8>)] {
    static ALL: OnceLock<Vec<(Format, String, Vec<u8>)>> = OnceLock::new();
    ALL.get_or_init(recordings)
}

/// Recordings in which the parser drops a repeated call that the preview has already shown.
const REPEATED: [&str; 2] = ["stream_repeated.sse", "same_id.json"];

fn check(format: Format, file: &str, body: &[u8], size: usize) {
    let (seen, watcher) = watch(format, false, body.chunks(size));
    let got = watcher.finish();
    assert_eq!(got, parse(format, body), "{format}/{file} by {size}");
    let Ok(turn) = got else { return };
    if !turn.complete {
        return;
    }
    assert_eq!(seen.text, turn.text, "{format}/{file} by {size}");
    assert_eq!(seen.reasoning, turn.reasoning, "{format}/{file} by {size}");
    let named: Vec<&str> = seen.calls.iter().map(|(name, _)| name.as_str()).collect();
    let names: Vec<&str> = turn.calls.iter().map(|call| call.name.as_str()).collect();
    if !REPEATED.contains(&file) {
        assert_eq!(named, names, "{format}/{file} by {size}");
    }
    assert_eq!(seen.hosted.len(), turn.hosted.len(), "{format}/{file}");
}

#[test]
fn every_recording_in_pieces_of_every_size() {
    for (format, file, body) in all() {
        for size in [1, 2, 3, 7, 64, 1000, usize::MAX] {
            check(*format, file, body, size);
        }
    }
}

/// Wherever a stream is cut: the same turn as its recording, and never a text that the turn does
/// not contain.
#[test]
fn cut_streams_are_the_same_turn() {
    for (format, file, body) in all() {
        for end in (0..body.len()).step_by(61) {
            let body = &body[..end];
            let (seen, watcher) = watch(*format, false, body.chunks(50));
            let got = watcher.finish();
            assert_eq!(got, parse(*format, body), "{format}/{file} cut at {end}");
            if let Ok(turn) = got {
                assert!(turn.text.starts_with(seen.text.trim_end()), "{format}/{file} at {end}");
            }
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(40))]

    #[test]
    fn any_cuts(which in any::<prop::sample::Index>(), sizes in prop::collection::vec(1usize..200, 1..8)) {
        let (format, file, body) = which.get(all());
        let mut rest = body.as_slice();
        let mut pieces = Vec::new();
        for size in sizes.iter().cycle() {
            if rest.is_empty() {
                break;
            }
            let (piece, after) = rest.split_at((*size).min(rest.len()));
            pieces.push(piece);
            rest = after;
        }
        let (seen, watcher) = watch(*format, false, pieces);
        let (whole, _) = watch(*format, false, [body.as_slice()]);
        prop_assert_eq!(seen, whole, "{}/{}", format, file);
        prop_assert_eq!(watcher.finish(), parse(*format, body));
    }

    /// Hostile bytes: nothing panics, and the turn is the parser's.
    #[test]
    fn damaged_recordings(
        which in any::<prop::sample::Index>(),
        changes in prop::collection::vec((any::<prop::sample::Index>(), any::<u8>(), 0u8..4), 1..6),
        text_tools in any::<bool>(),
    ) {
        let (_, _, body) = which.get(all());
        let mut body = body.clone();
        for (at, byte, how) in changes {
            let at = at.index(body.len());
            match how {
                0 => body[at] = byte,
                1 => body.insert(at, byte),
                2 => drop(body.remove(at)),
                _ => {
                    let copy = body[at..(at + 40).min(body.len())].to_vec();
                    body.splice(at..at, copy);
                }
            }
        }
        for format in [Format::OpenAiChat, Format::OpenAiResponses, Format::Anthropic, Format::Gemini] {
            let (_, watcher) = watch(format, text_tools, body.chunks(100));
            let expected = if text_tools { parse_with_text_tools(format, &body) } else { parse(format, &body) };
            prop_assert_eq!(watcher.finish(), expected);
        }
    }

    #[test]
    fn any_bytes(body in prop::collection::vec(any::<u8>(), 0..200), size in 1usize..50) {
        for format in [Format::OpenAiChat, Format::OpenAiResponses, Format::Anthropic, Format::Gemini] {
            let (_, watcher) = watch(format, false, body.chunks(size));
            prop_assert_eq!(watcher.finish(), parse(format, &body));
        }
    }

    /// Calls in the text, in an envelope of any format, whole and streamed.
    #[test]
    fn text_tools_in_any_envelope(
        parts in prop::collection::vec(prop::sample::select(vec![
            "Hm. ", "\n", "é", "<tool_call>\n{\"name\":\"f\",\"arguments\":{\"a\":\"</tool_call>\"}}\n</tool_call>", "<tool_call>{\"name\":\"g\"",
        ]), 1..6),
        size in 1usize..9,
    ) {
        let text = parts.concat();
        prop_assume!(!text.trim().is_empty());
        let expected = crate::text_tools::parse(&text);
        let chars: Vec<char> = text.chars().collect();
        let pieces: Vec<String> = chars.chunks(size).map(|c| c.iter().collect()).collect();
        for (format, body) in envelopes(&text, &pieces) {
            let (seen, turn) = whole(format, true, &body);
            let turn = turn.unwrap();
            prop_assert_eq!(turn.format, Format::Text);
            prop_assert_eq!(&turn.calls, &expected.calls);
            prop_assert_eq!(&turn.text, &expected.text);
            prop_assert_eq!(&turn.assistant, &expected.assistant);
            prop_assert!(turn.complete, "the envelope is whole");
            prop_assert_eq!(turn.usage.unwrap().output, Some(7));
            let names: Vec<&str> = seen.calls.iter().map(|(name, _)| name.as_str()).collect();
            let expected_names: Vec<&str> = expected.calls.iter().map(|c| c.name.as_str()).collect();
            prop_assert_eq!(names, expected_names);
            // White space after a call may differ.
            let words = |text: &str| text.split_whitespace().collect::<String>();
            prop_assert!(words(&expected.text).starts_with(&words(&seen.text)), "{:?} {:?}", seen.text, expected.text);
        }
    }
}

fn envelopes(text: &str, pieces: &[String]) -> Vec<(Format, String)> {
    let usage = json!({"prompt_tokens": 1, "completion_tokens": 7});
    let chat = json!({"choices": [{"message": {"role": "assistant", "content": text}, "finish_reason": "stop"}], "usage": usage});
    let mut chunks: Vec<_> = pieces
        .iter()
        .map(|p| json!({"choices": [{"index": 0, "delta": {"content": p}}]}))
        .collect();
    chunks.push(json!({"choices": [{"index": 0, "delta": {}, "finish_reason": "stop"}]}));
    chunks.push(json!({"choices": [], "usage": usage}));
    let ollama: String = pieces
        .iter()
        .map(|p| json!({"message": {"role": "assistant", "content": p}, "done": false}))
        .chain([
            json!({"message": {"role": "assistant", "content": ""}, "done": true, "eval_count": 7}),
        ])
        .map(|line| format!("{line}\n"))
        .collect();
    let anthropic = json!({
        "type": "message", "role": "assistant", "content": [{"type": "text", "text": text}], "stop_reason": "end_turn",
        "usage": {"input_tokens": 1, "output_tokens": 7},
    });
    let gemini: Vec<_> = pieces
        .iter()
        .enumerate()
        .map(|(i, p)| {
            let finish = if i + 1 == pieces.len() { "STOP".into() } else { serde_json::Value::Null };
            json!({"candidates": [{"content": {"role": "model", "parts": [{"text": p}]}, "finishReason": finish}],
                "usageMetadata": {"candidatesTokenCount": 7}})
        })
        .collect();
    let item = json!({"type": "message", "id": "m", "role": "assistant", "content": [{"type": "output_text", "text": text}]});
    let responses = json!({"object": "response", "status": "completed", "output": [item], "usage": {"output_tokens": 7}});
    vec![
        (Format::OpenAiChat, chat.to_string()),
        (Format::OpenAiChat, events(&chunks) + "data: [DONE]\n\n"),
        (Format::OpenAiChat, ollama),
        (Format::Anthropic, anthropic.to_string()),
        (Format::Gemini, events(&gemini)),
        (Format::OpenAiResponses, responses.to_string()),
    ]
}
