//! The answer of `/sync`. Everything that is not needed, or that cannot be read, is left out.

use serde_json::Value;
use toolcrib_assistant::chat_channel::{Inbound, InboundKind};

use super::reactions::meaning_of;

/// Maximum events of one answer that are read.
const MAX_EVENTS: usize = 500;

/// An invitation to a room.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Invitation {
    pub(super) room: String,
    pub(super) inviter: String,
}

/// An event of a room.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum RoomEvent {
    /// A message, or a reaction.
    Inbound(Inbound),
    /// An encrypted message of a person.
    Encrypted(Inbound),
    /// A person joined or left, or may have.
    Membership(String),
}

/// Returns the invitations of an answer.
pub(super) fn invitations(sync: &Value, own: &str) -> Vec<Invitation> {
    let rooms = sync.pointer("/rooms/invite").and_then(Value::as_object);
    let invitation = |(room, content): (&String, &Value)| {
        let events = content.pointer("/invite_state/events")?.as_array()?;
        let is_mine = |event: &&Value| {
            text(event, "/type") == Some("m.room.member")
                && text(event, "/state_key") == Some(own)
                && text(event, "/content/membership") == Some("invite")
        };
        let inviter = text(events.iter().find(is_mine)?, "/sender")?.to_owned();
        Some(Invitation { room: room.clone(), inviter })
    };
    rooms.into_iter().flatten().filter_map(invitation).take(MAX_EVENTS).collect()
}

/// Returns the events of an answer in rooms that were joined.
pub(super) fn events(sync: &Value, own: &str) -> Vec<RoomEvent> {
    let rooms = sync.pointer("/rooms/join").and_then(Value::as_object);
    let of_room = |(room, content): (&String, &Value)| -> Vec<RoomEvent> {
        let events = content.pointer("/timeline/events").and_then(Value::as_array);
        let read = |event: &Value| room_event(room, event, own);
        // The events that are left out of a limited timeline may have changed the members.
        let is_limited = content.pointer("/timeline/limited") == Some(&Value::Bool(true));
        let gap = is_limited.then(|| RoomEvent::Membership(room.clone()));
        gap.into_iter().chain(events.into_iter().flatten().filter_map(read)).collect()
    };
    rooms.into_iter().flatten().flat_map(of_room).take(MAX_EVENTS).collect()
}

fn room_event(room: &str, event: &Value, own: &str) -> Option<RoomEvent> {
    let kind = text(event, "/type")?;
    if kind == "m.room.member" {
        return Some(RoomEvent::Membership(room.to_owned()));
    }
    let sender = text(event, "/sender").filter(|sender| *sender != own && sender.len() <= 255)?;
    let id = text(event, "/event_id").filter(|id| id.len() <= 255)?;
    let inbound = |id: &str, kind: InboundKind| Inbound {
        id: id.to_owned(),
        user: sender.to_owned(),
        name: sender.to_owned(),
        room: room.to_owned(),
        kind,
    };
    let relation = text(event, "/content/m.relates_to/rel_type");
    match kind {
        "m.reaction" if relation == Some("m.annotation") => {
            let message = text(event, "/content/m.relates_to/event_id")?.to_owned();
            let data = meaning_of(text(event, "/content/m.relates_to/key")?)?.to_owned();
            Some(RoomEvent::Inbound(inbound(id, InboundKind::Press { message, data })))
        }
        "m.room.encrypted" => {
            let words = "This room is end-to-end encrypted, which is not supported. Invite me to a room without encryption.";
            let id = format!("encrypted {room}");
            Some(RoomEvent::Encrypted(inbound(&id, InboundKind::Notice(words.to_owned()))))
        }
        // An edited message was answered before.
        "m.room.message" if relation != Some("m.replace") => {
            let body = text(event, "/content/body").unwrap_or_default();
            let kind = match text(event, "/content/msgtype")? {
                "m.text" | "m.emote" => InboundKind::Text {
                    text: without_quote(event, body),
                    forwarded: false,
                    ignored: None,
                },
                "m.image" => InboundKind::Other("the image".to_owned()),
                "m.audio" => InboundKind::Other("the audio file".to_owned()),
                "m.video" => InboundKind::Other("the video".to_owned()),
                "m.file" => InboundKind::Other("the file".to_owned()),
                "m.location" => InboundKind::Other("the location".to_owned()),
                // Notices are of bots, which must not answer each other.
                _ => return None,
            };
            Some(RoomEvent::Inbound(inbound(id, kind)))
        }
        _ => None,
    }
}

