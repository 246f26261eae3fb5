//! Models that could respond here: those of providers whose key is in the environment, and those of
//! Ollama on this machine.

use std::time::Duration;

use serde_json::Value;
use toolcrib_net::{AddressPolicy, Follow, HttpClient, Limits, Request};
use toolcrib_providers::http_provider::ProviderKind;

use crate::clap_args::Init;
use crate::config::{Config, Env, KeyPath, list_providers};
use crate::output::Failure;

/// The text if no model was found.
pub(super) const NOTHING_FOUND: &str = "\
no model can be found here. Either set the key of a provider and start again:
  export ANTHROPIC_API_KEY=…    (or OPENAI_API_KEY, GEMINI_API_KEY, DEEPSEEK_API_KEY)
or install Ollama (https://ollama.com) and a model that takes tools:
  ollama pull qwen3 && toolcrib init
To look around without a model: toolcrib tool list, or toolcrib run --model scripted:FILE (docs/scripted.md)";

/// Timeout for a server on this machine, which responds at once or does not exist.
const OLLAMA_TIMEOUT: Duration = Duration::from_secs(3);
/// Maximum number of offered models of Ollama.
const OLLAMA_MODELS: usize = 5;

/// A model that can be written to the configuration.
pub(crate) struct Candidate {
    provider: String,
    model: String,
    /// The reason for the offer, for people.
    pub(crate) origin: String,
}

impl Candidate {
    /// Returns `PROVIDER/MODEL`.
    pub(crate) fn name(&self) -> String {
        format!("{}/{}", self.provider, self.model)
    }

    /// Returns the values to write, each with its key. They never include a key of a provider, only
    /// the name of the secret that contains it.
    pub(super) fn keys(&self, command: &Init) -> Vec<(KeyPath, String)> {
        let key = |parts: &[&str]| KeyPath(parts.iter().map(|part| (*part).to_owned()).collect());
        let mut keys = Vec::new();
        if let Some(url) = &command.base_url {
            keys.push((key(&["providers", &self.provider, "base_url"]), url.clone()));
        }
        if let Some(secret) = &command.key_secret {
            keys.push((key(&["providers", &self.provider, "key", "secret"]), secret.clone()));
        }
        keys.push((key(&["model", "default"]), self.name()));
        keys
    }
}

/// Returns the model that the options name; `None` if it must be found.
pub(super) fn named(command: &Init) -> Result<Option<Candidate>, Failure> {
    let origin = "your choice".to_owned();
    let (provider, model) = match (&command.provider, &command.model) {
        (Some(provider), Some(model)) => (provider.clone(), model.clone()),
        (None, Some(model)) => match model.split_once('/') {
            Some((provider, model)) => (provider.to_owned(), model.to_owned()),
            None => {
                return Err(Failure::usage(format!(
                    "which provider has the model {model}? Write --model PROVIDER/{model}"
                )));
            }
        },
        (Some(provider), None) => match provider.parse().ok().and_then(suggested_model) {
            Some(model) => (provider.clone(), model.to_owned()),
            // The server is asked for its models.
            None if provider == ProviderKind::Ollama.as_str() => return Ok(None),
            None => {
                return Err(Failure::usage(format!(
                    "which model of {provider}? Add --model MODEL"
                )));
            }
        },
        (None, None) => return Ok(None),
    };
    Ok(Some(Candidate { provider, model, origin }))
}

/// Finds all candidates; the first one is used if no person is asked.
pub(super) async fn find(
    command: &Init,
    config: &Config,
    env: &Env,
) -> Result<Vec<Candidate>, Failure> {
    let mut found = if command.provider.is_none() { find_keyed(config, env)? } else { Vec::new() };
    let url = command.base_url.as_deref().or(ProviderKind::Ollama.default_base_url());
    found.extend(find_ollama(url.unwrap_or_default()).await);
    Ok(found)
}

/// Finds all candidates without options.
pub(crate) async fn find_all(config: &Config, env: &Env) -> Result<Vec<Candidate>, Failure> {
    let mut found = find_keyed(config, env)?;
    let url = ProviderKind::Ollama.default_base_url().unwrap_or_default();
    found.extend(find_ollama(url).await);
    Ok(found)
}

/// Returns the models of providers whose key is known.
fn find_keyed(config: &Config, env: &Env) -> Result<Vec<Candidate>, Failure> {
    let mut found = Vec::new();
    for entry in list_providers(config, env)? {
        let Some(model) = suggested_model(entry.kind) else { continue };
        let origin = entry.kind.key_variable().map_or_else(
            || "in your configuration".to_owned(),
            |variable| format!("{variable} is set"),
        );
        found.push(Candidate { provider: entry.id, model: model.to_owned(), origin });
    }
    Ok(found)
}

/// Returns the models of an Ollama server.
async fn find_ollama(base_url: &str) -> impl Iterator<Item = Candidate> {
    ollama_models(base_url).await.into_iter().map(|model| Candidate {
        provider: ProviderKind::Ollama.as_str().to_owned(),
        model,
        origin: "Ollama on this machine".to_owned(),
    })
}

/// Returns the recommended first model of a provider that is known to use tools well, if there is
/// one.
fn suggested_model(kind: ProviderKind) -> Option<&'static str> {
    match kind {
        ProviderKind::Anthropic => Some("claude-sonnet-5"),
        ProviderKind::OpenAiChat | ProviderKind::OpenAiResponses => Some("gpt-5.2"),
        ProviderKind::Gemini => Some("gemini-3.8-flash"),
        ProviderKind::DeepSeek => Some("deepseek-v4-pro"),
        ProviderKind::Ollama | ProviderKind::OpenAiCompatible => None,
    }
}

/// Returns the models of an Ollama server, the newest first; none if no server responds.
async fn ollama_models(base_url: &str) -> Vec<String> {
    let target = base_url.split_once("://").map_or(base_url, |(_, rest)| rest);
    let Ok(policy) = AddressPolicy::with_allowed([target.trim_end_matches('/')]) else {
        return Vec::new();
    };
    let url = format!("{}/api/tags", base_url.trim_end_matches('/'));
    let request = Request { follow: Follow::Never, ..Request::get(url) };
    let limits = Limits { total: OLLAMA_TIMEOUT, ..Limits::default() };
    let Ok(response) = HttpClient::new(policy).fetch(&request, &limits).await else {
        return Vec::new();
    };
    let document: Value = serde_json::from_slice(&response.body).unwrap_or_default();
    let models = document.get("models").and_then(Value::as_array).into_iter().flatten();
    let names = models.filter_map(|model| model.get("name").and_then(Value::as_str));
    names.take(OLLAMA_MODELS).map(str::to_owned).collect()
}
