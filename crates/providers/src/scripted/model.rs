//! The model: which turn of the script answers which request.

use std::path::Path;
use std::sync::{Arc, Mutex, PoisonError};

use toolcrib_core::{BoxFuture, CancellationToken};

use crate::chat::Message;
use crate::format::Format;
use crate::model::{
    DeltaSink, FailureKind, Model, ModelError, ModelInfo, ModelReply, ModelRequest,
};
use crate::scripted::error::ScriptError;
use crate::scripted::play::{Outcome, Play};
use crate::scripted::turn::{ScriptTurn, TurnUse};
use crate::scripted::{PROVIDER, file};

/// A model that replays a script.
///
/// Which turn comes next: the first request of the conversation that it sees decides where it begins, after as many answers as the request
/// holds from this script; from there on it counts by itself. So a run that another process resumes goes on at the right turn, and later
/// trimming and compaction change nothing. Two things cannot be seen in a conversation and are not skipped on resumption: turns that
/// fail, and answers that were trimmed before the first request.
#[derive(Debug)]
pub struct ScriptedModel {
    info: ModelInfo,
    title: Option<String>,
    turns: Vec<Play>,
    summaries: Vec<Play>,
    next: Mutex<Next>,
}

/// Where the script stands.
#[derive(Debug, Default)]
struct Next {
    /// Place of the next turn; `None` = no request yet.
    turn: Option<usize>,
    summary: usize,
}

impl ScriptedModel {
    /// Reads a script from its file; the model's name is the file's.
    ///
    /// # Errors
    /// [`ScriptError`], with the line.
    pub fn load(path: &Path) -> Result<Self, ScriptError> {
        let text = file::read(path)?;
        let name = path.file_name().unwrap_or(path.as_os_str()).to_string_lossy();
        Self::parse(&name, &text)
    }

    /// Reads a script from its text; `name` is the model's, and stands in front of errors.
    ///
    /// # Errors
    /// [`ScriptError::Invalid`], with the line.
    pub fn parse(name: &str, text: &str) -> Result<Self, ScriptError> {
        let script = file::parse(name, text)?;
        Self::new(name, script.name, script.turns)
    }

    /// A script made in code, for tests.
    ///
    /// # Errors
    /// [`ScriptError::Invalid`] with the line 0 for a turn that contradicts itself.
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
            let play = Play::new(number, &turn, &mut ids)
                .map_err(|what| file::invalid(name, line, format!("turn {number}: {what}")))?;
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
        };
        Ok(Self { info, title, turns, summaries, next: Mutex::default() })
    }

    /// What the script calls itself.
    #[must_use]
    pub fn title(&self) -> Option<&str> {
        self.title.as_deref()
    }

    /// Turns of the conversation that were not played yet.
    #[must_use]
    pub fn left(&self) -> usize {
        let next = self.next.lock().unwrap_or_else(PoisonError::into_inner);
        self.turns.len().saturating_sub(next.turn.unwrap_or(0))
    }

    /// The turn that answers this request. It counts as played when the request is what it expects; the error says what is not.
    fn take(&self, request: &ModelRequest) -> Result<Play, String> {
        let mut next = self.next.lock().unwrap_or_else(PoisonError::into_inner);
        if is_summary_request(request) {
            let Some(play) = self.summaries.get(next.summary) else {
                return Ok(Play::summary());
            };
            play.check(request)?;
            next.summary += 1;
            return Ok(play.clone());
        }
        let at = *next.turn.get_or_insert_with(|| self.position(request));
        let play = self.turns.get(at).ok_or_else(|| self.ran_out(request))?;
        play.check(request)?;
        next.turn = Some(at + 1);
        Ok(play.clone())
    }

    /// The place after as many answers as the conversation holds from this script.
    fn position(&self, request: &ModelRequest) -> usize {
        let is_ours = |message: &&Arc<Message>| match &***message {
            Message::Model(said) => said.provider == PROVIDER && said.model == self.info.model,
            Message::User(_) => false,
        };
        let Some(last) = request.messages.iter().filter(is_ours).count().checked_sub(1) else {
            return 0;
        };
        let is_answer = |(_, play): &(usize, &Play)| matches!(play.outcome, Outcome::Answer(_));
        let played = self.turns.iter().enumerate().filter(is_answer).nth(last);
        played.map_or(self.turns.len(), |(at, _)| at + 1)
    }

    fn ran_out(&self, request: &ModelRequest) -> String {
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
            let play = self.take(request).map_err(|what| self.error(FailureKind::Script, what))?;
            let mut partial = String::new();
            let whole = tokio::select! {
                biased;
                () = cancel.cancelled() => false,
                () = play.show(request.stream, deltas, &mut partial) => true,
            };
            if !whole {
                let message = "somebody stopped the request".to_owned();
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

/// Whether a request asks for a summary of the conversation (compaction): one message, no tools, and a system prompt whose first line speaks
/// of summarising.
#[must_use]
pub fn is_summary_request(request: &ModelRequest) -> bool {
    let first = request.system.lines().next().unwrap_or_default().to_lowercase();
    request.tools.is_none() && request.messages.len() == 1 && first.contains("summar")
}
