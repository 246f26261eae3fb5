//! Which model is asked, and which ones after it.

use std::path::PathBuf;

use toolcrib_providers::http_provider::ProviderSettings;

use crate::config::environment::Env;
use crate::config::model_resolution::{ModelResolver, ResolvedModel};
use crate::config::providers::ProviderEntry;
use crate::config::schema::Config;
use crate::output::Failure;

/// What the flags say.
#[derive(Debug, Clone, Default)]
pub(crate) struct ModelFlags {
    /// `--provider`
    pub(crate) provider: Option<String>,
    /// `--base-url`
    pub(crate) base_url: Option<String>,
    /// `--model`
    pub(crate) model: Option<String>,
    /// `--no-stream`
    pub(crate) no_stream: bool,
}

/// What is asked.
#[derive(Debug)]
pub(crate) struct ModelChain {
    /// The model, then those that are asked when it cannot answer; never empty.
    pub(crate) models: Vec<ModelChoice>,
    /// Whether answers are streamed.
    pub(crate) stream: bool,
    /// What the owner should know, one line each.
    pub(crate) warnings: Vec<String>,
}

/// One model.
#[derive(Debug)]
pub(crate) enum ModelChoice {
    /// A provider's.
    Live {
        /// The provider.
        provider: Box<ProviderSettings>,
        /// The model's name, as the provider knows it.
        model: String,
    },
    /// A script.
    Scripted(PathBuf),
}

/// Finds out which models are asked.
///
/// # Errors
/// Exit code 2 for flags that cannot be followed, 3 for an environment or a file that cannot.
pub(crate) fn resolve_model_chain(
    flags: &ModelFlags,
    config: &Config,
    env: &Env,
) -> Result<ModelChain, Failure> {
    let names = ModelResolver::new(config, env)?;
    let stream = !flags.no_stream && config.model.stream.unwrap_or(true);
    let mut warnings = Vec::new();
    let first = match names.first(flags)? {
        ResolvedModel::Live { entry, model } => {
            let base_url = base_url(flags, &entry, env)?;
            let provider = entry.settings(base_url, config, env, &mut warnings)?;
            ModelChoice::Live { provider: Box::new(provider), model }
        }
        ResolvedModel::Scripted(_) if flags.base_url.is_some() => {
            return Err(Failure::usage("a script has no server; leave out --base-url"));
        }
        ResolvedModel::Scripted(path) => ModelChoice::Scripted(path),
    };
    let mut models = vec![first];
    for name in &config.model.fallback {
        let choice = match names.fallback(name)? {
            ResolvedModel::Scripted(path) => ModelChoice::Scripted(path),
            ResolvedModel::Live { entry, model } => {
                match entry.settings(None, config, env, &mut warnings) {
                    Ok(provider) => ModelChoice::Live { provider: Box::new(provider), model },
                    Err(failure) => {
                        warnings.push(format!("{name} is not a fallback now: {}", failure.message));
                        continue;
                    }
                }
            }
        };
        if models.iter().all(|other| !other.is_same(&choice)) {
            models.push(choice);
        }
    }
    if matches!(models.first(), Some(ModelChoice::Scripted(_))) {
        // A script that ends must not go on with a real model, which would cost money unexpectedly.
        models.retain(|choice| matches!(choice, ModelChoice::Scripted(_)));
    }
    Ok(ModelChain { models, stream, warnings })
}

/// The base URL of the first model, when it is not the file's. One of the environment belongs to
/// the provider of the environment.
fn base_url(
    flags: &ModelFlags,
    entry: &ProviderEntry,
    env: &Env,
) -> Result<Option<String>, Failure> {
    if flags.base_url.is_some() {
        return Ok(flags.base_url.clone());
    }
    let provider = env.text("TOOLCRIB_PROVIDER")?;
    if provider.is_some_and(|provider| provider != entry.id) {
        return Ok(None);
    }
    env.text("TOOLCRIB_BASE_URL")
}

impl ModelChoice {
    fn is_same(&self, other: &Self) -> bool {
        match (self, other) {
            (Self::Live { provider: a, model: m }, Self::Live { provider: b, model: n }) => {
                a.id == b.id && m == n
            }
            (Self::Scripted(a), Self::Scripted(b)) => a == b,
            _ => false,
        }
    }
}
