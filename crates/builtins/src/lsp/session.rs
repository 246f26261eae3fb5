//! One language server at work on one project: started in the sandbox, told of files, asked.

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

use super::frame::{self, Decoder};
use super::servers::{self, Language};
use super::shared::{Heard, Published, Refusal, Shared, reply};
use crate::workbench::{Needs, Program, Room, Workbench};

/// Messages that wait to be written. A server that reads none of them is not answered any more.
const QUEUE: usize = 64;
/// Bytes that a server may send without having answered anything; more is a flood.
const FLOOD: u64 = 256 << 20;
/// Files that are open in a server at one time.
const MAX_OPEN: usize = 32;
/// How long nothing has to happen before a server that reports its work counts as done with it.
const SETTLE: Duration = Duration::from_millis(300);
/// How long a server is given to begin the work that it does by itself after a start or a change.
const BEGIN: Duration = Duration::from_millis(700);

/// Why there is no answer.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Trouble {
    /// The server is gone, for this reason.
    Dead(String),
    /// The time was over.
    Slow,
    /// The call was stopped.
    Stopped,
    /// The server refuses.
    Refused(Refusal),
}

/// When a request has to be given up.
#[derive(Clone)]
pub(super) struct Until {
    pub(super) deadline: Instant,
    pub(super) cancel: CancellationToken,
}

impl Until {
    /// Waits for this, not longer.
    pub(super) async fn wait<T>(&self, work: impl Future<Output = T>) -> Result<T, Trouble> {
        tokio::select! {
            biased;
            done = work => Ok(done),
            () = self.cancel.cancelled() => Err(Trouble::Stopped),
            () = tokio::time::sleep_until(self.deadline.into()) => Err(Trouble::Slow),
        }
    }
}

/// See the top of this file. Dropped, the server ends with all that it started.
pub(super) struct Session {
    /// Held for its end only; a lock makes it one that threads may share.
    _process: Mutex<Process>,
    shared: Arc<Shared>,
    outbox: mpsc::Sender<Vec<u8>>,
    next_id: i64,
    open: HashMap<PathBuf, Open>,
    capabilities: Value,
    ready: bool,
    /// Calls in a row that it did not answer in time.
    pub(super) slow: u32,
    /// Counts openings, so that the file that was not used for longest is closed.
    clock: u64,
}

/// A file that the server was told of.
struct Open {
    uri: String,
    version: i64,
    text: String,
    used: u64,
}

impl Session {
    /// Starts a server and greets it. It may go on loading its project after that: [`Self::ready`] waits for it.
    ///
    /// # Errors
    /// [`ToolError`] when nothing was started; [`Trouble`] of a server that was, with what it complained of.
    pub(super) async fn start(
        workbench: &Workbench,
        language: &'static Language,
        root: &Path,
        until: &Until,
    ) -> Result<Result<Self, (Trouble, String)>, ToolError> {
        let (name, args) = language.server(&workbench.confines())?;
        let needs = Needs { workspace: Room::Read, ..Needs::default() };
        let mut program = Program::new(name).args(args).folder(root).needs(needs);
        for (name, value) in servers::ENV.iter().chain(language.env) {
            program = program.env(name, value);
        }
        let process = workbench.start(&program).await?;
        let mut session = Self::over(process, language);
        let begun = session.initialize(language, root, until).await;
        let complaint = session.shared.complaint();
        Ok(begun.map(|()| session).map_err(|trouble| (trouble, complaint)))
    }

