//! Session with one language server for one project: start in the sandbox, open documents,
//! requests.

use std::collections::HashMap;
use std::future::Future;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use serde_json::{Value, json};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::sync::mpsc;
use toolcrib_core::{CancellationToken, ToolError};
use toolcrib_sandbox::{Input, Output, Process};
use url::Url;

use super::connection::{
    ConnectionState, IncomingMessage, Published, ResponseError, answer_request,
};
use super::framing::{self, Decoder};
use super::languages::{self, Language, Server};
use crate::program_runner::{Needs, PathMasks, Program, ProgramRunner, WorkspaceAccess};

/// Messages that wait to be written. A server that does not read them gets no further replies.
const QUEUE: usize = 64;
/// Maximum bytes that a server may send without answering a request; more counts as a flood.
const FLOOD: u64 = 256 << 20;
/// Maximum number of open documents per server.
const MAX_OPEN: usize = 32;
/// A server that reports its work counts as idle after this long without news.
const SETTLE: Duration = Duration::from_millis(300);
/// How long to wait for a server to begin its background work after a start or a change.
const BEGIN: Duration = Duration::from_millis(700);

/// Why a request has no result.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum SessionError {
    /// The server is dead, for this reason.
    Dead(String),
    /// The time limit passed.
    Slow,
    /// The call was cancelled.
    Stopped,
    /// The server returned an error.
    Refused(ResponseError),
}

/// The time at which a request is abandoned.
#[derive(Clone)]
pub(super) struct Deadline {
    pub(super) deadline: Instant,
    pub(super) cancel: CancellationToken,
}

impl Deadline {
    /// Waits for the work until the deadline.
    pub(super) async fn wait<T>(&self, work: impl Future<Output = T>) -> Result<T, SessionError> {
        tokio::select! {
            biased;
            done = work => Ok(done),
            () = self.cancel.cancelled() => Err(SessionError::Stopped),
            () = tokio::time::sleep_until(self.deadline.into()) => Err(SessionError::Slow),
        }
    }
}

/// A language server session. Dropping it ends the server with all its processes.
pub(super) struct Session {
    /// Kept for its `Drop` only; the mutex makes the session `Sync`.
    _process: Mutex<Process>,
    /// The running server program.
    pub(super) server: &'static Server,
    /// Paths that are hidden from the server.
    pub(super) masks: PathMasks,
    shared: Arc<ConnectionState>,
    outbox: mpsc::Sender<Vec<u8>>,
    next_id: i64,
    open: HashMap<PathBuf, OpenDocument>,
    capabilities: Value,
    ready: bool,
    /// Timeouts in a row.
    pub(super) slow: u32,
    /// Logical clock of document use, for closing the least recently used one.
    clock: u64,
}

/// A document that is open in the server.
struct OpenDocument {
    uri: String,
    version: i64,
    text: String,
    used: u64,
}

impl Session {
    /// Starts a server and initializes it. The server may continue to load its project;
    /// [`Self::ready`] waits for that.
    ///
    /// # Errors
    /// [`ToolError`] if the server could not be started; [`SessionError`] and its standard error if
    /// it failed afterwards.
    pub(super) async fn start(
        workbench: &ProgramRunner,
        language: &'static Language,
        root: &Path,
        masks: PathMasks,
        until: &Deadline,
    ) -> Result<Result<Self, (SessionError, String)>, ToolError> {
        let server = language.server(&workbench.program_policy())?;
        let needs = Needs { workspace: WorkspaceAccess::Read, ..Needs::default() };
        let mut program = Program::new(server.program).args(server.args).folder(root).needs(needs);
        for (name, value) in languages::ENV.iter().chain(language.env) {
            program = program.env(name, value);
        }
        let process = workbench.start(&program, &masks).await?;
        let mut session = Self::from_process(process, server, language, masks);
        let begun = session.initialize(language, root, until).await;
        let complaint = session.shared.last_stderr();
        Ok(begun.map(|()| session).map_err(|trouble| (trouble, complaint)))
    }

