//! A mailbox on Dovecot, mail handed to Dovecot's submission server.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::Arc;
use std::time::{Duration, Instant};

use serde_json::{Value, json};
use toolcrib_assistant::Writer;
use toolcrib_assistant::draft::{DraftStatus, SendRequest, SendRule};
use toolcrib_assistant::notify::OwnMail as _;
use toolcrib_core::{Author, Notification, NotificationId, Trust};
use toolcrib_mail::account::{NewAccount, Security};
use toolcrib_mail::{MailTools, OwnMailer};

use crate::fixture::{PASSWORD, Passwords, Sink, call, certificate, client, free_port, tools};

const DOVECOT: &str = "/usr/sbin/dovecot";

/// Dovecot on loopback, ended with the test.
struct Dovecot {
    process: Child,
    folder: tempfile::TempDir,
    cert: PathBuf,
    imap: u16,
    submission: u16,
    sink: Sink,
}

impl Drop for Dovecot {
    fn drop(&mut self) {
        let config = self.folder.path().join("dovecot.conf");
        let _ = Command::new(DOVECOT).arg("-c").arg(config).arg("stop").status();
        let _ = self.process.wait();
    }
}

impl Dovecot {
    /// `None`, with a loud line, where it is not installed or may not be started.
    #[expect(clippy::print_stderr, reason = "what is not tried is said aloud")]
    fn start() -> Option<Self> {
        let is_root = fs::metadata("/proc/self")
            .is_ok_and(|meta| std::os::unix::fs::MetadataExt::uid(&meta) == 0);
        let has_submission = Path::new("/usr/lib/dovecot/submission-login").exists();
        if !is_root || !has_submission || !Path::new(DOVECOT).exists() {
            eprintln!("SKIPPED: needs root, dovecot-imapd and dovecot-submissiond");
            return None;
        }
        let folder = tempfile::Builder::new().prefix("dc").tempdir_in("/tmp").unwrap();
        let (cert, key) = certificate(folder.path());
        let (imap, submission, sink) = (free_port(), free_port(), Sink::start());
        let path = folder.path().display();
        let home = folder.path().join("home");
        let maildir = home.join("ann/Maildir");
        let inbox = ["new", "cur", "tmp"].map(|name| maildir.join(name));
        inbox.iter().for_each(|name| fs::create_dir_all(name).unwrap());
        for owned in [&home, &home.join("ann"), &maildir].into_iter().chain(&inbox) {
            std::os::unix::fs::chown(owned, Some(65_534), Some(65_534)).unwrap();
        }
        // Dovecot opens no mail as root.
        fs::set_permissions(folder.path(), std::os::unix::fs::PermissionsExt::from_mode(0o755))
            .unwrap();
        let config = format!(
            "base_dir = {path}/run\nstate_dir = {path}/run\nlog_path = {path}/log\nprotocols = imap submission\nlisten = 127.0.0.1\nssl = required\nssl_cert = <{}\nssl_key = <{}\nfirst_valid_uid = 1\nmail_location = maildir:~/Maildir\nhostname = mail.example.org\nauth_mechanisms = plain login\npassdb {{\n driver = static\n args = password={PASSWORD}\n}}\nuserdb {{\n driver = static\n args = uid=65534 gid=65534 home={path}/home/%n\n}}\nservice imap-login {{\n inet_listener imap {{\n  port = 0\n }}\n inet_listener imaps {{\n  port = {imap}\n  ssl = yes\n }}\n}}\nservice submission-login {{\n inet_listener submission {{\n  port = {submission}\n }}\n inet_listener submissions {{\n  port = 0\n }}\n}}\nsubmission_relay_host = 127.0.0.1\nsubmission_relay_port = {}\nnamespace inbox {{\n inbox = yes\n mailbox Gesendet {{\n  special_use = \\Sent\n  auto = create\n }}\n}}\n",
            cert.display(),
            key.display(),
            sink.port,
        );
        let file = folder.path().join("dovecot.conf");
        fs::write(&file, config).unwrap();
        let process = Command::new(DOVECOT)
            .args(["-F", "-c"])
            .arg(&file)
            .stdout(Stdio::null())
            .stderr(Stdio::inherit())
            .spawn()
            .unwrap();
        let dovecot = Self { process, folder, cert, imap, submission, sink };
        let started = Instant::now();
        while std::net::TcpStream::connect(("127.0.0.1", imap)).is_err() {
            assert!(started.elapsed() < Duration::from_secs(30), "{}", dovecot.log());
            std::thread::sleep(Duration::from_millis(50));
        }
        Some(dovecot)
    }

    fn log(&self) -> String {
        fs::read_to_string(self.folder.path().join("log")).unwrap_or_default()
    }

    fn account(&self) -> NewAccount {
        NewAccount {
            address: "ann@example.org".to_owned(),
            display_name: "Ann".to_owned(),
            imap_host: Some("127.0.0.1".to_owned()),
            imap_port: Some(self.imap),
            smtp_host: Some("127.0.0.1".to_owned()),
            smtp_port: Some(self.submission),
            smtp_security: Some(Security::Starttls),
            own_network: true,
            ..NewAccount::default()
        }
    }

