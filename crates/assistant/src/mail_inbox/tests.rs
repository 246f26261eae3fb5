//! The inboxes with the in-memory store.

use std::sync::Arc;

use toolcrib_engine::store::MemoryAssistantRows;

use super::{ArrivedMail, MailInboxes, MailPosition, RECENT, TEXT_CHARS};

fn mail(uid: u32) -> ArrivedMail {
    let text = "x".repeat(2 * TEXT_CHARS);
    ArrivedMail { uid, from: format!("f{uid}"), subject: "s".to_owned(), text, seen_at: 0 }
}

fn at(next_uid: u32) -> MailPosition {
    MailPosition { validity: 7, next_uid }
}

#[tokio::test]
async fn mail_that_two_daemons_see_is_kept_once_and_bounded() {
    let inboxes = MailInboxes::new(Arc::new(MemoryAssistantRows::default()));
    let record = |next, mails: Vec<ArrivedMail>| {
        let inboxes = inboxes.clone();
        async move { inboxes.record("", "a@x.org", at(next), 3, &mails).await.unwrap() }
    };
    record(5, Vec::new()).await;
    record(7, vec![mail(5), mail(6)]).await;
    // The other daemon is slower.
    record(6, vec![mail(5)]).await;
    let inbox = inboxes.get("", "a@x.org").await.unwrap().unwrap();
    assert_eq!(inbox.position, Some(at(7)));
    assert_eq!(inbox.recent.iter().map(|mail| mail.uid).collect::<Vec<_>>(), [6, 5]);
    assert_eq!(inbox.recent[0].text.len(), TEXT_CHARS);
    record(107, (7..107).map(mail).collect()).await;
    let inbox = inboxes.get("", "a@x.org").await.unwrap().unwrap();
    assert_eq!((inbox.recent.len(), inbox.recent[0].uid), (RECENT, 106));
}

#[tokio::test]
async fn a_problem_is_news_once_and_ends_with_the_next_reading() {
    let inboxes = MailInboxes::new(Arc::new(MemoryAssistantRows::default()));
    let get = || async { inboxes.get("", "a@x.org").await.unwrap().unwrap() };
    inboxes.record_problem("", "a@x.org", "down").await.unwrap();
    let first = get().await;
    inboxes.record_problem("", "a@x.org", "down").await.unwrap();
    assert_eq!(get().await, first);
    assert!(first.has_news_since(0) && !first.has_news_since(i64::MAX));
    inboxes.record("", "a@x.org", at(1), 0, &[]).await.unwrap();
    assert_eq!((get().await.problem(), get().await.has_news_since(0)), (None, false));
    inboxes.forget("", "a@x.org").await.unwrap();
    assert_eq!(inboxes.all("").await.unwrap(), []);
}
