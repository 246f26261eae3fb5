//! Incremental parser of server-sent events (WHATWG HTML, section "Server-sent events").
//!
//! Works on bytes instead of lines of text: input may be split anywhere, inside a character, a CRLF
//! or the byte order mark. Data stays bytes, so that invalid UTF-8 is an error of the consumer and
//! not silently replaced.
#![deny(clippy::indexing_slicing)]

/// Limit of one line or of one event's data, in bytes (64 MiB), so that a server cannot exhaust the
/// memory.
pub const MAX_EVENT: usize = 64 * 1024 * 1024;

/// One event.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Event {
    /// Its type; `None` for the default, `message`.
    pub event: Option<String>,
    /// Its data lines, joined by line feeds.
    pub data: Vec<u8>,
}

impl Event {
    /// Returns the data as text; `None` if it is not UTF-8.
    #[must_use]
    pub fn text(&self) -> Option<&str> {
        std::str::from_utf8(&self.data).ok()
    }
}

/// An event or line is larger than [`MAX_EVENT`].
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("an event of the stream is larger than {} MiB", MAX_EVENT / (1024 * 1024))]
pub struct TooLarge;

/// The parser: it accepts bytes as they arrive and returns events.
#[derive(Debug)]
pub struct Parser {
    limit: usize,
    line: Vec<u8>,
    event: Option<String>,
    data: Option<Vec<u8>>,
    after_cr: bool,
    started: bool,
}

impl Default for Parser {
    fn default() -> Self {
        Self::with_limit(MAX_EVENT)
    }
}

