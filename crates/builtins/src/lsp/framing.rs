//! Framing of the Language Server Protocol (3.17, Base Protocol): a header with `Content-Length`,
//! an empty line, and that many bytes.
#![deny(clippy::indexing_slicing)]

/// Longest header, in bytes; real ones have about forty.
const MAX_HEAD: usize = 4 * 1024;
/// Longest message, in bytes. All references of a common name in a large project take a few
/// megabytes.
const MAX_BODY: usize = 32 << 20;

/// The input is not a valid frame; everything after it is unusable.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub(super) enum FrameError {
    #[error("it sent a line that is not a message of the protocol")]
    Garbage,
    #[error("it announced a message longer than {} MB", MAX_BODY >> 20)]
    TooLong,
}

/// Incremental decoder of a byte stream.
#[derive(Debug, Default)]
pub(super) struct Decoder {
    bytes: Vec<u8>,
    /// Bytes at the beginning of the buffer that were consumed.
    taken: usize,
    /// Body length of the message whose header was read.
    body: Option<usize>,
}

impl Decoder {
    /// Adds input.
    pub(super) fn push(&mut self, bytes: &[u8]) {
        // Compacts once per read, not once per message.
        self.bytes.drain(..self.taken.min(self.bytes.len()));
        self.taken = 0;
        self.bytes.extend_from_slice(bytes);
    }

    /// Returns the next complete message; `None` if more input is needed.
    ///
    /// # Errors
    /// [`FrameError`]; the stream is then unusable.
    pub(super) fn next(&mut self) -> Result<Option<&[u8]>, FrameError> {
        if self.body.is_none() {
            let rest = self.bytes.get(self.taken..).unwrap_or_default();
            let window = rest.get(..MAX_HEAD).unwrap_or(rest);
            let Some(end) = window.windows(4).position(|four| four == b"\r\n\r\n") else {
                return if window.len() < MAX_HEAD && is_head_so_far(window) {
                    Ok(None)
                } else {
                    Err(FrameError::Garbage)
                };
            };
            let length = length(rest.get(..end).unwrap_or_default())?;
            self.taken += end + 4;
            self.body = Some(length);
        }
        let end = self.taken + self.body.unwrap_or(0);
        if self.bytes.len() < end {
            return Ok(None);
        }
        let begin = std::mem::replace(&mut self.taken, end);
        self.body = None;
        Ok(self.bytes.get(begin..end))
    }
}

/// Returns whether the bytes may begin a header (`Content-Length`, `Content-Type`). A log line on
/// standard output is thus detected at once instead of after a timeout of a minute.
fn is_head_so_far(bytes: &[u8]) -> bool {
    const NAME: &[u8] = b"content-";
    bytes.split(|byte| *byte == b'\n').all(|line| {
        let begin = line.get(..NAME.len()).unwrap_or(line);
        NAME.iter().zip(begin).all(|(name, byte)| byte.eq_ignore_ascii_case(name)) || line == b"\r"
    })
}

fn length(head: &[u8]) -> Result<usize, FrameError> {
    let head = std::str::from_utf8(head).map_err(|_| FrameError::Garbage)?;
    let mut lengths = head.split("\r\n").filter_map(|line| {
        let (name, value) = line.split_once(':')?;
        name.eq_ignore_ascii_case("content-length").then(|| value.trim().parse::<usize>())
    });
    match (lengths.next(), lengths.next()) {
        (Some(Ok(length)), None) if length <= MAX_BODY => Ok(length),
        (Some(Ok(_)), None) => Err(FrameError::TooLong),
        _ => Err(FrameError::Garbage),
    }
}

/// Encodes a message with its header.
pub(super) fn encode(message: &serde_json::Value) -> Vec<u8> {
    let body = message.to_string();
    format!("Content-Length: {}\r\n\r\n{body}", body.len()).into_bytes()
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn all(decoder: &mut Decoder) -> Result<Vec<String>, FrameError> {
        let mut messages = Vec::new();
        while let Some(message) = decoder.next()? {
            messages.push(String::from_utf8_lossy(message).into_owned());
        }
        Ok(messages)
    }

    #[test]
    fn messages_are_taken_out() {
        let check = |bytes: &[u8], expected: Result<Vec<&str>, FrameError>| {
            let mut decoder = Decoder::default();
            decoder.push(bytes);
            let expected = expected.map(|all| all.into_iter().map(str::to_owned).collect());
            assert_eq!(all(&mut decoder), expected, "{}", String::from_utf8_lossy(bytes));
        };
        check(b"Content-Length: 2\r\n\r\n{}", Ok(vec!["{}"]));
        check(
            b"content-length:2\r\nContent-Type: x\r\n\r\n{}Content-Length: 1\r\n\r\n1",
            Ok(vec!["{}", "1"]),
        );
        check(b"Content-Length: 0\r\n\r\nContent-Length: 3\r\n\r\n{}", Ok(vec![""]));
        check(b"Content-Len", Ok(vec![]));
        check(b"Traceback (most recent call last):\n", Err(FrameError::Garbage));
        check(b"Traceback", Err(FrameError::Garbage));
        check(b"Content-Length: 2\r\n\r", Ok(vec![]));
        check(b"Content-Type: x\r\n\r\n{}", Err(FrameError::Garbage));
        check(b"Content-Length: -1\r\n\r\n", Err(FrameError::Garbage));
        check(b"Content-Length: 1\r\nContent-Length: 2\r\n\r\n", Err(FrameError::Garbage));
        check(b"Content-Length: 99999999999\r\n\r\n", Err(FrameError::TooLong));
        check(b"Content-Length: 99999999999999999999999\r\n\r\n", Err(FrameError::Garbage));
        check(&[b'a'; MAX_HEAD + 1], Err(FrameError::Garbage));
    }

    proptest! {
        #[test]
        fn messages_survive_any_cut(
            texts in proptest::collection::vec("[ -~]{0,40}", 0..6),
            cuts in proptest::collection::vec(1usize..30, 1..50),
        ) {
            let values: Vec<_> = texts.into_iter().map(serde_json::Value::String).collect();
            let stream: Vec<u8> = values.iter().flat_map(encode).collect();
            let (mut decoder, mut found, mut rest) = (Decoder::default(), Vec::new(), &stream[..]);
            for cut in cuts.iter().cycle() {
                let (now, later) = rest.split_at((*cut).min(rest.len()));
                decoder.push(now);
                found.extend(all(&mut decoder).unwrap());
                rest = later;
                if rest.is_empty() {
                    break;
                }
            }
            let expected: Vec<_> = values.iter().map(ToString::to_string).collect();
            prop_assert_eq!(found, expected);
        }

        #[test]
        fn any_bytes_are_read_or_refused(bytes in proptest::collection::vec(any::<u8>(), 0..300)) {
            let mut decoder = Decoder::default();
            decoder.push(&bytes);
            let _ = all(&mut decoder);
        }
    }
}
