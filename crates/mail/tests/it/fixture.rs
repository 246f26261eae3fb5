//! What the tests share: a certificate, a server that takes mail, tools on real stores.

use std::collections::HashMap;
use std::io::{BufRead as _, BufReader, Write as _};
use std::net::{TcpListener, TcpStream};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use serde_json::Value;
use tokio_rustls::rustls::pki_types::CertificateDer;
use tokio_rustls::rustls::pki_types::pem::PemObject as _;
use tokio_util::sync::CancellationToken;
use toolcrib_assistant::WorkspaceFiles;
use toolcrib_assistant::draft::Drafts;
use toolcrib_assistant::notify::{Notifier, NotifySettings};
use toolcrib_core::path_denials::NoPathDenials;
use toolcrib_core::tool::Streams;
use toolcrib_core::{
    Block, BoxFuture, CallCtx, CallId, Context, Labels, StreamSink, ToolError, ToolOutput,
    ViewRequest,
};
use toolcrib_engine::store::MemoryArtifacts;
use toolcrib_mail::account::{MailAccounts, PasswordVault};
use toolcrib_mail::{MailCarrier, MailTools};
use toolcrib_net::{AddressPolicy, HttpClient, RootCertStore};
use toolcrib_store::SqliteStore;

pub(crate) const PASSWORD: &str = "secret-of-ann";

/// A certificate for 127.0.0.1 and its key, in this folder.
pub(crate) fn certificate(folder: &Path) -> (PathBuf, PathBuf) {
    let (cert, key) = (folder.join("cert.pem"), folder.join("key.pem"));
    let made = Command::new("openssl")
        .args(["req", "-x509", "-newkey", "rsa:2048", "-nodes", "-days", "2", "-subj", "/CN=mail"])
        .args(["-addext", "subjectAltName=IP:127.0.0.1"])
        .args(["-addext", "basicConstraints=critical,CA:FALSE"])
        .arg("-keyout")
        .arg(&key)
        .arg("-out")
        .arg(&cert)
        .stderr(Stdio::null())
        .status()
        .unwrap();
    assert!(made.success());
    (cert, key)
}

/// A client that trusts only this certificate.
pub(crate) fn client(cert: &Path) -> HttpClient {
    let mut roots = RootCertStore::empty();
    roots.add(CertificateDer::from_pem_file(cert).unwrap()).unwrap();
    HttpClient::new(AddressPolicy::public_only()).with_tls_roots(roots).unwrap()
}

/// Passwords in memory.
#[derive(Default)]
pub(crate) struct Passwords {
    kept: Mutex<HashMap<String, String>>,
    pub(crate) masked: Mutex<Vec<String>>,
}

impl PasswordVault for Passwords {
    fn get(&self, name: &str) -> Result<Option<String>, String> {
        Ok(self.kept.lock().unwrap().get(name).cloned())
    }

    fn set(&self, name: &str, password: &str) -> Result<(), String> {
        self.kept.lock().unwrap().insert(name.to_owned(), password.to_owned());
        Ok(())
    }

    fn remove(&self, name: &str) -> Result<(), String> {
        self.kept.lock().unwrap().remove(name);
        Ok(())
    }

    fn mask(&self, password: &str) {
        self.masked.lock().unwrap().push(password.to_owned());
    }
}

/// A workspace with one file.
struct Files;

impl WorkspaceFiles for Files {
    fn read<'a>(
        &'a self,
        _: &'a CallCtx,
        path: &'a str,
    ) -> BoxFuture<'a, Result<Vec<u8>, ToolError>> {
        Box::pin(async move {
            if path == "docs/notes.txt" {
                return Ok(b"notes of the day".to_vec());
            }
            Err(ToolError::validation(format!("File not found: {path}")))
        })
    }
}

