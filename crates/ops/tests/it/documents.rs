//! Operations on documents.

use toolcrib_ops::OpError;
use toolcrib_ops::documents::{
    self, AddDocumentRequest, ChangeDocumentRequest, DocumentChange, ListDocumentsRequest,
    SearchDocumentsRequest, ViewDocumentRequest,
};

use crate::fixture::Fixture;

fn tent() -> AddDocumentRequest {
    AddDocumentRequest {
        name: "tent.md".to_owned(),
        bytes: b"The tent needs new pegs.".to_vec(),
        wait: true,
    }
}

fn whole(document: &str) -> ViewDocumentRequest {
    ViewDocumentRequest { document: document.to_owned(), page: 1, offset: 0, max_chars: 100 }
}

#[tokio::test]
async fn a_document_is_added_found_and_read_by_its_owner() {
    let fixture = Fixture::new().await;
    let added = documents::add(&fixture.ctx(), tent()).await.unwrap();
    assert_eq!((added.name.as_str(), added.status.as_str()), ("tent.md", "ready"));
    let listed = documents::list(&fixture.ctx(), ListDocumentsRequest::default()).await.unwrap();
    assert_eq!(listed, std::slice::from_ref(&added));
    let query = SearchDocumentsRequest { query: "pegs".to_owned(), limit: 3 };
    let found = documents::search(&fixture.ctx(), query.clone()).await.unwrap();
    assert_eq!((found[0].document.as_str(), found.len()), (added.document.as_str(), 1));
    let view = documents::view(&fixture.ctx(), whole(&added.document)).await.unwrap();
    assert!(view.text.contains("new pegs"), "{}", view.text);
    let of_other = fixture.ctx_of(fixture.other_owner());
    assert_eq!(documents::list(&of_other, ListDocumentsRequest::default()).await.unwrap(), []);
    let error = documents::view(&of_other, whole("tent.md")).await.unwrap_err();
    assert!(matches!(error, OpError::NotFound { .. }), "{error:?}");
    let of_viewer = fixture.ctx_of(fixture.viewer());
    for denied in [
        documents::view(&of_viewer, whole("tent.md")).await.map(drop),
        documents::search(&of_viewer, query).await.map(drop),
    ] {
        assert!(matches!(denied, Err(OpError::Denied(_))), "{denied:?}");
    }
}

#[tokio::test]
async fn a_deleted_document_is_restored() {
    let fixture = Fixture::new().await;
    let added = documents::add(&fixture.ctx(), tent()).await.unwrap();
    let change = |change| ChangeDocumentRequest { document: "tent.md".to_owned(), change };
    let list = |deleted| ListDocumentsRequest { deleted };
    documents::change(&fixture.ctx(), change(DocumentChange::Delete)).await.unwrap();
    assert_eq!(documents::list(&fixture.ctx(), list(false)).await.unwrap(), []);
    let deleted = documents::list(&fixture.ctx(), list(true)).await.unwrap();
    assert!(deleted[0].deleted_at.is_some(), "{deleted:?}");
    let back =
        ChangeDocumentRequest { document: added.document.clone(), change: DocumentChange::Restore };
    documents::change(&fixture.ctx(), back).await.unwrap();
    assert_eq!(documents::list(&fixture.ctx(), list(false)).await.unwrap(), [added]);
}

#[tokio::test]
async fn a_file_without_text_is_invalid() {
    let fixture = Fixture::new().await;
    let empty = AddDocumentRequest { bytes: Vec::new(), ..tent() };
    let error = documents::add(&fixture.ctx(), empty).await.unwrap_err();
    assert!(matches!(error, OpError::Invalid(_)), "{error:?}");
}