/// Returns the text of a reply without the quoted lines that older clients put before it: they are
/// words of another person.
fn without_quote(event: &Value, body: &str) -> String {
    let is_reply = event.pointer("/content/m.relates_to/m.in_reply_to").is_some();
    if !is_reply || !body.starts_with("> ") {
        return body.to_owned();
    }
    body.split_once("\n\n").map_or(body, |(_, rest)| rest).to_owned()
}

pub(super) fn text<'v>(value: &'v Value, pointer: &str) -> Option<&'v str> {
    value.pointer(pointer).and_then(Value::as_str)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    const OWN: &str = "@bot:x.org";

    fn check(event: Value, expected: Option<&str>) {
        let sync = json!({"rooms": {"join": {"!r:x.org": {"timeline": {"events": [event]}}}}});
        let read = events(&sync, OWN).pop().map(|event| match event {
            RoomEvent::Membership(room) => format!("membership {room}"),
            RoomEvent::Encrypted(_) => "encrypted".to_owned(),
            RoomEvent::Inbound(one) => match one.kind {
                InboundKind::Text { text, .. } => format!("{} {text}", one.user),
                InboundKind::Press { message, data } => format!("{message} {data}"),
                InboundKind::Other(what) | InboundKind::Notice(what) => what,
            },
        });
        assert_eq!(read.as_deref(), expected, "{sync}");
    }

    #[test]
    fn events_of_others_are_read_leniently() {
        let message = |sender: &str, content: Value| json!({"type": "m.room.message", "sender": sender, "event_id": "$1", "content": content});
        let text = json!({"msgtype": "m.text", "body": "hi"});
        check(message("@ann:x.org", text.clone()), Some("@ann:x.org hi"));
        check(message(OWN, text), None);
        check(message("@ann:x.org", json!({"msgtype": "m.notice", "body": "hi"})), None);
        check(message("@ann:x.org", json!({"msgtype": "m.image"})), Some("the image"));
        check(message("@ann:x.org", json!([])), None);
        let edit =
            json!({"msgtype": "m.text", "body": "hi", "m.relates_to": {"rel_type": "m.replace"}});
        check(message("@ann:x.org", edit), None);
        let reply = json!({"msgtype": "m.text", "body": "> <@eve:x.org> do it\n\nno", "m.relates_to": {"m.in_reply_to": {"event_id": "$0"}}});
        check(message("@ann:x.org", reply), Some("@ann:x.org no"));
        let relation = json!({"rel_type": "m.annotation", "event_id": "$q", "key": "✅"});
        let reaction = json!({"type": "m.reaction", "sender": "@ann:x.org", "event_id": "$2", "content": {"m.relates_to": relation}});
        check(reaction, Some("$q allow"));
        let encrypted =
            json!({"type": "m.room.encrypted", "sender": "@ann:x.org", "event_id": "$3"});
        check(encrypted, Some("encrypted"));
        check(json!({"type": "m.room.member"}), Some("membership !r:x.org"));
        check(json!(7), None);
    }

    #[test]
    fn a_gap_in_the_timeline_may_hide_a_new_member() {
        let sync = json!({"rooms": {"join": {"!r:x.org": {"timeline": {"limited": true}}}}});
        assert_eq!(events(&sync, OWN), [RoomEvent::Membership("!r:x.org".to_owned())]);
    }

    #[test]
    fn an_invitation_names_the_inviter_of_this_account() {
        let invite = |sender: &str, to: &str| json!({"rooms": {"invite": {"!r:x.org": {"invite_state": {"events": [{"type": "m.room.member", "state_key": to, "sender": sender, "content": {"membership": "invite"}}]}}}}});
        let read = invitations(&invite("@ann:x.org", OWN), OWN);
        assert_eq!(read[0].inviter, "@ann:x.org");
        assert_eq!(invitations(&invite("@ann:x.org", "@other:x.org"), OWN), []);
        assert_eq!(invitations(&json!({"rooms": {"invite": []}}), OWN), []);
    }
}
