//! Searches the text of conversations: messages of people and answers of models.
//!
//! Messages are read from the store, newest conversation first, because their secrets must be
//! masked before the search. One request reads a bounded number of messages and returns the
//! position for the next one.

use serde::{Deserialize, Serialize};
use toolcrib_app::Secrets;
use toolcrib_core::{Conversation, ConversationId, RunId, StoredMessage};
use toolcrib_providers::conversation::{Message, UserKind};

use super::list::{ListConversationsRequest, list};
use crate::context::OpContext;
use crate::error::OpError;

/// Maximum number of messages that one request reads, about 40 MB of text at 2 kB each.
const MAX_MESSAGES: usize = 20_000;
/// Number of conversations that are listed at once.
const CONVERSATIONS_PAGE: usize = 50;
/// Maximum number of hits of one conversation, the newest: a long conversation must not hide the
/// others.
const HITS_PER_CONVERSATION: usize = 3;
/// Number of characters of an excerpt before and after the first match.
const EXCERPT_CHARS: usize = 80;
/// Maximum number of characters of the words.
const MAX_WORDS_CHARS: usize = 200;

/// A search in conversations.
#[derive(Debug, Clone)]
pub struct SearchConversationsRequest {
    /// Words that a message must contain, each at any position, ignoring case.
    pub words: String,
    /// Position for continuing the search, from the previous reply.
    pub before: Option<(i64, ConversationId)>,
    /// Approximate maximum number of hits: all hits of the last conversation are included.
    pub limit: usize,
}

/// A message that contains the words, or a conversation with them in its title.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct FoundMessage {
    /// The conversation.
    pub conversation: Conversation,
    /// The run that wrote the message; `None` if the match is in the title.
    pub run: Option<RunId>,
    /// Position of the message in the conversation.
    pub seq: Option<u64>,
    /// Whether a person wrote it; otherwise, a model did.
    pub is_typed: bool,
    /// The text around the first match.
    pub excerpt: String,
}

/// The result of a search.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct SearchConversationsReply {
    /// The hits, newest conversation first.
    pub found: Vec<FoundMessage>,
    /// Position for continuing the search; `None` if everything was searched.
    pub next: Option<(i64, ConversationId)>,
}

/// Finds messages by their words.
///
/// # Errors
/// [`OpError::Denied`] for a caller that sees no texts, [`OpError::Invalid`] without words,
/// [`OpError::Store`].
pub async fn search(
    ctx: &OpContext<'_>,
    request: SearchConversationsRequest,
) -> Result<SearchConversationsReply, OpError> {
    if !ctx.store.shows_payloads {
        return Err(OpError::Denied("you may not see messages".to_owned()));
    }
    let words = Words::parse(&request.words)?;
    let secrets = &ctx.toolcrib.engine().sealing().secrets;
    let (mut found, mut read, mut before) = (Vec::new(), 0, request.before);
    loop {
        let page = ListConversationsRequest { before, limit: CONVERSATIONS_PAGE };
        let page = list(&ctx.store, page).await?;
        for conversation in page.conversations {
            before = Some((conversation.updated_at, conversation.id));
            let messages = ctx.store.stores.runs.messages(conversation.id, 0).await?;
            read += messages.len();
            found.extend(hits(&conversation, &messages, &words, secrets));
            if found.len() >= request.limit || read >= MAX_MESSAGES {
                return Ok(SearchConversationsReply { found, next: before });
            }
        }
        if !page.more {
            return Ok(SearchConversationsReply { found, next: None });
        }
    }
}

/// Returns the newest hits of a conversation.
fn hits(
    conversation: &Conversation,
    messages: &[StoredMessage],
    words: &Words,
    secrets: &Secrets,
) -> Vec<FoundMessage> {
    let hit = |stored: &StoredMessage| {
        let (text, is_typed) = said(stored)?;
        let excerpt = words.excerpt(&secrets.mask(text))?;
        let (run, seq) = (stored.run, Some(stored.seq));
        Some(FoundMessage { conversation: conversation.clone(), run, seq, is_typed, excerpt })
    };
    let mut found: Vec<_> =
        messages.iter().rev().filter_map(hit).take(HITS_PER_CONVERSATION).collect();
    if found.is_empty()
        && let Some(excerpt) = words.excerpt(&conversation.title)
    {
        let conversation = conversation.clone();
        found.push(FoundMessage { conversation, run: None, seq: None, is_typed: true, excerpt });
    }
    found
}

/// Returns the text of a message, and whether a person wrote it; `None` for messages that only the
/// model reads.
fn said(stored: &StoredMessage) -> Option<(String, bool)> {
    match Message::deserialize(&stored.body).ok()? {
        Message::User(user) => {
            let is_typed =
                matches!(user.kind, UserKind::Typed | UserKind::Queued | UserKind::Answer);
            is_typed.then_some((user.text, true))
        }
        Message::Model(model) => Some((model.turn.text, false)),
    }
}

/// The words to search, in lower case.
struct Words(Vec<String>);

impl Words {
    fn parse(text: &str) -> Result<Self, OpError> {
        if text.chars().count() > MAX_WORDS_CHARS {
            return Err(OpError::Invalid(format!(
                "the words have more than {MAX_WORDS_CHARS} characters; name a few of them"
            )));
        }
        let words: Vec<String> = text.split_whitespace().map(str::to_lowercase).collect();
        match words.is_empty() {
            true => Err(OpError::Invalid("say at least one word to look for".to_owned())),
            false => Ok(Self(words)),
        }
    }

    /// Returns the text around the first match on one line, if the text contains all words.
    fn excerpt(&self, text: &str) -> Option<String> {
        let lower = text.to_lowercase();
        let places: Option<Vec<usize>> = self.0.iter().map(|word| lower.find(word)).collect();
        let first = places?.into_iter().min()?;
        // Lower case can have another length, so the position is counted in characters of the
        // original text.
        let mut length = 0;
        let before = text.chars().take_while(|letter| {
            let is_before = length < first;
            length += letter.to_lowercase().map(char::len_utf8).sum::<usize>();
            is_before
        });
        let at = before.count();
        let start = at.saturating_sub(EXCERPT_CHARS);
        let mut rest = text.chars().skip(start);
        let part: String = rest.by_ref().take(at - start + EXCERPT_CHARS).collect();
        let part = part.split_whitespace().collect::<Vec<_>>().join(" ");
        let dots = |is_cut: bool| if is_cut { "…" } else { "" };
        Some(format!("{}{part}{}", dots(start > 0), dots(rest.next().is_some())))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_message_has_every_word_in_any_case() {
        let check = |words: &str, text: &str, expected: Option<&str>| {
            let found = Words::parse(words).unwrap().excerpt(text);
            assert_eq!(found.as_deref(), expected, "{words} in {text:.40}");
        };
        check("HELLO there", "oh, there:\n hello", Some("oh, there: hello"));
        check("hello sea", "oh, hello", None);
        check("äpfel", "Drei Äpfel", Some("Drei Äpfel"));
        let long = format!("{}needle{}", "a".repeat(200), "b".repeat(200));
        let around = format!("…{}needle{}…", "a".repeat(80), "b".repeat(74));
        check("needle", &long, Some(&around));
        // The lower case of İ is longer.
        check(
            "needle",
            &format!("{}needle", "İ".repeat(300)),
            Some(&format!("…{}needle", "İ".repeat(80))),
        );
        assert!(Words::parse("  ").is_err());
        assert!(Words::parse(&"a ".repeat(200)).is_err());
    }
}
