//! Operations on memories.

use serde_json::json;
use toolcrib_ops::OpError;
use toolcrib_ops::memories::{
    self, EditMemoryRequest, ExportMemoriesRequest, ForgetMemoryRequest, ImportMemoriesRequest,
    ListMemoriesRequest, ShowMemoryRequest, UndoMemoryRequest,
};

use crate::fixture::Fixture;

fn city(content: &str) -> EditMemoryRequest {
    EditMemoryRequest { key: "city".to_owned(), content: content.to_owned(), category: None }
}

fn show() -> ShowMemoryRequest {
    ShowMemoryRequest { key: "city".to_owned() }
}

#[tokio::test]
async fn a_memory_is_written_shown_and_forgotten_by_its_owner() {
    let fixture = Fixture::new().await;
    let ctx = fixture.ctx();
    memories::edit(&ctx, city("Leeds")).await.unwrap();
    memories::edit(&ctx, city("York")).await.unwrap();
    assert_eq!(memories::show(&ctx, show()).await.unwrap().content.as_deref(), Some("York"));
    let undone = memories::undo(&ctx, UndoMemoryRequest::default()).await.unwrap();
    assert_eq!(undone.memory.unwrap().content.as_deref(), Some("Leeds"));
    let seen = memories::show(&fixture.ctx_of(fixture.viewer()), show()).await.unwrap();
    assert_eq!((seen.content, seen.key.as_str()), (None, "city"));
    let of_other = fixture.ctx_of(fixture.other_owner());
    assert_eq!(memories::list(&of_other, ListMemoriesRequest::default()).await.unwrap(), []);
    memories::forget(&ctx, ForgetMemoryRequest { key: "city".to_owned() }).await.unwrap();
    let gone = memories::show(&ctx, show()).await.unwrap_err();
    assert!(matches!(gone, OpError::NotFound { .. }), "{gone:?}");
}

#[tokio::test]
async fn an_unknown_key_names_near_ones_and_an_empty_text_is_invalid() {
    let fixture = Fixture::new().await;
    memories::edit(&fixture.ctx(), city("Leeds")).await.unwrap();
    let slip = ShowMemoryRequest { key: "citty".to_owned() };
    let error = memories::show(&fixture.ctx(), slip).await.unwrap_err();
    assert!(matches!(&error, OpError::NotFound { near, .. } if near == &["city"]), "{error:?}");
    let error = memories::edit(&fixture.ctx(), city("  ")).await.unwrap_err();
    assert!(matches!(error, OpError::Invalid(_)), "{error:?}");
}

#[tokio::test]
async fn exported_memories_are_imported_elsewhere() {
    let (from, to) = (Fixture::new().await, Fixture::new().await);
    memories::edit(&from.ctx(), city("Leeds")).await.unwrap();
    let file = memories::export(&from.ctx(), ExportMemoriesRequest).await.unwrap();
    let request = ImportMemoriesRequest { file: json!(file), replace: false };
    let done = memories::import(&to.ctx(), request.clone()).await.unwrap();
    assert_eq!((done.added, done.unchanged), (1, 0));
    assert_eq!(memories::import(&to.ctx(), request).await.unwrap().unchanged, 1);
    let denied =
        memories::export(&from.ctx_of(from.viewer()), ExportMemoriesRequest).await.unwrap_err();
    assert!(matches!(denied, OpError::Denied(_)), "{denied:?}");
    let other = ImportMemoriesRequest { file: json!({"memories": 1}), replace: false };
    let error = memories::import(&to.ctx(), other).await.unwrap_err();
    assert!(matches!(error, OpError::Invalid(_)), "{error:?}");
}
