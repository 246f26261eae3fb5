//! Conversations and their messages.

use axum::extract::State;
use axum::http::{HeaderMap, StatusCode};
use axum::response::Response;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;
use toolcrib_core::{Conversation, ConversationId, DeletedConversation, RunId, StoredMessage};
use toolcrib_ops::conversations::{
    self, BranchConversationRequest, FoundMessage, ListConversationsRequest,
    ListDeletedConversationsRequest, MessagesRequest, RemoveConversationRequest,
    RenameConversationRequest, RestoreConversationRequest, SearchConversationsRequest,
    ShowConversationRequest,
};
use toolcrib_ops::{OpError, Resource};

use super::runs::conversation_id;
use crate::api::{
    Api, Json, Operation, Page, PageQuery, Path, Query, cursor, etag_response, parse_cursor,
};
use crate::problem::Problem;
use crate::role::{Principal, Role};
use crate::state::DaemonState;

/// The lists, as their cursors name them.
const LIST: &str = "conversations";
const MESSAGES: &str = "messages";

/// A conversation.
#[derive(Debug, Serialize, Deserialize, JsonSchema)]
struct ConversationRow {
    /// Its id.
    conversation: String,
    /// Its subject.
    title: String,
    /// The agent that answers in it.
    agent: String,
    /// Workspace folder.
    workspace: String,
    /// Milliseconds since 1970.
    created_at: i64,
    /// Milliseconds since 1970 of its newest message.
    updated_at: i64,
    /// When it was deleted, milliseconds since 1970.
    #[serde(skip_serializing_if = "Option::is_none")]
    deleted_at: Option<i64>,
}

/// Which conversations.
#[derive(Debug, Default, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
struct ConversationsQuery {
    /// Those that were deleted and can be restored, instead of those that are there; at most
    /// `limit`, without further pages.
    deleted: bool,
    /// Rows of a page: 1 to 500, default 50.
    #[schemars(range(min = 1, max = 500))]
    limit: Option<usize>,
    /// The `next` of the page before.
    cursor: Option<String>,
}

/// How a conversation is deleted.
#[derive(Debug, Default, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
struct RemoveQuery {
    /// Whether it is deleted for good, also if it is deleted already. Otherwise it can be restored
    /// for 30 days.
    forever: bool,
}

/// One message.
#[derive(Debug, Serialize, Deserialize, JsonSchema)]
struct MessageRow {
    /// Position in the conversation, from 0.
    seq: u64,
    /// The run that wrote it.
    run: Option<String>,
    /// The message: `role` is `user` or `model`; a model's has its `turn` and the `answers` of its
    /// calls.
    body: Value,
    /// Milliseconds since 1970.
    created_at: i64,
}

/// A message that was found by its words, or a conversation by its title.
#[derive(Debug, Serialize, Deserialize, JsonSchema)]
struct FoundMessageRow {
    /// The conversation.
    conversation: String,
    /// What it is about.
    title: String,
    /// The run that wrote the message; absent = the words are in the title.
    run: Option<String>,
    /// Place of the message in the conversation, from 0.
    seq: Option<u64>,
    /// Whether a person wrote it; else a model.
    typed: bool,
    /// The text around the first of the words.
    excerpt: String,
    /// Milliseconds since 1970 of the newest message of the conversation.
    updated_at: i64,
}

/// What is looked for in conversations.
#[derive(Debug, Default, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
struct SearchConversationsQuery {
    /// Words that a message must have, each anywhere in it, in any case.
    find: String,
    /// Most conversations with hits, about; 1 to 500, default 50.
    #[schemars(range(min = 1, max = 500))]
    limit: Option<usize>,
    /// The `next` of the page before.
    cursor: Option<String>,
}

/// A new title.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct TitleBody {
    /// One line of at most 200 characters.
    title: String,
}

/// Where a branch begins.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct BranchBody {
    /// The run whose first message, and everything after it, is left out.
    before: String,
}

