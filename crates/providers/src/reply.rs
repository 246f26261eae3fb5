//! Outcomes to the messages that go back to the model.

use serde_json::Value;
use toolcrib_core::Outcome;

use crate::chat::CallAnswer;
use crate::format::Format;
use crate::turn::Turn;
use crate::{anthropic, gemini, openai_chat, openai_responses, text};

/// What became of a call, as the model is told.
#[derive(Debug, Clone, Copy)]
pub enum Answered<'a> {
    /// It has its outcome.
    Outcome(&'a Outcome),
    /// It has its outcome, as a stored conversation keeps it.
    Kept(&'a CallAnswer),
    /// It waits for a person; the text says what for.
    Suspended(&'a str),
    /// It was not run; the text says why.
    NotRun(&'a str),
}

/// The answer to one call of a turn.
#[derive(Debug, Clone, Copy)]
pub struct Reply<'a> {
    /// Place of the call in [`Turn::calls`], from 0.
    pub call: usize,
    /// What became of it.
    pub answer: Answered<'a>,
}

/// Text for a call that the caller has no answer for: providers refuse a turn with unanswered calls.
const NO_ANSWER: &str = "This call was not run. Send it again if it is still needed.";

/// The messages to append after [`Turn::assistant`]: exactly one result per call, in the order of the calls, whatever the order of `replies`; a
/// call without a reply is answered as not run, a second reply to a call and one to no call are ignored. Empty when there are no calls.
///
/// Results carry the seeds' wire form as JSON ([`Outcome::to_wire`]). What is longer than a format takes is cut in the middle and says so;
/// pictures go where the format shows them, else a line names them. Two calls with one id get two results with that id, in order.
#[must_use]
pub fn reply(turn: &Turn, replies: &[Reply<'_>]) -> Vec<Value> {
    let answers = in_order(turn, replies);
    if answers.is_empty() {
        return Vec::new();
    }
    match turn.format {
        Format::OpenAiChat => openai_chat::reply(turn, &answers),
        Format::OpenAiResponses => openai_responses::reply(turn, &answers),
        Format::Anthropic => anthropic::reply(turn, &answers),
        Format::Gemini => gemini::reply(turn, &answers),
        Format::Text => text::reply(turn, &answers),
    }
}

/// The same for Ollama's own `/api/chat`, which wants the tool's name in every result and shows pictures in it.
pub(crate) fn native_reply(turn: &Turn, replies: &[Reply<'_>]) -> Vec<Value> {
    openai_chat::native_reply(turn, &in_order(turn, replies))
}

/// One answer per call, in the order of the calls.
fn in_order<'a>(turn: &Turn, replies: &[Reply<'a>]) -> Vec<Answered<'a>> {
    let mut answers: Vec<Option<Answered<'a>>> = vec![None; turn.calls.len()];
    for reply in replies {
        if let Some(slot) = answers.get_mut(reply.call) {
            slot.get_or_insert(reply.answer);
        }
    }
    answers.into_iter().map(|a| a.unwrap_or(Answered::NotRun(NO_ANSWER))).collect()
}
