//! `toolcrib conversation list|show|delete|restore`: conversations, and the undo of their deletion.

use serde_json::{Value, json};
use toolcrib_core::{Conversation as Head, ConversationId, DeletedConversation, StoredMessage};
use toolcrib_ops::StoreContext;
use toolcrib_ops::calls;
use toolcrib_ops::conversations::{
    self, ConversationRow, ListConversationsRequest, ListDeletedConversationsRequest, MessageRow,
    MessagesRequest, RemoveConversationRequest, RemovedConversation, RestoreConversationRequest,
};
use toolcrib_providers::conversation::Message;

use super::{library_snapshot, short_id};
use crate::clap_args::{Conversation, WorkspaceArgs};
use crate::daemon::client::{ApiRequest, Client};
use crate::output::{self, Failure};
use crate::{bootstrap, json_document, op_context, terminal, time_format};

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

async fn list(limit: usize, json: bool) -> Result<u8, Failure> {
    let stores = bootstrap::stores()?;
    let request = ListConversationsRequest { before: None, limit };
    let all = conversations::list(&op_context::for_stores(&stores), request).await?.conversations;
    if json {
        output::print_json(&all.iter().map(to_json).collect(), true)?;
        return Ok(0);
    }
    if all.is_empty() {
        output::eprint_line("toolcrib: no conversations yet; `toolcrib chat` starts one");
        return Ok(0);
    }
    print_table("NEWEST MESSAGE", &all.iter().map(|one| (one.updated_at, one)).collect::<Vec<_>>())
}

async fn list_deleted(limit: usize, json: bool) -> Result<u8, Failure> {
    let stores = bootstrap::stores()?;
    let request = ListDeletedConversationsRequest { limit };
    let all = conversations::list_deleted(&op_context::for_stores(&stores), request).await?;
    if json {
        let to_json = |one: &DeletedConversation| {
            json_document::with_members(&ConversationRow::from(one), json!(one))
        };
        output::print_json(&all.iter().map(to_json).collect(), true)?;
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

/// A conversation for machines, with members that only this command has.
fn to_json(head: &Head) -> Value {
    json_document::with_members(&ConversationRow::from(head), json!(head))
}

async fn show(text: &str, json: bool) -> Result<u8, Failure> {
    let toolcrib = bootstrap::build_with_stores(&WorkspaceArgs::default()).await?;
    let ctx = op_context::for_toolcrib(&toolcrib, None);
    let id = calls::resolve_conversation(&ctx.store, text).await?;
    let request = MessagesRequest { id, since: 0, limit: None };
    let reply = conversations::messages(&ctx, request).await?;
    let (head, messages) = (reply.conversation, reply.messages);
    if json {
        let messages: Vec<_> = messages.iter().map(MessageRow::from).collect();
        output::print_json(&json!({"conversation": to_json(&head), "messages": messages}), true)?;
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

/// Renders one message for people: its author and text, with the names of the called tools.
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
    let ctx = op_context::for_stores(&stores);
    let id = find_to_delete(&ctx, text, forever).await?;
    // A daemon has its programs.
    if !delete_in_daemon(id, forever).await? {
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

/// Returns the conversation that an id, or a prefix of one, names; with `forever` also a deleted
/// one.
async fn find_to_delete(
    ctx: &StoreContext<'_>,
    text: &str,
    forever: bool,
) -> Result<ConversationId, Failure> {
    if forever && let Ok(id) = calls::resolve_deleted_conversation(ctx, text).await {
        return Ok(id);
    }
    Ok(calls::resolve_conversation(ctx, text).await?)
}

/// Deletes a conversation through the daemon of this user; returns `false` if no daemon runs.
async fn delete_in_daemon(id: ConversationId, forever: bool) -> Result<bool, Failure> {
    let Some(client) = Client::connect_own().await? else { return Ok(false) };
    let path = format!("/api/v1/conversations/{id}?forever={forever}");
    client.send(&ApiRequest::delete(&path)).await?.into_result().map(|_| true)
}

async fn restore(text: &str, json: bool) -> Result<u8, Failure> {
    let stores = bootstrap::stores()?;
    let ctx = op_context::for_stores(&stores);
    let id = calls::resolve_deleted_conversation(&ctx, text).await?;
    let restored = conversations::restore(&ctx, RestoreConversationRequest { id }).await?;
    if json {
        output::print_json(&to_json(&restored), true)?;
    } else {
        output::eprint_line(&format!("toolcrib: restored {id}"));
    }
    Ok(0)
}