    /// Creates a session over a running process; starts the tasks that serve its streams.
    fn from_process(
        mut process: Process,
        server: &'static Server,
        language: &'static Language,
        masks: PathMasks,
    ) -> Self {
        let shared = Arc::new(ConnectionState::new());
        let (outbox, letters) = mpsc::channel(QUEUE);
        let nothing = || -> Output { Box::new(tokio::io::empty()) };
        let stdout = std::mem::replace(&mut process.stdout, nothing());
        let stderr = std::mem::replace(&mut process.stderr, nothing());
        if let Some(stdin) = process.stdin.take() {
            tokio::spawn(write_messages(stdin, letters, Arc::clone(&shared)));
        }
        tokio::spawn(read_messages(stdout, Arc::clone(&shared), outbox.clone(), language));
        tokio::spawn(read_stderr(stderr, Arc::clone(&shared)));
        Self {
            _process: Mutex::new(process),
            server,
            masks,
            shared,
            outbox,
            next_id: 0,
            open: HashMap::new(),
            capabilities: Value::Null,
            ready: false,
            slow: 0,
            clock: 0,
        }
    }

    async fn initialize(
        &mut self,
        language: &'static Language,
        root: &Path,
        until: &Deadline,
    ) -> Result<(), SessionError> {
        let uri = uri(root);
        let params = json!({
            "processId": null,
            "clientInfo": {"name": "toolcrib"},
            "rootUri": uri,
            "workspaceFolders": [{"uri": uri, "name": "workspace"}],
            "initializationOptions": language.options(),
            "capabilities": capabilities(),
        });
        let mut answer = self.request("initialize", params, until).await?;
        self.capabilities = answer.get_mut("capabilities").map(Value::take).unwrap_or_default();
        self.notify("initialized", json!({}), until).await
    }

    /// Waits until the project is loaded. If one call times out, the next one continues to wait.
    pub(super) async fn ready(&mut self, until: &Deadline) -> Result<(), SessionError> {
        if !self.ready {
            self.wait_until_idle(until).await?;
            self.ready = true;
        }
        Ok(())
    }

    /// Returns why the server is dead; `None` if it is alive.
    pub(super) fn death_reason(&self) -> Option<String> {
        self.shared.death_reason()
    }

    pub(super) fn last_stderr(&self) -> String {
        self.shared.last_stderr()
    }

    /// Returns whether the server has a capability, such as `renameProvider`.
    pub(super) fn has_capability(&self, what: &str) -> bool {
        match self.capabilities.get(what) {
            None | Some(Value::Null | Value::Bool(false)) => false,
            Some(_) => true,
        }
    }

    /// Sends a request and waits for its response.
    pub(super) async fn request(
        &mut self,
        method: &str,
        params: Value,
        until: &Deadline,
    ) -> Result<Value, SessionError> {
        self.next_id += 1;
        let id = self.next_id;
        let Some(answer) = self.shared.register_request(id) else { return Err(self.dead_error()) };
        let message = json!({"jsonrpc": "2.0", "id": id, "method": method, "params": params});
        let waited = match self.send(&message, until).await {
            Ok(()) => until.wait(answer).await,
            Err(trouble) => Err(trouble),
        };
        match waited {
            Ok(Ok(answer)) => answer.map_err(SessionError::Refused),
            Ok(Err(_)) => Err(self.dead_error()),
            Err(trouble) => {
                self.shared.cancel_request(id);
                // Cancellation is best effort: a server that does not read its input misses it.
                let stop =
                    json!({"jsonrpc": "2.0", "method": "$/cancelRequest", "params": {"id": id}});
                let _ = self.outbox.try_send(framing::encode(&stop));
                Err(trouble)
            }
        }
    }

    async fn notify(
        &self,
        method: &str,
        params: Value,
        until: &Deadline,
    ) -> Result<(), SessionError> {
        let message = json!({"jsonrpc": "2.0", "method": method, "params": params});
        self.send(&message, until).await
    }

    async fn send(&self, message: &Value, until: &Deadline) -> Result<(), SessionError> {
        let sent = until.wait(self.outbox.send(framing::encode(message))).await?;
        sent.map_err(|_| self.dead_error())
    }

