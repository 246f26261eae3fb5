//! Conversations and their messages.

use axum::extract::State;
use axum::http::{HeaderMap, StatusCode};
use axum::response::Response;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use toolcrib_core::{ConversationId, RunId};
use toolcrib_ops::conversations::{
    self, BranchConversationRequest, ConversationRow, FoundMessage, ListConversationsRequest,
    ListDeletedConversationsRequest, MessageRow, MessagesRequest, RemoveConversationRequest,
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

/// Names of the lists in cursors.
const LIST: &str = "conversations";
const MESSAGES: &str = "messages";

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

/// A message that was found by its words, or a conversation by its title.
#[derive(Debug, Serialize, Deserialize, JsonSchema)]
struct FoundMessageRow {
    /// The conversation.
    conversation: String,
    /// Subject of the conversation.
    title: String,
    /// The run that wrote the message; absent = the match is in the title.
    run: Option<String>,
    /// Position of the message in the conversation, from 0.
    seq: Option<u64>,
    /// Whether a person wrote the message; otherwise, a model did.
    typed: bool,
    /// The text around the first match.
    excerpt: String,
    /// Milliseconds since 1970 of the newest message of the conversation.
    updated_at: i64,
}

/// A search in conversations.
#[derive(Debug, Default, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
struct SearchConversationsQuery {
    /// Words that a message must contain, each at any position, ignoring case.
    find: String,
    /// Approximate maximum number of matching conversations; 1 to 500, default 50.
    #[schemars(range(min = 1, max = 500))]
    limit: Option<usize>,
    /// The `next` of the previous page.
    cursor: Option<String>,
}

/// A new title.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct TitleBody {
    /// One line of at most 200 characters.
    title: String,
}

/// The start of a branch.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct BranchBody {
    /// The first omitted run: the branch leaves out its message and everything after it.
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
        let items = found.iter().map(ConversationRow::from).collect();
        return Ok(etag_response(&headers, &Page::single_page(items)));
    }
    let before = parse_cursor::<(i64, ConversationId)>(LIST, query.cursor.as_deref())?;
    let request = ListConversationsRequest { before, limit: rows };
    let reply = conversations::list(&daemon.store_context(&principal), request).await?;
    let last = reply.conversations.last().filter(|_| reply.more);
    let next = last.map(|last| cursor(LIST, &(last.updated_at, last.id)));
    let items = reply.conversations.iter().map(ConversationRow::from).collect();
    Ok(etag_response(&headers, &Page { items, next }))
}

async fn search_all(
    State(daemon): State<DaemonState>,
    principal: Principal,
    Query(query): Query<SearchConversationsQuery>,
) -> Result<Json<Page<FoundMessageRow>>, Problem> {
    let limit = PageQuery::page_size(query.limit)?;
    // A cursor is valid only for the same words.
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
    let shown = conversations::show(&daemon.store_context(&principal), request).await?;
    Ok(Json(ConversationRow::from(&shown)))
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
    // A cursor is valid only for the same conversation.
    let list = format!("{MESSAGES} {id}");
    let since = parse_cursor::<u64>(&list, query.cursor.as_deref())?.unwrap_or(0);
    let request = MessagesRequest { id, since, limit: Some(rows) };
    let reply = conversations::messages(&daemon.op_context(&principal, None), request).await?;
    let next = reply.next.map(|first| cursor(&list, &first));
    let items = reply.messages.iter().map(MessageRow::from).collect();
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
    Ok(Json(ConversationRow::from(&renamed)))
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
    Ok((StatusCode::CREATED, Json(ConversationRow::from(&branch))))
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
    Ok(Json(ConversationRow::from(&restored)))
}
