//! Messages over pipes, one in a line, read and written in few steps: those that count for speed by their one [form](forms), and what is asked most
//! without the library.
#![deny(clippy::indexing_slicing)]

mod forms;
mod open;

use std::io;
use std::marker::PhantomData;
use std::sync::Arc;
use std::task::Poll;

use bytes::{Buf as _, BytesMut};
pub(crate) use forms::Call;
use futures_util::poll;
use open::Open;
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
use toolcrib_core::BoxFuture;

/// Bytes of one message: what is longer is thrown away while it comes.
pub(crate) const MESSAGE_BYTES: usize = 16 << 20;
/// Bytes that are read at once.
const PIECE: usize = 16 << 10;
/// Bytes of a line that are kept for the next one.
const KEPT: usize = 64 << 10;

/// A side of the protocol, and how the messages that come to it most are read.
pub(crate) trait Side: ServiceRole {
    /// A message in its one form; `None` = it is another one, or not exactly so.
    fn quick(line: &[u8]) -> Option<RxJsonRpcMessage<Self>>;
    /// How the two sides meet, by the first message that comes.
    fn met(first: &RxJsonRpcMessage<Self>) -> Met;
    /// The request that its sender takes back with this message.
    fn taken_back(message: &RxJsonRpcMessage<Self>) -> Option<&RequestId>;
}

/// How two sides have met.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Met {
    /// With a handshake: what was agreed then holds for every message.
    Legacy,
    /// Without: each request says for itself what it needs.
    Modern,
}

/// Work that ends with the whole answer to a request, without an end of line. Dropped, the request is given up.
pub(crate) type Work = BoxFuture<'static, Vec<u8>>;

/// What becomes of a line.
pub(crate) enum Taken<S: Side> {
    /// It is this message, which is for the library.
    Message(RxJsonRpcMessage<S>),
    /// This is the whole answer to it, without an end of line.
    Answer(Vec<u8>),
    /// This will answer it.
    Work(RequestId, Work),
    /// The library reads it.
    Other,
}

/// What answers requests without the library, once both sides have met.
pub(crate) trait Beside<S: Side>: Send + Sync {
    fn take(&self, line: &[u8], met: Met) -> Taken<S>;
}

/// Messages over an input and an output.
pub(crate) struct Lines<S: Side, R, W> {
    input: BufReader<R>,
    line: Vec<u8>,
    /// A line was too long, and its end has not come.
    skips: bool,
    beside: Option<Arc<dyn Beside<S>>>,
    /// Requests that are at work beside the library.
    open: Open,
    met: Option<Met>,
    output: Arc<Mutex<Output<W>>>,
    side: PhantomData<fn() -> S>,
}

/// What is written, and what is still to be written.
struct Output<W> {
    /// `None` = closed.
    to: Option<W>,
    waits: BytesMut,
}

impl<W: AsyncWrite + Unpin> Output<W> {
    /// Writes a line, after what waits already.
    async fn say(&mut self, text: &[u8]) -> io::Result<()> {
        self.waits.extend_from_slice(text);
        self.waits.extend_from_slice(b"\n");
        self.drain().await
    }

    /// Writes everything that waits. Dropped in between, nothing is lost or written twice.
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

/// What was read.
enum Read {
    Line,
    End,
}

impl<S: Side, R: AsyncRead + Unpin, W: AsyncWrite + Unpin> Lines<S, R, W> {
    pub(crate) fn new(input: R, output: W) -> Self {
        let output = Output { to: Some(output), waits: BytesMut::new() };
        Self {
            input: BufReader::with_capacity(PIECE, input),
            line: Vec::new(),
            skips: false,
            beside: None,
            open: Open::default(),
            met: None,
            output: Arc::new(Mutex::new(output)),
            side: PhantomData,
        }
    }

    /// The same with something that answers beside the library.
    pub(crate) fn answering(self, beside: Arc<dyn Beside<S>>) -> Self {
        Self { beside: Some(beside), ..self }
    }

