//! States of drafts, with the in-memory stores.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use toolcrib_core::{Author, BoxFuture, RunId};
use toolcrib_engine::store::{MemoryAssistantRows, MemoryCalls};

use super::{
    Carrier, Delivery, Draft, DraftChange, DraftError, DraftKind, DraftStatus, Drafts, MAX_WAITING,
    NewDraft, SendRequest, SendRule, unusual_letters,
};
use crate::rows::Writer;

/// Accepts every mail, and counts them.
#[derive(Default)]
struct Counter(AtomicUsize);

impl Carrier for Counter {
    fn kind(&self) -> DraftKind {
        DraftKind::Mail
    }

    fn deliver<'a>(&'a self, _: &'a str, _: &'a Draft) -> BoxFuture<'a, Delivery> {
        Box::pin(async {
            tokio::task::yield_now().await;
            self.0.fetch_add(1, Ordering::SeqCst);
            Delivery::Sent(None)
        })
    }
}

fn drafts() -> (Drafts, Arc<Counter>) {
    let counter = Arc::new(Counter::default());
    let drafts = Drafts::new(
        Arc::new(MemoryAssistantRows::default()),
        Arc::new(MemoryCalls::default()),
        vec![counter.clone()],
        Arc::new(|text: &str| text.contains("hunter2")),
    );
    (drafts, counter)
}

fn new(to: &str, body: &str) -> NewDraft {
    NewDraft {
        kind: DraftKind::Mail,
        account: "ann@example.org".to_owned(),
        to: vec![to.to_owned()],
        subject: "Hello".to_owned(),
        body: body.to_owned(),
        attachments: Vec::new(),
        in_reply_to: None,
        references: Vec::new(),
        message_domain: "example.org".to_owned(),
    }
}

fn person() -> Writer {
    Writer { owner: "ann".to_owned(), author: Author::person("ann"), untrusted: None }
}

fn model() -> Writer {
    let author = Author { by: "helper".to_owned(), run: Some(RunId::fresh()), call: None };
    Writer { author, untrusted: Some("a page".to_owned()), ..person() }
}

fn send(draft: &Draft) -> SendRequest {
    SendRequest {
        id: draft.id.clone(),
        version: Some(draft.version),
        again: false,
        by: "ann".to_owned(),
    }
}

#[tokio::test]
async fn a_draft_leaves_once_and_only_in_the_version_that_was_read() {
    let (drafts, counter) = drafts();
    let draft = drafts.create(&model(), new("bob@example.org", "Hi")).await.unwrap();
    assert_eq!((draft.status, draft.untrusted.as_deref()), (DraftStatus::Draft, Some("a page")));
    // The model changes the draft after the person has read it.
    let change = DraftChange { body: Some("Other".to_owned()), ..DraftChange::default() };
    let changed = drafts.edit(&model(), &draft.id, None, &change).await.unwrap();
    let stale = drafts.send(&person(), send(&draft)).await.unwrap_err();
    assert_eq!(stale, DraftError::Stale(draft.id.clone()));
    let ann = person();
    let (one, two) =
        tokio::join!(drafts.send(&ann, send(&changed)), drafts.send(&ann, send(&changed)));
    assert_eq!(usize::from(one.is_ok()) + usize::from(two.is_ok()), 1, "{one:?} {two:?}");
    assert_eq!(counter.0.load(Ordering::SeqCst), 1);
    let sent = drafts.get("ann", &draft.id).await.unwrap();
    assert_eq!((sent.status, sent.sent_by()), (DraftStatus::Sent, Some("ann")));
    assert!(drafts.edit(&model(), &draft.id, None, &change).await.is_err());
    assert!(drafts.discard(&person(), &draft.id).await.is_err());
    assert!(drafts.get("bob", &draft.id).await.is_err(), "another owner sees nothing");
}

#[tokio::test]
async fn a_discarded_draft_does_not_leave_and_none_is_dropped_for_another() {
    let (drafts, counter) = drafts();
    let draft = drafts.create(&person(), new("bob@example.org", "Hi")).await.unwrap();
    let gone = drafts.discard(&person(), &draft.id).await.unwrap();
    assert!(drafts.send(&person(), send(&gone)).await.is_err());
    for _ in 0..MAX_WAITING {
        drafts.create(&person(), new("bob@example.org", "Hi")).await.unwrap();
    }
    let full = drafts.create(&person(), new("bob@example.org", "Hi")).await.unwrap_err();
    assert_eq!((full, counter.0.load(Ordering::SeqCst)), (DraftError::Full, 0));
}

#[tokio::test]
async fn headers_with_line_breaks_and_secrets_are_refused() {
    let (drafts, _) = drafts();
    let subject = NewDraft { subject: "x\r\nBcc: eve@x.org".to_owned(), ..new("b@x.org", "Hi") };
    for bad in [
        new("b@x.org\nBcc: eve@x.org", "Hi"),
        new("", "Hi"),
        new("b@x.org", " "),
        new("b@x.org", "the password is hunter2"),
        subject,
    ] {
        assert!(drafts.create(&person(), bad.clone()).await.is_err(), "{bad:?}");
    }
}

#[test]
fn a_rule_names_one_whole_address() {
    let rules = ["mail:Ann@example.org".parse::<SendRule>().unwrap()];
    let covers = |to: &[&str]| {
        let to: Vec<String> = to.iter().map(ToString::to_string).collect();
        SendRule::covers(&rules, DraftKind::Mail, &to)
    };
    assert!(covers(&["ann@example.org"]));
    for other in [&["eve@example.org"][..], &["ann@example.org", "eve@example.org"], &[]] {
        assert!(!covers(other), "{other:?}");
    }
    let hook = ["webhook:https://example.org/Hook".parse::<SendRule>().unwrap()];
    let leaves = |to: &str| SendRule::covers(&hook, DraftKind::Webhook, &[to.to_owned()]);
    assert!(leaves("https://EXAMPLE.org/Hook") && !leaves("https://example.org/hook"));
    assert!(!leaves("https://example.org.evil/Hook"));
    for bad in ["webhook:ftp://x.org/", "webhook:https://a:b@x.org/", "webhook:https://*/"] {
        assert!(bad.parse::<SendRule>().is_err(), "{bad}");
    }
    for bad in ["mail:*@example.org", "mail:ann", "sms:ann@example.org", "ann@example.org", "mail:"]
    {
        assert!(bad.parse::<SendRule>().is_err(), "{bad}");
    }
}

#[test]
fn letters_that_look_like_others_are_named() {
    assert_eq!(unusual_letters("bob@example.org"), None);
    assert_eq!(unusual_letters("b\u{43e}b@example.org").as_deref(), Some("о (U+043E)"));
}
