//! A bot of Telegram.

use std::time::Duration;

use serde_json::{Value, json};
use toolcrib_assistant::chat_channel::InboundBatch;
use toolcrib_core::BoxFuture;
use toolcrib_net::{HttpClient, Method};

use super::update::{inbound, update_id};
use crate::account::ChannelAccount;
use crate::channel::{Channel, ChannelKind, Question, Sent};
use crate::error::ChannelError;
use crate::http::Service;

/// Seconds that the service waits for an update before it answers without one.
const POLL_SECONDS: u64 = 50;
/// Maximum updates of one answer.
const MAX_UPDATES: usize = 100;
/// Maximum characters of a message.
const MAX_CHARS: usize = 4096;
/// Maximum characters of the note that is shown to a person who pressed a button.
const NOTE_CHARS: usize = 190;
/// Longest time to wait that the service may ask for.
const LONGEST_WAIT: u64 = 3_600;

/// Returns the id of a chat as the number that it is.
fn chat_id(room: &str) -> Value {
    room.parse::<i64>().map_or_else(|_| json!(room), Value::from)
}

/// A bot of Telegram.
pub(crate) struct Telegram {
    service: Service,
}

impl Telegram {
    pub(crate) fn new(client: &HttpClient, account: &ChannelAccount, token: &str) -> Self {
        let official = account.is_official();
        Self { service: Service::new(client, &account.base_url, official, token) }
    }

    /// Calls a method; returns its result.
    async fn call(&self, name: &str, body: Value) -> Result<Value, ChannelError> {
        let wait = body.get("timeout").and_then(Value::as_u64).unwrap_or(0);
        let path = format!("/bot{}/{name}", self.service.token());
        let wait = Duration::from_secs(wait);
        let mut answer = self.service.send(Method::POST, &path, &[], Some(&body), wait).await?;
        let is_ok = answer.body.get("ok").and_then(Value::as_bool) == Some(true);
        if answer.status == 200 && is_ok {
            let result = answer.body.get_mut("result").map(Value::take);
            return result.ok_or_else(|| self.service.unusable("it has no result"));
        }
        let words = answer.body.get("description").and_then(Value::as_str).unwrap_or("no reason");
        let seconds = answer.body.pointer("/parameters/retry_after").and_then(Value::as_u64);
        // The status is also in the body; the proxy in front of it may have another one.
        let code = answer.body.get("error_code").and_then(Value::as_u64);
        let status = code.and_then(|code| u16::try_from(code).ok()).unwrap_or(answer.status);
        Err(self.refused(status, words, seconds.or(answer.retry_after)))
    }

    fn refused(&self, status: u16, words: &str, wait: Option<u64>) -> ChannelError {
        let (service, reason) = (self.service.host(), self.service.words(words));
        match status {
            // A token with a wrong form is an unknown address.
            401 | 404 => ChannelError::Token { service, reason },
            409 => ChannelError::Conflict { service, reason },
            429 => {
                let wait = Duration::from_secs(wait.unwrap_or(5).clamp(1, LONGEST_WAIT));
                ChannelError::Wait { service, wait }
            }
            403 => ChannelError::Blocked { service, reason },
            400 if reason.contains("chat not found") => ChannelError::Blocked { service, reason },
            status => ChannelError::Refused { service, status, reason },
        }
    }

    fn message_id(&self, message: &Value) -> Sent {
        let id = message.get("message_id").and_then(Value::as_i64);
        id.map(|id| id.to_string()).ok_or_else(|| self.service.unusable("it has no message_id"))
    }

