//! Messages over pipes, one in a line, read and written in few steps.
//!
//! The library tells messages apart by trying the forms of all of them. The two that count for speed (a call, and its result) are read here by their one
//! form; whatever does not look exactly like them is read by the library.
#![deny(clippy::indexing_slicing)]

use std::io;
use std::marker::PhantomData;
use std::sync::Arc;

use bytes::{Buf as _, BytesMut};
use rmcp::model::{
    CallToolRequest, CallToolRequestParams, CallToolResult, ClientJsonRpcMessage, ClientRequest,
    ContentBlock, ErrorData, JsonObject, JsonRpcMessage, JsonRpcVersion2_0, MetaObject, RequestId,
    RequestMetaObject, ResultType, ServerJsonRpcMessage, ServerResult,
};
use rmcp::service::{RoleClient, RoleServer, RxJsonRpcMessage, ServiceRole, TxJsonRpcMessage};
use rmcp::transport::Transport;
use serde::{Deserialize, Deserializer};
use serde_json::Value;
use serde_json::error::Category;
use tokio::io::{AsyncBufReadExt as _, AsyncRead, AsyncWrite, AsyncWriteExt as _, BufReader};
use tokio::sync::Mutex;

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
}

/// How two sides have met.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Met {
    /// With a handshake: what was agreed then holds for every message.
    Legacy,
    /// Without: each request says for itself what it needs.
    Modern,
}

/// What answers requests without anything being done for them.
pub(crate) trait AtOnce: Send + Sync {
    /// The whole answer, without an end of line; `None` = it is for the library.
    fn answer(&self, request: &[u8], met: Met) -> Option<Vec<u8>>;
}

/// Messages over an input and an output.
pub(crate) struct Lines<S, R, W> {
    input: BufReader<R>,
    line: Vec<u8>,
    /// A line was too long, and its end has not come.
    skips: bool,
    /// What is answered by ourselves, and has not been given to the output.
    reply: Option<Vec<u8>>,
    /// It was given to the output, which may not have written all of it.
    owes: bool,
    /// What can be answered without the library, once both sides have met.
    at_once: Option<Arc<dyn AtOnce>>,
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
            reply: None,
            owes: false,
            at_once: None,
            met: None,
            output: Arc::new(Mutex::new(output)),
            side: PhantomData,
        }
    }

    /// The same with answers at once.
    pub(crate) fn answering(self, at_once: Arc<dyn AtOnce>) -> Self {
        Self { at_once: Some(at_once), ..self }
    }

    /// Writes what is answered by ourselves. Dropped in between, it goes on the next time.
    async fn settle(&mut self) -> io::Result<()> {
        if self.reply.is_none() && !self.owes {
            return Ok(());
        }
        let mut output = self.output.lock().await;
        if let Some(reply) = self.reply.take() {
            output.waits.extend_from_slice(&reply);
            output.waits.extend_from_slice(b"\n");
            self.owes = true;
        }
        output.drain().await?;
        self.owes = false;
        Ok(())
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
                self.line.extend(piece.iter().take(take));
            }
            self.input.consume(take);
            if end.is_some() && !std::mem::take(&mut self.skips) {
                return Read::Line;
            }
        }
    }

    /// The message of the line; `None` = there is none in it.
    fn message(&mut self) -> Option<RxJsonRpcMessage<S>> {
        let line = self.line.strip_prefix(b"\xEF\xBB\xBF").unwrap_or(&self.line).trim_ascii();
        if line.is_empty() {
            return None;
        }
        if let Some(message) = S::quick(line) {
            return Some(message);
        }
        let answer = self.met.zip(self.at_once.as_ref());
        if let Some(answer) = answer.and_then(|(met, at_once)| at_once.answer(line, met)) {
            self.reply = Some(answer);
            return None;
        }
        match serde_json::from_slice(line) {
            Ok(message) => Some(message),
            // Answering what is no JSON could go round in a circle.
            Err(error) if matches!(error.classify(), Category::Syntax | Category::Eof) => None,
            Err(error) => {
                tracing::debug!(%error, "what came is no message of the protocol");
                if !is_notification(line) {
                    let words = ErrorData::invalid_request("Invalid request", None);
                    let said = TxJsonRpcMessage::<S>::error(words, None);
                    self.reply = serde_json::to_vec(&said).ok();
                }
                None
            }
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
            let mut output = output.lock().await;
            output.waits.extend_from_slice(&text);
            output.waits.extend_from_slice(b"\n");
            output.drain().await
        }
    }

    async fn receive(&mut self) -> Option<RxJsonRpcMessage<S>> {
        loop {
            self.settle().await.ok()?;
            match self.line().await {
                Read::End => return None,
                Read::Line => {}
            }
            let message = self.message();
            self.line.clear();
            self.line.shrink_to(KEPT);
            if let Some(message) = message {
                self.met.get_or_insert_with(|| S::met(&message));
                return Some(message);
            }
        }
    }

    async fn close(&mut self) -> io::Result<()> {
        let mut output = self.output.lock().await;
        match output.to.take() {
            Some(mut to) => to.shutdown().await,
            None => Ok(()),
        }
    }
}

