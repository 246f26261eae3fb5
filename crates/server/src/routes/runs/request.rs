//! What a run is asked for with.

use std::time::Duration;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::json;
use toolcrib_agent::context::Money;
use toolcrib_app::runner::RunnerLimits;
use toolcrib_assistant::time::parse_zone;
use toolcrib_core::{Surroundings, canonical_json};

use super::conversation_id;
use super::images::{NewImage, decode_images};
use crate::active_requests::channel_for;
use crate::daemon_host::RunRequest;
use crate::problem::Problem;
use crate::role::Principal;

/// A run that is asked for.
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
    /// Locale, time zone and device of the person, as the client knows them; without a locale,
    /// `Accept-Language` counts.
    #[serde(default)]
    pub(crate) surroundings: PersonSurroundings,
    /// Answer only when the run has ended or waits for a person.
    #[serde(default)]
    pub(crate) wait: bool,
    /// Answer with the events of the run.
    #[serde(default)]
    pub(crate) stream: bool,
}

/// Locale, time zone and device of the person, for the prompt and for tools that need them.
#[derive(Debug, Clone, Default, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub(crate) struct PersonSurroundings {
    /// Language and region, such as `de-AT`.
    pub(crate) locale: Option<String>,
    /// IANA name of the time zone, such as `Europe/Vienna`.
    pub(crate) time_zone: Option<String>,
    /// Where they are: a name such as `Vienna, Austria`, or `LATITUDE,LONGITUDE`.
    pub(crate) place: Option<String>,
    /// Kind of device, such as `phone`.
    pub(crate) device: Option<String>,
}

impl PersonSurroundings {
    /// What is said, with the locale of a header where the client says none.
    fn checked(self, accept_language: Option<&str>) -> Result<Surroundings, Problem> {
        let said = Surroundings {
            locale: self.locale.unwrap_or_default(),
            time_zone: self.time_zone.unwrap_or_default(),
            place: self.place.unwrap_or_default(),
            device: self.device.unwrap_or_default(),
        };
        let refuse = |why: &str| Problem::invalid(format!("surroundings: {why}"));
        said.check().map_err(refuse)?;
        parse_zone(said.zone()).map_err(|error| refuse(&error.to_string()))?;
        if !said.locale.is_empty() {
            return Ok(said);
        }
        // A header that browsers and proxies write is no reason to refuse a request.
        let locale = accept_language.map(preferred_language).unwrap_or_default();
        let with_header = Surroundings { locale, ..said.clone() };
        Ok(if with_header.check().is_ok() { with_header } else { said })
    }
}

/// The language of an `Accept-Language` header with the largest weight, the first of equal ones
/// (RFC 9110, 12.5.4).
fn preferred_language(header: &str) -> String {
    let weighted = header.split(',').filter_map(|part| {
        let mut words = part.split(';').map(str::trim);
        let tag = words.next().filter(|tag| !tag.is_empty() && *tag != "*")?;
        let weight = words.find_map(|word| word.strip_prefix("q=")?.parse::<f32>().ok());
        Some((weight.unwrap_or(1.0), tag))
    });
    let best = weighted.reduce(|best, next| if next.0 > best.0 { next } else { best });
    best.filter(|(weight, _)| *weight > 0.0).map(|(_, tag)| tag.to_owned()).unwrap_or_default()
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
            // A run of a person or a client, whoever began the conversation.
            depth: 0,
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
    fn the_language_with_the_largest_weight_is_preferred() {
        for (header, expected) in [
            ("de-AT,de;q=0.9,en;q=0.8", "de-AT"),
            ("en;q=0.5, fr;q=0.7, *;q=0.9", "fr"),
            ("*", ""),
            ("de;q=0", ""),
            ("", ""),
            ("en;q=nonsense", "en"),
        ] {
            assert_eq!(preferred_language(header), expected, "{header}");
        }
    }

    #[test]
    fn a_field_counts_more_than_the_header_and_nonsense_is_refused() {
        let field = |json: serde_json::Value| -> PersonSurroundings {
            serde_json::from_value(json).unwrap()
        };
        let said = field(json!({"locale": "sv-SE", "time_zone": "Europe/Stockholm"}));
        let known = said.checked(Some("de")).unwrap();
        assert_eq!((&*known.locale, &*known.time_zone), ("sv-SE", "Europe/Stockholm"));
        let none = PersonSurroundings::default();
        assert_eq!(none.clone().checked(Some("de-AT, en")).unwrap().locale, "de-AT");
        assert!(none.clone().checked(Some("de{}, en")).unwrap().is_empty());
        assert!(none.checked(None).unwrap().is_empty());
        for bad in [
            json!({"time_zone": "Mars/Phobos"}),
            json!({"locale": "de AT"}),
            json!({"place": "a\nb"}),
        ] {
            assert!(field(bad.clone()).checked(None).is_err(), "{bad}");
        }
    }
}
