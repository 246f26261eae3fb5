//! Operations on the person's part of the system prompt.

use toolcrib_ops::OpError;
use toolcrib_ops::custom_instructions::{
    self, ChangeInstructionsRequest, InstructionsHistoryRequest, InstructionsReply,
    ShowInstructionsRequest,
};

use crate::fixture::Fixture;

#[tokio::test]
async fn the_text_is_set_taken_back_and_cleared() {
    let fixture = Fixture::new().await;
    let ctx = fixture.ctx();
    assert_eq!(
        custom_instructions::show(&ctx, ShowInstructionsRequest).await.unwrap(),
        InstructionsReply::default()
    );
    for text in ["Answer briefly.", "Answer in German."] {
        custom_instructions::change(&ctx, ChangeInstructionsRequest::Set(text.to_owned()))
            .await
            .unwrap();
    }
    let undone = custom_instructions::change(&ctx, ChangeInstructionsRequest::Undo).await.unwrap();
    assert_eq!(undone.text.as_deref(), Some("Answer briefly."));
    custom_instructions::change(&ctx, ChangeInstructionsRequest::Clear).await.unwrap();
    assert_eq!(custom_instructions::show(&ctx, ShowInstructionsRequest).await.unwrap().text, None);
    let history = custom_instructions::history(&ctx, InstructionsHistoryRequest).await.unwrap();
    assert!(history.len() >= 2 && history.iter().all(|change| change.by == "ann"), "{history:?}");
}

#[tokio::test]
async fn the_text_is_denied_to_viewers_and_absent_for_other_owners() {
    let fixture = Fixture::new().await;
    let set = ChangeInstructionsRequest::Set("Answer briefly.".to_owned());
    custom_instructions::change(&fixture.ctx(), set).await.unwrap();
    let of_viewer = fixture.ctx_of(fixture.viewer());
    let denied = custom_instructions::show(&of_viewer, ShowInstructionsRequest).await.unwrap_err();
    assert!(matches!(denied, OpError::Denied(_)), "{denied:?}");
    let denied =
        custom_instructions::history(&of_viewer, InstructionsHistoryRequest).await.unwrap_err();
    assert!(matches!(denied, OpError::Denied(_)), "{denied:?}");
    let of_other = fixture.ctx_of(fixture.other_owner());
    assert_eq!(
        custom_instructions::show(&of_other, ShowInstructionsRequest).await.unwrap(),
        InstructionsReply::default()
    );
}

#[tokio::test]
async fn nothing_to_take_back_is_gone() {
    let fixture = Fixture::new().await;
    let error = custom_instructions::change(&fixture.ctx(), ChangeInstructionsRequest::Undo)
        .await
        .unwrap_err();
    assert!(matches!(error, OpError::Gone(_)), "{error:?}");
}
