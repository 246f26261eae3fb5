//! `ScriptedModel`: chooses the turn of the script that answers a request.

use std::path::Path;
use std::sync::{Arc, Mutex, PoisonError};

use toolcrib_core::{BoxFuture, CancellationToken};

use crate::conversation::Message;
use crate::model::{
    DeltaSink, FailureKind, Model, ModelError, ModelInfo, ModelReply, ModelRequest,
};
use crate::scripted::error::ScriptError;
use crate::scripted::playback::{Outcome, TurnPlayback};
use crate::scripted::script_file;
use crate::scripted::script_turn::{ScriptTurn, TurnUse};
use crate::wire_format::Format;

/// Provider entry id of scripted models.
pub const PROVIDER: &str = "scripted";

/// A model that replays a script.
///
/// The first request determines where the script starts: after as many answers as the conversation
/// already contains from this script. From then on the model counts its own answers. So a run that
/// another process resumes continues at the right turn, and later trimming and compaction have no
/// effect. Two kinds of turns leave no trace in a conversation and are not skipped when a run
/// resumes: turns that fail, and answers that were trimmed before the first request.
#[derive(Debug)]
pub struct ScriptedModel {
    info: ModelInfo,
    title: Option<String>,
    turns: Vec<TurnPlayback>,
    summaries: Vec<TurnPlayback>,
    next: Mutex<Position>,
}

/// Position in the script.
#[derive(Debug, Default)]
struct Position {
    /// Index of the next turn; `None` before the first request.
    turn: Option<usize>,
    summary: usize,
}

impl ScriptedModel {
    /// Reads a script file; the model is named after the file.
    ///
    /// # Errors
    /// [`ScriptError`], with the line.
    pub fn load(path: &Path) -> Result<Self, ScriptError> {
        let text = script_file::read(path)?;
        let name = path.file_name().unwrap_or(path.as_os_str()).to_string_lossy();
        Self::parse(&name, &text)
    }

    /// Parses a script; `name` is the model's name, and precedes error messages.
    ///
    /// # Errors
    /// [`ScriptError::Invalid`], with the line.
    pub fn parse(name: &str, text: &str) -> Result<Self, ScriptError> {
        let script = script_file::parse(name, text)?;
        Self::new(name, script.name, script.turns)
    }

    /// Creates a model from a script built in code, for tests.
    ///
    /// # Errors
    /// [`ScriptError::Invalid`] with the line 0 for a contradictory turn.
    pub fn from_turns(
        name: &str,
        turns: impl IntoIterator<Item = ScriptTurn>,
    ) -> Result<Self, ScriptError> {
        Self::new(name, None, turns.into_iter().map(|turn| (0, turn)).collect())
    }

    fn new(
        name: &str,
        title: Option<String>,
        script: Vec<(u64, ScriptTurn)>,
    ) -> Result<Self, ScriptError> {
        let mut ids = 0;
        let (mut turns, mut summaries) = (Vec::new(), Vec::new());
        for (i, (line, turn)) in script.into_iter().enumerate() {
            let number = i + 1;
            let play = TurnPlayback::new(number, &turn, &mut ids).map_err(|what| {
                script_file::invalid(name, line, format!("turn {number}: {what}"))
            })?;
            match turn.answers {
                TurnUse::Conversation => turns.push(play),
                TurnUse::Summary => summaries.push(play),
            }
        }
        let info = ModelInfo {
            provider: PROVIDER.to_owned(),
            model: name.to_owned(),
            format: Format::OpenAiChat,
            scripted: true,
            on_device: false,
            requested_window: None,
        };
        Ok(Self { info, title, turns, summaries, next: Mutex::default() })
    }

    /// Returns the title of the script.
    #[must_use]
    pub fn title(&self) -> Option<&str> {
        self.title.as_deref()
    }

    /// Returns the number of conversation turns that were not played yet.
    #[must_use]
    pub fn remaining_turns(&self) -> usize {
        let next = self.next.lock().unwrap_or_else(PoisonError::into_inner);
        self.turns.len().saturating_sub(next.turn.unwrap_or(0))
    }

    /// Returns the turn that answers this request. It counts as played if the request meets its
    /// expectations; the error describes a mismatch.
    fn next_turn(&self, request: &ModelRequest) -> Result<TurnPlayback, String> {
        let mut next = self.next.lock().unwrap_or_else(PoisonError::into_inner);
        if is_summary_request(request) {
            let Some(play) = self.summaries.get(next.summary) else {
                return Ok(TurnPlayback::summary());
            };
            play.check(request)?;
            next.summary += 1;
            return Ok(play.clone());
        }
        let at = *next.turn.get_or_insert_with(|| self.position(request));
        let play = self.turns.get(at).ok_or_else(|| self.no_turns_left_message(request))?;
        play.check(request)?;
        next.turn = Some(at + 1);
        Ok(play.clone())
    }

    /// Returns the position after as many answers as the conversation contains from this script.
    fn position(&self, request: &ModelRequest) -> usize {
        let is_ours = |message: &&Arc<Message>| match &***message {
            Message::Model(said) => said.provider == PROVIDER && said.model == self.info.model,
            Message::User(_) => false,
        };
        let Some(last) = request.messages.iter().filter(is_ours).count().checked_sub(1) else {
            return 0;
        };
        let is_answer =
            |(_, play): &(usize, &TurnPlayback)| matches!(play.outcome, Outcome::Answer(_));
        let played = self.turns.iter().enumerate().filter(is_answer).nth(last);
        played.map_or(self.turns.len(), |(at, _)| at + 1)
    }

    fn no_turns_left_message(&self, request: &ModelRequest) -> String {
        let count = self.turns.len();
        format!(
            "turn {} of the script: expected the conversation to end after {count} turns, got one more request with {} messages; \
             add a turn to the script",
            count + self.summaries.len() + 1,
            request.messages.len()
        )
    }

    fn error(&self, kind: FailureKind, message: String) -> ModelError {
        ModelError {
            kind,
            provider: self.info.provider.clone(),
            model: self.info.model.clone(),
            status: None,
            message,
            retry_after: None,
            attempts: u32::from(kind != FailureKind::Script),
            partial: String::new(),
        }
    }
}

impl Model for ScriptedModel {
    fn info(&self) -> &ModelInfo {
        &self.info
    }

    fn ask<'a>(
        &'a self,
        request: &'a ModelRequest,
        deltas: DeltaSink<'a>,
        cancel: &'a CancellationToken,
    ) -> BoxFuture<'a, Result<ModelReply, ModelError>> {
        Box::pin(async move {
            let play =
                self.next_turn(request).map_err(|what| self.error(FailureKind::Script, what))?;
            let mut partial = String::new();
            let whole = tokio::select! {
                biased;
                () = cancel.cancelled() => false,
                () = play.show(request.stream, deltas, &mut partial) => true,
            };
            if !whole {
                let message = "the request was cancelled".to_owned();
                return Err(ModelError { partial, ..self.error(FailureKind::Cancelled, message) });
            }
            match play.outcome {
                Outcome::Answer(turn) => Ok(ModelReply { turn: *turn, attempts: 1 }),
                Outcome::Failure { kind, message, partial } => {
                    Err(ModelError { partial, ..self.error(kind, message) })
                }
            }
        })
    }
}

/// Returns whether a request asks for a summary of the conversation (compaction): one message, no
/// tools, and a system prompt whose first line mentions summarizing.
#[must_use]
pub fn is_summary_request(request: &ModelRequest) -> bool {
    let first = request.system.lines().next().unwrap_or_default().to_lowercase();
    request.tools.is_none() && request.messages.len() == 1 && first.contains("summar")
}