pub(super) fn routes(api: &mut Api) {
    let list = Operation::get(
        "/conversations",
        Role::Viewer,
        "Lists conversations, the one with the newest message first.",
    );
    api.add(
        list.query::<ConversationsQuery>()
            .returns_ok::<Page<ConversationRow>>("Your conversations.")
            .etagged(),
        list_all,
    );
    let search = Operation::get(
        "/conversations/search",
        Role::Caller,
        "Searches the text of conversations, those with the newest messages first.",
    );
    let search = search.description("What people wrote and models answered, and titles; the three newest hits of each conversation. A request reads at most about 20,000 messages: `next` goes on behind them, even after a page without hits.");
    api.add(
        search.query::<SearchConversationsQuery>().returns_ok::<Page<FoundMessageRow>>("Messages."),
        search_all,
    );
    let show =
        Operation::get("/conversations/{conversation}", Role::Viewer, "Shows a conversation.");
    api.add(
        show.returns_ok::<ConversationRow>(
            "Its metadata; `GET /conversations/{conversation}/messages` lists its messages.",
        ),
        show_one,
    );
    let messages = Operation::get(
        "/conversations/{conversation}/messages",
        Role::Caller,
        "Lists the messages of a conversation, oldest first.",
    );
    let messages = messages.description(
        "All messages, including those that compaction leaves out of requests to models. Secrets are masked.",
    );
    api.add(
        messages.query::<PageQuery>().returns_ok::<Page<MessageRow>>("Messages.").etagged(),
        list_messages,
    );
    let rename = Operation::put(
        "/conversations/{conversation}/title",
        Role::Caller,
        "Renames a conversation.",
    );
    api.add(
        rename.body::<TitleBody>().returns_ok::<ConversationRow>("It has the new title."),
        rename_one,
    );
    let branch = Operation::post(
        "/conversations/{conversation}/branch",
        Role::Caller,
        "Makes a conversation with the messages that this one had before a run.",
    );
    let branch = branch.description(
        "Messages and runs are copied with their taint labels. Nothing that tools changed is undone.",
    );
    api.add(
        branch.body::<BranchBody>().returns::<ConversationRow>(201, "The new conversation."),
        branch_one,
    );
    let remove = Operation::delete(
        "/conversations/{conversation}",
        Role::Operator,
        "Deletes a conversation.",
    );
    let remove = remove.description(
        "Its messages and runs are deleted, and its background programs end. It can be restored for 30 days. Calls stay in the history and in the audit, stored results until they expire. While one of its runs has not ended, nothing is deleted.",
    );
    api.add(remove.query::<RemoveQuery>().returns_empty(204, "Removed."), remove_one);
    let restore = Operation::post(
        "/conversations/{conversation}/restore",
        Role::Operator,
        "Restores a deleted conversation.",
    );
    api.add(
        restore.returns_ok::<ConversationRow>("The conversation with its messages and runs."),
        restore_one,
    );
}

fn row(conversation: Conversation) -> ConversationRow {
    let Conversation { id, owner: _, title, agent, workspace, created_at, updated_at } =
        conversation;
    ConversationRow {
        conversation: id.to_string(),
        title,
        agent,
        workspace,
        created_at,
        updated_at,
        deleted_at: None,
    }
}

fn deleted_row(deleted: DeletedConversation) -> ConversationRow {
    ConversationRow { deleted_at: Some(deleted.deleted_at), ..row(deleted.conversation) }
}

async fn list_all(
    State(daemon): State<DaemonState>,
    principal: Principal,
    headers: HeaderMap,
    Query(query): Query<ConversationsQuery>,
) -> Result<Response, Problem> {
    let rows = PageQuery::page_size(query.limit)?;
    if query.deleted {
        let request = ListDeletedConversationsRequest { limit: rows };
        let found = conversations::list_deleted(&daemon.store_context(&principal), request).await?;
        let items = found.into_iter().map(deleted_row).collect();
        return Ok(etag_response(&headers, &Page::single_page(items)));
    }
    let before = parse_cursor::<(i64, ConversationId)>(LIST, query.cursor.as_deref())?;
    let request = ListConversationsRequest { before, limit: rows };
    let reply = conversations::list(&daemon.store_context(&principal), request).await?;
    let last = reply.conversations.last().filter(|_| reply.more);
    let next = last.map(|last| cursor(LIST, &(last.updated_at, last.id)));
    let items = reply.conversations.into_iter().map(row).collect();
    Ok(etag_response(&headers, &Page { items, next }))
}

