//! Operations on notifications.

use toolcrib_ops::OpError;
use toolcrib_ops::notifications::{
    self, DismissNotificationRequest, ListNotificationsRequest, SendNotificationRequest,
};

use crate::fixture::Fixture;

fn hello() -> SendNotificationRequest {
    SendNotificationRequest {
        title: "Tent".to_owned(),
        message: "The pegs are here.".to_owned(),
        urgency: toolcrib_core::Urgency::Normal,
        tag: None,
    }
}

#[tokio::test]
async fn a_notification_is_listed_until_it_is_dismissed() {
    let fixture = Fixture::new().await;
    let ctx = fixture.ctx();
    let sent = notifications::send(&ctx, hello()).await.unwrap().notification;
    assert_eq!((sent.message.as_deref(), sent.by.as_str()), (Some("The pegs are here."), "ann"));
    let open = ListNotificationsRequest { only_open: true };
    assert_eq!(notifications::list(&ctx, open).await.unwrap().len(), 1);
    let seen = notifications::list(&fixture.ctx_of(fixture.viewer()), open).await.unwrap();
    assert_eq!((&seen[0].title, &seen[0].message), (&None, &None));
    // A shortened id is enough for an open one.
    let short: String = sent.notification.chars().take(12).collect();
    let dismiss = DismissNotificationRequest::One(short);
    let of_other = fixture.ctx_of(fixture.other_owner());
    let foreign = notifications::dismiss(&of_other, dismiss.clone()).await.unwrap_err();
    assert!(matches!(foreign, OpError::NotFound { .. }), "{foreign:?}");
    assert!(notifications::dismiss(&ctx, dismiss).await.unwrap()[0].dismissed_at.is_some());
    let again = DismissNotificationRequest::All;
    assert_eq!(notifications::dismiss(&ctx, again).await.unwrap(), []);
    assert_eq!(notifications::list(&ctx, open).await.unwrap(), []);
    let all = notifications::list(&ctx, ListNotificationsRequest::default()).await.unwrap();
    assert_eq!(all.len(), 1);
}

#[tokio::test]
async fn a_notification_without_text_is_invalid() {
    let fixture = Fixture::new().await;
    let empty = SendNotificationRequest { message: String::new(), ..hello() };
    let error = notifications::send(&fixture.ctx(), empty).await.unwrap_err();
    assert!(matches!(error, OpError::Invalid(_)), "{error:?}");
}
