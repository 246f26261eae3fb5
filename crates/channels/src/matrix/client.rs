//! An account at a Matrix home server.

use std::collections::{HashMap, HashSet};
use std::fmt::Write as _;
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use serde_json::{Value, json};
use toolcrib_assistant::chat_channel::{Inbound, InboundBatch, InboundKind};
use toolcrib_core::BoxFuture;
use toolcrib_net::{HttpClient, Method};

use super::reactions::emoji_of;
use super::sync::{Invitation, RoomEvent, events, invitations, text};
use crate::account::ChannelAccount;
use crate::channel::{Channel, ChannelKind, Question, Sent};
use crate::error::ChannelError;
use crate::http::Service;

/// Milliseconds that the server waits for events before it answers without one.
const POLL_MS: u64 = 30_000;
/// Maximum events of a room in one answer.
const ROOM_EVENTS: usize = 100;
/// Maximum characters of a message; an event has at most 65,536 bytes.
const MAX_CHARS: usize = 8_000;
/// Maximum remembered rooms.
const MAX_ROOMS: usize = 1_000;
/// Path of the interface.
const API: &str = "/_matrix/client/v3";

/// An account at a Matrix home server.
pub(crate) struct Matrix {
    service: Service,
    account: ChannelAccount,
    rooms: Mutex<Rooms>,
}

/// Knowledge of this process about rooms.
#[derive(Default)]
struct Rooms {
    /// Whether invitations that were sent before this process started were read.
    knows_invitations: bool,
    /// Whether a room has members other than this account and one person.
    is_shared: HashMap<String, bool>,
    /// Rooms in which something was said to be unsupported.
    told: HashSet<String>,
}

impl Matrix {
    pub(crate) fn new(client: &HttpClient, account: &ChannelAccount, token: &str) -> Self {
        let service = Service::new(client, &account.base_url, false, token);
        Self { service, account: account.clone(), rooms: Mutex::default() }
    }

