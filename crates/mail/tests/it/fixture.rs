//! The fixture of the tests: a client, passwords, tools on real stores.

use std::collections::HashMap;
use std::path::Path;
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
use toolcrib_testkit::mail_servers::PASSWORD;

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
    let notifier = Notifier::new(
        store.clone(),
        client.clone(),
        NotifySettings::default(),
        Arc::clone(&is_secret),
    );
    let drafts = Drafts::new(store.clone(), store, vec![Arc::new(carrier)], is_secret);
    let labels: toolcrib_assistant::LabelsOfRuns = Arc::new(|_| Some(Labels::default()));
    let files = Arc::new(Files);
    MailTools { accounts, vault, client, drafts, notifier, artifacts, files, labels }
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
