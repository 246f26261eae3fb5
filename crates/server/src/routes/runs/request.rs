//! The request for a run.

use std::time::Duration;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::json;
use toolcrib_agent::context::Money;
use toolcrib_app::runner::RunnerLimits;
use toolcrib_core::canonical_json;

use super::conversation_id;
use super::images::{NewImage, decode_images};
use crate::active_requests::channel_for;
use crate::daemon_host::RunRequest;
use crate::problem::Problem;
use crate::role::Principal;
use crate::routes::surroundings::PersonSurroundings;

/// A run to start.
#[derive(Debug, Clone, Default, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct NewRun {
    /// The message, at least one word.
    pub(crate) text: String,
    /// Images with the text, at most 8, for models that accept images; other models get a note
    /// about them.
    #[serde(default)]
    pub(crate) images: Vec<NewImage>,
    /// The agent; default the configured one.
    #[serde(default)]
    pub(crate) agent: Option<String>,
    /// The model as `provider/model`; default the agent's, else the configured one.
    #[serde(default)]
    pub(crate) model: Option<String>,
    /// The conversation to continue; by default a new one.
    #[serde(default)]
    pub(crate) conversation: Option<String>,
    /// A skill that is active from the start.
    #[serde(default)]
    pub(crate) skill: Option<String>,
    /// Its limits; the agent's own limits apply to those that are absent.
    #[serde(default)]
    pub(crate) limits: Limits,
    /// Locale, time zone and device of the person, if the client knows them; without a locale,
    /// `Accept-Language` applies.
    #[serde(default)]
    pub(crate) surroundings: PersonSurroundings,
    /// Whether to respond only when the run has ended or waits for a person.
    #[serde(default)]
    pub(crate) wait: bool,
    /// Whether to respond with the events of the run.
    #[serde(default)]
    pub(crate) stream: bool,
}

/// Limits of a run.
#[derive(Debug, Clone, Copy, Default, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub(crate) struct Limits {
    /// Maximum number of rounds, 1 to 100.
    #[schemars(range(min = 1, max = 100))]
    pub(crate) rounds: Option<u32>,
    /// Maximum number of calls, at least 1.
    #[schemars(range(min = 1))]
    pub(crate) calls: Option<u64>,
    /// Maximum number of tokens, at least 1.
    #[schemars(range(min = 1))]
    pub(crate) tokens: Option<u64>,
    /// Maximum number of seconds of activity, at least 1.
    #[schemars(range(min = 1))]
    pub(crate) seconds: Option<u64>,
    /// Maximum estimated cost, in millionths of a US dollar.
    pub(crate) micro_dollars: Option<u64>,
}

impl NewRun {
    /// Builds the request of this principal to the host.
    pub(super) fn run_request(
        self,
        principal: &Principal,
        accept_language: Option<&str>,
    ) -> Result<RunRequest, Problem> {
        if self.text.trim().is_empty() {
            return Err(Problem::invalid("text must not be empty"));
        }
        let Limits { rounds, calls, tokens, seconds, micro_dollars } = self.limits;
        let time = seconds.map(Duration::from_secs);
        let limits = RunnerLimits { rounds, calls, tokens, time, cost: micro_dollars.map(Money) };
        let limits = limits.check().map_err(|error| Problem::invalid(error.to_string()))?;
        let conversation = self.conversation.as_deref().map(conversation_id).transpose()?;
        Ok(RunRequest {
            images: decode_images(&self.images)?,
            text: self.text,
            conversation,
            agent: self.agent,
            model: self.model,
            skill: self.skill,
            limits,
            owner: principal.owner.clone(),
            channel: channel_for(principal).to_owned(),
            surroundings: self.surroundings.checked(accept_language)?,
            // The chain of goals and tasks starts here: a person or a client starts this run, even
            // in the conversation of a task.
            depth: 0,
        })
    }

    /// Returns the hash of the request, without the fields that determine only the form of the
    /// response.
    pub(super) fn fingerprint(&self, principal: &Principal) -> String {
        let limits = serde_json::to_value(self.limits).unwrap_or_default();
        canonical_json::sha256(&json!([
            self.text,
            self.agent,
            self.model,
            self.conversation,
            self.skill,
            limits,
            principal.owner,
            self.images,
        ]))
    }
}
