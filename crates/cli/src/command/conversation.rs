//! `toolcrib conversation list|show|delete|restore`: messages, deletion and its undo.

use serde_json::json;
use toolcrib_app::Stores;
use toolcrib_core::{Conversation as Head, ConversationId, DeletedConversation, StoredMessage};
use toolcrib_ops::conversations::{
    self, ListConversationsRequest, ListDeletedConversationsRequest, MessagesRequest,
    RemoveConversationRequest, RemovedConversation, RestoreConversationRequest,
};
use toolcrib_ops::{Resource, id_prefix};
use toolcrib_providers::conversation::Message;

use super::{library_snapshot, short_id};
use crate::clap_args::{Conversation, WorkspaceArgs};
use crate::daemon::client::{ApiRequest, Client};
use crate::output::{self, Failure};
use crate::{bootstrap, op_context, terminal, time_format};

/// Conversations that are looked through for a cut id.
const SCAN_LIMIT: usize = 10_000;
/// Columns of a title in a list.
const TITLE_WIDTH: usize = 60;

pub(crate) fn run(command: &Conversation, json: bool) -> Result<u8, Failure> {
    bootstrap::block_on(async {
        match command {
            Conversation::List { limit, deleted: false } => list(usize::from(*limit), json).await,
            Conversation::List { limit, deleted: true } => {
                list_deleted(usize::from(*limit), json).await
            }
            Conversation::Show { id } => show(id, json).await,
            Conversation::Delete { id, forever } => delete(id, *forever, json).await,
            Conversation::Restore { id } => restore(id, json).await,
        }
    })
}

async fn all_conversations(stores: &Stores, limit: usize) -> Result<Vec<Head>, Failure> {
    let request = ListConversationsRequest { before: None, limit };
    Ok(conversations::list(&op_context::for_stores(stores), request).await?.conversations)
}

async fn all_deleted(stores: &Stores, limit: usize) -> Result<Vec<DeletedConversation>, Failure> {
    let request = ListDeletedConversationsRequest { limit };
    Ok(conversations::list_deleted(&op_context::for_stores(stores), request).await?)
}

async fn find_id(stores: &Stores, text: &str) -> Result<ConversationId, Failure> {
    let all = all_conversations(stores, SCAN_LIMIT).await?;
    let ids: Vec<ConversationId> = all.iter().map(|one| one.id).collect();
    Ok(id_prefix::resolve(Resource::Conversation, text, &ids)?)
}

async fn list(limit: usize, json: bool) -> Result<u8, Failure> {
    let all = all_conversations(&bootstrap::stores()?, limit).await?;
    if json {
        output::print_json(&json!(all), true)?;
        return Ok(0);
    }
    if all.is_empty() {
        output::eprint_line("toolcrib: no conversations yet; `toolcrib chat` starts one");
        return Ok(0);
    }
    print_table("NEWEST MESSAGE", &all.iter().map(|one| (one.updated_at, one)).collect::<Vec<_>>())
}

async fn list_deleted(limit: usize, json: bool) -> Result<u8, Failure> {
    let all = all_deleted(&bootstrap::stores()?, limit).await?;
    if json {
        output::print_json(&json!(all), true)?;
        return Ok(0);
    }
    if all.is_empty() {
        output::eprint_line("toolcrib: no deleted conversations");
        return Ok(0);
    }
    let rows: Vec<_> = all.iter().map(|one| (one.deleted_at, &one.conversation)).collect();
    print_table("DELETED", &rows)
}

/// Prints conversations, each with a time.
fn print_table(time: &str, rows: &[(i64, &Head)]) -> Result<u8, Failure> {
    let ids: Vec<ConversationId> = rows.iter().map(|(_, one)| one.id).collect();
    let head = ["CONVERSATION", time, "AGENT", "TITLE"].map(str::to_owned);
    let row = |(at, one): &(i64, &Head)| {
        vec![
            short_id::shorten(&one.id, &ids),
            time_format::format_local(*at),
            terminal::escape_to_line(&one.agent),
            terminal::truncate_to_width(&terminal::escape_to_line(&one.title), TITLE_WIDTH),
        ]
    };
    let rows: Vec<_> = std::iter::once(head.to_vec()).chain(rows.iter().map(row)).collect();
    output::print_line(&library_snapshot::table(&rows))?;
    Ok(0)
}