/// A request to call a tool, as nearly all are.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Call<'a> {
    #[serde(rename = "jsonrpc")]
    _version: JsonRpcVersion2_0,
    pub(crate) id: RequestId,
    method: &'a str,
    pub(crate) params: CallParams,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct CallParams {
    pub(crate) name: String,
    pub(crate) arguments: Option<JsonObject>,
    #[serde(rename = "_meta")]
    pub(crate) meta: Option<RequestMetaObject>,
}

impl<'a> Call<'a> {
    /// `None` = it is something else, or not exactly so.
    pub(crate) fn of(text: &'a [u8]) -> Option<Self> {
        let call: Self = serde_json::from_slice(text).ok()?;
        (call.method == "tools/call").then_some(call)
    }
}

impl Side for RoleServer {
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

    fn quick(line: &[u8]) -> Option<ClientJsonRpcMessage> {
        let call = Call::of(line)?;
        let mut params = CallToolRequestParams::new(call.params.name);
        params.arguments = call.params.arguments;
        let mut request = CallToolRequest::new(params);
        request.extensions.insert(call.params.meta.unwrap_or_default());
        Some(JsonRpcMessage::request(ClientRequest::CallToolRequest(request), call.id))
    }
}

/// The result of a call, as nearly all are.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Answer {
    #[serde(rename = "jsonrpc")]
    _version: JsonRpcVersion2_0,
    id: RequestId,
    result: AnswerResult,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
struct AnswerResult {
    content: Vec<ContentBlock>,
    #[serde(default, deserialize_with = "present")]
    structured_content: Option<Value>,
    is_error: Option<bool>,
    result_type: Option<ResultType>,
    #[serde(rename = "_meta")]
    meta: Option<MetaObject>,
}

/// `null` is a value here.
fn present<'de, D: Deserializer<'de>>(from: D) -> Result<Option<Value>, D::Error> {
    Value::deserialize(from).map(Some)
}

impl Side for RoleClient {
    fn met(_: &ServerJsonRpcMessage) -> Met {
        Met::Modern
    }

    fn quick(line: &[u8]) -> Option<ServerJsonRpcMessage> {
        let answer: Answer = serde_json::from_slice(line).ok()?;
        let told = answer.result;
        if told.result_type.as_ref().is_some_and(|kind| !kind.is_complete()) {
            return None;
        }
        let mut result = CallToolResult::default();
        (result.content, result.is_error) = (told.content, told.is_error);
        (result.structured_content, result.result_type) =
            (told.structured_content, told.result_type);
        result.meta = told.meta;
        Some(JsonRpcMessage::response(ServerResult::CallToolResult(result), answer.id))
    }
}

#[cfg(test)]
mod tests {
    use tokio::io::AsyncReadExt as _;

    use super::*;

    /// A message that is read here is the one that the library reads.
    fn check<S: Side>(line: &str, quick: bool)
    where
        RxJsonRpcMessage<S>: std::fmt::Debug,
    {
        let ours = S::quick(line.as_bytes());
        assert_eq!(ours.is_some(), quick, "{line}");
        let Some(ours) = ours else { return };
        let theirs: RxJsonRpcMessage<S> = serde_json::from_str(line).unwrap();
        assert_eq!(format!("{ours:?}"), format!("{theirs:?}"), "{line}");
    }

    #[test]
    fn what_is_read_quickly_is_read_as_the_library_reads_it() {
        let call = |rest: &str| {
            format!(
                r#"{{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{{"name":"a"{rest}}}}}"#
            )
        };
        check::<RoleServer>(&call(""), true);
        check::<RoleServer>(&call(r#","arguments":{"x":[1,{"y":null}],"z":"\u00e9"}"#), true);
        check::<RoleServer>(&call(r#","_meta":{"progressToken":7,"x":{}}"#), true);
        check::<RoleServer>(&call(r#","requestState":"s""#), false);
        check::<RoleServer>(&call(r#","task":{}"#), false);
        check::<RoleServer>(
            r#"{"jsonrpc":"2.0","id":1,"method":"tools/list","params":{"name":"a"}}"#,
            false,
        );
        check::<RoleServer>(
            r#"{"jsonrpc":"2.0","method":"tools/call","params":{"name":"a"}}"#,
            false,
        );
        check::<RoleServer>(
            r#"{"jsonrpc":"1.0","id":1,"method":"tools/call","params":{"name":"a"}}"#,
            false,
        );
        let answer =
            |result: &str| format!(r#"{{"jsonrpc":"2.0","id":"x","result":{{{result}}}}}"#);
        check::<RoleClient>(&answer(r#""content":[{"type":"text","text":"hi"}]"#), true);
        check::<RoleClient>(
            &answer(r#""content":[],"structuredContent":null,"isError":true"#),
            true,
        );
        check::<RoleClient>(
            &answer(r#""content":[],"resultType":"complete","_meta":{"a":1}"#),
            true,
        );
        check::<RoleClient>(&answer(r#""content":[],"resultType":"task","taskId":"1""#), false);
        check::<RoleClient>(&answer(r#""content":[],"messages":[]"#), false);
        check::<RoleClient>(&answer(r#""tools":[]"#), false);
        check::<RoleClient>(&answer(r#""content":[{"type":"strange"}]"#), false);
    }

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

    impl AtOnce for Always {
        fn answer(&self, _: &[u8], _: Met) -> Option<Vec<u8>> {
            Some(b"answer".to_vec())
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
}
