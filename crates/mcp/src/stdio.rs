//! Stdio transport: one JSON-RPC message per line. Frequent messages use [fast
//! parsers](fast_parse), and some requests are answered by a [`FastPath`] without rmcp.
#![deny(clippy::indexing_slicing)]

mod fast_parse;
mod in_flight;
mod unreadable;

use std::io;
use std::marker::PhantomData;
use std::sync::Arc;
use std::task::Poll;

use bytes::{Buf as _, BytesMut};
pub(crate) use fast_parse::FastCall;
use futures_util::poll;
use in_flight::InFlightRequests;
use rmcp::model::{
    ClientJsonRpcMessage, ClientNotification, ClientRequest, ErrorData, JsonRpcMessage, RequestId,
    ServerJsonRpcMessage,
};
use rmcp::service::{RoleClient, RoleServer, RxJsonRpcMessage, ServiceRole, TxJsonRpcMessage};
use rmcp::transport::Transport;
use serde_json::Value;
use serde_json::error::Category;
use tokio::io::{AsyncBufReadExt as _, AsyncRead, AsyncWrite, AsyncWriteExt as _, BufReader};
use tokio::sync::Mutex;
use tokio_util::sync::CancellationToken;
use toolcrib_core::BoxFuture;
pub(crate) use unreadable::{LineHook, UnreadableLine, UnreadableReason};

/// Longest message, in bytes; a longer one is discarded while it arrives.
pub(crate) const MESSAGE_BYTES: usize = 16 << 20;
/// Bytes read at once.
const READ_BUFFER_BYTES: usize = 16 << 10;
/// Capacity of the line buffer that is kept for the next line.
const KEPT_LINE_BYTES: usize = 64 << 10;

/// A side of the protocol, with its fast parser.
pub(crate) trait ProtocolRole: ServiceRole {
    /// Parses a frequent message; `None` if it is anything else.
    fn parse_fast(line: &[u8]) -> Option<RxJsonRpcMessage<Self>>;
    /// Detects the protocol mode from the first message.
    fn detect_mode(first: &RxJsonRpcMessage<Self>) -> ProtocolMode;
    /// Returns the request that this message cancels.
    fn cancelled_request(message: &RxJsonRpcMessage<Self>) -> Option<&RequestId>;
}

/// Protocol mode of a connection.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum ProtocolMode {
    /// With a handshake, whose result applies to all messages.
    Legacy,
    /// Without one: each request is self-contained.
    Modern,
}

/// Work that yields the complete response line without its line end. Dropping it cancels the
/// request.
pub(crate) type PendingAnswer = BoxFuture<'static, Vec<u8>>;

/// How a line is handled.
pub(crate) enum LineAction<S: ProtocolRole> {
    /// A parsed message for rmcp.
    Message(RxJsonRpcMessage<S>),
    /// The complete response, without its line end.
    Answer(Vec<u8>),
    /// Work that yields the response.
    Work(RequestId, PendingAnswer),
    /// rmcp parses the line.
    Other,
}

/// Answers requests without rmcp once the protocol mode is known.
pub(crate) trait FastPath<S: ProtocolRole>: Send + Sync {
    fn handle_line(&self, line: &[u8], met: ProtocolMode) -> LineAction<S>;
}

/// A transport over an input and an output.
pub(crate) struct StdioTransport<S: ProtocolRole, R, W> {
    input: BufReader<R>,
    line: Vec<u8>,
    /// Whether the rest of an overlong line is being skipped.
    skips: bool,
    /// The end of the line that is being skipped.
    tail: Vec<u8>,
    beside: Option<Arc<dyn FastPath<S>>>,
    hook: Option<Arc<dyn LineHook<S>>>,
    ended: CancellationToken,
    /// Requests in flight on the fast path.
    open: InFlightRequests,
    met: Option<ProtocolMode>,
    output: Arc<Mutex<Output<W>>>,
    side: PhantomData<fn() -> S>,
}

/// Output with its buffer.
struct Output<W> {
    /// `None` after closing.
    to: Option<W>,
    waits: BytesMut,
}

impl<W: AsyncWrite + Unpin> Output<W> {
    /// Writes a line, after everything in the buffer.
    async fn write_line(&mut self, text: &[u8]) -> io::Result<()> {
        self.waits.extend_from_slice(text);
        self.waits.extend_from_slice(b"\n");
        self.drain().await
    }

    /// Writes the buffer. Cancel safe: nothing is lost or written twice.
    async fn drain(&mut self) -> io::Result<()> {
        let to = self.to.as_mut().ok_or(io::ErrorKind::NotConnected)?;
        while !self.waits.is_empty() {
            let written = to.write(&self.waits).await?;
            if written == 0 {
                return Err(io::ErrorKind::WriteZero.into());
            }
            self.waits.advance(written);
        }
        to.flush().await
    }
}