    fn dead_error(&self) -> SessionError {
        SessionError::Dead(self.shared.death_reason().unwrap_or_else(|| "it ended".to_owned()))
    }

    /// Sends the current content of a file; returns its URI and whether the content was new to the
    /// server.
    pub(super) async fn open(
        &mut self,
        path: &Path,
        id: &str,
        text: &str,
        until: &Deadline,
    ) -> Result<(String, bool), SessionError> {
        self.clock += 1;
        let used = self.clock;
        if let Some(open) = self.open.get_mut(path) {
            open.used = used;
            let uri = open.uri.clone();
            if open.text == text {
                return Ok((uri, false));
            }
            open.version += 1;
            text.clone_into(&mut open.text);
            let params = json!({
                "textDocument": {"uri": uri, "version": open.version},
                "contentChanges": [{"text": text}],
            });
            self.notify("textDocument/didChange", params, until).await?;
            self.saved(&uri, until).await?;
            return Ok((uri, true));
        }
        self.make_room(until).await?;
        let uri = uri(path);
        let document = json!({"uri": uri, "languageId": id, "version": 1, "text": text});
        self.notify("textDocument/didOpen", json!({"textDocument": document}), until).await?;
        let open = OpenDocument { uri: uri.clone(), version: 1, text: text.to_owned(), used };
        self.open.insert(path.to_owned(), open);
        self.saved(&uri, until).await?;
        Ok((uri, true))
    }

    /// Notifies the server that a file was saved: the content always comes from disk, so every
    /// change is also a save. Some servers check the whole project only on save.
    async fn saved(&self, uri: &str, until: &Deadline) -> Result<(), SessionError> {
        let changed = json!({"changes": [{"uri": uri, "type": 2}]});
        self.notify("workspace/didChangeWatchedFiles", changed, until).await?;
        self.notify("textDocument/didSave", json!({"textDocument": {"uri": uri}}), until).await
    }

    /// Closes the least recently used document when too many are open.
    async fn make_room(&mut self, until: &Deadline) -> Result<(), SessionError> {
        if self.open.len() < MAX_OPEN {
            return Ok(());
        }
        let oldest =
            self.open.iter().min_by_key(|(_, open)| open.used).map(|(path, _)| path.clone());
        let Some(closed) = oldest.and_then(|path| self.open.remove(&path)) else { return Ok(()) };
        self.notify("textDocument/didClose", json!({"textDocument": {"uri": closed.uri}}), until)
            .await
    }

    /// Returns the open documents except this one. The server must be notified of their changes on
    /// disk.
    pub(super) fn other_open_files(&self, path: &Path) -> Vec<PathBuf> {
        self.open.keys().filter(|open| *open != path).cloned().collect()
    }

    /// Closes a file that no longer exists.
    pub(super) async fn close(
        &mut self,
        path: &Path,
        until: &Deadline,
    ) -> Result<(), SessionError> {
        let Some(closed) = self.open.remove(path) else { return Ok(()) };
        let changed = json!({"changes": [{"uri": closed.uri, "type": 3}]});
        self.notify("textDocument/didClose", json!({"textDocument": {"uri": closed.uri}}), until)
            .await?;
        self.notify("workspace/didChangeWatchedFiles", changed, until).await
    }

    /// Waits for background work: briefly for it to begin, then for it to end.
    pub(super) async fn wait_until_idle(&self, until: &Deadline) -> Result<(), SessionError> {
        let mut news = self.shared.changes();
        let begin = Instant::now() + BEGIN;
        while !self.shared.is_busy() {
            let change = tokio::time::timeout_at(begin.into(), news.changed());
            match until.wait(change).await? {
                Ok(_) if self.shared.death_reason().is_some() => return Err(self.dead_error()),
                Ok(_) => {}
                Err(_) => return Ok(()),
            }
        }
        loop {
            if let Some(why) = self.shared.death_reason() {
                return Err(SessionError::Dead(why));
            }
            let change = news.changed();
            if self.shared.is_busy() {
                let _ = until.wait(change).await?;
            } else if until.wait(tokio::time::timeout(SETTLE, change)).await?.is_err() {
                return Ok(());
            }
        }
    }