    /// A session over a process, whose streams are served from now on.
    fn over(mut process: Process, language: &'static Language) -> Self {
        let shared = Arc::new(Shared::new());
        let (outbox, letters) = mpsc::channel(QUEUE);
        let nothing = || -> Output { Box::new(tokio::io::empty()) };
        let stdout = std::mem::replace(&mut process.stdout, nothing());
        let stderr = std::mem::replace(&mut process.stderr, nothing());
        if let Some(stdin) = process.stdin.take() {
            tokio::spawn(write(stdin, letters, Arc::clone(&shared)));
        }
        tokio::spawn(listen(stdout, Arc::clone(&shared), outbox.clone(), language));
        tokio::spawn(overhear(stderr, Arc::clone(&shared)));
        Self {
            _process: Mutex::new(process),
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
        until: &Until,
    ) -> Result<(), Trouble> {
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

    /// Waits until it has loaded its project; a later call goes on waiting where one gave up.
    pub(super) async fn ready(&mut self, until: &Until) -> Result<(), Trouble> {
        if !self.ready {
            self.settle(until).await?;
            self.ready = true;
        }
        Ok(())
    }

    /// Why it is dead, if it is.
    pub(super) fn dead(&self) -> Option<String> {
        self.shared.dead()
    }

    pub(super) fn complaint(&self) -> String {
        self.shared.complaint()
    }

    /// Whether it says that it can do this, such as `renameProvider`.
    pub(super) fn can(&self, what: &str) -> bool {
        match self.capabilities.get(what) {
            None | Some(Value::Null | Value::Bool(false)) => false,
            Some(_) => true,
        }
    }

    /// Asks, and waits for the answer.
    pub(super) async fn request(
        &mut self,
        method: &str,
        params: Value,
        until: &Until,
    ) -> Result<Value, Trouble> {
        self.next_id += 1;
        let id = self.next_id;
        let Some(answer) = self.shared.expect(id) else { return Err(self.gone()) };
        let message = json!({"jsonrpc": "2.0", "id": id, "method": method, "params": params});
        let waited = match self.send(&message, until).await {
            Ok(()) => until.wait(answer).await,
            Err(trouble) => Err(trouble),
        };
        match waited {
            Ok(Ok(answer)) => answer.map_err(Trouble::Refused),
            Ok(Err(_)) => Err(self.gone()),
            Err(trouble) => {
                self.shared.forget(id);
                // It need not go on with it. If it reads nothing any more, it does not hear of it either.
                let stop =
                    json!({"jsonrpc": "2.0", "method": "$/cancelRequest", "params": {"id": id}});
                let _ = self.outbox.try_send(frame::encode(&stop));
                Err(trouble)
            }
        }
    }

    async fn notify(&self, method: &str, params: Value, until: &Until) -> Result<(), Trouble> {
        let message = json!({"jsonrpc": "2.0", "method": method, "params": params});
        self.send(&message, until).await
    }

    async fn send(&self, message: &Value, until: &Until) -> Result<(), Trouble> {
        let sent = until.wait(self.outbox.send(frame::encode(message))).await?;
        sent.map_err(|_| self.gone())
    }

    fn gone(&self) -> Trouble {
        Trouble::Dead(self.shared.dead().unwrap_or_else(|| "it ended".to_owned()))
    }

    /// Tells the server what is in a file now; the result is its address, and whether that was news.
    pub(super) async fn open(
        &mut self,
        path: &Path,
        id: &str,
        text: &str,
        until: &Until,
    ) -> Result<(String, bool), Trouble> {
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
        let open = Open { uri: uri.clone(), version: 1, text: text.to_owned(), used };
        self.open.insert(path.to_owned(), open);
        self.saved(&uri, until).await?;
        Ok((uri, true))
    }

    /// What is on the disk is what is told, so every change is a saved one; some servers check the whole project only then.
    async fn saved(&self, uri: &str, until: &Until) -> Result<(), Trouble> {
        let changed = json!({"changes": [{"uri": uri, "type": 2}]});
        self.notify("workspace/didChangeWatchedFiles", changed, until).await?;
        self.notify("textDocument/didSave", json!({"textDocument": {"uri": uri}}), until).await
    }

    /// Closes the file that was not used for longest, when there are too many.
    async fn make_room(&mut self, until: &Until) -> Result<(), Trouble> {
        if self.open.len() < MAX_OPEN {
            return Ok(());
        }
        let oldest =
            self.open.iter().min_by_key(|(_, open)| open.used).map(|(path, _)| path.clone());
        let Some(closed) = oldest.and_then(|path| self.open.remove(&path)) else { return Ok(()) };
        self.notify("textDocument/didClose", json!({"textDocument": {"uri": closed.uri}}), until)
            .await
    }

    /// The files that the server was told of, but for this one; what changed on the disk is to be told.
    pub(super) fn others(&self, path: &Path) -> Vec<PathBuf> {
        self.open.keys().filter(|open| *open != path).cloned().collect()
    }

    /// Forgets a file that is not there any more.
    pub(super) async fn close(&mut self, path: &Path, until: &Until) -> Result<(), Trouble> {
        let Some(closed) = self.open.remove(path) else { return Ok(()) };
        let changed = json!({"changes": [{"uri": closed.uri, "type": 3}]});
        self.notify("textDocument/didClose", json!({"textDocument": {"uri": closed.uri}}), until)
            .await?;
        self.notify("workspace/didChangeWatchedFiles", changed, until).await
    }

    /// Waits until the server has done what it does by itself: for a moment that it begins, then until it is done.
    pub(super) async fn settle(&self, until: &Until) -> Result<(), Trouble> {
        let mut news = self.shared.news();
        let begin = Instant::now() + BEGIN;
        while !self.shared.is_busy() {
            let change = tokio::time::timeout_at(begin.into(), news.changed());
            match until.wait(change).await? {
                Ok(_) if self.shared.dead().is_some() => return Err(self.gone()),
                Ok(_) => {}
                Err(_) => return Ok(()),
            }
        }
        loop {
            if let Some(why) = self.shared.dead() {
                return Err(Trouble::Dead(why));
            }
            let change = news.changed();
            if self.shared.is_busy() {
                let _ = until.wait(change).await?;
            } else if until.wait(tokio::time::timeout(SETTLE, change)).await?.is_err() {
                return Ok(());
            }
        }
    }

    pub(super) fn ailment(&self) -> Option<String> {
        self.shared.ailment()
    }

    pub(super) fn published(&self, uri: &str) -> Published {
        self.shared.published(uri)
    }

    /// What the server published of a file, after it was told `before` times: as soon as it did, and is done with its work.
    pub(super) async fn diagnostics(
        &self,
        uri: &str,
        before: u64,
        until: &Until,
    ) -> Result<Vec<Value>, Trouble> {
        let mut news = self.shared.news();
        while self.shared.published(uri).times <= before {
            if let Some(why) = self.shared.dead() {
                return Err(Trouble::Dead(why));
            }
            let _ = until.wait(news.changed()).await?;
        }
        self.settle(until).await?;
        Ok(self.shared.published(uri).items)
    }
}

/// What we understand. Files are watched by the servers themselves, unless they ask us to be told: then they are told of those they know.
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

/// The address of a file.
pub(super) fn uri(path: &Path) -> String {
    Url::from_file_path(path).map(String::from).unwrap_or_default()
}

/// Writes what is to be written, until the session or the server is gone.
async fn write(mut stdin: Input, mut letters: mpsc::Receiver<Vec<u8>>, shared: Arc<Shared>) {
    while let Some(letter) = letters.recv().await {
        let sent = async {
            stdin.write_all(&letter).await?;
            stdin.flush().await
        };
        if sent.await.is_err() {
            shared.die("it ended");
            return;
        }
    }
}

/// Reads what it says, until it is gone or makes no sense any more.
async fn listen(
    mut stdout: Output,
    shared: Arc<Shared>,
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
                Ok(Some(message)) => match shared.hear(message) {
                    Heard::Answer => since_answer = 0,
                    Heard::Request { id, method, params } => {
                        let answer = reply(&id, &method, &params, |s| language.configuration(s));
                        // One that asks faster than it reads goes without.
                        let _ = outbox.try_send(frame::encode(&answer));
                    }
                    Heard::News => {}
                },
            }
        };
        if let Some(garbage) = garbage {
            break garbage;
        }
    };
    shared.die(&why);
}

/// Keeps the last of what it complains of.
async fn overhear(mut stderr: Output, shared: Arc<Shared>) {
    let mut bytes = vec![0; 4096];
    while let Ok(read @ 1..) = stderr.read(&mut bytes).await {
        shared.complain(bytes.get(..read).unwrap_or_default());
    }
}
