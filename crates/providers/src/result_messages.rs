//! Converts the outcomes of calls to the messages that are sent back to the model.

use serde_json::Value;
use toolcrib_core::Outcome;

use crate::conversation::CallAnswer;
use crate::model_turn::Turn;
use crate::wire_format::Format;
use crate::{anthropic, gemini, openai_chat, openai_responses, text_tools};

/// Result of a call, for the model.
#[derive(Debug, Clone, Copy)]
pub enum CallResult<'a> {
    /// The call has an outcome.
    Outcome(&'a Outcome),
    /// The call has an outcome, stored in a conversation.
    Kept(&'a CallAnswer),
    /// The call waits for a person; the text names the decision.
    Suspended(&'a str),
    /// The call was not run; the text gives the reason.
    NotRun(&'a str),
}

/// The result of one call of a turn.
#[derive(Debug, Clone, Copy)]
pub struct ResultEntry<'a> {
    /// Index of the call in [`Turn::calls`], from 0.
    pub call: usize,
    /// Its result.
    pub answer: CallResult<'a>,
}

/// Text for a call without a result: providers reject a turn with unanswered calls.
const NO_ANSWER: &str = "This call was not run. Send it again if it is still needed.";

/// Returns the messages to append after [`Turn::assistant`]: exactly one result per call, in the
/// order of the calls, regardless of the order of `replies`. A call without a reply is reported as
/// not run; further replies to a call and replies to unknown calls are ignored. Empty if there are
/// no calls.
///
/// Results contain the wire form of the outcome as JSON ([`Outcome::to_wire`]). A result over a
/// format's limit is cut in the middle, with a note. Images are included if the format supports
/// them, else a line mentions them. Two calls with one id get two results with that id, in order.
#[must_use]
pub fn result_messages(turn: &Turn, replies: &[ResultEntry<'_>]) -> Vec<Value> {
    let answers = in_order(turn, replies);
    if answers.is_empty() {
        return Vec::new();
    }
    match turn.format {
        Format::OpenAiChat => openai_chat::reply(turn, &answers),
        Format::OpenAiResponses => openai_responses::reply(turn, &answers),
        Format::Anthropic => anthropic::reply(turn, &answers),
        Format::Gemini => gemini::reply(turn, &answers),
        Format::Text => text_tools::reply(turn, &answers),
    }
}

/// Returns the messages for Ollama's native `/api/chat`, which needs the tool's name in every
/// result and takes images in it.
pub(crate) fn ollama_result_messages(turn: &Turn, replies: &[ResultEntry<'_>]) -> Vec<Value> {
    openai_chat::native_reply(turn, &in_order(turn, replies))
}

/// Returns one result per call, in the order of the calls.
fn in_order<'a>(turn: &Turn, replies: &[ResultEntry<'a>]) -> Vec<CallResult<'a>> {
    let mut answers: Vec<Option<CallResult<'a>>> = vec![None; turn.calls.len()];
    for reply in replies {
        if let Some(slot) = answers.get_mut(reply.call) {
            slot.get_or_insert(reply.answer);
        }
    }
    answers.into_iter().map(|a| a.unwrap_or(CallResult::NotRun(NO_ANSWER))).collect()
}
