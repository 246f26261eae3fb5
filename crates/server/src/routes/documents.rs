//! Documents: adding, searching, reading, deleting and restoring them.

use axum::extract::State;
use axum::http::HeaderMap;
use axum::response::Response;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use toolcrib_ops::documents::{
    self, AddDocumentRequest, ChangeDocumentRequest, DocumentChange, DocumentReply,
    DocumentTextReply, ListDocumentsRequest, PassageReply, SearchDocumentsRequest,
    ViewDocumentRequest,
};

use crate::api::{Api, Bytes, Json, Operation, Page, Path, Query, etag_response};
use crate::problem::Problem;
use crate::role::{Principal, Role};
use crate::state::DaemonState;

/// Default number of passages of a search.
const PASSAGES: usize = 10;
/// Default number of characters of a view.
const CHARS: usize = 4_000;

/// Filter of documents.
#[derive(Debug, Default, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
struct DocumentQuery {
    /// Lists deleted documents that can be restored.
    deleted: bool,
}

/// The name of a file.
#[derive(Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct FileName {
    /// The name, such as `contract.pdf`.
    name: String,
}

/// A search in documents.
#[derive(Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct SearchQuery {
    /// The query, in words.
    query: String,
    /// The maximum number of passages, up to 50; default 10.
    #[serde(default)]
    limit: Option<usize>,
}

/// The requested part.
#[derive(Debug, Default, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
struct TextQuery {
    /// The first page or sheet; default 1.
    page: Option<u32>,
    /// The first character in the page; default 0.
    offset: Option<u32>,
    /// The maximum number of characters, up to 8,000; default 4,000.
    max_chars: Option<usize>,
}

pub(super) fn routes(api: &mut Api) {
    let list = Operation::get("/documents", Role::Viewer, "Lists documents, newest first.");
    api.add(
        list.query::<DocumentQuery>()
            .returns_ok::<Page<DocumentReply>>("Your documents.")
            .etagged(),
        list_documents,
    );
    let add = Operation::post("/documents", Role::Operator, "Adds a document.").bytes();
    let add = add.description("The body is the file: PDF, Word, Excel, CSV, HTML or text. The first pages are indexed before the reply; the rest of a long file is indexed in the background.");
    api.add(add.query::<FileName>().returns_ok::<DocumentReply>("The document."), add_document);
    let search = Operation::get("/documents/search", Role::Caller, "Searches documents.");
    api.add(
        search.query::<SearchQuery>().returns_ok::<Page<PassageReply>>("Passages, best first."),
        search_documents,
    );
    let text = Operation::get("/documents/{document}", Role::Caller, "Shows text of a document.");
    api.add(text.query::<TextQuery>().returns_ok::<DocumentTextReply>("The text."), view_document);
    let delete = Operation::delete("/documents/{document}", Role::Operator, "Deletes a document.");
    api.add(delete.returns_ok::<DocumentReply>("It can be restored for 30 days."), delete_document);
    let restore = Operation::post(
        "/documents/{document}/restore",
        Role::Operator,
        "Restores a deleted document.",
    );
    api.add(
        restore.returns_ok::<DocumentReply>("The document can be found again."),
        restore_document,
    );
}

async fn list_documents(
    State(daemon): State<DaemonState>,
    principal: Principal,
    headers: HeaderMap,
    Query(query): Query<DocumentQuery>,
) -> Result<Response, Problem> {
    let request = ListDocumentsRequest { deleted: query.deleted };
    let rows = documents::list(&daemon.op_context(&principal, None), request).await?;
    Ok(etag_response(&headers, &Page::single_page(rows)))
}

async fn add_document(
    State(daemon): State<DaemonState>,
    principal: Principal,
    Query(query): Query<FileName>,
    Bytes(body): Bytes,
) -> Result<Json<DocumentReply>, Problem> {
    let request = AddDocumentRequest { name: query.name, bytes: body.to_vec(), wait: false };
    Ok(Json(documents::add(&daemon.op_context(&principal, None), request).await?))
}

async fn search_documents(
    State(daemon): State<DaemonState>,
    principal: Principal,
    Query(query): Query<SearchQuery>,
) -> Result<Json<Page<PassageReply>>, Problem> {
    let limit = query.limit.unwrap_or(PASSAGES);
    let request = SearchDocumentsRequest { query: query.query, limit };
    let found = documents::search(&daemon.op_context(&principal, None), request).await?;
    Ok(Json(Page::single_page(found)))
}

async fn view_document(
    State(daemon): State<DaemonState>,
    principal: Principal,
    Path(document): Path<String>,
    Query(query): Query<TextQuery>,
) -> Result<Json<DocumentTextReply>, Problem> {
    let request = ViewDocumentRequest {
        document,
        page: query.page.unwrap_or(1),
        offset: query.offset.unwrap_or(0),
        max_chars: query.max_chars.unwrap_or(CHARS),
    };
    Ok(Json(documents::view(&daemon.op_context(&principal, None), request).await?))
}

async fn delete_document(
    State(daemon): State<DaemonState>,
    principal: Principal,
    Path(document): Path<String>,
) -> Result<Json<DocumentReply>, Problem> {
    let request = ChangeDocumentRequest { document, change: DocumentChange::Delete };
    Ok(Json(documents::change(&daemon.op_context(&principal, None), request).await?))
}

async fn restore_document(
    State(daemon): State<DaemonState>,
    principal: Principal,
    Path(document): Path<String>,
) -> Result<Json<DocumentReply>, Problem> {
    let request = ChangeDocumentRequest { document, change: DocumentChange::Restore };
    Ok(Json(documents::change(&daemon.op_context(&principal, None), request).await?))
}
