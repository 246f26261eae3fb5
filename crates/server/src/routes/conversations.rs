//! Conversations and their messages.

use axum::extract::State;
use axum::http::{HeaderMap, StatusCode};
use axum::response::Response;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;
use toolcrib_app::core::{Conversation, ConversationId, StoreError};

use super::runs::conversation_id;
use crate::api::{Api, Json, Operation, Page, PageQuery, Path, Query, cursor, etagged, of_cursor};
use crate::daemon::Daemon;
use crate::problem::Problem;
use crate::role::{Principal, Role};

/// The lists, as their cursors name them.
const LIST: &str = "conversations";
const MESSAGES: &str = "messages";

/// A conversation.
#[derive(Debug, Serialize, Deserialize, JsonSchema)]
struct ConversationRow {
    /// Its id.
    conversation: String,
    /// What it is about.
    title: String,
    /// The agent that answers in it.
    agent: String,
    /// Workspace folder.
    workspace: String,
    /// Milliseconds since 1970.
    created_at: i64,
    /// Milliseconds since 1970 of its newest message.
    updated_at: i64,
}

/// One message.
#[derive(Debug, Serialize, Deserialize, JsonSchema)]
struct MessageRow {
    /// Place in the conversation, from 0.
    seq: u64,
    /// The run that wrote it.
    run: Option<String>,
    /// The message: `role` is `user` or `model`; a model's has its `turn` and the `answers` of its calls.
    body: Value,
    /// Milliseconds since 1970.
    created_at: i64,
}

pub(super) fn routes(api: &mut Api) {
    let list = Operation::get(
        "/conversations",
        Role::Viewer,
        "Lists conversations, those with the newest messages first.",
    );
    api.add(
        list.query::<PageQuery>().ok::<Page<ConversationRow>>("Your conversations.").etagged(),
        list_all,
    );
    let show =
        Operation::get("/conversations/{conversation}", Role::Viewer, "Shows a conversation.");
    api.add(
        show.ok::<ConversationRow>("Its head; its messages are a list of their own."),
        show_one,
    );
    let messages = Operation::get(
        "/conversations/{conversation}/messages",
        Role::Caller,
        "Lists the messages of a conversation, the oldest first.",
    );
    let messages = messages.about(
        "All that was said stays, whatever was left out of requests to models. Secrets are masked.",
    );
    api.add(
        messages.query::<PageQuery>().ok::<Page<MessageRow>>("Messages.").etagged(),
        list_messages,
    );
    let remove = Operation::delete(
        "/conversations/{conversation}",
        Role::Operator,
        "Deletes a conversation.",
    );
    let remove = remove.about(
        "Its messages and runs are gone, and what programs still do for it ends. Calls stay in the history and in the audit, stored results until they expire. While one of its runs is not over, nothing is deleted.",
    );
    api.add(remove.empty(204, "It is gone."), remove_one);
}

/// Its title is what was said first: whoever only looks is not shown it.
fn row(conversation: Conversation, payloads: bool) -> ConversationRow {
    let Conversation { id, owner: _, title, agent, workspace, created_at, updated_at } =
        conversation;
    ConversationRow {
        conversation: id.to_string(),
        title: Some(title).filter(|_| payloads).unwrap_or_default(),
        agent,
        workspace,
        created_at,
        updated_at,
    }
}

async fn list_all(
    State(daemon): State<Daemon>,
    principal: Principal,
    headers: HeaderMap,
    Query(query): Query<PageQuery>,
) -> Result<Response, Problem> {
    let rows = PageQuery::rows(query.limit)?;
    let (store, owner) = (&daemon.stores().runs, &principal.owner);
    let found = match of_cursor::<(i64, ConversationId)>(LIST, query.cursor.as_deref())? {
        None => store.conversations(owner, rows + 1).await?,
        Some(before) => store.conversations_before(owner, before, rows + 1).await?,
    };
    let next = found.get(rows.saturating_sub(1)).filter(|_| found.len() > rows);
    let next = next.map(|last| cursor(LIST, &(last.updated_at, last.id)));
    let payloads = principal.sees_payloads();
    let items = found.into_iter().take(rows).map(|one| row(one, payloads)).collect();
    Ok(etagged(&headers, &Page { items, next }))
}

/// A conversation of this principal. Somebody else's is not there.
async fn of(daemon: &Daemon, principal: &Principal, id: &str) -> Result<Conversation, Problem> {
    let id = conversation_id(id)?;
    let found = daemon.stores().runs.conversation(id).await?;
    let mine = found.filter(|found| found.owner == principal.owner);
    mine.ok_or_else(|| Problem::not_found(format!("there is no conversation {id}")))
}

async fn show_one(
    State(daemon): State<Daemon>,
    principal: Principal,
    Path(id): Path<String>,
) -> Result<Json<ConversationRow>, Problem> {
    let payloads = principal.sees_payloads();
    Ok(Json(row(of(&daemon, &principal, &id).await?, payloads)))
}

async fn list_messages(
    State(daemon): State<Daemon>,
    principal: Principal,
    headers: HeaderMap,
    Path(id): Path<String>,
    Query(query): Query<PageQuery>,
) -> Result<Response, Problem> {
    let rows = PageQuery::rows(query.limit)?;
    let conversation = of(&daemon, &principal, &id).await?;
    // A cursor is good for its own conversation.
    let list = format!("{MESSAGES} {}", conversation.id);
    let since = of_cursor::<u64>(&list, query.cursor.as_deref())?.unwrap_or(0);
    let found = daemon.stores().runs.messages_page(conversation.id, since, rows + 1).await?;
    let secrets = &daemon.toolcrib().engine().sealing().secrets;
    let next = found.get(rows).map(|first| cursor(&list, &first.seq));
    let items = found
        .into_iter()
        .take(rows)
        .map(|message| MessageRow {
            seq: message.seq,
            run: message.run.map(|run| run.to_string()),
            // What is stored is opened for whoever goes on with it, and masked for whoever looks.
            body: secrets.mask_data(&message.body),
            created_at: message.created_at,
        })
        .collect();
    Ok(etagged(&headers, &Page { items, next }))
}

async fn remove_one(
    State(daemon): State<Daemon>,
    principal: Principal,
    Path(id): Path<String>,
) -> Result<StatusCode, Problem> {
    let id = conversation_id(&id)?;
    match daemon.toolcrib().delete_conversation(&principal.owner, id).await {
        Ok(()) => {}
        Err(StoreError::Missing(_)) => {
            return Err(Problem::not_found(format!("there is no conversation {id}")));
        }
        Err(StoreError::Conflict(run)) => {
            let words = format!(
                "the run {run} of this conversation is not over; stop it first, or wait for it"
            );
            return Err(Problem::conflict(words).about(serde_json::json!({"run": run})));
        }
        Err(error) => return Err(error.into()),
    }
    daemon.record(&principal, "conversation.remove", id.to_string()).await?;
    Ok(StatusCode::NO_CONTENT)
}
