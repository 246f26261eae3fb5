//! `toolcrib conversation list|show|delete`: what was said, and its end.

use serde_json::json;
use toolcrib_app::Stores;
use toolcrib_app::core::{
    AuditEvent, Clock as _, Conversation as Head, ConversationId, StoreError, StoredMessage,
    SystemClock,
};
use toolcrib_app::providers::chat::Message;

use super::past::{self, OWNER};
use super::short_id::{self, Found};
use super::{shelf, through};
use crate::cli::{Conversation, World};
use crate::output::{self, Failure};
use crate::{person, terminal, when, world};

/// Conversations that are looked through for a cut id.
const LOOKED_AT: usize = 10_000;
/// Columns of a title in a list.
const TITLE: usize = 60;

pub(crate) fn run(command: &Conversation, json: bool) -> Result<u8, Failure> {
    world::block_on(async {
        match command {
            Conversation::List { limit } => list(usize::from(*limit), json).await,
            Conversation::Show { id } => show(id, json).await,
            Conversation::Delete { id } => delete(id, json).await,
        }
    })
}

async fn all(stores: &Stores, limit: usize) -> Result<Vec<Head>, Failure> {
    stores.runs.conversations(OWNER, limit).await.map_err(past::store)
}

async fn find(stores: &Stores, text: &str) -> Result<Head, Failure> {
    let all = all(stores, LOOKED_AT).await?;
    let ids: Vec<ConversationId> = all.iter().map(|one| one.id).collect();
    let failure = |found| short_id::failure("conversation", text, found, "conversation list");
    match short_id::find(text, &ids) {
        Found::One(id) => {
            let found = all.into_iter().find(|one| one.id == id);
            found.ok_or_else(|| failure(Found::None(Vec::new())))
        }
        found => Err(failure(found)),
    }
}

async fn list(limit: usize, json: bool) -> Result<u8, Failure> {
    let all = all(&world::stores()?, limit).await?;
    if json {
        output::document(&json!(all), true)?;
        return Ok(0);
    }
    if all.is_empty() {
        output::note("toolcrib: there is no conversation yet; `toolcrib chat` begins one");
        return Ok(0);
    }
    let ids: Vec<ConversationId> = all.iter().map(|one| one.id).collect();
    let head = ["CONVERSATION", "NEWEST MESSAGE", "AGENT", "TITLE"].map(str::to_owned);
    let row = |one: &Head| {
        vec![
            short_id::short(&one.id, &ids),
            when::local(one.updated_at),
            terminal::one_line(&one.agent),
            terminal::shorten(&terminal::one_line(&one.title), TITLE),
        ]
    };
    let rows: Vec<_> = std::iter::once(head.to_vec()).chain(all.iter().map(row)).collect();
    output::data(&shelf::table(&rows))?;
    Ok(0)
}

async fn show(text: &str, json: bool) -> Result<u8, Failure> {
    let toolcrib = world::with_stores(&World::default()).await?;
    let stores = toolcrib.stores();
    let head = find(stores, text).await?;
    let mut messages = stores.runs.messages(head.id, 0).await.map_err(past::store)?;
    // What is stored is opened for whoever goes on with it, and masked for whoever looks.
    let secrets = &toolcrib.engine().sealing().secrets;
    for message in &mut messages {
        message.body = secrets.mask_data(&message.body);
    }
    if json {
        output::document(&json!({"conversation": head, "messages": messages}), true)?;
        return Ok(0);
    }
    let Head { id, title, agent, workspace, created_at, updated_at, .. } = &head;
    let mut text = format!("{id}  {}\n", terminal::one_line(title));
    text += &format!(
        "agent {}, workspace {}, {} to {}\n",
        terminal::one_line(agent),
        terminal::one_line(workspace),
        when::local(*created_at),
        when::local(*updated_at)
    );
    text.extend(messages.iter().map(said));
    output::data(&text)?;
    Ok(0)
}

/// One message for people: who, and what, with the names of the tools that were called.
fn said(message: &StoredMessage) -> String {
    let at = when::local(message.created_at);
    match serde_json::from_value(message.body.clone()) {
        Ok(Message::User(said)) => format!("\n{at}  you\n{}\n", terminal::visible(&said.text)),
        Ok(Message::Model(said)) => {
            let mut text = format!("\n{at}  {}\n", terminal::one_line(&said.model));
            if !said.turn.text.is_empty() {
                text += &format!("{}\n", terminal::visible(&said.turn.text));
            }
            for call in &said.turn.calls {
                text += &format!("  [called {}]\n", terminal::one_line(&call.name));
            }
            text
        }
        Err(_) => format!("\n{at}  (written by a newer version)\n"),
    }
}

async fn delete(text: &str, json: bool) -> Result<u8, Failure> {
    let stores = world::stores()?;
    let id = find(&stores, text).await?.id;
    // A daemon has its programs.
    if !through::delete_conversation(id).await? {
        match stores.runs.delete_conversation(OWNER, id).await {
            Ok(()) => {}
            Err(StoreError::Missing(_)) => {
                return Err(Failure::not_found(format!("{id} was deleted just now")));
            }
            Err(StoreError::Conflict(run)) => {
                return Err(Failure::usage(format!(
                    "the run {run} of this conversation is not over, and what it did would be lost: `toolcrib resume {run}` brings it to its end"
                )));
            }
            Err(error) => return Err(past::store(error)),
        }
        let (by, now) = (person::name(), SystemClock.now_ms());
        let event =
            AuditEvent::administered(OWNER, &by, "conversation.remove", id.to_string(), now);
        stores.audit.append(event).await.map_err(past::store)?;
    }
    if json {
        output::document(&json!({"deleted": id}), true)?;
    } else {
        output::note(&format!("toolcrib: deleted {id}; its calls stay in the history"));
    }
    Ok(0)
}
