//! Notifications of a person.

use toolcrib_core::notification::NOTIFICATIONS_KEPT;
use toolcrib_core::{Author, Notification, NotificationId, NotificationStore, StoreError, Urgency};

/// The latest ones are kept, and a tag replaces. Needs an empty store.
///
/// # Panics
/// When the store does something else.
pub async fn notifications(store: &dyn NotificationStore) {
    let first = notification("a", 5, None);
    store.add_notification(first.clone()).await.unwrap();
    let again = store.add_notification(first.clone()).await;
    assert_eq!(again, Err(StoreError::Conflict(first.id.to_string())));
    store.add_notification(notification("b", 7, Some("t"))).await.unwrap();
    store.add_notification(notification("a", 8, Some("t"))).await.unwrap();
    let newer = notification("a", 9, Some("t"));
    store.add_notification(newer.clone()).await.unwrap();
    assert_eq!(store.notifications("a").await.unwrap(), [newer.clone(), first.clone()]);
    assert_eq!(store.notifications("b").await.unwrap().len(), 1);
    let times = async |since, limit| -> Vec<i64> {
        let rows = store.notifications_since(since, limit).await.unwrap();
        rows.iter().map(|row| row.created_at).collect()
    };
    assert_eq!(times(7, 10).await, [7, 9]);
    assert_eq!(times(0, 2).await, [5, 7]);
    let dismissed = Notification { dismissed_at: Some(10), ..first };
    store.put_notification(dismissed.clone()).await.unwrap();
    assert_eq!(store.notification(dismissed.id).await.unwrap(), Some(dismissed.clone()));
    for at in 0..NOTIFICATIONS_KEPT {
        let at = 100 + i64::try_from(at).unwrap();
        store.add_notification(notification("a", at, None)).await.unwrap();
    }
    assert_eq!(store.notifications("a").await.unwrap().len(), NOTIFICATIONS_KEPT);
    let gone = store.put_notification(dismissed.clone()).await;
    assert_eq!(gone, Err(StoreError::Missing(dismissed.id.to_string())));
}

fn notification(owner: &str, created_at: i64, tag: Option<&str>) -> Notification {
    Notification {
        id: NotificationId::fresh(),
        owner: owner.into(),
        title: "Tea".into(),
        message: "It is ready.\u{0}".into(),
        urgency: Urgency::High,
        tag: tag.map(str::to_owned),
        link: None,
        untrusted: None,
        author: Author::person("ann"),
        created_at,
        delivered: vec!["desktop".into()],
        failed: Vec::new(),
        dismissed_at: None,
    }
}