async fn show(text: &str, json: bool) -> Result<u8, Failure> {
    let toolcrib = bootstrap::build_with_stores(&WorkspaceArgs::default()).await?;
    let id = find_id(toolcrib.stores(), text).await?;
    let request = MessagesRequest { id, since: 0, limit: None };
    let ctx = op_context::for_toolcrib(&toolcrib, None);
    let reply = conversations::messages(&ctx, request).await?;
    let (head, messages) = (reply.conversation, reply.messages);
    if json {
        output::print_json(&json!({"conversation": head, "messages": messages}), true)?;
        return Ok(0);
    }
    let Head { id, title, agent, workspace, created_at, updated_at, .. } = &head;
    let mut text = format!("{id}  {}\n", terminal::escape_to_line(title));
    text += &format!(
        "agent {}, workspace {}, {} to {}\n",
        terminal::escape_to_line(agent),
        terminal::escape_to_line(workspace),
        time_format::format_local(*created_at),
        time_format::format_local(*updated_at)
    );
    text.extend(messages.iter().map(message_text));
    output::print_line(&text)?;
    Ok(0)
}

/// One message for people: who, and what, with the names of the tools that were called.
fn message_text(message: &StoredMessage) -> String {
    let at = time_format::format_local(message.created_at);
    match serde_json::from_value(message.body.clone()) {
        Ok(Message::User(said)) => {
            format!("\n{at}  you\n{}\n", terminal::escape_controls(&said.text))
        }
        Ok(Message::Model(said)) => {
            let mut text = format!("\n{at}  {}\n", terminal::escape_to_line(&said.model));
            if !said.turn.text.is_empty() {
                text += &format!("{}\n", terminal::escape_controls(&said.turn.text));
            }
            for call in &said.turn.calls {
                text += &format!("  [called {}]\n", terminal::escape_to_line(&call.name));
            }
            text
        }
        Err(_) => format!("\n{at}  (written by a newer version)\n"),
    }
}

async fn delete(text: &str, forever: bool, json: bool) -> Result<u8, Failure> {
    let stores = bootstrap::stores()?;
    let id = find_to_delete(&stores, text, forever).await?;
    // A daemon has its programs.
    if !delete_in_daemon(id, forever).await? {
        let ctx = op_context::for_stores(&stores);
        conversations::remove(&ctx, None, RemoveConversationRequest { id, forever }).await?;
    }
    if json {
        output::print_json(&json!(RemovedConversation { deleted: id }), true)?;
    } else if forever {
        output::eprint_line(&format!("toolcrib: deleted {id}; its calls remain in the history"));
    } else {
        output::eprint_line(&format!(
            "toolcrib: deleted {id}; `toolcrib conversation restore {id}` restores it for 30 days"
        ));
    }
    Ok(0)
}

/// The id of a conversation, or of a deleted one if it is to be deleted for good.
async fn find_to_delete(
    stores: &Stores,
    text: &str,
    forever: bool,
) -> Result<ConversationId, Failure> {
    if forever && let Ok(id) = find_deleted(stores, text).await {
        return Ok(id);
    }
    find_id(stores, text).await
}

async fn find_deleted(stores: &Stores, text: &str) -> Result<ConversationId, Failure> {
    let all = all_deleted(stores, SCAN_LIMIT).await?;
    let ids: Vec<ConversationId> = all.iter().map(|one| one.conversation.id).collect();
    Ok(id_prefix::resolve(Resource::Conversation, text, &ids)?)
}

/// Deletes a conversation in the daemon of this user; `false` = no daemon runs.
async fn delete_in_daemon(id: ConversationId, forever: bool) -> Result<bool, Failure> {
    let Some(client) = Client::connect_own().await? else { return Ok(false) };
    let path = format!("/api/v1/conversations/{id}?forever={forever}");
    client.send(&ApiRequest::delete(&path)).await?.into_result().map(|_| true)
}

async fn restore(text: &str, json: bool) -> Result<u8, Failure> {
    let stores = bootstrap::stores()?;
    let id = find_deleted(&stores, text).await?;
    let ctx = op_context::for_stores(&stores);
    let restored = conversations::restore(&ctx, RestoreConversationRequest { id }).await?;
    if json {
        output::print_json(&json!(restored), true)?;
    } else {
        output::eprint_line(&format!("toolcrib: restored {id}"));
    }
    Ok(0)
}
