//! Adds received messages to the state of an account: pure.

use super::model::{ButtonPress, ChannelState, ChatPerson, Stranger, WaitingMessage, line};

/// Maximum characters of a message that is read.
pub const MAX_TEXT_CHARS: usize = 16_000;
/// Maximum messages of a person that wait.
const MAX_WAITING: usize = 50;
/// Maximum pressed buttons of a person that wait.
const MAX_PRESSES: usize = 50;
/// Number of stored ids of messages.
const SEEN: usize = 100;
/// Maximum stored people who are not on the list; further ones are ignored.
const MAX_STRANGERS: usize = 100;

/// A message or a pressed button, as it was received.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Inbound {
    /// Its id at the service, the same in every delivery.
    pub id: String,
    /// The sender's id, which the service vouches for.
    pub user: String,
    /// The sender's name, as they chose it.
    pub name: String,
    /// Where the sender is answered.
    pub room: String,
    /// The content.
    pub kind: InboundKind,
}

/// The content of what was received.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum InboundKind {
    /// A text.
    Text {
        /// The text.
        text: String,
        /// Whether it repeats words of another person.
        forwarded: bool,
        /// What came with it and was not read, in words.
        ignored: Option<String>,
    },
    /// Something that is not read, such as a photo; the text names it.
    Other(String),
    /// A pressed button.
    Press {
        /// The message with the button.
        message: String,
        /// The meaning of the button.
        data: String,
    },
    /// Words about something that the channel does not support.
    Notice(String),
}

/// What one request to the service returned.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct InboundBatch {
    /// The read position behind it.
    pub cursor: String,
    /// Messages and pressed buttons, the oldest first.
    pub events: Vec<Inbound>,
}

/// A person to tell once that they are not on the list.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Refusal {
    /// Their id.
    pub user: String,
    /// Where to tell them.
    pub room: String,
}

/// The result of adding a batch.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Accepted {
    /// People who wrote for the first time without being on the list.
    pub refusals: Vec<Refusal>,
    /// Pressed buttons of people who are not on the list.
    pub foreign_presses: Vec<String>,
    /// Whether another process has read the same messages before.
    pub is_stale: bool,
}

impl ChannelState {
    /// Adds a batch that was requested with the position `from`.
    pub fn accept(
        &mut self,
        from: Option<&str>,
        batch: &InboundBatch,
        is_allowed: impl Fn(&str) -> bool,
        now: i64,
    ) -> Accepted {
        let mut accepted = Accepted::default();
        if self.cursor.as_deref() != from {
            accepted.is_stale = true;
            return accepted;
        }
        for event in &batch.events {
            if self.seen.contains(&event.id) {
                continue;
            }
            self.seen.push(event.id.clone());
            if is_allowed(&event.user) {
                self.accept_event(event, now);
            } else if let InboundKind::Press { .. } = event.kind {
                accepted.foreign_presses.push(event.id.clone());
            } else {
                accepted.refusals.extend(self.accept_stranger(event, now));
            }
        }
        let over = self.seen.len().saturating_sub(SEEN.max(batch.events.len()));
        self.seen.drain(..over);
        self.cursor = Some(batch.cursor.clone());
        self.problem = None;
        self.read_at = now;
        accepted
    }

    fn accept_stranger(&mut self, event: &Inbound, now: i64) -> Option<Refusal> {
        let is_known = self.strangers.iter().any(|one| one.user == event.user);
        if is_known || self.strangers.len() >= MAX_STRANGERS {
            return None;
        }
        let (user, name) = (event.user.clone(), line(&event.name));
        self.strangers.push(Stranger { user: user.clone(), name, at: now });
        self.log(now, &user, "asked to talk");
        Some(Refusal { user, room: event.room.clone() })
    }

    fn accept_event(&mut self, event: &Inbound, now: i64) {
        self.strangers.retain(|one| one.user != event.user);
        let person = self.people.entry(event.user.clone()).or_default();
        person.name = line(&event.name);
        let word = match &event.kind {
            InboundKind::Text { text, forwarded, ignored } => {
                if let Some(what) = ignored {
                    person.say(&event.room, format!("{}-ignored", event.id), unread(what));
                }
                person.accept_text(event, text, *forwarded);
                "message"
            }
            InboundKind::Other(what) => {
                person.say(&event.room, event.id.as_str(), unread(what));
                "message that is not read"
            }
            InboundKind::Notice(words) => {
                person.say_in_public(&event.room, &event.id, words);
                "message that is not read"
            }
            InboundKind::Press { message, data } => {
                if person.presses.len() < MAX_PRESSES {
                    let (message, data) = (message.clone(), data.clone());
                    person.presses.push(ButtonPress { id: event.id.clone(), message, data });
                }
                "button"
            }
        };
        self.log(now, &event.user, word);
    }
}

impl ChatPerson {
    fn accept_text(&mut self, event: &Inbound, text: &str, forwarded: bool) {
        let Inbound { id, room, .. } = event;
        let length = text.chars().count();
        if length > MAX_TEXT_CHARS {
            let words = format!(
                "Your message has {length} characters; at most {MAX_TEXT_CHARS} are read. Send it in parts."
            );
            self.say(room, id, words);
        } else if self.waiting.len() >= MAX_WAITING {
            let words =
                format!("{MAX_WAITING} of your messages wait already. Send this one later.");
            self.say(room, id, words);
        } else if !text.trim().is_empty() {
            let (id, room, text) = (id.clone(), room.clone(), text.to_owned());
            self.waiting.push(WaitingMessage { id, room, text, forwarded });
        }
    }
}

fn unread(what: &str) -> String {
    format!("I read text only; {what} was ignored.")
}
