//! Converts `[discovery]` to the settings of tool search.

use toolcrib_agent::tool_selection::ToolSelectionRules;
use toolcrib_app::{EmbeddingModel, ToolSearchSettings};
use toolcrib_tool_search::find_tools::ModelChoice;

use crate::config::Config;
use crate::config::environment::Env;
use crate::config::model_resolution::{ModelResolver, ResolvedModel};
use crate::config::tool_search::ToolSearchSection;
use crate::output::Failure;

impl Config {
    /// Returns the settings of tool search.
    ///
    /// # Errors
    /// Exit code 3 if the embedding model cannot be used: an unknown provider, or a missing key.
    pub(crate) fn tool_search_settings(&self, env: &Env) -> Result<ToolSearchSettings, Failure> {
        let embeddings = self.embeddings(env)?;
        let ToolSearchSection { mode, share, .. } = &self.discovery;
        let default = ToolSelectionRules::default();
        let offer = ToolSelectionRules {
            mode: mode.unwrap_or(default.mode),
            share: share.map_or(default.share, |share| share.0),
        };
        let on_device = self.discovery.on_device_tools.clone();
        Ok(ToolSearchSettings { offer, model: self.search_model(env), embeddings, on_device })
    }

    /// Returns the model for the local search.
    pub(crate) fn search_model(&self, env: &Env) -> ModelChoice {
        let folder = self.discovery.model.as_deref();
        folder
            .map_or(ModelChoice::BuiltIn, |path| ModelChoice::Folder(self.resolve_path(path, env)))
    }

    fn embeddings(&self, env: &Env) -> Result<Option<EmbeddingModel>, Failure> {
        let Some(name) = &self.discovery.embeddings else { return Ok(None) };
        let wrong = |why: &str| Failure::configuration(format!("`discovery.embeddings`: {why}"));
        let named = ModelResolver::new(self, env)?.fallback(name);
        match named.map_err(|failure| wrong(&failure.message))? {
            ResolvedModel::Scripted(_) => Err(wrong("a script makes no embeddings")),
            ResolvedModel::Live { entry, model } => {
                // Warnings about the provider are dropped here: a run with it prints them.
                let provider = entry.settings(None, self, env, &mut Vec::new());
                let provider = provider.map_err(|failure| wrong(&failure.message))?;
                Ok(Some(EmbeddingModel { provider, model }))
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use toolcrib_agent::tool_selection::ToolSelectionMode;

    use super::*;
    use crate::config::loader::parse;

    #[test]
    fn the_section_is_read() {
        let read = |text: &str| {
            let config = parse(Path::new("config.toml"), text).map_err(|error| error.message)?;
            config.tool_search_settings(&Env::default()).map_err(|error| error.message)
        };
        let none = read("").unwrap();
        assert_eq!((none.offer, none.model), (ToolSelectionRules::default(), ModelChoice::BuiltIn));
        assert!(none.embeddings.is_none());
        let text = "[discovery]\nmode = \"search\"\nshare = 20\nmodel = \"/models/big\"\nembeddings = \"near/nomic\"\n[providers.near]\nkind = \"ollama\"\n";
        let said = read(text).unwrap();
        assert_eq!(said.offer, ToolSelectionRules { mode: ToolSelectionMode::Search, share: 20 });
        assert_eq!(said.model, ModelChoice::Folder("/models/big".into()));
        let embeddings = said.embeddings.unwrap();
        assert_eq!((&*embeddings.provider.id, &*embeddings.model), ("near", "nomic"));
        for (text, expected) in [
            ("share = 0", "a share goes from 1 to 100 percent"),
            ("share = 101", "a share goes from 1 to 100 percent"),
            ("mode = \"never\"", "search"),
            ("budget = 1", "known are"),
            ("embeddings = \"nobody/x\"", "`discovery.embeddings`: "),
        ] {
            let error = read(&format!("[discovery]\n{text}\n")).unwrap_err();
            assert!(error.contains(expected), "{error}");
        }
    }
}
