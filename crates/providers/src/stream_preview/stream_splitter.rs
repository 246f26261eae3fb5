//! Splits a body into JSON values as they become complete: events, lines, array elements, or one
//! complete body.
#![deny(clippy::indexing_slicing)]

use serde_json::Value;

use crate::sse;

/// Values that the last bytes completed.
#[derive(Debug, Default)]
pub(super) struct SplitValues {
    pub(super) values: Vec<Value>,
    /// Whether they are events of a stream.
    pub(super) streamed: bool,
    /// Whether `[DONE]` was received.
    pub(super) done: bool,
}

/// Structure of the body, as far as it is known.
#[derive(Debug, Default)]
pub(super) enum StreamSplitter {
    /// Only white space, or a part of the byte order mark.
    #[default]
    Start,
    Events(Box<sse::Parser>),
    Json(ObjectScanner),
    /// A body that cannot be shown.
    Nothing,
}

impl StreamSplitter {
    /// Processes the last `new` of these bytes.
    pub(super) fn push(&mut self, bytes: &[u8], new: usize) -> SplitValues {
        let mut last = bytes.get(bytes.len().saturating_sub(new)..).unwrap_or_default();
        if matches!(self, Self::Start) {
            let Some(at) = first_byte(bytes) else { return SplitValues::default() };
            *self = match bytes.get(at) {
                Some(b'{' | b'[') => Self::Json(ObjectScanner::at(at)),
                Some(b'<') | None => Self::Nothing,
                _ => Self::Events(Box::default()),
            };
            last = bytes;
        }
        match self {
            Self::Start | Self::Nothing => SplitValues::default(),
            Self::Json(objects) => {
                SplitValues { values: objects.push(bytes), ..SplitValues::default() }
            }
            Self::Events(parser) => match parser.push(last) {
                Ok(events) => events_to_chunks(&events),
                Err(sse::TooLarge) => {
                    *self = Self::Nothing;
                    SplitValues::default()
                }
            },
        }
    }
}

/// Returns the position of the first byte after white space and the byte order mark; `None` if it
/// has not arrived.
fn first_byte(bytes: &[u8]) -> Option<usize> {
    const MARK: &[u8] = b"\xef\xbb\xbf";
    if bytes.len() < MARK.len() && MARK.starts_with(bytes) {
        return None;
    }
    let start = if bytes.starts_with(MARK) { MARK.len() } else { 0 };
    let at = bytes.get(start..)?.iter().position(|b| !b.is_ascii_whitespace())?;
    Some(start + at)
}

fn events_to_chunks(events: &[sse::Event]) -> SplitValues {
    let mut chunks = SplitValues { streamed: true, ..SplitValues::default() };
    for event in events {
        match event.text().map(str::trim) {
            Some("[DONE]") => chunks.done = true,
            Some(text) => chunks.values.extend(serde_json::from_str::<Value>(text).ok()),
            None => {}
        }
    }
    chunks
}

/// Finds the outermost objects of a JSON text, or those inside its outermost array.
#[derive(Debug)]
pub(super) struct ObjectScanner {
    /// Position of the next byte.
    at: usize,
    /// Depth of the objects to return: 1 inside an array.
    base: Option<usize>,
    depth: usize,
    start: usize,
    in_string: bool,
    escaped: bool,
}

impl ObjectScanner {
    fn at(at: usize) -> Self {
        Self { at, base: None, depth: 0, start: 0, in_string: false, escaped: false }
    }

    fn push(&mut self, bytes: &[u8]) -> Vec<Value> {
        let mut found = Vec::new();
        while let Some(&byte) = bytes.get(self.at) {
            if self.step(byte) {
                let object = bytes.get(self.start..=self.at).unwrap_or_default();
                found.extend(serde_json::from_slice::<Value>(object).ok());
            }
            self.at += 1;
        }
        found
    }

    /// Processes a byte; `true` if it closes an object at that depth.
    fn step(&mut self, byte: u8) -> bool {
        if self.in_string {
            match byte {
                _ if self.escaped => self.escaped = false,
                b'\\' => self.escaped = true,
                b'"' => self.in_string = false,
                _ => {}
            }
            return false;
        }
        let base = *self.base.get_or_insert(usize::from(byte == b'['));
        match byte {
            b'"' => self.in_string = true,
            b'{' | b'[' => {
                if self.depth == base && byte == b'{' {
                    self.start = self.at;
                }
                self.depth += 1;
            }
            b'}' | b']' => {
                self.depth = self.depth.saturating_sub(1);
                return byte == b'}' && self.depth == base;
            }
            _ => {}
        }
        false
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn check(body: &[u8], values: &[Value], streamed: bool, done: bool) {
        for size in [1, 2, 3, 7, body.len().max(1)] {
            let mut splitter = StreamSplitter::default();
            let mut got = (Vec::new(), false, false);
            let mut end = 0;
            for piece in body.chunks(size) {
                end += piece.len();
                let chunks = splitter.push(&body[..end], piece.len());
                got.0.extend(chunks.values);
                got.1 |= chunks.streamed;
                got.2 |= chunks.done;
            }
            let expected = (values.to_vec(), streamed, done);
            assert_eq!(got, expected, "{:?} by {size}", String::from_utf8_lossy(body));
        }
    }

    #[test]
    fn values_come_when_they_are_complete() {
        let object = json!({"a": "}\\\"{é", "b": [{"c": {}}]});
        let text = object.to_string();
        let two = [object.clone(), object.clone()];
        check(text.as_bytes(), &two[..1], false, false);
        check(format!("\u{feff} \n{text}").as_bytes(), &two[..1], false, false);
        check(format!("{text}\n{text}\n").as_bytes(), &two, false, false);
        check(format!("[{text}\n,{text}]").as_bytes(), &two, false, false);
        check(
            format!("\n: hi\n\ndata: {text}\n\ndata:{text}\r\n\r\ndata: [DONE]\n\n").as_bytes(),
            &two,
            true,
            true,
        );
        check(text.as_bytes().get(..text.len() - 1).unwrap(), &[], false, false);
        check(b"<html>{}</html>", &[], false, false);
        check(b"\xef\xbb", &[], false, false);
        check(b"}}]{}", &[], true, false);
        check(b"{]}}{\"a\":1}", &[json!({"a": 1})], false, false);
        check(b"", &[], false, false);
    }
}