    pub(super) fn health_warning(&self) -> Option<String> {
        self.shared.health_warning()
    }

    pub(super) fn published(&self, uri: &str) -> Published {
        self.shared.published(uri)
    }

    /// Returns the diagnostics published for a file after the first `before` publications, once the
    /// server is idle.
    pub(super) async fn diagnostics(
        &self,
        uri: &str,
        before: u64,
        until: &Deadline,
    ) -> Result<Vec<Value>, SessionError> {
        let mut news = self.shared.changes();
        while self.shared.published(uri).times <= before {
            if let Some(why) = self.shared.death_reason() {
                return Err(SessionError::Dead(why));
            }
            let _ = until.wait(news.changed()).await?;
        }
        self.wait_until_idle(until).await?;
        Ok(self.shared.published(uri).items)
    }
}

/// Returns our client capabilities. Servers watch files themselves; a server that registers for
/// notifications gets those of the files that it has opened.
fn capabilities() -> Value {
    json!({
        "general": {"positionEncodings": ["utf-16"]},
        "window": {"workDoneProgress": true},
        "workspace": {"configuration": true, "workspaceFolders": true, "workspaceEdit": {"documentChanges": true}},
        "textDocument": {
            "synchronization": {"didSave": true},
            "hover": {"contentFormat": ["markdown", "plaintext"]},
            "definition": {"linkSupport": true},
            "references": {},
            "documentSymbol": {"hierarchicalDocumentSymbolSupport": true},
            "rename": {"prepareSupport": false},
            "publishDiagnostics": {"relatedInformation": false},
            "diagnostic": {},
        },
        "experimental": {"serverStatusNotification": true},
    })
}

/// Returns the URI of a file.
pub(super) fn uri(path: &Path) -> String {
    Url::from_file_path(path).map(String::from).unwrap_or_default()
}

/// Writes queued messages until the session or the server ends.
async fn write_messages(
    mut stdin: Input,
    mut letters: mpsc::Receiver<Vec<u8>>,
    shared: Arc<ConnectionState>,
) {
    while let Some(letter) = letters.recv().await {
        let sent = async {
            stdin.write_all(&letter).await?;
            stdin.flush().await
        };
        if sent.await.is_err() {
            shared.mark_dead("it ended");
            return;
        }
    }
}

/// Reads messages until the server ends or sends an invalid frame.
async fn read_messages(
    mut stdout: Output,
    shared: Arc<ConnectionState>,
    outbox: mpsc::Sender<Vec<u8>>,
    language: &'static Language,
) {
    let mut decoder = Decoder::default();
    let mut bytes = vec![0; 64 * 1024];
    let mut since_answer = 0;
    let why = loop {
        let read = match stdout.read(&mut bytes).await {
            Ok(0) | Err(_) => break "it ended".to_owned(),
            Ok(read) => read,
        };
        since_answer += read as u64;
        if since_answer > FLOOD {
            break format!("it sent more than {} MB without answering", FLOOD >> 20);
        }
        decoder.push(bytes.get(..read).unwrap_or_default());
        let garbage = loop {
            match decoder.next() {
                Ok(None) => break None,
                Err(error) => break Some(error.to_string()),
                Ok(Some(message)) => match shared.handle_message(message) {
                    IncomingMessage::Answer => since_answer = 0,
                    IncomingMessage::Request { id, method, params } => {
                        let answer =
                            answer_request(&id, &method, &params, |s| language.configuration(s));
                        // A full queue drops the reply: the server asks faster than it reads.
                        let _ = outbox.try_send(framing::encode(&answer));
                    }
                    IncomingMessage::News => {}
                },
            }
        };
        if let Some(garbage) = garbage {
            break garbage;
        }
    };
    shared.mark_dead(&why);
}

/// Stores the end of the server's standard error.
async fn read_stderr(mut stderr: Output, shared: Arc<ConnectionState>) {
    let mut bytes = vec![0; 4096];
    while let Ok(read @ 1..) = stderr.read(&mut bytes).await {
        shared.record_stderr(bytes.get(..read).unwrap_or_default());
    }
}