    async fn tools(&self) -> MailTools {
        let vault = Arc::new(Passwords::default());
        let tools = tools(self.folder.path(), client(&self.cert), vault);
        let added = tools.accounts.add(self.account(), PASSWORD).await;
        assert!(added.is_ok(), "{added:?}\n{}", self.log());
        tools
    }

    /// Puts a mail into the inbox, as a delivery does.
    fn deliver(&self, name: &str, mail: &str) {
        let folder = self.folder.path().join("home/ann/Maildir/new");
        let file = folder.join(name);
        fs::write(&file, mail.replace('\n', "\r\n")).unwrap();
        std::os::unix::fs::chown(file, Some(65_534), Some(65_534)).unwrap();
    }
}

fn writer() -> Writer {
    Writer { owner: String::new(), author: Author::person("ann"), untrusted: None }
}

fn send(id: &str, version: i64) -> SendRequest {
    SendRequest { id: id.to_owned(), version: Some(version), again: false, by: "ann".to_owned() }
}

async fn structured(tools: &MailTools, name: &str, args: Value) -> Value {
    call(tools, name, args).await.unwrap().structured.unwrap()
}

#[tokio::test]
async fn a_wrong_password_is_found_before_anything_is_saved() {
    let Some(dovecot) = Dovecot::start() else { return };
    let vault = Arc::new(Passwords::default());
    let tools = tools(dovecot.folder.path(), client(&dovecot.cert), vault.clone());
    let error = tools.accounts.add(dovecot.account(), "a wrong one").await.unwrap_err().to_string();
    assert!(error.contains("refuses the user name or password"), "{error}");
    assert!(!error.contains("a wrong one"), "{error}");
    assert_eq!(tools.accounts.list().unwrap(), []);
    assert_eq!(*vault.masked.lock().unwrap(), ["a wrong one"]);
    // A model cannot open a private network: the same servers without a person's word.
    let args = json!({"email": "ann@example.org", "password": PASSWORD, "imap_host": "127.0.0.1", "imap_port": dovecot.imap, "smtp_host": "127.0.0.1"});
    let refused = call(&tools, "setup_email", args).await.unwrap_err();
    assert!(refused.message.contains("cannot be reached"), "{}", refused.message);
}

#[tokio::test]
async fn mail_is_checked_read_searched_and_answered_in_its_thread() {
    let Some(dovecot) = Dovecot::start() else { return };
    let tools = dovecot.tools().await;
    dovecot.deliver("1.a", "From: =?utf-8?Q?J=C3=B6rg?= <joe@example.net>\nTo: ann@example.org\nSubject: Lunch\nMessage-ID: <2@example.net>\nReferences: <1@example.net>\nDate: Mon, 02 Nov 2026 10:00:00 +0000\nContent-Type: text/html; charset=iso-8859-1\n\n<p>Tuesday?</p><img src=\"https://track.example/a.gif\">\n");
    dovecot.deliver("2.b", "From: shop@example.net\nTo: ann@example.org\nSubject: Offer\n\nBuy\n");
    let output = call(&tools, "check_email", json!({})).await.unwrap();
    assert_eq!(output.trust, Some(Trust::External));
    let checked = output.structured.unwrap();
    assert_eq!(checked["accounts"][0]["unread"], 2, "{checked}\n{}", dovecot.log());
    let found =
        structured(&tools, "search_email", json!({"from": "joe", "since": "01-Jan-2020"})).await;
    assert_eq!((&found["found"], &found["mails"][0]["subject"]), (&json!(1), &json!("Lunch")));
    let uid = &found["mails"][0]["uid"];
    let mail = structured(&tools, "read_email", json!({"uid": uid})).await;
    assert_eq!(
        (&mail["from"], &mail["message_id"]),
        (&json!("Jörg <joe@example.net>"), &json!("<2@example.net>"))
    );
    let text = mail["text"].as_str().unwrap();
    assert!(text.contains("Tuesday?") && !text.contains("![](https://track"), "{text}");
    let checked = structured(&tools, "check_email", json!({})).await;
    assert_eq!(checked["accounts"][0]["unread"], 1, "reading marks as read");
    assert!(
        call(&tools, "read_email", json!({"uid": 99}))
            .await
            .unwrap_err()
            .message
            .contains("no mail with the uid 99")
    );
    assert!(call(&tools, "search_email", json!({})).await.is_err());
    let reply = json!({"to": "Jörg <joe@example.net>", "subject": "Lunch", "body": "Tuesday is fine. Grüße", "in_reply_to": "<2@example.net>", "attachments": ["docs/notes.txt"]});
    let made = structured(&tools, "reply_email", reply).await;
    assert_eq!((&made["status"], &made["subject"]), (&json!("draft"), &json!("Re: Lunch")));
    assert_eq!(dovecot.sink.mails.lock().unwrap().len(), 0, "a model sends nothing");
    let draft = tools.drafts.get("", made["draft_id"].as_str().unwrap()).await.unwrap();
    assert_eq!(draft.references, ["<1@example.net>", "<2@example.net>"]);
    let sent = tools.drafts.send(&writer(), send(&draft.id, draft.version)).await.unwrap();
    assert_eq!((sent.status, sent.note), (DraftStatus::Sent, None), "{}", dovecot.log());
    let mails = dovecot.sink.mails.lock().unwrap().clone();
    let [mail] = &mails[..] else { panic!("{mails:?}") };
    for part in [
        "From: \"Ann\" <ann@example.org>",
        "In-Reply-To: <2@example.net>",
        "notes.txt",
        &draft.message_id,
    ] {
        assert!(mail.contains(part), "{part} is not in {mail}");
    }
    // The copy is in the folder that is marked as the one for sent mail.
    let copies = dovecot.folder.path().join("home/ann/Maildir/.Gesendet/cur");
    assert_eq!(fs::read_dir(copies).unwrap().count(), 1);
    // It leaves once, however often it is asked for.
    assert!(tools.drafts.send(&writer(), send(&draft.id, sent.version)).await.is_err());
    assert_eq!(dovecot.sink.mails.lock().unwrap().len(), 1);
}