async fn search_all(
    State(daemon): State<DaemonState>,
    principal: Principal,
    Query(query): Query<SearchConversationsQuery>,
) -> Result<Json<Page<FoundMessageRow>>, Problem> {
    let limit = PageQuery::page_size(query.limit)?;
    // A cursor is valid for its own words only.
    let list = format!("{LIST} with {}", query.find);
    let before = parse_cursor::<(i64, ConversationId)>(&list, query.cursor.as_deref())?;
    let request = SearchConversationsRequest { words: query.find, before, limit };
    let reply = conversations::search(&daemon.op_context(&principal, None), request).await?;
    let row = |hit: FoundMessage| FoundMessageRow {
        conversation: hit.conversation.id.to_string(),
        title: hit.conversation.title,
        run: hit.run.map(|run| run.to_string()),
        seq: hit.seq,
        typed: hit.is_typed,
        excerpt: hit.excerpt,
        updated_at: hit.conversation.updated_at,
    };
    let next = reply.next.map(|last| cursor(&list, &last));
    Ok(Json(Page { items: reply.found.into_iter().map(row).collect(), next }))
}

async fn show_one(
    State(daemon): State<DaemonState>,
    principal: Principal,
    Path(id): Path<String>,
) -> Result<Json<ConversationRow>, Problem> {
    let request = ShowConversationRequest { id: conversation_id(&id)? };
    Ok(Json(row(conversations::show(&daemon.store_context(&principal), request).await?)))
}

async fn list_messages(
    State(daemon): State<DaemonState>,
    principal: Principal,
    headers: HeaderMap,
    Path(id): Path<String>,
    Query(query): Query<PageQuery>,
) -> Result<Response, Problem> {
    let rows = PageQuery::page_size(query.limit)?;
    let id = conversation_id(&id)?;
    // A cursor is valid for its own conversation only.
    let list = format!("{MESSAGES} {id}");
    let since = parse_cursor::<u64>(&list, query.cursor.as_deref())?.unwrap_or(0);
    let request = MessagesRequest { id, since, limit: Some(rows) };
    let reply = conversations::messages(&daemon.op_context(&principal, None), request).await?;
    let next = reply.next.map(|first| cursor(&list, &first));
    let message = |message: StoredMessage| MessageRow {
        seq: message.seq,
        run: message.run.map(|run| run.to_string()),
        body: message.body,
        created_at: message.created_at,
    };
    let items = reply.messages.into_iter().map(message).collect();
    Ok(etag_response(&headers, &Page { items, next }))
}

async fn rename_one(
    State(daemon): State<DaemonState>,
    principal: Principal,
    Path(id): Path<String>,
    Json(body): Json<TitleBody>,
) -> Result<Json<ConversationRow>, Problem> {
    let request = RenameConversationRequest { id: conversation_id(&id)?, title: body.title };
    let renamed = conversations::rename(&daemon.store_context(&principal), request).await?;
    daemon.run_supervisor().publish_conversation(&principal.owner, renamed.id, false);
    Ok(Json(row(renamed)))
}

async fn branch_one(
    State(daemon): State<DaemonState>,
    principal: Principal,
    Path(id): Path<String>,
    Json(body): Json<BranchBody>,
) -> Result<(StatusCode, Json<ConversationRow>), Problem> {
    let unknown = || OpError::not_found(Resource::Run, body.before.as_str());
    let before: RunId = body.before.parse().map_err(|_| unknown())?;
    let request = BranchConversationRequest { id: conversation_id(&id)?, before };
    let branch = conversations::branch(&daemon.store_context(&principal), request).await?;
    daemon.run_supervisor().publish_conversation(&principal.owner, branch.id, false);
    Ok((StatusCode::CREATED, Json(row(branch))))
}

async fn remove_one(
    State(daemon): State<DaemonState>,
    principal: Principal,
    Path(id): Path<String>,
    Query(query): Query<RemoveQuery>,
) -> Result<StatusCode, Problem> {
    let request = RemoveConversationRequest { id: conversation_id(&id)?, forever: query.forever };
    let ctx = daemon.store_context(&principal);
    conversations::remove(&ctx, Some(daemon.toolcrib()), request).await?;
    daemon.run_supervisor().publish_conversation(&principal.owner, request.id, true);
    Ok(StatusCode::NO_CONTENT)
}

async fn restore_one(
    State(daemon): State<DaemonState>,
    principal: Principal,
    Path(id): Path<String>,
) -> Result<Json<ConversationRow>, Problem> {
    let request = RestoreConversationRequest { id: conversation_id(&id)? };
    let restored = conversations::restore(&daemon.store_context(&principal), request).await?;
    daemon.run_supervisor().publish_conversation(&principal.owner, restored.id, false);
    Ok(Json(row(restored)))
}