    /// The next line that is not too long. Dropped in between, it goes on where it was.
    async fn line(&mut self) -> Read {
        loop {
            let Ok(piece) = self.input.fill_buf().await else { return Read::End };
            if piece.is_empty() {
                return Read::End;
            }
            let end = piece.iter().position(|byte| *byte == b'\n');
            let take = end.map_or(piece.len(), |end| end + 1);
            if !self.skips && self.line.len() + take > MESSAGE_BYTES {
                tracing::warn!(most = MESSAGE_BYTES, "a message was too long and is thrown away");
                (self.skips, self.line) = (true, Vec::new());
            }
            if !self.skips {
                self.line.extend_from_slice(piece.get(..take).unwrap_or(piece));
            }
            self.input.consume(take);
            if end.is_some() && !std::mem::take(&mut self.skips) {
                return Read::Line;
            }
        }
    }

    /// What becomes of the line; `None` = there is nothing in it.
    fn taken(&self) -> Option<Taken<S>> {
        let line = text_of(&self.line);
        if line.is_empty() {
            return None;
        }
        let taken = match self.met.zip(self.beside.as_ref()) {
            Some((met, beside)) => beside.take(line, met),
            None => S::quick(line).map_or(Taken::Other, Taken::Message),
        };
        match taken {
            Taken::Other => read(line),
            taken => Some(taken),
        }
    }
}

impl<S: Side, R: AsyncRead + Unpin, W: AsyncWrite + Send + Unpin + 'static> Lines<S, R, W> {
    /// Begins with work, and goes on with it beside everything else if it is not over at once.
    async fn begin(&mut self, id: RequestId, mut work: Work) {
        if let Poll::Ready(answer) = poll!(work.as_mut()) {
            return self.answer(answer).await;
        }
        let output = Arc::clone(&self.output);
        self.open.go_on(id, async move { say(&output, &work.await).await });
    }

    /// Writes an answer; beside everything else if the client does not take it now, for it may have to say something before.
    async fn answer(&mut self, answer: Vec<u8>) {
        let output = Arc::clone(&self.output);
        let mut said = Box::pin(async move { say(&output, &answer).await });
        if poll!(said.as_mut()).is_pending() {
            self.open.beside(said);
        }
    }
}

/// A client that cannot be written to any more is found out when it is read from.
async fn say<W: AsyncWrite + Unpin>(output: &Mutex<Output<W>>, text: &[u8]) {
    let _ = output.lock().await.say(text).await;
}

/// What a line says, without what may stand around it.
fn text_of(line: &[u8]) -> &[u8] {
    line.strip_prefix(b"\xEF\xBB\xBF").unwrap_or(line).trim_ascii()
}

/// A line as the library reads it.
fn read<S: Side>(line: &[u8]) -> Option<Taken<S>> {
    match serde_json::from_slice(line) {
        Ok(message) => Some(Taken::Message(message)),
        // Answering what is no JSON could go round in a circle.
        Err(error) if matches!(error.classify(), Category::Syntax | Category::Eof) => None,
        Err(error) => {
            tracing::debug!(%error, "what came is no message of the protocol");
            if is_notification(line) {
                return None;
            }
            let words = ErrorData::invalid_request("Invalid request", None);
            let said = TxJsonRpcMessage::<S>::error(words, None);
            serde_json::to_vec(&said).ok().map(Taken::Answer)
        }
    }
}

/// A notification that nobody knows is nothing to answer.
fn is_notification(line: &[u8]) -> bool {
    let Ok(message) = serde_json::from_slice::<Value>(line) else { return false };
    let method = message.get("method").and_then(Value::as_str);
    method.is_some_and(|method| message.get("id").is_none() || method.starts_with("notifications/"))
}