    fn rooms(&self) -> std::sync::MutexGuard<'_, Rooms> {
        self.rooms.lock().unwrap_or_else(PoisonError::into_inner)
    }

    async fn call(
        &self,
        method: Method,
        path: &str,
        body: Option<&Value>,
        wait: Duration,
    ) -> Result<Value, ChannelError> {
        let authorization = [("Authorization", format!("Bearer {}", self.service.token()))];
        let path = format!("{API}{path}");
        let answer = self.service.send(method, &path, &authorization, body, wait).await?;
        if (200..300).contains(&answer.status) {
            return Ok(answer.body);
        }
        let words = text(&answer.body, "/error").unwrap_or("no reason");
        let code = text(&answer.body, "/errcode").unwrap_or_default();
        let wait_ms = answer.body.get("retry_after_ms").and_then(Value::as_u64);
        let (service, reason) = (self.service.host(), self.service.words(words));
        Err(match (answer.status, code) {
            (_, "M_UNKNOWN_TOKEN" | "M_MISSING_TOKEN") | (401, _) => {
                ChannelError::Token { service, reason }
            }
            (429, _) => {
                let ms = wait_ms.or(answer.retry_after.map(|s| s.saturating_mul(1_000)));
                let wait = Duration::from_millis(ms.unwrap_or(5_000).clamp(500, 3_600_000));
                ChannelError::Wait { service, wait }
            }
            (403, _) => ChannelError::Blocked { service, reason },
            (status, _) => ChannelError::Refused { service, status, reason },
        })
    }

    async fn ask_server(
        &self,
        method: Method,
        path: &str,
        body: Option<&Value>,
    ) -> Result<Value, ChannelError> {
        self.call(method, path, body, Duration::ZERO).await
    }

    async fn sync(&self, since: Option<&str>, wait_ms: u64) -> Result<Value, ChannelError> {
        let nothing = json!({"types": []});
        let types = ["m.room.message", "m.reaction", "m.room.encrypted", "m.room.member"];
        let filter = json!({
            "presence": nothing, "account_data": nothing,
            "room": {
                "ephemeral": nothing, "account_data": nothing, "state": nothing,
                "timeline": {"limit": ROOM_EVENTS, "types": types},
            },
        });
        let mut path = format!("/sync?timeout={wait_ms}&filter={}", encoded(&filter.to_string()));
        if let Some(since) = since {
            let _ = write!(path, "&since={}", encoded(since));
        }
        self.call(Method::GET, &path, None, Duration::from_millis(wait_ms)).await
    }

    /// Joins rooms to which people on the list invite. Rejects and reports the others: an account
    /// can say something in a room only after joining it, but a rejection has a reason.
    async fn answer_invitations(
        &self,
        found: Vec<Invitation>,
    ) -> Result<Vec<Inbound>, ChannelError> {
        let mut others = Vec::new();
        for Invitation { room, inviter } in found {
            if self.account.allows(&inviter) {
                let path = format!("/rooms/{}/join", encoded(&room));
                match self.ask_server(Method::POST, &path, Some(&json!({}))).await {
                    Err(error) if error.is_passing() => return Err(error),
                    // The invitation was withdrawn, or the room is gone.
                    Ok(_) | Err(_) => {}
                }
                continue;
            }
            let words = format!(
                "I answer only people on my list. Your id is {inviter}; the owner can add it."
            );
            let path = format!("/rooms/{}/leave", encoded(&room));
            match self.ask_server(Method::POST, &path, Some(&json!({"reason": words}))).await {
                Err(error) if error.is_passing() => return Err(error),
                Ok(_) | Err(_) => {}
            }
            others.push(Inbound {
                id: format!("invitation {room}"),
                name: inviter.clone(),
                user: inviter,
                room,
                kind: InboundKind::Other("the invitation".to_owned()),
            });
        }
        Ok(others)
    }

    /// Returns whether more than one person would read the answers. A person who has not accepted
    /// the invitation to a direct room yet is not counted.
    async fn is_shared(&self, room: &str) -> Result<bool, ChannelError> {
        if let Some(known) = self.rooms().is_shared.get(room) {
            return Ok(*known);
        }
        let path = format!("/rooms/{}/joined_members", encoded(room));
        let members = match self.ask_server(Method::GET, &path, None).await {
            Ok(members) => members,
            Err(error) if error.is_passing() => return Err(error),
            // The account has left the room.
            Err(_) => return Ok(true),
        };
        let number = members.get("joined").and_then(Value::as_object).map_or(0, |all| all.len());
        let is_shared = number > 2;
        let mut rooms = self.rooms();
        if rooms.is_shared.len() >= MAX_ROOMS {
            rooms.is_shared.clear();
        }
        rooms.is_shared.insert(room.to_owned(), is_shared);
        Ok(is_shared)
    }

    async fn batch(&self, cursor: Option<&str>) -> Result<InboundBatch, ChannelError> {
        let mut inbound = Vec::new();
        let own = self.account.identity.as_str();
        if cursor.is_some() && !self.rooms().knows_invitations {
            let all = self.sync(None, 0).await?;
            inbound = self.answer_invitations(invitations(&all, own)).await?;
        }
        self.rooms().knows_invitations = true;
        // What was written before the account was added is not answered.
        let wait = if cursor.is_some() && inbound.is_empty() { POLL_MS } else { 0 };
        let sync = self.sync(cursor, wait).await?;
        let next = text(&sync, "/next_batch").filter(|next| next.len() <= 4_096);
        let next = next.ok_or_else(|| self.service.unusable("it has no next_batch"))?.to_owned();
        inbound.extend(self.answer_invitations(invitations(&sync, own)).await?);
        if cursor.is_some() {
            for event in events(&sync, own) {
                self.add(event, &mut inbound).await?;
            }
        }
        Ok(InboundBatch { cursor: next, events: inbound })
    }

    async fn add(&self, event: RoomEvent, all: &mut Vec<Inbound>) -> Result<(), ChannelError> {
        let inbound = match event {
            RoomEvent::Membership(room) => {
                self.rooms().is_shared.remove(&room);
                return Ok(());
            }
            RoomEvent::Encrypted(notice) => {
                if self.rooms().told.insert(notice.room.clone()) {
                    all.push(notice);
                }
                return Ok(());
            }
            RoomEvent::Inbound(inbound) => inbound,
        };
        if self.account.allows(&inbound.user) && self.is_shared(&inbound.room).await? {
            if self.rooms().told.insert(inbound.room.clone()) {
                let words = "Others are in this room, who would read the answers. Invite me to a room with you alone.";
                let kind = InboundKind::Notice(words.to_owned());
                all.push(Inbound { kind, id: format!("shared {}", inbound.room), ..inbound });
            }
            return Ok(());
        }
        all.push(inbound);
        Ok(())
    }

    /// Sends an event; the server accepts one per key.
    async fn send(&self, room: &str, kind: &str, key: &str, content: &Value) -> Sent {
        let path = format!("/rooms/{}/send/{kind}/{}", encoded(room), encoded(key));
        let answer = self.ask_server(Method::PUT, &path, Some(content)).await?;
        let id = text(&answer, "/event_id").map(str::to_owned);
        id.ok_or_else(|| self.service.unusable("it has no event_id"))
    }

    /// Returns the direct room with a person, and creates it if there is none.
    async fn direct_room(&self, user: &str) -> Sent {
        let own = encoded(&self.account.identity);
        let path = format!("/user/{own}/account_data/m.direct");
        let mut direct = match self.ask_server(Method::GET, &path, None).await {
            Ok(direct) => direct,
            Err(ChannelError::Refused { status: 404, .. }) => json!({}),
            Err(error) => return Err(error),
        };
        let known = direct.get(user).and_then(Value::as_array).and_then(|rooms| rooms.last());
        if let Some(room) = known.and_then(Value::as_str) {
            return Ok(room.to_owned());
        }
        let new = json!({"invite": [user], "is_direct": true, "preset": "trusted_private_chat"});
        let made = self.ask_server(Method::POST, "/createRoom", Some(&new)).await?;
        let room = text(&made, "/room_id").map(str::to_owned);
        let room = room.ok_or_else(|| self.service.unusable("it has no room_id"))?;
        if let Some(direct) = direct.as_object_mut() {
            direct.insert(user.to_owned(), json!([room]));
            // Without it, the next message to this person only creates another room.
            let _ = self.ask_server(Method::PUT, &path, Some(&json!(direct))).await;
        }
        Ok(room)
    }
}

