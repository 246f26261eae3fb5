//! `providers::sse`: the events of a stream do not depend on how it was cut into pieces.
#![no_main]

use libfuzzer_sys::fuzz_target;
use toolcrib_providers::sse::{Event, Parser};

fuzz_target!(|input: &[u8]| {
    let Some((&size, stream)) = input.split_first() else { return };
    let whole = events(stream, stream.len().max(1));
    let pieces = events(stream, usize::from(size).max(1));
    assert_eq!(whole, pieces, "pieces of {size} bytes");
    let bytes: usize = whole.iter().map(|event| event.data.len()).sum();
    assert!(bytes <= stream.len(), "more data than was sent");
});

fn events(stream: &[u8], size: usize) -> Vec<Event> {
    let mut parser = Parser::new();
    let mut events = Vec::new();
    for piece in stream.chunks(size) {
        events.extend(parser.push(piece).expect("far below the limit"));
    }
    events.extend(parser.finish());
    events
}
