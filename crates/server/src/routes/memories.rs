//! Memories: listing, changing, exporting and importing them.

use axum::extract::State;
use axum::http::HeaderMap;
use axum::response::Response;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;
use toolcrib_ops::OpError;
use toolcrib_ops::memories::{
    self, EditMemoryRequest, ExportMemoriesRequest, ForgetMemoryRequest, ImportMemoriesRequest,
    ImportedMemories, ListMemoriesRequest, MemoryReply, ShowMemoryRequest, UndoMemoryRequest,
    UndoneMemory,
};

use crate::api::{Api, Json, Operation, Page, Path, Query, etag_response};
use crate::problem::Problem;
use crate::role::{Principal, Role};
use crate::state::DaemonState;

/// Filter of memories.
#[derive(Debug, Default, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
struct MemoryQuery {
    /// A need in words; the 20 memories that fit best are listed. Default: all.
    query: Option<String>,
}

/// A text to store.
#[derive(Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct MemoryText {
    /// The text.
    content: String,
    /// `GENERAL`, `PREFERENCE`, `LEARNING` or `ERROR`; default that of the present memory.
    #[serde(default)]
    category: Option<String>,
}

/// The list or memory whose last change is undone.
#[derive(Debug, Default, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
struct UndoMemory {
    /// The key; default the memory that was changed last.
    key: Option<String>,
}

/// A file of memories.
#[derive(Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct ImportMemories {
    /// The file, in the format of `GET /memory/export`.
    file: Value,
    /// Whether memories that the file does not have are removed.
    #[serde(default)]
    replace: bool,
}

pub(super) fn routes(api: &mut Api) {
    let list = Operation::get("/memories", Role::Viewer, "Lists memories, sorted by key.");
    api.add(
        list.query::<MemoryQuery>().returns_ok::<Page<MemoryReply>>("Your memories.").etagged(),
        list_memories,
    );
    let show = Operation::get("/memories/{key}", Role::Viewer, "Shows a memory.");
    api.add(show.returns_ok::<MemoryReply>("The memory."), show_memory);
    let edit = Operation::put("/memories/{key}", Role::Operator, "Writes a memory.");
    let edit = edit.description("The caller becomes its author: a memory from untrusted text loses that label. A text with a secret is refused.");
    api.add(edit.body::<MemoryText>().returns_ok::<MemoryReply>("The memory."), edit_memory);
    let forget = Operation::delete("/memories/{key}", Role::Operator, "Forgets a memory.");
    api.add(
        forget.returns_ok::<MemoryReply>("The deleted memory; `POST /memory/undo` restores it."),
        forget_memory,
    );
    let undo =
        Operation::post("/memory/undo", Role::Operator, "Undoes the last change of a memory.");
    api.add(undo.body::<UndoMemory>().returns_ok::<UndoneMemory>("It is undone."), undo_memory);
    let export = Operation::get("/memory/export", Role::Caller, "Exports all memories.");
    api.add(export.returns_ok::<Value>("A file for `POST /memory/import`."), export_memories);
    let import = Operation::post("/memory/import", Role::Operator, "Imports memories from a file.");
    let import = import.description("Memories with the same keys are replaced. Nothing is written if one memory of the file cannot be stored.");
    api.add(
        import.body::<ImportMemories>().returns_ok::<ImportedMemories>("The changes."),
        import_memories,
    );
}

async fn list_memories(
    State(daemon): State<DaemonState>,
    principal: Principal,
    headers: HeaderMap,
    Query(query): Query<MemoryQuery>,
) -> Result<Response, Problem> {
    let request = ListMemoriesRequest { query: query.query };
    let rows = memories::list(&daemon.op_context(&principal, None), request).await?;
    Ok(etag_response(&headers, &Page::single_page(rows)))
}

async fn show_memory(
    State(daemon): State<DaemonState>,
    principal: Principal,
    Path(key): Path<String>,
) -> Result<Json<MemoryReply>, Problem> {
    let request = ShowMemoryRequest { key };
    Ok(Json(memories::show(&daemon.op_context(&principal, None), request).await?))
}

async fn edit_memory(
    State(daemon): State<DaemonState>,
    principal: Principal,
    Path(key): Path<String>,
    Json(text): Json<MemoryText>,
) -> Result<Json<MemoryReply>, Problem> {
    let category = text.category.as_deref().map(str::parse).transpose();
    let category = category.map_err(OpError::Invalid)?;
    let request = EditMemoryRequest { key, content: text.content, category };
    Ok(Json(memories::edit(&daemon.op_context(&principal, None), request).await?))
}

async fn forget_memory(
    State(daemon): State<DaemonState>,
    principal: Principal,
    Path(key): Path<String>,
) -> Result<Json<MemoryReply>, Problem> {
    let request = ForgetMemoryRequest { key };
    Ok(Json(memories::forget(&daemon.op_context(&principal, None), request).await?))
}

async fn undo_memory(
    State(daemon): State<DaemonState>,
    principal: Principal,
    Json(body): Json<UndoMemory>,
) -> Result<Json<UndoneMemory>, Problem> {
    let request = UndoMemoryRequest { key: body.key };
    Ok(Json(memories::undo(&daemon.op_context(&principal, None), request).await?))
}

async fn export_memories(
    State(daemon): State<DaemonState>,
    principal: Principal,
) -> Result<Json<Value>, Problem> {
    let ctx = daemon.op_context(&principal, None);
    let file = memories::export(&ctx, ExportMemoriesRequest).await?;
    let file = serde_json::to_value(file).map_err(|error| OpError::Internal(error.to_string()))?;
    Ok(Json(file))
}

async fn import_memories(
    State(daemon): State<DaemonState>,
    principal: Principal,
    Json(body): Json<ImportMemories>,
) -> Result<Json<ImportedMemories>, Problem> {
    let request = ImportMemoriesRequest { file: body.file, replace: body.replace };
    Ok(Json(memories::import(&daemon.op_context(&principal, None), request).await?))
}