/// Tools on a database of this folder.
pub(crate) fn tools(folder: &Path, client: HttpClient, vault: Arc<Passwords>) -> MailTools {
    let store = Arc::new(SqliteStore::open(&folder.join("store.db")).unwrap());
    let artifacts = Arc::new(MemoryArtifacts::default());
    let accounts = MailAccounts::new(folder.join("mail.toml"), vault.clone(), client.clone());
    let carrier = MailCarrier::new(accounts.clone(), artifacts.clone());
    let is_secret: toolcrib_assistant::SecretCheck = Arc::new(|text: &str| text.contains(PASSWORD));
    let notifier =
        Notifier::new(store.clone(), client, NotifySettings::default(), Arc::clone(&is_secret));
    let drafts = Drafts::new(store.clone(), store, vec![Arc::new(carrier)], is_secret);
    let labels: toolcrib_assistant::LabelsOfRuns = Arc::new(|_| Some(Labels::default()));
    MailTools { accounts, vault, drafts, notifier, artifacts, files: Arc::new(Files), labels }
}

struct NoStreams;

impl Streams for NoStreams {
    fn open(&self, _: &CallCtx, _: &str) -> Box<dyn StreamSink> {
        struct Sink;
        impl StreamSink for Sink {
            fn write(&mut self, _: &[u8]) {}
            fn finish(self: Box<Self>) -> Block {
                Block::text("")
            }
        }
        Box::new(Sink)
    }
}

pub(crate) fn ctx() -> CallCtx {
    CallCtx {
        call: CallId::fresh(),
        run: None,
        context: Arc::new(Context { agent: "helper".into(), ..Context::default() }),
        view: Arc::new(ViewRequest::default()),
        attempt: 1,
        cancel: CancellationToken::new(),
        deadline: Instant::now() + Duration::from_secs(60),
        streams: Arc::new(NoStreams),
        path_denials: Arc::new(NoPathDenials),
        approved_hosts: Arc::new([]),
    }
}

pub(crate) async fn call(
    tools: &MailTools,
    name: &str,
    args: Value,
) -> Result<ToolOutput, ToolError> {
    let handlers = tools.handlers();
    let handler = handlers.iter().find(|handler| handler.spec().name.as_str() == name).unwrap();
    handler.assess(&args)?;
    handler.call(&ctx(), &args).await
}

/// A free port of loopback.
pub(crate) fn free_port() -> u16 {
    TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port()
}

/// A mail server behind the submission server: keeps what it takes.
pub(crate) struct Sink {
    pub(crate) port: u16,
    pub(crate) mails: Arc<Mutex<Vec<String>>>,
}

impl Sink {
    pub(crate) fn start() -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let port = listener.local_addr().unwrap().port();
        let mails: Arc<Mutex<Vec<String>>> = Arc::default();
        let kept = Arc::clone(&mails);
        std::thread::spawn(move || {
            for stream in listener.incoming().flatten() {
                let kept = Arc::clone(&kept);
                std::thread::spawn(move || take(&stream, &kept));
            }
        });
        Self { port, mails }
    }
}

fn take(stream: &TcpStream, kept: &Mutex<Vec<String>>) -> Option<()> {
    let (mut out, mut lines) = (stream, BufReader::new(stream).lines());
    out.write_all(b"220 sink\r\n").ok()?;
    loop {
        let line = lines.next()?.ok()?;
        let verb = line.split(' ').next().unwrap_or_default().to_ascii_uppercase();
        if line.contains("nobody@") && verb == "RCPT" {
            out.write_all(b"550 5.1.1 no such mailbox\r\n").ok()?;
            continue;
        }
        match verb.as_str() {
            "DATA" => {
                out.write_all(b"354 go on\r\n").ok()?;
                let mut mail = String::new();
                loop {
                    let line = lines.next()?.ok()?;
                    if line == "." {
                        break;
                    }
                    mail += &line;
                    mail += "\n";
                }
                kept.lock().unwrap().push(mail);
                out.write_all(b"250 2.0.0 taken\r\n").ok()?;
            }
            "QUIT" => {
                out.write_all(b"221 bye\r\n").ok()?;
                return None;
            }
            _ => out.write_all(b"250 ok\r\n").ok()?,
        }
    }
}