/// Returns a text as a segment of a path or a value of a query.
fn encoded(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for byte in text.bytes() {
        if byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'.' | b'_' | b'~') {
            out.push(char::from(byte));
        } else {
            let _ = write!(out, "%{byte:02X}");
        }
    }
    out
}

impl Channel for Matrix {
    fn kind(&self) -> ChannelKind {
        ChannelKind::Matrix
    }

    fn max_chars(&self) -> usize {
        MAX_CHARS
    }

    fn room_of<'a>(&'a self, user: &'a str) -> BoxFuture<'a, Sent> {
        Box::pin(self.direct_room(user))
    }

    fn is_private<'a>(&'a self, room: &'a str) -> BoxFuture<'a, Result<bool, ChannelError>> {
        Box::pin(async move { Ok(!self.is_shared(room).await?) })
    }

    fn test(&self) -> BoxFuture<'_, Result<String, ChannelError>> {
        Box::pin(async move {
            let me = self.ask_server(Method::GET, "/account/whoami", None).await?;
            let user = text(&me, "/user_id").filter(|user| ChannelKind::Matrix.is_user_id(user));
            let user = user.ok_or_else(|| self.service.unusable("it has no user_id"))?;
            Ok(user.to_owned())
        })
    }

    fn receive<'a>(
        &'a self,
        cursor: Option<&'a str>,
    ) -> BoxFuture<'a, Result<InboundBatch, ChannelError>> {
        Box::pin(self.batch(cursor))
    }

    fn send_text<'a>(&'a self, room: &'a str, text: &'a str, key: &'a str) -> BoxFuture<'a, Sent> {
        Box::pin(async move {
            let content = json!({"msgtype": "m.text", "body": text});
            self.send(room, "m.room.message", key, &content).await
        })
    }

    fn ask<'a>(
        &'a self,
        room: &'a str,
        question: &'a Question,
        key: &'a str,
    ) -> BoxFuture<'a, Sent> {
        Box::pin(async move {
            let emoji = |button: &crate::Button| {
                emoji_of(&button.data).map(|emoji| (emoji, button.label.clone()))
            };
            let buttons: Vec<_> = question.buttons.iter().filter_map(emoji).collect();
            let mut body = question.text.clone();
            if !buttons.is_empty() {
                body.push_str("\n\nReact to this message:");
            }
            for (emoji, label) in &buttons {
                let _ = write!(body, "\n{emoji} {label}");
            }
            let content = json!({"msgtype": "m.text", "body": body});
            let message = self.send(room, "m.room.message", key, &content).await?;
            for (at, (emoji, _)) in buttons.iter().enumerate() {
                // A tap on a reaction that is there is easier; without it, the person adds one.
                let relation =
                    json!({"rel_type": "m.annotation", "event_id": message, "key": emoji});
                let content = json!({"m.relates_to": relation});
                let _ = self.send(room, "m.reaction", &format!("{key}-r{at}"), &content).await;
            }
            Ok(message)
        })
    }

    fn edit<'a>(
        &'a self,
        room: &'a str,
        message: &'a str,
        text: &'a str,
    ) -> BoxFuture<'a, Result<(), ChannelError>> {
        Box::pin(async move {
            let new = json!({"msgtype": "m.text", "body": text});
            let content = json!({
                "msgtype": "m.text", "body": format!("* {text}"), "m.new_content": new,
                "m.relates_to": {"rel_type": "m.replace", "event_id": message},
            });
            self.send(room, "m.room.message", &format!("edit-{message}"), &content).await.map(drop)
        })
    }

    fn acknowledge<'a>(
        &'a self,
        _: &'a str,
        _: &'a str,
    ) -> BoxFuture<'a, Result<(), ChannelError>> {
        // A reaction is visible as such.
        Box::pin(std::future::ready(Ok(())))
    }
}
