//! Resolves the model from the command-line options, the environment and the file. Names may be
//! shortened.

use std::path::{Path, PathBuf};

use toolcrib_core::similar_names::similar_names;
use toolcrib_providers::http_provider::ProviderKind;

use crate::config::environment::Env;
use crate::config::model_chain::ModelFlags;
use crate::config::providers::{ProviderEntry, list_providers};
use crate::config::schema::Config;
use crate::output::Failure;

/// The error if no model is configured: the command that changes that, and alternatives.
const NO_MODEL_HELP: &str = "\
no model is set up. Type: toolcrib init
It finds a key in the environment (ANTHROPIC_API_KEY, OPENAI_API_KEY, GEMINI_API_KEY, DEEPSEEK_API_KEY) or Ollama on this machine; `--model PROVIDER/MODEL` names one, and `--model scripted:FILE` replays a file.";

/// The named model.
#[derive(Debug)]
pub(super) enum ResolvedModel {
    Live { entry: Box<ProviderEntry>, model: String },
    Scripted(PathBuf),
}

/// A source that may name a model.
#[derive(Debug, Clone)]
struct ModelSource {
    /// Description of the source for people.
    origin: String,
    exit_code: u8,
    /// The folder to which the path of a script is relative.
    folder: PathBuf,
    provider: Option<String>,
    model: Option<String>,
}

/// Resolves names of models.
pub(super) struct ModelResolver<'c> {
    config: &'c Config,
    env: &'c Env,
    entries: Vec<ProviderEntry>,
}

impl<'c> ModelResolver<'c> {
    pub(super) fn new(config: &'c Config, env: &'c Env) -> Result<Self, Failure> {
        Ok(Self { config, env, entries: list_providers(config, env)? })
    }

    /// Returns the first model.
    pub(super) fn first(&self, flags: &ModelFlags) -> Result<ResolvedModel, Failure> {
        let layers = self.layers(flags)?;
        let says = |layer: &ModelSource| layer.provider.is_some() || layer.model.is_some();
        let at = layers.iter().position(says).unwrap_or(layers.len());
        match layers.get(at..).and_then(<[ModelSource]>::split_first) {
            Some((layer, weaker)) => self.named(flags, layer, weaker),
            None => self.unnamed(),
        }
    }

    /// Returns a fallback model.
    pub(super) fn fallback(&self, name: &str) -> Result<ResolvedModel, Failure> {
        let layer = self.file_source("fallback", Some(name.to_owned()));
        self.model(&layer, name, None, false)
    }

    /// Returns the sources, in order of precedence.
    fn layers(&self, flags: &ModelFlags) -> Result<[ModelSource; 3], Failure> {
        let here = |origin: &str, exit_code, provider, model| ModelSource {
            origin: origin.to_owned(),
            exit_code,
            folder: PathBuf::new(),
            provider,
            model,
        };
        let (provider, model) =
            (self.env.text("TOOLCRIB_PROVIDER")?, self.env.text("TOOLCRIB_MODEL")?);
        Ok([
            here("the command line", 2, flags.provider.clone(), flags.model.clone()),
            here("the environment", 3, provider, model),
            self.file_source("default", self.config.model.default.clone()),
        ])
    }

    fn file_source(&self, key: &str, model: Option<String>) -> ModelSource {
        ModelSource {
            origin: format!("[model] {key} in {}", self.config.path.display()),
            exit_code: 3,
            folder: self.config.folder().to_owned(),
            provider: None,
            model,
        }
    }

    /// Resolves the names in a source, and completes them from the weaker ones.
    fn named(
        &self,
        flags: &ModelFlags,
        layer: &ModelSource,
        weaker: &[ModelSource],
    ) -> Result<ResolvedModel, Failure> {
        match (&layer.provider, &layer.model) {
            (Some(provider), Some(model)) if provider == "scripted" => {
                let file = model.strip_prefix("scripted:").unwrap_or(model);
                Ok(ResolvedModel::Scripted(self.script(layer, file)?))
            }
            (Some(provider), _) if provider == "scripted" => {
                Err(layer.wrong("a script is named by its file: --model scripted:FILE"))
            }
            (Some(provider), Some(model)) => {
                let entry = self.entry(layer, provider)?;
                Ok(ResolvedModel::Live { entry, model: layer.check_model_name(model)? })
            }
            (Some(provider), None) => {
                let entry = self.entry(layer, provider)?;
                let model = self.model_of(&entry, weaker).ok_or_else(|| {
                    layer.wrong(&format!(
                        "no model of {provider} is named; add --model MODEL, or `model` under [providers.{provider}] in {}",
                        self.config.path.display()
                    ))
                })?;
                Ok(ResolvedModel::Live { entry, model })
            }
            (None, Some(model)) => {
                let provider = weaker.iter().find_map(|layer| layer.provider.as_deref());
                let at_env = self.env.text("TOOLCRIB_BASE_URL")?.is_some();
                self.model(layer, model, provider, flags.base_url.is_some() || at_env)
            }
            (None, None) => self.unnamed(),
        }
    }

