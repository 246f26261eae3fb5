//! Property tests of the parsers: no bytes cause a panic, and a damaged stream runs no call that
//! was not requested.

use std::sync::OnceLock;

use proptest::prelude::*;
use toolcrib_providers::{Format, detect, parse, result_messages};

use super::support::fixtures;

type Recording = (Format, String, Vec<u8>);

fn recordings() -> &'static [Recording] {
    static ALL: OnceLock<Vec<Recording>> = OnceLock::new();
    ALL.get_or_init(fixtures)
}

fn try_all(body: &[u8]) {
    let _ = detect(body);
    for format in Format::ALL {
        if let Ok(turn) = parse(format, body) {
            let messages = result_messages(&turn, &[]);
            assert_eq!(messages.is_empty(), turn.calls.is_empty());
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(150))]

    #[test]
    fn any_bytes(body in prop::collection::vec(any::<u8>(), 0..200)) {
        try_all(&body);
    }

    #[test]
    fn any_pieces_of_protocols(pieces in prop::collection::vec(prop::sample::select(vec![
        "data: ", "\n\n", "\n", "{", "}", "[", "]", "\"choices\":", "\"delta\":", "\"tool_calls\":", "\"index\":0,", "\"id\":\"a\",",
        "\"function\":{\"name\":\"f\",\"arguments\":\"{}\"}", "\"type\":\"content_block_start\",", "\"content_block\":", "null", "1e400",
        "<tool_call>", "</tool_call>", "```json\n", "```", "{\"name\":\"f\",\"arguments\":{}}", ",", "\"candidates\":", "\"parts\":",
        "\"functionCall\":", "\"output\":", "\"type\":\"function_call\"", "é", "\\u0000",
    ]), 0..30)) {
        try_all(pieces.concat().as_bytes());
    }

    #[test]
    fn damaged_recordings(
        which in any::<prop::sample::Index>(),
        changes in prop::collection::vec((any::<prop::sample::Index>(), any::<u8>(), 0u8..4), 1..6),
    ) {
        let (_, _, body) = which.get(recordings());
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
            if body.is_empty() {
                break;
            }
        }
        try_all(&body);
    }
}