/// The result of reading a line.
enum LineRead {
    Line,
    /// The line was too long. Its beginning and end are stored.
    TooLong,
    End,
}

impl<S: ProtocolRole, R: AsyncRead + Unpin, W: AsyncWrite + Unpin> StdioTransport<S, R, W> {
    pub(crate) fn new(input: R, output: W) -> Self {
        let output = Output { to: Some(output), waits: BytesMut::new() };
        Self {
            input: BufReader::with_capacity(READ_BUFFER_BYTES, input),
            line: Vec::new(),
            skips: false,
            tail: Vec::new(),
            beside: None,
            hook: None,
            ended: CancellationToken::new(),
            open: InFlightRequests::default(),
            met: None,
            output: Arc::new(Mutex::new(output)),
            side: PhantomData,
        }
    }

    /// Adds a fast path.
    pub(crate) fn with_fast_path(self, beside: Arc<dyn FastPath<S>>) -> Self {
        Self { beside: Some(beside), ..self }
    }

    /// Adds a hook for lines that rmcp's types do not fit.
    pub(crate) fn with_hook(self, hook: Arc<dyn LineHook<S>>) -> Self {
        Self { hook: Some(hook), ..self }
    }

    /// Cancels this token at the end of the input.
    pub(crate) fn with_end(self, ended: CancellationToken) -> Self {
        Self { ended, ..self }
    }

    /// Reads the next line within the limit. Cancel safe.
    async fn read_line(&mut self) -> LineRead {
        loop {
            let Ok(piece) = self.input.fill_buf().await else { return LineRead::End };
            if piece.is_empty() {
                return LineRead::End;
            }
            let end = piece.iter().position(|byte| *byte == b'\n');
            let take = end.map_or(piece.len(), |end| end + 1);
            if !self.skips && self.line.len() + take > MESSAGE_BYTES {
                tracing::warn!(most = MESSAGE_BYTES, "a message was too long and is thrown away");
                self.skips = true;
                self.tail.clear();
                unreadable::keep_end(&mut self.tail, &self.line);
                self.line.truncate(unreadable::KEPT_BYTES);
                self.line.shrink_to_fit();
            }
            let piece = piece.get(..take).unwrap_or(piece);
            if self.skips {
                unreadable::keep_end(&mut self.tail, piece);
            } else {
                self.line.extend_from_slice(piece);
            }
            self.input.consume(take);
            if end.is_some() {
                let skipped = std::mem::take(&mut self.skips);
                return if skipped { LineRead::TooLong } else { LineRead::Line };
            }
        }
    }

    /// Classifies a line; `None` if it is empty.
    fn classify_line(&self) -> Option<LineAction<S>> {
        let line = text_of(&self.line);
        if line.is_empty() {
            return None;
        }
        if let Some(message) = self.hook.as_ref().and_then(|hook| hook.read(line)) {
            return Some(LineAction::Message(message));
        }
        let taken = match self.met.zip(self.beside.as_ref()) {
            Some((met, beside)) => beside.handle_line(line, met),
            None => S::parse_fast(line).map_or(LineAction::Other, LineAction::Message),
        };
        match taken {
            LineAction::Other => parse_line(line, self.hook.as_deref()),
            taken => Some(taken),
        }
    }

    /// Classifies a line that was too long.
    fn classify_long_line(&self) -> Option<LineAction<S>> {
        let reason = UnreadableReason::TooLong;
        let line =
            UnreadableLine { head: text_of(&self.line), tail: self.tail.trim_ascii(), reason };
        self.hook.as_ref()?.unreadable(&line).map(LineAction::Message)
    }
}

impl<S: ProtocolRole, R: AsyncRead + Unpin, W: AsyncWrite + Send + Unpin + 'static>
    StdioTransport<S, R, W>
{
    /// Polls the work once; if it is not done, it continues in the background.
    async fn start(&mut self, id: RequestId, mut work: PendingAnswer) {
        if let Poll::Ready(answer) = poll!(work.as_mut()) {
            return self.answer(answer).await;
        }
        let output = Arc::clone(&self.output);
        self.open.spawn_request(id, async move { write_line(&output, &work.await).await });
    }

    /// Writes a response, in the background if the client does not read it now: the client may have
    /// to send something first.
    async fn answer(&mut self, answer: Vec<u8>) {
        let output = Arc::clone(&self.output);
        let mut said = Box::pin(async move { write_line(&output, &answer).await });
        if poll!(said.as_mut()).is_pending() {
            self.open.spawn_write(said);
        }
    }
}