    /// Resolves a model that is named without a provider.
    fn model(
        &self,
        layer: &ModelSource,
        name: &str,
        provider: Option<&str>,
        has_address: bool,
    ) -> Result<ResolvedModel, Failure> {
        if let Some(file) = name.strip_prefix("scripted:") {
            return Ok(ResolvedModel::Scripted(self.script(layer, file)?));
        }
        let (head, rest) = name.split_once('/').unwrap_or((name, ""));
        let is_qualified = head.len() < name.len();
        if let Some(entry) = self.find(head).filter(|_| is_qualified) {
            return Ok(ResolvedModel::Live { entry, model: layer.check_model_name(rest)? });
        }
        let model = layer.check_model_name(name)?;
        if let Some(provider) = provider {
            return Ok(ResolvedModel::Live { entry: self.entry(layer, provider)?, model });
        }
        if has_address {
            let entry = Box::new(ProviderEntry::from_kind(ProviderKind::OpenAiCompatible));
            return Ok(ResolvedModel::Live { entry, model });
        }
        if is_qualified && self.suggest(head).is_some() {
            return Err(self.unknown(layer, head));
        }
        match self.entries.as_slice() {
            [] if is_qualified => Err(self.unknown(layer, head)),
            [] => Err(Failure::configuration(NO_MODEL_HELP)),
            [only] => Ok(ResolvedModel::Live { entry: Box::new(only.clone()), model }),
            _ => Err(layer.wrong(&format!(
                "which provider has the model `{name}`? Write PROVIDER/{name}, with one of {}",
                self.ids()
            ))),
        }
    }

    /// Returns the model of a provider that was named alone: a model that a weaker source names for
    /// it, else its default.
    fn model_of(&self, entry: &ProviderEntry, weaker: &[ModelSource]) -> Option<String> {
        let named = weaker.iter().find_map(|layer| {
            let model = layer.model.as_deref()?;
            match &layer.provider {
                Some(provider) => (*provider == entry.id).then(|| model.to_owned()),
                None => model.strip_prefix(&entry.id)?.strip_prefix('/').map(str::to_owned),
            }
        });
        named.or_else(|| entry.section.model.clone())
    }

    /// Resolves the model if no source names one.
    fn unnamed(&self) -> Result<ResolvedModel, Failure> {
        let [first, others @ ..] = self.entries.as_slice() else {
            return Err(Failure::configuration(NO_MODEL_HELP));
        };
        if let (Some(model), []) = (&first.section.model, others) {
            return Ok(ResolvedModel::Live {
                entry: Box::new(first.clone()),
                model: model.clone(),
            });
        }
        let id = &first.id;
        Err(Failure::configuration(format!(
            "no model is named. Write --model {id}/MODEL, or in {}:\n[model]\ndefault = \"{id}/MODEL\"\nProviders that are set up: {}",
            self.config.path.display(),
            self.ids()
        )))
    }

    /// Returns the provider with this id: one of the file, or a built-in kind.
    fn find(&self, id: &str) -> Option<Box<ProviderEntry>> {
        let entry = self.entries.iter().find(|entry| entry.id == id).cloned();
        entry.or_else(|| id.parse().ok().map(ProviderEntry::from_kind)).map(Box::new)
    }

    fn entry(&self, layer: &ModelSource, id: &str) -> Result<Box<ProviderEntry>, Failure> {
        self.find(id).ok_or_else(|| self.unknown(layer, id))
    }

    fn suggest(&self, id: &str) -> Option<&str> {
        let kinds = ProviderKind::ALL.map(ProviderKind::as_str);
        let known = self.entries.iter().map(|entry| entry.id.as_str()).chain(kinds);
        similar_names(id, known.chain(["scripted"])).first().copied()
    }

    fn unknown(&self, layer: &ModelSource, id: &str) -> Failure {
        let what = match self.suggest(id) {
            Some(near) => format!("there is no provider `{id}`, did you mean `{near}`?"),
            None => format!(
                "there is no provider `{id}`; there are {}, and any id under [providers] in {}. For a model with a slash in its name add --provider",
                ProviderKind::ALL.map(ProviderKind::as_str).join(", "),
                self.config.path.display()
            ),
        };
        layer.wrong(&what)
    }

    fn ids(&self) -> String {
        self.entries.iter().map(|entry| entry.id.as_str()).collect::<Vec<_>>().join(", ")
    }

    fn script(&self, layer: &ModelSource, file: &str) -> Result<PathBuf, Failure> {
        if file.is_empty() {
            return Err(layer.wrong("a script is named by its file: --model scripted:FILE"));
        }
        if layer.folder.as_os_str().is_empty() {
            return Ok(PathBuf::from(file));
        }
        Ok(self.config.resolve_path(Path::new(file), self.env))
    }
}

impl ModelSource {
    /// Checks that the name of a model is not empty.
    fn check_model_name(&self, model: &str) -> Result<String, Failure> {
        if model.trim().is_empty() {
            return Err(self.wrong("the name of the model is empty; write PROVIDER/MODEL"));
        }
        Ok(model.to_owned())
    }

    fn wrong(&self, what: &str) -> Failure {
        match self.exit_code {
            2 => Failure::usage(what),
            _ => Failure::configuration(format!("{}: {what}", self.origin)),
        }
    }
}