    async fn updates(&self, cursor: Option<&str>) -> Result<InboundBatch, ChannelError> {
        let offset = cursor.and_then(|cursor| cursor.parse::<i64>().ok());
        let mut body = json!({
            "timeout": POLL_SECONDS, "limit": MAX_UPDATES,
            "allowed_updates": ["message", "callback_query"],
        });
        if let Some(offset) = offset {
            body["offset"] = json!(offset);
        }
        let result = self.call("getUpdates", body).await?;
        let updates = result.as_array().ok_or_else(|| self.service.unusable("it is no list"))?;
        let updates = updates.get(..updates.len().min(MAX_UPDATES)).unwrap_or_default();
        let last = updates.iter().filter_map(update_id).max();
        let next = last.map(|last| last.saturating_add(1)).or(offset).unwrap_or(0);
        let events = updates.iter().filter_map(inbound).collect();
        Ok(InboundBatch { cursor: next.to_string(), events })
    }
}

impl Channel for Telegram {
    fn kind(&self) -> ChannelKind {
        ChannelKind::Telegram
    }

    fn max_chars(&self) -> usize {
        MAX_CHARS
    }

    fn room_of<'a>(&'a self, user: &'a str) -> BoxFuture<'a, Sent> {
        // The private chat with a person has the id of the person.
        Box::pin(std::future::ready(Ok(user.to_owned())))
    }

    fn is_private<'a>(&'a self, _: &'a str) -> BoxFuture<'a, Result<bool, ChannelError>> {
        // Only private chats are read.
        Box::pin(std::future::ready(Ok(true)))
    }

    fn test(&self) -> BoxFuture<'_, Result<String, ChannelError>> {
        Box::pin(async move {
            let me = self.call("getMe", json!({})).await?;
            let name = me.get("username").and_then(Value::as_str);
            let name = name.ok_or_else(|| self.service.unusable("it has no user name"))?;
            Ok(format!("@{}", self.service.words(name)))
        })
    }

    fn receive<'a>(
        &'a self,
        cursor: Option<&'a str>,
    ) -> BoxFuture<'a, Result<InboundBatch, ChannelError>> {
        Box::pin(self.updates(cursor))
    }

    fn send_text<'a>(&'a self, room: &'a str, text: &'a str, _: &'a str) -> BoxFuture<'a, Sent> {
        Box::pin(async move {
            let body = json!({
                "chat_id": chat_id(room), "text": text,
                "link_preview_options": {"is_disabled": true},
            });
            self.message_id(&self.call("sendMessage", body).await?)
        })
    }

    fn ask<'a>(&'a self, room: &'a str, question: &'a Question, _: &'a str) -> BoxFuture<'a, Sent> {
        Box::pin(async move {
            let row = |button: &crate::Button| json!([{"text": button.label, "callback_data": button.data}]);
            let rows: Vec<Value> = question.buttons.iter().map(row).collect();
            let body = json!({
                "chat_id": chat_id(room), "text": question.text,
                "link_preview_options": {"is_disabled": true},
                "reply_markup": {"inline_keyboard": rows},
            });
            self.message_id(&self.call("sendMessage", body).await?)
        })
    }

    fn edit<'a>(
        &'a self,
        room: &'a str,
        message: &'a str,
        text: &'a str,
    ) -> BoxFuture<'a, Result<(), ChannelError>> {
        Box::pin(async move {
            let Ok(id) = message.parse::<i64>() else { return Ok(()) };
            let body = json!({
                "chat_id": chat_id(room), "message_id": id, "text": text,
                "link_preview_options": {"is_disabled": true},
                "reply_markup": {"inline_keyboard": []},
            });
            match self.call("editMessageText", body).await {
                // An earlier attempt has edited it, or the person deleted it.
                Err(ChannelError::Refused { status: 400, .. }) => Ok(()),
                edited => edited.map(drop),
            }
        })
    }

    fn acknowledge<'a>(
        &'a self,
        press: &'a str,
        words: &'a str,
    ) -> BoxFuture<'a, Result<(), ChannelError>> {
        Box::pin(async move {
            let words: String = words.chars().take(NOTE_CHARS).collect();
            let body = json!({"callback_query_id": press, "text": words});
            match self.call("answerCallbackQuery", body).await {
                // The press is too old to be answered.
                Err(ChannelError::Refused { status: 400, .. }) => Ok(()),
                answered => answered.map(drop),
            }
        })
    }
}
