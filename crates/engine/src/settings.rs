//! What an engine is set up with.

use std::collections::{HashMap, HashSet};
use std::time::Duration;

use serde::{Deserialize, Serialize};
use toolcrib_core::defaults;

use crate::gate::Preset;

/// What the owner says of one tool (`[tools.NAME]`).
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct ToolSettings {
    /// Time of one attempt, in place of the declared one.
    pub timeout: Option<Duration>,
    /// On or off, in place of the declared default.
    pub enabled: Option<bool>,
    /// Always ask first (`true`), or never for the sake of risk alone (`false`).
    pub ask: Option<bool>,
    /// Calls at once.
    pub max_concurrent: Option<usize>,
    /// Configuration values, by key.
    pub config: HashMap<String, String>,
}

/// What an engine is set up with. The default is what a first run on a laptop wants.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct EngineSettings {
    /// What happens at which risk when no rule speaks.
    pub preset: Preset,
    /// Per tool, by canonical name.
    pub tools: HashMap<String, ToolSettings>,
    /// Features that are off, by the name of their master switch.
    pub features_off: HashSet<String>,
    /// Calls of one source at once; `None` = no limit.
    pub max_per_source: Option<usize>,
    /// How long a person is waited for; `None` = as long as it takes.
    pub approval_timeout: Option<Duration>,
    /// Calls of one batch at once.
    pub batch_concurrency: usize,
    /// Characters of result text that a model gets.
    pub result_chars: usize,
}

impl Default for EngineSettings {
    fn default() -> Self {
        Self {
            preset: Preset::default(),
            tools: HashMap::new(),
            features_off: HashSet::new(),
            max_per_source: None,
            approval_timeout: Some(defaults::APPROVAL_TIMEOUT),
            batch_concurrency: defaults::BATCH_CONCURRENCY,
            result_chars: defaults::RESULT_CHARS,
        }
    }
}