/// Writes a line. Errors are ignored here: reading from the client reports them.
async fn write_line<W: AsyncWrite + Unpin>(output: &Mutex<Output<W>>, text: &[u8]) {
    let _ = output.lock().await.write_line(text).await;
}

/// Returns a line without a byte order mark and surrounding whitespace.
fn text_of(line: &[u8]) -> &[u8] {
    line.strip_prefix(b"\xEF\xBB\xBF").unwrap_or(line).trim_ascii()
}

/// Parses a line with rmcp's types.
fn parse_line<S: ProtocolRole>(
    line: &[u8],
    hook: Option<&dyn LineHook<S>>,
) -> Option<LineAction<S>> {
    let unreadable = |reason: UnreadableReason| {
        let line = UnreadableLine { head: line, tail: line, reason };
        hook.and_then(|hook| hook.unreadable(&line)).map(LineAction::Message)
    };
    match serde_json::from_slice(line) {
        Ok(message) => Some(LineAction::Message(message)),
        // An error response to invalid JSON could start an endless exchange of errors.
        Err(error) if matches!(error.classify(), Category::Syntax | Category::Eof) => {
            unreadable(UnreadableReason::NoJson)
        }
        Err(error) => {
            tracing::debug!(%error, "the message is not valid JSON-RPC");
            if is_notification(line) {
                return None;
            }
            if let Some(instead) = unreadable(UnreadableReason::NoMessage) {
                return Some(instead);
            }
            let words = ErrorData::invalid_request("Invalid request", None);
            let said = TxJsonRpcMessage::<S>::error(words, None);
            serde_json::to_vec(&said).ok().map(LineAction::Answer)
        }
    }
}

/// Returns whether the line is a notification: unknown notifications get no response.
fn is_notification(line: &[u8]) -> bool {
    let Ok(message) = serde_json::from_slice::<Value>(line) else { return false };
    let method = message.get("method").and_then(Value::as_str);
    method.is_some_and(|method| message.get("id").is_none() || method.starts_with("notifications/"))
}

impl<S, R, W> Transport<S> for StdioTransport<S, R, W>
where
    S: ProtocolRole,
    R: AsyncRead + Send + Unpin,
    W: AsyncWrite + Send + Unpin + 'static,
{
    type Error = io::Error;

    fn send(
        &mut self,
        message: TxJsonRpcMessage<S>,
    ) -> impl Future<Output = io::Result<()>> + Send + 'static {
        let text = serde_json::to_vec(&message);
        let output = Arc::clone(&self.output);
        async move {
            let text = text?;
            output.lock().await.write_line(&text).await
        }
    }

    async fn receive(&mut self) -> Option<RxJsonRpcMessage<S>> {
        loop {
            self.open.wait_for_room().await;
            let taken = match self.read_line().await {
                LineRead::End => {
                    self.ended.cancel();
                    return None;
                }
                LineRead::Line => self.classify_line(),
                LineRead::TooLong => self.classify_long_line(),
            };
            self.line.clear();
            self.line.shrink_to(KEPT_LINE_BYTES);
            match taken {
                None | Some(LineAction::Other) => {}
                Some(LineAction::Answer(answer)) => self.answer(answer).await,
                Some(LineAction::Work(id, work)) => self.start(id, work).await,
                Some(LineAction::Message(message)) => {
                    if let Some(id) = S::cancelled_request(&message) {
                        self.open.cancel(id);
                    }
                    self.met.get_or_insert_with(|| S::detect_mode(&message));
                    return Some(message);
                }
            }
        }
    }

    async fn close(&mut self) -> io::Result<()> {
        self.open.end().await;
        let mut output = self.output.lock().await;
        match output.to.take() {
            Some(mut to) => to.shutdown().await,
            None => Ok(()),
        }
    }
}

impl ProtocolRole for RoleServer {
    fn parse_fast(line: &[u8]) -> Option<ClientJsonRpcMessage> {
        FastCall::parse(line).map(FastCall::into)
    }

    fn detect_mode(first: &ClientJsonRpcMessage) -> ProtocolMode {
        match first {
            JsonRpcMessage::Request(first)
                if matches!(first.request, ClientRequest::InitializeRequest(_)) =>
            {
                ProtocolMode::Legacy
            }
            _ => ProtocolMode::Modern,
        }
    }

    fn cancelled_request(message: &ClientJsonRpcMessage) -> Option<&RequestId> {
        let JsonRpcMessage::Notification(told) = message else { return None };
        let ClientNotification::CancelledNotification(told) = &told.notification else {
            return None;
        };
        told.params.request_id.as_ref()
    }
}

impl ProtocolRole for RoleClient {
    fn parse_fast(line: &[u8]) -> Option<ServerJsonRpcMessage> {
        fast_parse::parse_result(line)
    }

    fn detect_mode(_: &ServerJsonRpcMessage) -> ProtocolMode {
        ProtocolMode::Modern
    }

