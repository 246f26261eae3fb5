//! Lists a provider's models, and suggests similar names for an unknown one.
#![deny(clippy::indexing_slicing)]

use std::time::Duration;

use serde_json::Value;
use toolcrib_net::Method;

use super::attempt_failure::AttemptFailure;
use super::endpoint::EndpointState;
use super::provider_kind::ProviderKind;
use crate::model::FailureKind;

/// Timeout of the list when it only improves an error message.
const HINT_TIMEOUT: Duration = Duration::from_secs(3);
/// Size limit of a list; OpenRouter's has half a megabyte.
const MAX_LIST: usize = 8_000_000;
/// Maximum number of suggestions.
const NEAR: usize = 3;
/// Similarity (Jaro-Winkler, 0 to 1) from which a name is suggested.
const LIKE: f64 = 0.75;

/// Requests the list, without retries.
pub(super) async fn list(
    shared: &EndpointState,
    time: Duration,
) -> Result<Vec<String>, AttemptFailure> {
    let about = shared.error_context("its models");
    let request = shared.request(Method::GET, shared.address.models());
    let body = shared.fetch(&request, time, MAX_LIST, &about).await?;
    names(shared.settings.kind, &body).ok_or_else(|| {
        let message = format!("The answer of {} is not a list of models.", about.provider());
        AttemptFailure::new(FailureKind::Unreadable, message)
    })
}

fn names(kind: ProviderKind, body: &[u8]) -> Option<Vec<String>> {
    let value: Value = serde_json::from_slice(body).ok()?;
    let list = ["data", "models"].iter().find_map(|key| value.get(*key)).unwrap_or(&value);
    let names = list.as_array()?.iter().filter_map(|model| {
        let name = ["id", "name", "model"].iter().find_map(|key| model.get(*key)?.as_str())?;
        Some(match kind {
            ProviderKind::Gemini => name.strip_prefix("models/").unwrap_or(name),
            _ => name,
        })
    });
    Some(names.map(str::to_owned).collect())
}

/// Adds the most similar names to the failure, if the provider lists them in time.
pub(super) async fn add_suggestions(
    shared: &EndpointState,
    model: &str,
    failure: &mut AttemptFailure,
) {
    let Ok(names) = list(shared, HINT_TIMEOUT).await else { return };
    let near = closest_names(model, &names);
    if !near.is_empty() {
        let about = shared.error_context(model);
        let near = about.mask_secrets(&near.join(", "));
        failure.message = format!("{} Similar names there: {near}.", failure.message);
    }
}

/// Returns the most similar names, best first.
fn closest_names<'a>(wanted: &str, names: &'a [String]) -> Vec<&'a str> {
    let wanted = wanted.to_lowercase();
    let mut scored: Vec<(f64, &str)> = names
        .iter()
        .map(|name| (likeness(&wanted, &name.to_lowercase()), name.as_str()))
        .filter(|(score, name)| *score >= LIKE && name.chars().count() <= 100)
        .collect();
    scored.sort_by(|a, b| b.0.total_cmp(&a.0));
    scored.dedup_by_key(|(_, name)| *name);
    scored.into_iter().take(NEAR).map(|(_, name)| name).collect()
}

/// Returns the similarity of two names. A name that contains the other counts as similar: `llama3`
/// and `llama3:8b`, `gpt-5` and `openai/gpt-5`.
fn likeness(wanted: &str, name: &str) -> f64 {
    let inside = wanted.len() >= 3 && (name.contains(wanted) || wanted.contains(name));
    let like = strsim::jaro_winkler(wanted, name);
    if inside && name.len() >= 3 { like.max(0.85) } else { like }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lists_of_every_kind() {
        use ProviderKind::*;
        for (kind, body) in [
            (OpenAiChat, r#"{"object":"list","data":[{"id":"a"},{"id":"b"}]}"#),
            (Anthropic, r#"{"data":[{"type":"model","id":"a"},{"id":"b"}],"has_more":false}"#),
            (Gemini, r#"{"models":[{"name":"models/a"},{"name":"models/b"}]}"#),
            (Ollama, r#"{"models":[{"name":"a","model":"a"},{"name":"b"}]}"#),
            (OpenAiCompatible, r#"[{"id":"a"},{"id":"b"},{"x":1}]"#),
        ] {
            let found = names(kind, body.as_bytes());
            assert_eq!(found, Some(vec!["a".to_owned(), "b".to_owned()]), "{body}");
        }
        for body in ["", "{}", "<html>", "3"] {
            assert_eq!(names(OpenAiChat, body.as_bytes()), None, "{body}");
        }
    }

    #[test]
    fn near_names_are_few_and_the_best_come_first() {
        let names =
            ["gpt-5.1", "gpt-5.1-mini", "gpt-4o", "o3", "text-embedding-3-small", "whisper-1"];
        let names = names.map(str::to_owned);
        for (wanted, first) in [
            ("gpt5.1", Some("gpt-5.1")),
            ("GPT-5.1-Mni", Some("gpt-5.1-mini")),
            ("gpt-4", Some("gpt-4o")),
            ("wisper", Some("whisper-1")),
            ("openai/gpt-4o", Some("gpt-4o")),
            ("claude", None),
        ] {
            let found = closest_names(wanted, &names);
            assert_eq!(found.first().copied(), first, "{wanted}: {found:?}");
            assert!(found.len() <= NEAR);
        }
    }
}
