//! Lines that cannot be parsed as a message. If such a line is the response to a request, the call
//! must end immediately instead of at its timeout. The id is therefore searched in the readable
//! part.

use rmcp::model::RequestId;
use rmcp::service::RxJsonRpcMessage;
use serde_json::Value;

use super::ProtocolRole;

/// Bytes that are stored of the beginning and of the end of a line that is too long.
pub(super) const KEPT_BYTES: usize = 1024;

/// Reads lines before rmcp does, and handles those that cannot be read.
pub(crate) trait LineHook<S: ProtocolRole>: Send + Sync {
    /// Parses this line; `None` if rmcp should parse it.
    fn read(&self, line: &[u8]) -> Option<RxJsonRpcMessage<S>>;

    /// Returns the message that replaces an unreadable line, if any.
    fn unreadable(&self, line: &UnreadableLine<'_>) -> Option<RxJsonRpcMessage<S>>;
}

/// A line that cannot be read.
pub(crate) struct UnreadableLine<'a> {
    /// Its beginning, or all of it.
    pub(crate) head: &'a [u8],
    /// Its end, or all of it.
    pub(crate) tail: &'a [u8],
    pub(crate) reason: UnreadableReason,
}

/// Why a line cannot be read.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub(crate) enum UnreadableReason {
    #[error("it is longer than {} MB", super::MESSAGE_BYTES >> 20)]
    TooLong,
    #[error("it is not valid JSON (invalid UTF-8, nested too deeply, or cut off)")]
    NoJson,
    #[error("it is not a JSON-RPC message")]
    NoMessage,
}

/// Appends to the end of a line; only the last [`KEPT_BYTES`] are stored.
pub(super) fn keep_end(tail: &mut Vec<u8>, piece: &[u8]) {
    let from = piece.len().saturating_sub(KEPT_BYTES);
    tail.extend_from_slice(piece.get(from..).unwrap_or_default());
    let beyond = tail.len().saturating_sub(KEPT_BYTES);
    tail.drain(..beyond);
}

impl UnreadableLine<'_> {
    /// Returns whether the line seems to be a response.
    pub(crate) fn is_answer(&self) -> bool {
        let has = |word: &[u8]| {
            let found = |text: &[u8]| text.windows(word.len()).any(|part| part == word);
            found(self.head.get(..KEPT_BYTES).unwrap_or(self.head)) || found(end_of(self.tail))
        };
        self.head.first() == Some(&b'{') && (has(b"\"result\"") || has(b"\"error\""))
    }

    /// Returns whether the line does not seem to be JSON-RPC.
    pub(crate) fn is_noise(&self) -> bool {
        self.head.first() != Some(&b'{')
    }

    /// Returns the id of the response.
    pub(crate) fn id(&self) -> Option<RequestId> {
        id_at_beginning(self.head).or_else(|| id_at_end(end_of(self.tail)))
    }
}

fn end_of(text: &[u8]) -> &[u8] {
    text.get(text.len().saturating_sub(KEPT_BYTES)..).unwrap_or(text)
}

/// Returns the value of the member `id` of the outermost object, if it comes before any nested
/// value.
fn id_at_beginning(line: &[u8]) -> Option<RequestId> {
    let mut rest = line.strip_prefix(b"{")?;
    loop {
        let (key, after) = string(rest.trim_ascii_start())?;
        let value = after.trim_ascii_start().strip_prefix(b":")?.trim_ascii_start();
        if key == b"id" {
            return id(value);
        }
        // Other values before the id, such as the object `result`, end the search.
        let after = match value.first()? {
            b'"' => string(value)?.1,
            b'{' | b'[' => return None,
            _ => {
                let end = value.iter().position(|byte| matches!(byte, b',' | b'}'))?;
                value.get(end..)?
            }
        };
        rest = after.trim_ascii_start().strip_prefix(b",")?;
    }
}

/// Returns the value of a member `id` that is followed only by `jsonrpc`.
fn id_at_end(line: &[u8]) -> Option<RequestId> {
    const KEY: &[u8] = b"\"id\"";
    let at = line.windows(KEY.len()).rposition(|part| part == KEY)?;
    let value = line.get(at + KEY.len()..)?.trim_ascii_start().strip_prefix(b":")?;
    let whole = [b"{\"id\":", value].concat();
    let last: Value = serde_json::from_slice(&whole).ok()?;
    let only = last.as_object()?.keys().all(|key| key == "id" || key == "jsonrpc");
    only.then(|| serde_json::from_value(last.get("id")?.clone()).ok()).flatten()
}

fn id(value: &[u8]) -> Option<RequestId> {
    let end = match value.first()? {
        b'"' => value.len() - string(value)?.1.len(),
        _ => value.iter().position(|byte| matches!(byte, b',' | b'}'))?,
    };
    serde_json::from_slice(value.get(..end)?).ok()
}

/// Parses a string at the beginning, without its quotes; also returns the rest.
fn string(text: &[u8]) -> Option<(&[u8], &[u8])> {
    let inner = text.strip_prefix(b"\"")?;
    let mut escaped = false;
    let end = inner.iter().position(|byte| {
        let ends = *byte == b'"' && !escaped;
        escaped = *byte == b'\\' && !escaped;
        ends
    })?;
    Some((inner.get(..end)?, inner.get(end + 1..)?))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_id_of_an_answer_is_found_at_its_beginning_or_end() {
        let check = |line: &str, expected: Option<&str>| {
            let reason = UnreadableReason::NoJson;
            let line = UnreadableLine { head: line.as_bytes(), tail: line.as_bytes(), reason };
            assert!(line.is_answer());
            let id = line.id().map(|id| id.to_string());
            assert_eq!(id.as_deref(), expected);
        };
        check(r#"{"jsonrpc":"2.0","id":7,"result":{"content":["#, Some("7"));
        check(r#"{ "id" : "a\"b" , "result":{"x"#, Some("a\"b"));
        check(r#"{"result":{"id":3,"x":"#, None);
        check(r#"{"result":{"id":3},"jsonrpc":"2.0","id":9}"#, Some("9"));
        check(r#"{"result":{"id":3},"id":9,"jsonrpc":"2.0"}"#, Some("9"));
        check(r#"{"jsonrpc":"2.0","id":1.5,"result":{}}"#, None);
        check(r#"{"jsonrpc":"2.0","id":{"id":4},"result":{}}"#, None);
    }

    #[test]
    fn noise_is_no_answer() {
        for line in ["hello", "{", "[]", r#"{"jsonrpc":"2.0"}"#, r#"{"method":"x"}"#] {
            let reason = UnreadableReason::NoJson;
            let line = UnreadableLine { head: line.as_bytes(), tail: line.as_bytes(), reason };
            assert!(!line.is_answer());
        }
    }
}
