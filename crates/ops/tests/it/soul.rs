//! Operations on the person's part of the system prompt.

use toolcrib_ops::OpError;
use toolcrib_ops::soul::{self, ChangeSoulRequest, ShowSoulRequest, SoulHistoryRequest, SoulReply};

use crate::fixture::Fixture;

#[tokio::test]
async fn the_text_is_set_taken_back_and_cleared() {
    let fixture = Fixture::new().await;
    let ctx = fixture.ctx();
    assert_eq!(soul::show(&ctx, ShowSoulRequest).await.unwrap(), SoulReply::default());
    for text in ["Answer briefly.", "Answer in German."] {
        soul::change(&ctx, ChangeSoulRequest::Set(text.to_owned())).await.unwrap();
    }
    let undone = soul::change(&ctx, ChangeSoulRequest::Undo).await.unwrap();
    assert_eq!(undone.text.as_deref(), Some("Answer briefly."));
    soul::change(&ctx, ChangeSoulRequest::Clear).await.unwrap();
    assert_eq!(soul::show(&ctx, ShowSoulRequest).await.unwrap().text, None);
    let history = soul::history(&ctx, SoulHistoryRequest).await.unwrap();
    assert!(history.len() >= 2 && history.iter().all(|change| change.by == "ann"), "{history:?}");
}

#[tokio::test]
async fn the_text_is_denied_to_viewers_and_absent_for_other_owners() {
    let fixture = Fixture::new().await;
    let set = ChangeSoulRequest::Set("Answer briefly.".to_owned());
    soul::change(&fixture.ctx(), set).await.unwrap();
    let of_viewer = fixture.ctx_of(fixture.viewer());
    let denied = soul::show(&of_viewer, ShowSoulRequest).await.unwrap_err();
    assert!(matches!(denied, OpError::Denied(_)), "{denied:?}");
    let denied = soul::history(&of_viewer, SoulHistoryRequest).await.unwrap_err();
    assert!(matches!(denied, OpError::Denied(_)), "{denied:?}");
    let of_other = fixture.ctx_of(fixture.other_owner());
    assert_eq!(soul::show(&of_other, ShowSoulRequest).await.unwrap(), SoulReply::default());
}

#[tokio::test]
async fn nothing_to_take_back_is_gone() {
    let fixture = Fixture::new().await;
    let error = soul::change(&fixture.ctx(), ChangeSoulRequest::Undo).await.unwrap_err();
    assert!(matches!(error, OpError::Gone(_)), "{error:?}");
}
