//! A process that is killed while it sends: the draft is `unknown`, and is not sent again by
//! itself.

use std::path::Path;
use std::process::{Command, Stdio};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use toolcrib_assistant::Writer;
use toolcrib_assistant::draft::{DraftKind, DraftStatus, NewDraft, SendRequest};
use toolcrib_core::Author;
use toolcrib_mail::MailTools;
use toolcrib_mail::account::PasswordVault as _;
use toolcrib_testkit::mail_servers::{PASSWORD, certificate};

use crate::fixture::{Passwords, client, tools};
use crate::hostile::{SmtpEnd, smtp_server};

const FOLDER: &str = "TOOLCRIB_TEST_SENDS_IN";

fn writer() -> Writer {
    Writer { owner: String::new(), author: Author::person("ann"), untrusted: None }
}

pub(crate) fn new_draft() -> NewDraft {
    NewDraft {
        kind: DraftKind::Mail,
        account: "ann".to_owned(),
        to: vec!["bob@example.net".to_owned()],
        subject: "Hello".to_owned(),
        body: "Text".to_owned(),
        attachments: Vec::new(),
        in_reply_to: None,
        references: Vec::new(),
        message_domain: "example.org".to_owned(),
    }
}

pub(crate) fn account_file(folder: &Path, port: u16) {
    let text = format!(
        "[[account]]\nid = \"ann\"\naddress = \"ann@example.org\"\nown_network = true\nimap = {{ host = \"127.0.0.1\", port = 1 }}\nsmtp = {{ host = \"127.0.0.1\", port = {port}, security = \"tls\" }}\n"
    );
    std::fs::write(folder.join("mail.toml"), text).unwrap();
}

pub(crate) fn tools_in(folder: &Path) -> MailTools {
    let vault = Arc::new(Passwords::default());
    vault.set("mail-ann", PASSWORD).unwrap();
    tools(folder, client(&folder.join("cert.pem")), vault)
}

/// The process that is killed: this test binary, started by the test below.
#[tokio::test]
async fn child_that_sends() {
    let Some(folder) = std::env::var_os(FOLDER) else { return };
    let tools = tools_in(Path::new(&folder));
    let draft = tools.drafts.create(&writer(), new_draft()).await.unwrap();
    let request = SendRequest { id: draft.id, version: None, again: false, by: "ann".to_owned() };
    let _ = tools.drafts.send(&writer(), request).await;
}

#[tokio::test]
async fn a_process_killed_while_it_sends_leaves_an_unknown_draft() {
    let folder = tempfile::tempdir().unwrap();
    let (cert, key) = certificate(folder.path());
    let taken = Arc::new(AtomicUsize::new(0));
    let port = smtp_server(&cert, &key, SmtpEnd::Hang, Arc::clone(&taken)).await;
    account_file(folder.path(), port);
    let mut child = Command::new(std::env::current_exe().unwrap())
        .args(["--exact", "killed::child_that_sends"])
        .env(FOLDER, folder.path())
        .stdout(Stdio::null())
        .spawn()
        .unwrap();
    let started = Instant::now();
    while taken.load(Ordering::SeqCst) == 0 {
        assert!(started.elapsed() < Duration::from_secs(60), "the child sent nothing");
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
    let tools = tools_in(folder.path());
    let [draft] = &tools.drafts.list("").await.unwrap()[..] else { panic!("one draft") };
    assert_eq!(draft.status, DraftStatus::Sending, "its sender is alive");
    child.kill().unwrap();
    child.wait().unwrap();
    let left = tools.drafts.get("", &draft.id).await.unwrap();
    assert_eq!(left.status, DraftStatus::Unknown);
    let note = left.note.clone().unwrap();
    assert!(note.contains(&left.message_id) && note.contains("Sent folder"), "{note}");
    // It is not sent again unless a person says so.
    let again = |again: bool| SendRequest {
        id: left.id.clone(),
        version: None,
        again,
        by: "ann".to_owned(),
    };
    let refused = tools.drafts.send(&writer(), again(false)).await.unwrap_err().to_string();
    assert!(refused.contains("may have left already"), "{refused}");
    assert_eq!(taken.load(Ordering::SeqCst), 1);
}
