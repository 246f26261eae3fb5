//! The setup of a run: everything that another process needs to continue it.

use std::path::PathBuf;

use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use toolcrib_app::Preset;
use toolcrib_core::canonical_json;

use crate::clap_args::{ModelArgs, WorkspaceArgs};
use crate::config::OnAsk;
use crate::folders;
use crate::output::Failure;

/// The setup of a run, without keys.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub(crate) struct RunSetup {
    roots: Vec<PathBuf>,
    policy: Option<Preset>,
    allow_net: Vec<String>,
    tools: Vec<PathBuf>,
    provider: Option<String>,
    base_url: Option<String>,
    model: Option<String>,
    no_stream: bool,
    max_rounds: Option<u32>,
    max_calls: Option<u64>,
    max_tokens: Option<u64>,
    max_time: Option<std::time::Duration>,
    max_cost: Option<u64>,
    /// The handling of calls that need approval, from the command line.
    pub(crate) on_ask: Option<OnAsk>,
    /// The agent.
    pub(crate) agent: String,
    /// Whether the caller waits for a decision of another process.
    pub(crate) waits: bool,
    /// Number of the worker of the run in the store (`CallStore::claim`).
    pub(crate) worker: Option<u64>,
}

impl RunSetup {
    /// Creates the setup from the arguments; paths are made absolute.
    pub(crate) fn new(brain: &ModelArgs, world: &WorkspaceArgs) -> Result<Self, Failure> {
        let absolute = |path: &PathBuf| std::path::absolute(path).unwrap_or_else(|_| path.clone());
        let named: Vec<PathBuf> = world.workspace.iter().chain(&world.root).map(absolute).collect();
        let mut model = brain.model.clone();
        if let Some(file) = brain.model.as_deref().and_then(|model| model.strip_prefix("scripted:"))
        {
            model = Some(format!("scripted:{}", absolute(&PathBuf::from(file)).display()));
        }
        Ok(Self {
            roots: folders::resolve_roots(&named)?,
            policy: world.policy,
            allow_net: world.allow_net.clone(),
            tools: world.tools.iter().map(absolute).collect(),
            provider: brain.provider.clone(),
            base_url: brain.base_url.clone(),
            model,
            no_stream: brain.no_stream,
            max_rounds: brain.max_rounds,
            max_calls: brain.max_calls,
            max_tokens: brain.max_tokens,
            max_time: brain.max_time,
            max_cost: brain.max_cost,
            on_ask: None,
            agent: brain.agent.clone().unwrap_or_default(),
            waits: false,
            worker: None,
        })
    }

    /// Parses the setup that was stored with a run.
    pub(crate) fn from_value(value: &Value) -> Result<Self, Failure> {
        serde_json::from_value(value.clone())
            .map_err(|error| Failure::run(format!("the stored run cannot be read: {error}")))
    }

    pub(crate) fn to_value(&self) -> Value {
        serde_json::to_value(self).unwrap_or_default()
    }

    /// Returns the arguments for the environment of the tools.
    pub(crate) fn workspace_args(&self) -> WorkspaceArgs {
        WorkspaceArgs {
            root: self.roots.clone(),
            policy: self.policy,
            allow_net: self.allow_net.clone(),
            tools: self.tools.clone(),
            workspace: None,
        }
    }

    /// Returns the arguments for model and agent.
    pub(crate) fn model_args(&self) -> ModelArgs {
        ModelArgs {
            provider: self.provider.clone(),
            base_url: self.base_url.clone(),
            model: self.model.clone(),
            no_stream: self.no_stream,
            agent: Some(self.agent.clone()).filter(|agent| !agent.is_empty()),
            max_rounds: self.max_rounds,
            max_calls: self.max_calls,
            max_tokens: self.max_tokens,
            max_time: self.max_time,
            max_cost: self.max_cost,
        }
    }

    /// Returns whether the arguments name a model or its provider; otherwise, the agent's own model
    /// applies.
    pub(crate) fn names_model(&self) -> bool {
        self.model.is_some() || self.provider.is_some()
    }

    /// Changes the model, with any provider.
    pub(crate) fn use_model(&mut self, name: &str) {
        (self.provider, self.base_url) = (None, None);
        self.model = Some(name.to_owned());
    }

    /// Returns the same setup with other arguments for model and agent.
    pub(crate) fn with_model_args(&self, brain: &ModelArgs) -> Self {
        Self {
            provider: brain.provider.clone(),
            base_url: brain.base_url.clone(),
            model: brain.model.clone(),
            no_stream: brain.no_stream,
            max_rounds: brain.max_rounds,
            max_calls: brain.max_calls,
            max_tokens: brain.max_tokens,
            max_time: brain.max_time,
            max_cost: brain.max_cost,
            agent: brain.agent.clone().unwrap_or_default(),
            ..self.clone()
        }
    }

    /// Returns whether the tools of both setups have the same access.
    pub(crate) fn same_tool_environment(&self, other: &Self) -> bool {
        self.tool_environment() == other.tool_environment()
    }

    /// Returns the identity of the tools' environment: folders, policy, network and folders of
    /// tools.
    pub(crate) fn tool_environment(&self) -> String {
        let Self { roots, policy, allow_net, tools, .. } = self;
        canonical_json::sha256(&json!([roots, policy, allow_net, tools]))
    }

    /// Returns the folders of `--tools` that do not exist.
    pub(crate) fn missing_tool_folders(&self) -> impl Iterator<Item = &PathBuf> {
        self.tools.iter().filter(|folder| !folder.is_dir())
    }

    /// Returns the same setup with another workspace.
    pub(crate) fn with_workspace(&self, workspace: PathBuf) -> Self {
        Self { roots: vec![workspace], ..self.clone() }
    }

    /// Returns the workspace: the first root.
    pub(crate) fn workspace(&self) -> Option<PathBuf> {
        self.roots.first().cloned()
    }
}
