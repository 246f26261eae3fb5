//! Determines the model of a run, and its fallbacks.

use std::path::PathBuf;

use toolcrib_providers::http_provider::ProviderSettings;

use crate::config::environment::Env;
use crate::config::model_resolution::{ModelResolver, ResolvedModel};
use crate::config::providers::ProviderEntry;
use crate::config::schema::Config;
use crate::output::Failure;

/// Options of the command line.
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

/// The models of a run.
#[derive(Debug)]
pub(crate) struct ModelChain {
    /// The model, and its fallbacks in order; never empty.
    pub(crate) models: Vec<ModelChoice>,
    /// Whether answers are streamed.
    pub(crate) stream: bool,
    /// Warnings for the owner, one line each.
    pub(crate) warnings: Vec<String>,
}

/// One model.
#[derive(Debug)]
pub(crate) enum ModelChoice {
    /// A model of a provider.
    Live {
        /// The provider.
        provider: Box<ProviderSettings>,
        /// The provider's name for the model.
        model: String,
    },
    /// A script that is replayed.
    Scripted(PathBuf),
}

/// Determines the models of a run.
///
/// # Errors
/// Exit code 2 for invalid options, 3 for an invalid environment or file.
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
        // A real model must not follow the end of a script, because it would cost money
        // unexpectedly.
        models.retain(|choice| matches!(choice, ModelChoice::Scripted(_)));
    }
    Ok(ModelChain { models, stream, warnings })
}

/// Returns the base URL of the first model, if it is not from the file. A base URL from the
/// environment belongs to the provider from the environment.
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