impl Parser {
    /// Creates a parser at the start of a stream.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    fn with_limit(limit: usize) -> Self {
        Self { limit, line: Vec::new(), event: None, data: None, after_cr: false, started: false }
    }

    /// Adds bytes and returns the events that they complete.
    ///
    /// # Errors
    /// [`TooLarge`]; the parser cannot be used any more.
    pub fn push(&mut self, mut bytes: &[u8]) -> Result<Vec<Event>, TooLarge> {
        let mut events = Vec::new();
        while let Some(at) = bytes.iter().position(|b| matches!(b, b'\n' | b'\r')) {
            let (head, rest) = bytes.split_at(at);
            // The line feed of a CRLF, possibly in the next piece.
            let lone_lf = self.after_cr && head.is_empty() && rest.first() == Some(&b'\n');
            self.after_cr = rest.first() == Some(&b'\r');
            bytes = rest.get(1..).unwrap_or_default();
            if lone_lf {
                continue;
            }
            self.extend(head)?;
            events.extend(self.end_line()?);
        }
        if !bytes.is_empty() {
            self.after_cr = false;
            self.extend(bytes)?;
        }
        Ok(events)
    }

    /// Returns the event at the end of the stream without a final blank line. The standard drops
    /// it, because it may be incomplete; use it only if its data is complete in itself, such as a
    /// JSON object.
    #[must_use]
    pub fn finish(mut self) -> Option<Event> {
        let last = self.end_line().ok().flatten();
        last.or_else(|| self.dispatch())
    }

    fn extend(&mut self, bytes: &[u8]) -> Result<(), TooLarge> {
        if self.line.len() + bytes.len() > self.limit {
            return Err(TooLarge);
        }
        self.line.extend_from_slice(bytes);
        Ok(())
    }

    fn end_line(&mut self) -> Result<Option<Event>, TooLarge> {
        let line = std::mem::take(&mut self.line);
        let mut line = line.as_slice();
        if !std::mem::replace(&mut self.started, true) {
            line = line.strip_prefix(b"\xef\xbb\xbf").unwrap_or(line);
        }
        if line.is_empty() {
            return Ok(self.dispatch());
        }
        let (field, value) = match line.iter().position(|&b| b == b':') {
            Some(at) => {
                let (field, value) = line.split_at(at);
                let value = value.get(1..).unwrap_or_default();
                (field, value.strip_prefix(b" ").unwrap_or(value))
            }
            None => (line, [].as_slice()),
        };
        match field {
            b"data" => self.add_data(value)?,
            b"event" => self.event = Some(String::from_utf8_lossy(value).into_owned()),
            // Comments (an empty field), `id`, `retry` and unknown fields do not matter here:
            // streams are never resumed.
            _ => {}
        }
        Ok(None)
    }

    fn add_data(&mut self, value: &[u8]) -> Result<(), TooLarge> {
        match &mut self.data {
            Some(data) if data.len() + value.len() >= self.limit => return Err(TooLarge),
            Some(data) => {
                data.push(b'\n');
                data.extend_from_slice(value);
            }
            None => self.data = Some(value.to_vec()),
        }
        Ok(())
    }

    /// Handles a blank line: completes an event if there is data, else nothing, such as after a
    /// lone `retry`.
    fn dispatch(&mut self) -> Option<Event> {
        let event = self.event.take().filter(|name| !name.is_empty());
        self.data.take().map(|data| Event { event, data })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn parse_in(pieces: &[&[u8]]) -> (Vec<Event>, Option<Event>) {
        let mut parser = Parser::new();
        let mut events = Vec::new();
        for piece in pieces {
            events.extend(parser.push(piece).unwrap());
        }
        (events, parser.finish())
    }

    fn check(stream: &str, expected: &[(Option<&str>, &str)], left: Option<&str>) {
        let (events, last) = parse_in(&[stream.as_bytes()]);
        let got: Vec<_> = events.iter().map(|e| (e.event.as_deref(), e.text().unwrap())).collect();
        assert_eq!(got, expected, "{stream:?}");
        assert_eq!(last.as_ref().and_then(Event::text), left, "{stream:?}");
    }

    #[test]
    fn the_rules_of_the_standard() {
        check("data: a\n\ndata: b\n\n", &[(None, "a"), (None, "b")], None);
        check(
            "data: a\r\n\r\ndata: b\r\rdata: c\n\n",
            &[(None, "a"), (None, "b"), (None, "c")],
            None,
        );
        check("\u{feff}event: x\ndata:a\ndata:  b\n\n", &[(Some("x"), "a\n b")], None);
        check(": comment\n\nretry: 100\n\nid: 1\ndata\n\n", &[(None, "")], None);
        check("event: gone\n\ndata: a\n\n", &[(None, "a")], None);
        check("data: a\n\ndata: half", &[(None, "a")], Some("half"));
        check("data: a\ndata: b\n", &[], Some("a\nb"));
        check("", &[], None);
        check("nonsense\n\nfoo: bar\n\n", &[], None);
    }

    #[test]
    fn a_line_without_end_is_refused() {
        let mut parser = Parser::with_limit(20);
        assert!(parser.push(b"0123456789").is_ok());
        assert!(parser.push(b"0123456789").is_ok());
        assert_eq!(parser.push(b"x"), Err(TooLarge));
        let mut parser = Parser::with_limit(20);
        assert_eq!(parser.push(b"data: 12345678\ndata: 12345678\ndata: 12345678\n"), Err(TooLarge));
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(200))]
        #[test]
        fn pieces_do_not_matter(
            parts in prop::collection::vec(prop::sample::select(vec![
                "data: ", "data:", "event: e", "\r", "\n", "\r\n", "\n\n", ": c", "é", "\u{feff}", "{\"a\":1}", "x", " ",
            ]), 0..40),
            cuts in prop::collection::vec(0usize..200, 0..12),
        ) {
            let whole = parts.concat().into_bytes();
            let mut cuts: Vec<usize> = cuts.into_iter().map(|c| c.min(whole.len())).collect();
            cuts.extend([0, whole.len()]);
            cuts.sort_unstable();
            let pieces: Vec<&[u8]> = cuts.windows(2).map(|w| &whole[w[0]..w[1]]).collect();
            prop_assert_eq!(parse_in(&pieces), parse_in(&[&whole]));
        }

        #[test]
        fn any_bytes_are_taken(bytes in prop::collection::vec(any::<u8>(), 0..300)) {
            let _ = parse_in(&[&bytes]);
        }
    }
}
