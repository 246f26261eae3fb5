//! `providers::stream_preview` and `request`: however an answer is cut into pieces, it is the same
//! turn and shows the same text; what an unfinished answer asks for cannot run; and a conversation
//! with that turn in it can be sent on in every format.
#![no_main]

use std::sync::Arc;

use libfuzzer_sys::fuzz_target;
use toolcrib_core::RawArgs;
use toolcrib_providers::conversation::{Message, ModelMessage, UserMessage};
use toolcrib_providers::model::{Delta, ModelInfo, ModelRequest};
use toolcrib_providers::quirks::{Dialect, Server};
use toolcrib_providers::stream_preview::StreamPreview;
use toolcrib_providers::{Format, ParseError, Turn, request};

const FORMATS: [Format; 4] =
    [Format::OpenAiChat, Format::OpenAiResponses, Format::Anthropic, Format::Gemini];

fuzz_target!(|input: &[u8]| {
    let Some((&first, body)) = input.split_first() else { return };
    let (size, text_tools) = (usize::from(first >> 1).max(1), first & 1 == 1);
    for format in FORMATS {
        let (whole, shown) = watch(format, text_tools, body, body.len().max(1));
        let (pieces, shown_in_pieces) = watch(format, text_tools, body, size);
        assert_eq!(whole, pieces, "pieces of {size} bytes");
        assert_eq!(shown, shown_in_pieces, "pieces of {size} bytes");
        if let Ok(turn) = whole {
            judge(&turn);
            Server::ALL.into_iter().for_each(|server| send_on(server, &turn));
        }
    }
});

fn watch(
    format: Format,
    text_tools: bool,
    body: &[u8],
    size: usize,
) -> (Result<Turn, ParseError>, String) {
    let mut watcher = StreamPreview::new(format, text_tools);
    let mut shown = String::new();
    for piece in body.chunks(size) {
        watcher.feed(piece, &mut |delta| {
            if let Delta::Text { text } = delta {
                shown.push_str(&text);
            }
        });
    }
    (watcher.finish(), shown)
}

fn judge(turn: &Turn) {
    let runnable = turn.calls.iter().any(|call| !matches!(call.args, RawArgs::Broken(_)));
    assert!(turn.complete || !runnable, "an unfinished answer has a call that can run");
}

fn send_on(server: Server, turn: &Turn) {
    let format = server.format();
    let info = ModelInfo {
        provider: "p".to_owned(),
        model: "m".to_owned(),
        format,
        scripted: false,
        on_device: false,
    };
    let message = ModelMessage::new(turn.clone(), "p", "m");
    let request = ModelRequest {
        system: String::new(),
        messages: vec![
            Arc::new(Message::User(UserMessage {
                text: "hi".to_owned(),
                ..UserMessage::default()
            })),
            Arc::new(Message::Model(Box::new(message))),
        ],
        tools: None,
        temperature: None,
        max_output: None,
        stream: true,
    };
    let body = request::render_body(&info, &Dialect::new(server), &request);
    serde_json::from_slice::<serde_json::Value>(&body).expect("JSON");
}
