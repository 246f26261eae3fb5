//! Updates of Telegram. Every field that is not needed, or that is missing, is left out.

use serde::Deserialize;
use serde_json::Value;
use toolcrib_assistant::chat_channel::{Inbound, InboundKind};

/// Parts of a message that are not read, with their words.
const MEDIA: &[(&str, &str)] = &[
    ("photo", "the photo"),
    ("voice", "the voice message"),
    ("audio", "the audio file"),
    ("video", "the video"),
    ("video_note", "the video message"),
    ("document", "the file"),
    ("sticker", "the sticker"),
    ("animation", "the animation"),
    ("location", "the location"),
    ("contact", "the contact"),
    ("poll", "the poll"),
];

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct Update {
    message: Option<Value>,
    callback_query: Option<Callback>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct Message {
    message_id: i64,
    from: Option<User>,
    chat: Chat,
    text: Option<String>,
    caption: Option<String>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct Callback {
    id: String,
    from: Option<User>,
    message: Option<Message>,
    data: Option<String>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct User {
    id: i64,
    is_bot: bool,
    first_name: String,
    last_name: String,
    username: String,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct Chat {
    id: i64,
    #[serde(rename = "type")]
    kind: String,
}

/// Returns the number of an update.
pub(super) fn update_id(update: &Value) -> Option<i64> {
    update.get("update_id").and_then(Value::as_i64)
}

/// Reads an update; `None` if it is of no concern, or cannot be read.
pub(super) fn inbound(update: &Value) -> Option<Inbound> {
    let id = update_id(update)?;
    let read: Update = serde_json::from_value(update.clone()).ok()?;
    if let Some(callback) = read.callback_query {
        return press(callback);
    }
    let raw = read.message?;
    let message: Message = serde_json::from_value(raw.clone()).ok()?;
    let from = message.from.filter(|from| !from.is_bot && from.id > 0)?;
    // Groups have other members, who would read the answers.
    if message.chat.kind != "private" || message.chat.id != from.id {
        return None;
    }
    let media = MEDIA.iter().find(|(name, _)| raw.get(*name).is_some_and(|part| !part.is_null()));
    let media = media.map(|(_, words)| (*words).to_owned());
    let text = message.text.or(message.caption).filter(|text| !text.trim().is_empty());
    let forwarded = ["forward_origin", "forward_date", "via_bot", "external_reply"]
        .iter()
        .any(|name| raw.get(*name).is_some_and(|part| !part.is_null()));
    let kind = match (text, media) {
        (Some(text), ignored) => InboundKind::Text { text, forwarded, ignored },
        (None, Some(what)) => InboundKind::Other(what),
        // A message of the service itself, such as a pinned message.
        (None, None) => return None,
    };
    Some(Inbound {
        id: format!("u{id}"),
        user: from.id.to_string(),
        name: name(&from),
        room: from.id.to_string(),
        kind,
    })
}

fn press(callback: Callback) -> Option<Inbound> {
    let from = callback.from.filter(|from| from.id > 0)?;
    let message = callback.message.unwrap_or_default();
    if callback.id.is_empty() || callback.id.len() > 100 {
        return None;
    }
    let data = callback.data.unwrap_or_default().chars().take(100).collect();
    Some(Inbound {
        id: callback.id,
        user: from.id.to_string(),
        name: name(&from),
        room: from.id.to_string(),
        kind: InboundKind::Press { message: message.message_id.to_string(), data },
    })
}

fn name(user: &User) -> String {
    let full = format!("{} {}", user.first_name, user.last_name);
    match user.username.as_str() {
        "" => full.trim().to_owned(),
        known => format!("{} (@{known})", full.trim()),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn check(update: Value, expected: Option<&str>) {
        let read = inbound(&update).map(|one| match one.kind {
            InboundKind::Text { text, forwarded, ignored } => {
                format!("{} {} {text} {forwarded} {}", one.id, one.user, ignored.is_some())
            }
            InboundKind::Other(what) => what,
            InboundKind::Press { message, data } => format!("{} {message} {data}", one.id),
            InboundKind::Notice(words) => words,
        });
        assert_eq!(read.as_deref(), expected, "{update}");
    }

    #[test]
    fn only_private_messages_of_people_are_read() {
        let from = json!({"id": 7, "is_bot": false, "first_name": "Ann"});
        let chat = json!({"id": 7, "type": "private"});
        let message = |more: Value| {
            let mut message = json!({"message_id": 1, "from": from, "chat": chat});
            message.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
            json!({"update_id": 5, "message": message})
        };
        check(message(json!({"text": "hi"})), Some("u5 7 hi false false"));
        check(message(json!({"text": "hi", "forward_origin": {}})), Some("u5 7 hi true false"));
        check(message(json!({"caption": "look", "photo": [{}]})), Some("u5 7 look false true"));
        check(message(json!({"voice": {}})), Some("the voice message"));
        check(message(json!({"pinned_message": {}})), None);
        let group = json!({"text": "hi", "chat": {"id": -9, "type": "group"}});
        check(message(group), None);
        check(message(json!({"text": "hi", "from": {"id": 7, "is_bot": true}})), None);
        check(message(json!({"text": 5})), None);
        check(json!({"update_id": "x", "message": {}}), None);
        check(json!({"update_id": 5, "message": []}), None);
        check(json!([]), None);
        let callback = json!({"id": "c1", "from": from, "data": "y", "message": {"message_id": 3}});
        check(json!({"update_id": 5, "callback_query": callback}), Some("c1 3 y"));
    }
}
