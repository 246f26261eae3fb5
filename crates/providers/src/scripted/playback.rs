//! Plays one turn of a script: delay, streamed pieces, and result.

use std::time::Duration;

use serde_json::json;
use toolcrib_core::RawArgs;

use crate::model::{Delta, DeltaSink, FailureKind, ModelRequest};
use crate::model_turn::{Stop, Turn};
use crate::scripted::expectations::Expect;
use crate::scripted::script_turn::ScriptTurn;
use crate::wire_format::Format;

/// A turn, ready to be played.
#[derive(Debug, Clone)]
pub(super) struct TurnPlayback {
    /// Its number in the script, from 1, for messages.
    number: usize,
    expect: Expect,
    delay: Duration,
    pub(super) outcome: Outcome,
}

#[derive(Debug, Clone)]
pub(super) enum Outcome {
    /// The answer.
    Answer(Box<Turn>),
    /// The failure, with the text that arrived before it.
    Failure { kind: FailureKind, message: String, partial: String },
}

impl TurnPlayback {
    pub(super) fn new(number: usize, turn: &ScriptTurn, ids: &mut usize) -> Result<Self, String> {
        turn.check()?;
        turn.expect.check()?;
        let outcome = match &turn.fail {
            None => Outcome::Answer(Box::new(turn.answer(ids)?)),
            Some(fail) => Outcome::Failure {
                kind: fail.kind,
                message: fail.message.clone(),
                partial: turn.say.clone().unwrap_or_default(),
            },
        };
        Ok(Self { number, expect: turn.expect.clone(), delay: turn.delay(), outcome })
    }

    /// Creates the answer to a summary request without a turn in the script.
    pub(super) fn summary() -> Self {
        let text = "A scripted summary of the conversation so far.".to_owned();
        let turn = Turn {
            format: Format::OpenAiChat,
            calls: Vec::new(),
            hosted: Vec::new(),
            assistant: json!({"role": "assistant", "content": text}),
            text,
            reasoning: String::new(),
            usage: None,
            stop: Stop::End,
            complete: true,
            notes: Vec::new(),
        };
        Self {
            number: 0,
            expect: Expect::default(),
            delay: Duration::ZERO,
            outcome: Outcome::Answer(Box::new(turn)),
        }
    }

    /// Checks the request against the expectations; the error describes a mismatch.
    pub(super) fn check(&self, request: &ModelRequest) -> Result<(), String> {
        let mismatch = self.expect.mismatch(request);
        mismatch.map_or(Ok(()), |what| Err(format!("turn {} of the script: {what}", self.number)))
    }

    /// Streams the answer if requested. `text` always contains the text shown so far, even if this
    /// future is dropped.
    pub(super) async fn show(&self, stream: bool, deltas: DeltaSink<'_>, text: &mut String) {
        if !self.delay.is_zero() {
            tokio::time::sleep(self.delay).await;
        }
        let mut shown = DeltaWriter { deltas, text };
        match &self.outcome {
            _ if !stream => {}
            Outcome::Answer(turn) => {
                shown.pieces(&turn.reasoning, |text| Delta::Reasoning { text }).await;
                shown.say(&turn.text).await;
                shown.calls(turn).await;
            }
            Outcome::Failure { partial, .. } => shown.say(partial).await,
        }
    }
}

/// Sends the pieces of an answer.
struct DeltaWriter<'a, 's> {
    deltas: DeltaSink<'a>,
    text: &'s mut String,
}

impl DeltaWriter<'_, '_> {
    async fn say(&mut self, text: &str) {
        for word in words(text) {
            self.text.push_str(word);
            self.show(Delta::Text { text: word.to_owned() }).await;
        }
    }

    async fn pieces(&mut self, text: &str, delta: impl Fn(String) -> Delta) {
        for word in words(text) {
            self.show(delta(word.to_owned())).await;
        }
    }

    async fn calls(&mut self, turn: &Turn) {
        for (index, call) in turn.calls.iter().enumerate() {
            self.show(Delta::CallStart { index, name: call.name.clone() }).await;
            if let RawArgs::Text(args) = &call.args {
                self.pieces(args, |text| Delta::CallArgs { index, text }).await;
            }
        }
    }

    /// Sends a piece, then yields, so that a cancellation can take effect.
    async fn show(&mut self, delta: Delta) {
        (self.deltas)(delta);
        tokio::task::yield_now().await;
    }
}

/// Splits a text into pieces of about a word.
fn words(text: &str) -> impl Iterator<Item = &str> {
    text.split_inclusive(char::is_whitespace)
}
