//! Operations on conversations.

use serde_json::json;
use toolcrib_core::{Clock as _, Conversation, ConversationId, RESTORABLE_MS, SystemClock};
use toolcrib_ops::OpError;
use toolcrib_ops::conversations::{
    self, ListConversationsRequest, ListDeletedConversationsRequest, MessagesRequest,
    RemoveConversationRequest, RestoreConversationRequest, ShowConversationRequest,
};

use crate::fixture::Fixture;

async fn start(fixture: &Fixture, updated_at: i64) -> ConversationId {
    let id = ConversationId::fresh();
    let conversation = Conversation {
        id,
        owner: String::new(),
        title: "Repair the tent".to_owned(),
        agent: "general-assistant".to_owned(),
        workspace: String::new(),
        created_at: 1,
        updated_at,
    };
    let stores = fixture.toolcrib.stores();
    stores.runs.put_conversation(conversation).await.unwrap();
    id
}

#[tokio::test]
async fn conversations_are_listed_in_pages_and_shown_to_their_owner() {
    let fixture = Fixture::new().await;
    let (older, newer) = (start(&fixture, 1).await, start(&fixture, 2).await);
    let request = ListConversationsRequest { before: None, limit: 1 };
    let page = conversations::list(&fixture.store(), request).await.unwrap();
    assert_eq!((page.conversations[0].id, page.more), (newer, true));
    let request = ListConversationsRequest { before: Some((2, newer)), limit: 1 };
    let page = conversations::list(&fixture.store(), request).await.unwrap();
    assert_eq!((page.conversations[0].id, page.more), (older, false));
    let request = ShowConversationRequest { id: older };
    let shown = conversations::show(&fixture.store(), request).await.unwrap();
    assert_eq!(shown.title, "Repair the tent");
    assert_eq!(conversations::show(&fixture.viewer(), request).await.unwrap().title, "");
    let foreign = conversations::show(&fixture.other_owner(), request).await.unwrap_err();
    assert!(matches!(foreign, OpError::NotFound { .. }), "{foreign:?}");
    assert_eq!(json!(shown)["id"], json!(older));
}

#[tokio::test]
async fn messages_of_an_unknown_conversation_are_not_found() {
    let fixture = Fixture::new().await;
    let id = start(&fixture, 1).await;
    let request = MessagesRequest { id, since: 0, limit: Some(1) };
    let reply = conversations::messages(&fixture.ctx(), request).await.unwrap();
    assert_eq!((reply.messages.len(), reply.next), (0, None));
    let request = MessagesRequest { id: ConversationId::fresh(), ..request };
    let error = conversations::messages(&fixture.ctx(), request).await.unwrap_err();
    assert!(matches!(error, OpError::NotFound { .. }), "{error:?}");
}

#[tokio::test]
async fn a_conversation_is_removed_by_its_owner_once_and_recorded() {
    let fixture = Fixture::new().await;
    let id = start(&fixture, 1).await;
    let request = RemoveConversationRequest { id, forever: false };
    let other = fixture.other_owner();
    let error = conversations::remove(&other, None, request).await.unwrap_err();
    assert!(matches!(error, OpError::NotFound { .. }), "{error:?}");
    let ctx = fixture.store();
    let removed = conversations::remove(&ctx, Some(&fixture.toolcrib), request).await.unwrap();
    assert_eq!(removed.deleted, id);
    let error = conversations::remove(&ctx, None, request).await.unwrap_err();
    assert!(matches!(error, OpError::NotFound { .. }), "{error:?}");
    let mut recorded = 0;
    for (chain, _) in ctx.stores.audit.chains().await.unwrap() {
        let rows = ctx.stores.audit.records(chain, 0, 100).await.unwrap();
        recorded += rows.iter().filter(|row| row.text.contains("conversation.remove")).count();
    }
    assert_eq!(recorded, 1);
}

#[tokio::test]
async fn a_removed_conversation_is_restored_by_its_owner_or_removed_for_good() {
    let fixture = Fixture::new().await;
    let id = start(&fixture, 1).await;
    let (ctx, all) = (fixture.store(), ListDeletedConversationsRequest { limit: 10 });
    let request = RemoveConversationRequest { id, forever: false };
    conversations::remove(&ctx, None, request).await.unwrap();
    let deleted = conversations::list_deleted(&ctx, all).await.unwrap();
    assert_eq!((deleted[0].conversation.id, deleted.len()), (id, 1));
    assert_eq!(conversations::list_deleted(&fixture.other_owner(), all).await.unwrap(), []);
    let viewer = conversations::list_deleted(&fixture.viewer(), all).await.unwrap();
    assert_eq!(viewer[0].conversation.title, "");
    let restore = RestoreConversationRequest { id };
    let foreign = conversations::restore(&fixture.other_owner(), restore).await.unwrap_err();
    assert!(matches!(foreign, OpError::NotFound { .. }), "{foreign:?}");
    let restored = conversations::restore(&ctx, restore).await.unwrap();
    assert_eq!(restored.title, "Repair the tent");
    let error = conversations::restore(&ctx, restore).await.unwrap_err();
    assert!(matches!(error, OpError::NotFound { .. }), "{error:?}");
    conversations::remove(&ctx, None, request).await.unwrap();
    let forever = RemoveConversationRequest { id, forever: true };
    conversations::remove(&ctx, None, forever).await.unwrap();
    assert_eq!(conversations::list_deleted(&ctx, all).await.unwrap(), []);
    conversations::restore(&ctx, restore).await.unwrap_err();
}

#[tokio::test]
async fn a_removed_conversation_expires() {
    let fixture = Fixture::new().await;
    let id = start(&fixture, 1).await;
    let (ctx, all) = (fixture.store(), ListDeletedConversationsRequest { limit: 10 });
    let long_ago = SystemClock.now_ms() - RESTORABLE_MS - 1;
    fixture.toolcrib.stores().runs.trash_conversation("", id, long_ago).await.unwrap();
    assert_eq!(conversations::list_deleted(&ctx, all).await.unwrap(), []);
    let restore = RestoreConversationRequest { id };
    let error = conversations::restore(&ctx, restore).await.unwrap_err();
    assert!(matches!(error, OpError::NotFound { .. }), "{error:?}");
}