#[tokio::test]
async fn a_refused_recipient_fails_and_a_rule_lets_only_its_own_leave() {
    let Some(dovecot) = Dovecot::start() else { return };
    let tools = dovecot.tools().await;
    tools.drafts.set_rules(vec!["mail:bob@example.net".parse::<SendRule>().unwrap()]);
    let to = |to: &str| json!({"to": to, "subject": "Late", "body": "Ten minutes."});
    let sent = structured(&tools, "compose_email", to("bob@example.net")).await;
    assert_eq!(sent["status"], "sent", "{sent}");
    let waits = structured(&tools, "compose_email", to("bob@example.net, eve@example.net")).await;
    assert_eq!(waits["status"], "draft");
    let made = structured(&tools, "compose_email", to("nobody@example.net")).await;
    let draft = tools.drafts.get("", made["draft_id"].as_str().unwrap()).await.unwrap();
    let failed = tools.drafts.send(&writer(), send(&draft.id, draft.version)).await.unwrap();
    assert_eq!(failed.status, DraftStatus::Failed);
    assert!(failed.note.unwrap().contains("no such mailbox"));
    assert_eq!(dovecot.sink.mails.lock().unwrap().len(), 1);
    let secret = json!({"to": "a@example.net", "subject": "x", "body": PASSWORD});
    assert!(call(&tools, "compose_email", secret).await.is_err());
}

#[tokio::test]
async fn a_notification_is_mailed_to_the_own_address_only() {
    let Some(dovecot) = Dovecot::start() else { return };
    let tools = dovecot.tools().await;
    let mailer = OwnMailer(tools.accounts.clone());
    let note = Notification {
        id: NotificationId::fresh(),
        owner: String::new(),
        title: "Build\u{e9}".to_owned(),
        message: "412 tests passed.".to_owned(),
        tag: None,
        link: Some("https://ci.example/7".to_owned()),
        untrusted: None,
        author: Author::person("ann"),
        created_at: 0,
        delivered: Vec::new(),
        failed: Vec::new(),
        dismissed_at: None,
    };
    assert_eq!(mailer.send(None, &note).await, Ok(()));
    let mails = dovecot.sink.mails.lock().unwrap().clone();
    let [mail] = mails.as_slice() else { panic!("{mails:?}") };
    for part in [
        "To: <ann@example.org>",
        "Auto-Submitted: auto-generated",
        "412 tests passed.",
        "https://ci.example/7",
    ] {
        assert!(mail.contains(part), "{part}: {mail}");
    }
    let missing = mailer.send(Some("eve@example.org"), &note).await.unwrap_err();
    assert!(missing.contains("eve@example.org"), "{missing}");
}

#[tokio::test]
async fn ten_thousand_mails_are_searched_in_bounded_time() {
    let Some(dovecot) = Dovecot::start() else { return };
    let tools = dovecot.tools().await;
    for number in 0..10_000 {
        let mail = format!("From: a{number}@example.net\nSubject: Mail {number}\n\nText\n");
        dovecot.deliver(&format!("{number}.m"), &mail);
    }
    // The server reads them once.
    let checked = structured(&tools, "check_email", json!({})).await;
    assert_eq!(checked["accounts"][0]["unread"], 10_000, "{checked}");
    assert_eq!(checked["accounts"][0]["mails"].as_array().unwrap().len(), 20);
    let mut times = Vec::new();
    for _ in 0..20 {
        let started = Instant::now();
        structured(&tools, "search_email", json!({"subject": "Mail 77"})).await;
        times.push(started.elapsed());
    }
    times.sort();
    eprintln!("search among 10,000 mails: p50 {:?}, with connecting and login", times[10]);
    assert!(times[10] < Duration::from_secs(10), "{times:?}");
}