impl<S, R, W> Transport<S> for Lines<S, R, W>
where
    S: Side,
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
            output.lock().await.say(&text).await
        }
    }

    async fn receive(&mut self) -> Option<RxJsonRpcMessage<S>> {
        loop {
            self.open.has_room().await;
            match self.line().await {
                Read::End => return None,
                Read::Line => {}
            }
            let taken = self.taken();
            self.line.clear();
            self.line.shrink_to(KEPT);
            match taken {
                None | Some(Taken::Other) => {}
                Some(Taken::Answer(answer)) => self.answer(answer).await,
                Some(Taken::Work(id, work)) => self.begin(id, work).await,
                Some(Taken::Message(message)) => {
                    if let Some(id) = S::taken_back(&message) {
                        self.open.stop(id);
                    }
                    self.met.get_or_insert_with(|| S::met(&message));
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

impl Side for RoleServer {
    fn quick(line: &[u8]) -> Option<ClientJsonRpcMessage> {
        Call::of(line).map(Call::into)
    }

    fn met(first: &ClientJsonRpcMessage) -> Met {
        match first {
            JsonRpcMessage::Request(first)
                if matches!(first.request, ClientRequest::InitializeRequest(_)) =>
            {
                Met::Legacy
            }
            _ => Met::Modern,
        }
    }

    fn taken_back(message: &ClientJsonRpcMessage) -> Option<&RequestId> {
        let JsonRpcMessage::Notification(told) = message else { return None };
        let ClientNotification::CancelledNotification(told) = &told.notification else {
            return None;
        };
        told.params.request_id.as_ref()
    }
}

impl Side for RoleClient {
    fn quick(line: &[u8]) -> Option<ServerJsonRpcMessage> {
        forms::result(line)
    }

    fn met(_: &ServerJsonRpcMessage) -> Met {
        Met::Modern
    }

    /// Nothing that a server asks is answered beside the library.
    fn taken_back(_: &ServerJsonRpcMessage) -> Option<&RequestId> {
        None
    }
}

#[cfg(test)]
mod tests {
    use tokio::io::AsyncReadExt as _;

    use super::*;

    /// What comes of these bytes, and what is said to them.
    async fn through(bytes: Vec<u8>) -> (usize, String) {
        let (theirs, output) = tokio::io::duplex(1 << 20);
        let mut lines: Lines<RoleServer, _, _> = Lines::new(&*bytes, output);
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

    /// A server that writes garbage for ever and reads nothing took all memory: each line of it became an answer that waited.
    #[tokio::test]
    async fn whoever_writes_and_never_reads_is_not_read_any_more() {
        let (_never_read, output) = tokio::io::duplex(16);
        let (input, mut theirs) = tokio::io::duplex(64);
        let mut lines: Lines<RoleClient, _, _> = Lines::new(input, output);
        let mut writes = Box::pin(async {
            for _ in 0..100_000 {
                theirs.write_all(b"[]\n").await.unwrap();
            }
        });
        let mut reads = Box::pin(lines.receive());
        // Many times as often as it takes to read all of it.
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

    impl Beside<RoleServer> for Always {
        fn take(&self, _: &[u8], _: Met) -> Taken<RoleServer> {
            Taken::Answer(b"answer".to_vec())
        }
    }

    #[tokio::test]
    async fn nothing_is_answered_at_once_before_the_sides_have_met() {
        let ping = "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"ping\"}\n";
        let (mut theirs, output) = tokio::io::duplex(1 << 10);
        let input = ping.repeat(3);
        let lines: Lines<RoleServer, _, _> = Lines::new(input.as_bytes(), output);
        let mut lines = lines.answering(Arc::new(Always));
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
        let lines: Lines<RoleServer, _, _> = Lines::new(input.as_bytes(), output);
        let mut lines = lines.answering(Arc::new(Always));
        assert!(lines.receive().await.is_some());
        assert!(lines.receive().await.is_none());
        let mut said = String::new();
        let (closed, read) = tokio::join!(lines.close(), theirs.read_to_string(&mut said));
        assert!(closed.is_ok() && read.is_ok());
        assert_eq!(said, "answer\n".repeat(CALLS));
    }
}
