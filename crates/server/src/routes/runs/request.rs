//! What a run is asked for with.

use std::time::Duration;

use base64::Engine as _;
use base64::prelude::BASE64_STANDARD;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::json;
use toolcrib_app::agent::context::Money;
use toolcrib_app::core::{Blob, canonical_json};
use toolcrib_app::runner::RunnerLimits;

use super::conversation_id;
use crate::active_requests::channel_for;
use crate::daemon_host::RunRequest;
use crate::problem::Problem;
use crate::role::Principal;

/// A run that is asked for.
#[derive(Debug, Clone, Default, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct NewRun {
    /// What is said, at least one word.
    pub(crate) text: String,
    /// Images beside the text, at most 8, for models that take images; others are told of them.
    #[serde(default)]
    pub(crate) images: Vec<NewImage>,
    /// The agent; default the configured one.
    #[serde(default)]
    pub(crate) agent: Option<String>,
    /// The model as `provider/model`; default the agent's, else the configured one.
    #[serde(default)]
    pub(crate) model: Option<String>,
    /// The conversation to go on with; default a new one.
    #[serde(default)]
    pub(crate) conversation: Option<String>,
    /// A skill that is active from the start.
    #[serde(default)]
    pub(crate) skill: Option<String>,
    /// What it may use; the agent's own limits hold where nothing is said.
    #[serde(default)]
    pub(crate) limits: Limits,
    /// Answer only when the run has ended or waits for a person.
    #[serde(default)]
    pub(crate) wait: bool,
    /// Answer with the events of the run.
    #[serde(default)]
    pub(crate) stream: bool,
}

/// An image beside a message.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct NewImage {
    /// `image/png`, `image/jpeg`, `image/webp` or `image/gif`.
    media_type: String,
    /// The bytes, base64. Requests have a limit too (`[server] body_bytes`).
    data: String,
}

/// Most images of a message.
const IMAGES: usize = 8;
/// Most bytes of an image: what the strictest provider takes.
const IMAGE_BYTES: usize = 5_000_000;

/// The media types that providers take, each with what its files begin with.
const KINDS: [(&str, &[u8]); 4] = [
    ("image/png", b"\x89PNG\r\n\x1a\n"),
    ("image/jpeg", b"\xff\xd8\xff"),
    ("image/webp", b"RIFF"),
    ("image/gif", b"GIF8"),
];

impl NewImage {
    fn blob(&self) -> Result<Blob, Problem> {
        let kind = KINDS.iter().find(|(name, _)| *name == self.media_type);
        let (media_type, begin) = kind.ok_or_else(|| {
            Problem::invalid("images are image/png, image/jpeg, image/webp or image/gif")
        })?;
        let data = BASE64_STANDARD.decode(&self.data);
        let data = data.map_err(|_| Problem::invalid("the data of an image is base64"))?;
        if data.len() > IMAGE_BYTES {
            return Err(Problem::invalid("an image has at most 5,000,000 bytes"));
        }
        if !data.starts_with(begin) {
            return Err(Problem::invalid(format!("the data of an image is no {media_type}")));
        }
        Ok(Blob { media_type: (*media_type).to_owned(), data })
    }
}

/// What a run may use.
#[derive(Debug, Clone, Copy, Default, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub(crate) struct Limits {
    /// Rounds of calls, 1 to 100.
    #[schemars(range(min = 1, max = 100))]
    pub(crate) rounds: Option<u32>,
    /// Calls, at least 1.
    #[schemars(range(min = 1))]
    pub(crate) calls: Option<u64>,
    /// Tokens, at least 1.
    #[schemars(range(min = 1))]
    pub(crate) tokens: Option<u64>,
    /// Seconds that it works, at least 1.
    #[schemars(range(min = 1))]
    pub(crate) seconds: Option<u64>,
    /// Millionths of a US dollar, by estimate.
    pub(crate) micro_dollars: Option<u64>,
}

impl NewRun {
    /// What is asked for, in the name of this principal.
    pub(super) fn run_request(self, principal: &Principal) -> Result<RunRequest, Problem> {
        if self.text.trim().is_empty() {
            return Err(Problem::invalid("text must not be empty"));
        }
        let Limits { rounds, calls, tokens, seconds, micro_dollars } = self.limits;
        let time = seconds.map(Duration::from_secs);
        let limits = RunnerLimits { rounds, calls, tokens, time, cost: micro_dollars.map(Money) };
        let limits = limits.check().map_err(|error| Problem::invalid(error.to_string()))?;
        let conversation = self.conversation.as_deref().map(conversation_id).transpose()?;
        if self.images.len() > IMAGES {
            return Err(Problem::invalid(format!("a message has at most {IMAGES} images")));
        }
        let images = self.images.iter().map(NewImage::blob).collect::<Result<_, _>>()?;
        Ok(RunRequest {
            text: self.text,
            images,
            conversation,
            agent: self.agent,
            model: self.model,
            skill: self.skill,
            limits,
            owner: principal.owner.clone(),
            channel: channel_for(principal).to_owned(),
        })
    }

    /// The hash of what is asked for; how the answer is wanted is no part of it.
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_image_is_what_it_says() {
        let check = |media_type: &str, data: &[u8], expected: bool| {
            let data = BASE64_STANDARD.encode(data);
            let image = NewImage { media_type: media_type.to_owned(), data };
            assert_eq!(image.blob().is_ok(), expected, "{media_type}");
        };
        check("image/png", b"\x89PNG\r\n\x1a\nrest", true);
        check("image/jpeg", b"\xff\xd8\xff\xe0", true);
        check("image/jpeg", b"\x89PNG\r\n\x1a\n", false);
        check("image/svg+xml", b"<svg/>", false);
        check("image/png", b"", false);
        check("image/png", &[0; IMAGE_BYTES + 1], false);
        let image = NewImage { media_type: "image/png".to_owned(), data: "no base64!".to_owned() };
        assert!(image.blob().is_err());
    }
}
