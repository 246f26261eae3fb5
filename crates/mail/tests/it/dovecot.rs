//! A mailbox on Dovecot, mail handed to Dovecot's submission server.

use std::fs;
use std::sync::Arc;
use std::time::Instant;

use serde_json::{Value, json};
use toolcrib_assistant::Writer;
use toolcrib_assistant::draft::{DraftStatus, SendRequest, SendRule};
use toolcrib_assistant::notify::OwnMail as _;
use toolcrib_core::{Author, Notification, NotificationId, Trust, Urgency};
use toolcrib_mail::account::{NewAccount, Security};
use toolcrib_mail::{MailTools, OwnMailer};
use toolcrib_testkit::mail_servers::{Dovecot, PASSWORD};

use crate::fixture::{Passwords, call, client, tools};

pub(crate) fn account(dovecot: &Dovecot) -> NewAccount {
    NewAccount {
        address: "ann@example.org".to_owned(),
        display_name: "Ann".to_owned(),
        imap_host: Some("127.0.0.1".to_owned()),
        imap_port: Some(dovecot.imap),
        smtp_host: Some("127.0.0.1".to_owned()),
        smtp_port: Some(dovecot.submission),
        smtp_security: Some(Security::Starttls),
        own_network: true,
        ..NewAccount::default()
    }
}

/// Tools with the account of ann.
pub(crate) async fn tools_of(dovecot: &Dovecot) -> MailTools {
    let vault = Arc::new(Passwords::default());
    let tools = tools(dovecot.folder(), client(&dovecot.cert), vault);
    let added = tools.accounts.add(account(dovecot), PASSWORD).await;
    assert!(added.is_ok(), "{added:?}\n{}", dovecot.log());
    tools
}

pub(crate) fn writer() -> Writer {
    Writer { owner: String::new(), author: Author::person("ann"), untrusted: None }
}

pub(crate) fn send(id: &str, version: i64) -> SendRequest {
    SendRequest { id: id.to_owned(), version: Some(version), again: false, by: "ann".to_owned() }
}

pub(crate) async fn structured(tools: &MailTools, name: &str, args: Value) -> Value {
    call(tools, name, args).await.unwrap().structured.unwrap()
}

#[tokio::test]
async fn a_wrong_password_is_found_before_anything_is_saved() {
    let Some(dovecot) = Dovecot::start() else { return };
    let vault = Arc::new(Passwords::default());
    let tools = tools(dovecot.folder(), client(&dovecot.cert), vault.clone());
    let error = tools.accounts.add(account(&dovecot), "a wrong one").await.unwrap_err().to_string();
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
    let tools = tools_of(&dovecot).await;
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
    assert_eq!(dovecot.sink.mails().len(), 0, "a model sends nothing");
    let draft = tools.drafts.get("", made["draft_id"].as_str().unwrap()).await.unwrap();
    assert_eq!(draft.references, ["<1@example.net>", "<2@example.net>"]);
    let sent = tools.drafts.send(&writer(), send(&draft.id, draft.version)).await.unwrap();
    assert_eq!((sent.status, sent.note), (DraftStatus::Sent, None), "{}", dovecot.log());
    let mails = dovecot.sink.mails();
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
    let copies = dovecot.maildir().join(".Gesendet/cur");
    assert_eq!(fs::read_dir(copies).unwrap().count(), 1);
    // It leaves once, however often it is asked for.
    assert!(tools.drafts.send(&writer(), send(&draft.id, sent.version)).await.is_err());
    assert_eq!(dovecot.sink.mails().len(), 1);
}

#[tokio::test]
async fn a_refused_recipient_fails_and_a_rule_lets_only_its_own_leave() {
    let Some(dovecot) = Dovecot::start() else { return };
    let tools = tools_of(&dovecot).await;
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
    assert_eq!(dovecot.sink.mails().len(), 1);
    let secret = json!({"to": "a@example.net", "subject": "x", "body": PASSWORD});
    assert!(call(&tools, "compose_email", secret).await.is_err());
}

#[tokio::test]
async fn a_notification_is_mailed_to_the_own_address_only() {
    let Some(dovecot) = Dovecot::start() else { return };
    let tools = tools_of(&dovecot).await;
    let mailer = OwnMailer(tools.accounts.clone());
    let note = Notification {
        id: NotificationId::fresh(),
        owner: String::new(),
        title: "Build\u{e9}".to_owned(),
        message: "412 tests passed.".to_owned(),
        urgency: Urgency::Normal,
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
    let mails = dovecot.sink.mails();
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
async fn ten_thousand_mails_are_searched_on_one_connection() {
    let Some(dovecot) = Dovecot::start() else { return };
    let tools = tools_of(&dovecot).await;
    for number in 0..10_000 {
        let mail = format!("From: a{number}@example.net\nSubject: Mail {number}\n\nText\n");
        dovecot.deliver(&format!("{number}.m"), &mail);
    }
    // The server reads them once.
    let checked = structured(&tools, "check_email", json!({})).await;
    assert_eq!(checked["accounts"][0]["unread"], 10_000, "{checked}");
    assert_eq!(checked["accounts"][0]["mails"].as_array().unwrap().len(), 20);
    let mut times = Vec::new();
    let logins = dovecot.logins();
    for _ in 0..20 {
        let started = Instant::now();
        structured(&tools, "search_email", json!({"subject": "Mail 77"})).await;
        times.push(started.elapsed());
    }
    times.sort();
    eprintln!("search among 10,000 mails on a kept connection: p50 {:?}", times[10]);
    assert_eq!(dovecot.logins(), logins, "the connection is kept");
}
