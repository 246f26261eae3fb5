//! The available providers, and the settings of one.

use toolcrib_providers::http_provider::{ProviderKind, ProviderSettings, SettingsError};

use crate::config::environment::Env;
use crate::config::provider_key;
use crate::config::schema::{Config, ProviderSection};
use crate::output::Failure;

/// An available provider.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct ProviderEntry {
    /// Its id: the name of its section, or of its kind.
    pub(crate) id: String,
    /// Its protocol.
    pub(crate) kind: ProviderKind,
    /// Its section in the file.
    pub(super) section: ProviderSection,
}

/// Kinds that are available if the environment contains their key: one per variable. For OpenAI,
/// this is the Responses API, which its newer models require; the other API is available by name.
const WELL_KNOWN: [ProviderKind; 4] = [
    ProviderKind::OpenAiResponses,
    ProviderKind::Anthropic,
    ProviderKind::Gemini,
    ProviderKind::DeepSeek,
];

/// Lists the configured providers: those of the file in the order of their ids, then the well-known
/// ones whose key is in the environment and whose kind is not in the file. No key is read yet, so
/// that a broken one affects only its own use.
pub(crate) fn list_providers(config: &Config, env: &Env) -> Result<Vec<ProviderEntry>, Failure> {
    let mut entries = Vec::new();
    for (id, section) in &config.providers {
        let section = section.clone();
        let kind = section.kind_of(&id.0).map_err(Failure::configuration)?;
        entries.push(ProviderEntry { id: id.0.clone(), kind, section });
    }
    for kind in WELL_KNOWN {
        let Some(variable) = kind.key_variable() else { continue };
        let is_there = entries.iter().any(|entry| entry.kind.key_variable() == Some(variable));
        if !is_there && env.text(variable)?.is_some() {
            entries.push(ProviderEntry::from_kind(kind));
        }
    }
    Ok(entries)
}

impl ProviderEntry {
    /// Creates a provider without a section in the file.
    pub(super) fn from_kind(kind: ProviderKind) -> Self {
        Self { id: kind.as_str().to_owned(), kind, section: ProviderSection::default() }
    }

    /// Returns its settings, with the key. `base_url` has precedence over the file.
    ///
    /// # Errors
    /// A key that is missing or cannot be used, or a missing base URL that is required.
    pub(super) fn settings(
        &self,
        base_url: Option<String>,
        config: &Config,
        env: &Env,
        warnings: &mut Vec<String>,
    ) -> Result<ProviderSettings, Failure> {
        let wrong = |error: SettingsError| Failure::configuration(error.to_string());
        let Self { id, kind, section } = self;
        let mut settings = ProviderSettings::new(id, *kind);
        settings.base_url = base_url.or_else(|| section.base_url.clone());
        if settings.base_url.is_none() && kind.default_base_url().is_none() {
            return Err(wrong(SettingsError::NoBaseUrl { id: id.clone(), kind: *kind }));
        }
        settings.key = provider_key::load_key(self, config, env, warnings)?;
        if let (None, None, Some(variable)) =
            (&settings.key, &settings.base_url, kind.key_variable())
        {
            return Err(wrong(SettingsError::NoKey { id: id.clone(), variable }));
        }
        settings.server = section.server;
        settings.quirks = section.quirks.clone();
        settings.headers =
            section.headers.iter().map(|(name, value)| (name.clone(), value.0.clone())).collect();
        settings.idle = section.idle.unwrap_or(settings.idle);
        settings.timeout = section.timeout.unwrap_or(settings.timeout);
        settings.retries = section.retries.unwrap_or(settings.retries);
        settings.on_device = section.on_device;
        settings.max_per_minute = section.max_per_minute;
        settings.max_per_hour = section.max_per_hour;
        Ok(settings)
    }
}
