//! Messages that came, as text.

use mail_parser::{
    Address, HeaderValue, Message, MessageParser, MessagePart, MimeHeaders as _, PartType,
};
use serde::Serialize;
use toolcrib_assistant::draft::unusual_letters;

use super::unsubscribe::one_click;

/// Most characters of one header that are shown.
const HEADER_CHARS: usize = 500;
/// Bytes of a body that are read; the result of a tool is shorter anyway.
const BODY_BYTES: usize = 2 << 20;
/// Files that are listed.
const MAX_FILES: usize = 50;
/// Message-IDs of a thread that are kept.
const MAX_THREAD: usize = 50;

/// A mail in a list.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub(crate) struct Summary {
    pub(crate) uid: u32,
    pub(crate) from: String,
    #[serde(skip_serializing_if = "String::is_empty")]
    pub(crate) to: String,
    pub(crate) subject: String,
    pub(crate) date: String,
    pub(crate) unread: bool,
    pub(crate) bytes: u32,
    /// Letters of the sender's address that look like others.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) unusual_letters: Option<String>,
}

/// A mail.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub(crate) struct Mail {
    pub(crate) from: String,
    pub(crate) to: String,
    #[serde(skip_serializing_if = "String::is_empty")]
    pub(crate) cc: String,
    #[serde(skip_serializing_if = "String::is_empty")]
    pub(crate) reply_to: String,
    pub(crate) subject: String,
    pub(crate) date: String,
    pub(crate) message_id: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) unusual_letters: Option<String>,
    /// The address that unsubscribes with one click.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) unsubscribe: Option<String>,
    pub(crate) text: String,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub(crate) attachments: Vec<File>,
}

/// A file of a mail.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub(crate) struct File {
    pub(crate) name: String,
    pub(crate) media_type: String,
    pub(crate) bytes: usize,
    /// Where its content is.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) artifact: Option<String>,
}

/// A mail with the contents of its files, in the order of its `attachments`.
pub(crate) struct Parsed {
    pub(crate) mail: Mail,
    pub(crate) contents: Vec<Vec<u8>>,
}

/// A row of a list, from the headers alone.
pub(crate) fn summary(headers: &[u8], uid: u32, seen: bool, bytes: u32) -> Summary {
    let message = with_a_part(MessageParser::default().parse_headers(headers));
    let from = addresses(message.from());
    Summary {
        uid,
        unusual_letters: unusual_letters(address_part(&from)),
        to: addresses(message.to()),
        subject: line(message.subject().unwrap_or_default()),
        date: date(&message),
        unread: !seen,
        bytes,
        from,
    }
}

/// A whole mail. What cannot be understood is left out; nothing is fetched.
pub(crate) fn parse(bytes: &[u8]) -> Parsed {
    let message = with_a_part(MessageParser::default().parse(bytes));
    let from = addresses(message.from());
    let contents =
        message.attachments().take(MAX_FILES).map(|part| part.contents().to_vec()).collect();
    let mail = Mail {
        unusual_letters: unusual_letters(address_part(&from)),
        to: addresses(message.to()),
        cc: addresses(message.cc()),
        reply_to: addresses(message.reply_to()),
        subject: line(message.subject().unwrap_or_default()),
        date: date(&message),
        message_id: message.message_id().map(angled).unwrap_or_default(),
        unsubscribe: one_click(bytes).ok().map(String::from),
        text: text(&message),
        attachments: message
            .attachments()
            .take(MAX_FILES)
            .map(|part| {
                let kind = part.content_type();
                let media_type = kind.map_or_else(String::new, |kind| {
                    format!("{}/{}", kind.ctype(), kind.subtype().unwrap_or("octet-stream"))
                });
                File {
                    name: line(part.attachment_name().unwrap_or("unnamed")),
                    media_type: line(&media_type),
                    bytes: part.len(),
                    artifact: None,
                }
            })
            .collect(),
        from,
    };
    dismantle(message);
    Parsed { mail, contents }
}

/// A message that has a part: the library reads the headers of the first one without asking whether
/// there is one.
fn with_a_part(found: Option<Message<'_>>) -> Message<'_> {
    let mut message = found.unwrap_or_default();
    if message.parts.is_empty() {
        message.parts.push(MessagePart::default());
    }
    message
}

/// Drops a message level by level. Messages in messages in messages, which 30 bytes each are enough
/// for, would overflow the stack otherwise.
fn dismantle(message: Message<'_>) {
    let mut left = vec![message];
    while let Some(mut message) = left.pop() {
        for part in &mut message.parts {
            let body = std::mem::replace(&mut part.body, PartType::Multipart(Vec::new()));
            if let PartType::Message(inner) = body {
                left.push(inner);
            }
        }
    }
}

/// The Message-IDs of the thread that an answer to this mail continues: its references and its own
/// (RFC 5322, 3.6.4).
pub(crate) fn thread(headers: &[u8]) -> Vec<String> {
    let message = with_a_part(MessageParser::default().parse_headers(headers));
    let mut ids = ids_of(message.references());
    if ids.is_empty() {
        ids = ids_of(message.in_reply_to());
    }
    ids.extend(message.message_id().map(angled));
    let first = ids.len().saturating_sub(MAX_THREAD);
    ids.split_off(first)
}

fn ids_of(value: &HeaderValue<'_>) -> Vec<String> {
    value.as_text_list().unwrap_or_default().iter().map(|id| angled(id)).collect()
}

fn angled(id: &str) -> String {
    let id: String = id.chars().filter(|c| !c.is_control() && !c.is_whitespace()).collect();
    format!("<{}>", id.trim_start_matches('<').trim_end_matches('>'))
}

/// The text of a mail: its plain text, or the text of its HTML.
fn text(message: &Message<'_>) -> String {
    let plain: Vec<String> = message
        .text_bodies()
        .filter_map(|part| match &part.body {
            PartType::Text(text) => Some(cut(text).to_owned()),
            PartType::Html(html) => Some(html_text(html)),
            _ => None,
        })
        .collect();
    plain.join("\n\n")
}

/// HTML as Markdown without what the page hides, and without its images: a remote image would tell
/// the sender that the mail was read.
fn html_text(html: &str) -> String {
    toolcrib_sanitizer::sanitize(cut(html), "text/html").text.into_owned()
}

fn cut(text: &str) -> &str {
    let mut end = text.len().min(BODY_BYTES);
    while !text.is_char_boundary(end) {
        end -= 1;
    }
    text.get(..end).unwrap_or_default()
}

fn date(message: &Message<'_>) -> String {
    message.date().filter(|date| date.is_valid()).map(|date| date.to_rfc3339()).unwrap_or_default()
}

fn addresses(found: Option<&Address<'_>>) -> String {
    let all: Vec<String> = found
        .into_iter()
        .flat_map(|address| address.iter())
        .take(20)
        .map(|one| match (one.name(), one.address()) {
            (Some(name), Some(address)) => format!("{} <{}>", line(name), line(address)),
            (None, Some(text)) | (Some(text), None) => line(text),
            (None, None) => String::new(),
        })
        .collect();
    all.join(", ")
}

/// The address of `Name <address>`: the name may have any letters.
fn address_part(from: &str) -> &str {
    from.rsplit_once('<').map_or(from, |(_, address)| address.trim_end_matches('>'))
}

/// A header as one line.
fn line(text: &str) -> String {
    let words = text.split_whitespace().collect::<Vec<_>>().join(" ");
    words.chars().filter(|c| !c.is_control()).take(HEADER_CHARS).collect()
}