    /// Returns `None`: requests of servers are never handled on the fast path.
    fn cancelled_request(_: &ServerJsonRpcMessage) -> Option<&RequestId> {
        None
    }
}

#[cfg(test)]
mod tests {
    use tokio::io::AsyncReadExt as _;

    use super::*;

    /// Sends these bytes through; returns the number of messages and the replies.
    async fn through(bytes: Vec<u8>) -> (usize, String) {
        let (theirs, output) = tokio::io::duplex(1 << 20);
        let mut lines: StdioTransport<RoleServer, _, _> = StdioTransport::new(&*bytes, output);
        let mut messages = 0;
        while lines.receive().await.is_some() {
            messages += 1;
        }
        lines.close().await.unwrap();
        drop(lines);
        let (mut read, _write) = tokio::io::split(theirs);
        let mut said = String::new();
        read.read_to_string(&mut said).await.unwrap();
        (messages, said)
    }

    /// Regression: a server that wrote garbage forever and never read used up all memory, since
    /// each line became a queued error response.
    #[tokio::test]
    async fn a_client_that_never_reads_is_not_read_any_more() {
        let (_never_read, output) = tokio::io::duplex(16);
        let (input, mut theirs) = tokio::io::duplex(64);
        let mut lines: StdioTransport<RoleClient, _, _> = StdioTransport::new(input, output);
        let mut writes = Box::pin(async {
            for _ in 0..100_000 {
                theirs.write_all(b"[]\n").await.unwrap();
            }
        });
        let mut reads = Box::pin(lines.receive());
        // Far more reads than the complete input needs.
        for _ in 0..100_000 {
            assert!(poll!(writes.as_mut()).is_pending(), "all was read");
            assert!(poll!(reads.as_mut()).is_pending());
            tokio::task::yield_now().await;
        }
    }

    #[tokio::test]
    async fn garbage_is_passed_over_and_long_lines_are_thrown_away() {
        const PING: &str = "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"ping\"}\r\n";
        for (bytes, messages, answers) in [
            (format!("{PING}\n\n{PING}").into_bytes(), 2, 0),
            (format!("\u{feff}{PING}").into_bytes(), 1, 0),
            (format!("not json\n{{\n{PING}").into_bytes(), 1, 0),
            (format!("[]\n{{\"id\":1}}\n{PING}").into_bytes(), 1, 2),
            (format!("{{\"jsonrpc\":\"2.0\",\"method\":\"$/other\"}}\n{PING}").into_bytes(), 2, 0),
            ([vec![b'x'; MESSAGE_BYTES + 1], b"\n".to_vec(), PING.into()].concat(), 1, 0),
            (PING.trim_end().into(), 0, 0),
        ] {
            let start = String::from_utf8_lossy(&bytes).chars().take(60).collect::<String>();
            let (read, said) = through(bytes).await;
            assert_eq!((read, said.lines().count()), (messages, answers), "{start}: {said}");
        }
    }

    struct Always;

    impl FastPath<RoleServer> for Always {
        fn handle_line(&self, _: &[u8], _: ProtocolMode) -> LineAction<RoleServer> {
            LineAction::Answer(b"answer".to_vec())
        }
    }

    #[tokio::test]
    async fn nothing_is_answered_at_once_before_the_sides_have_met() {
        let ping = "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"ping\"}\n";
        let (mut theirs, output) = tokio::io::duplex(1 << 10);
        let input = ping.repeat(3);
        let lines: StdioTransport<RoleServer, _, _> = StdioTransport::new(input.as_bytes(), output);
        let mut lines = lines.with_fast_path(Arc::new(Always));
        assert!(lines.receive().await.is_some());
        assert!(lines.receive().await.is_none());
        drop(lines);
        let mut said = String::new();
        theirs.read_to_string(&mut said).await.unwrap();
        assert_eq!(said, "answer\nanswer\n");
    }

    #[tokio::test]
    async fn a_client_that_reads_late_is_heard_all_the_same() {
        const CALLS: usize = 1000;
        let ping = "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"ping\"}\n";
        let (mut theirs, output) = tokio::io::duplex(64);
        let input = ping.repeat(CALLS + 1);
        let lines: StdioTransport<RoleServer, _, _> = StdioTransport::new(input.as_bytes(), output);
        let mut lines = lines.with_fast_path(Arc::new(Always));
        assert!(lines.receive().await.is_some());
        assert!(lines.receive().await.is_none());
        let mut said = String::new();
        let (closed, read) = tokio::join!(lines.close(), theirs.read_to_string(&mut said));
        assert!(closed.is_ok() && read.is_ok());
        assert_eq!(said, "answer\n".repeat(CALLS));
    }
}
