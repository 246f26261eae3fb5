//! Settings of an engine.

use std::collections::{BTreeMap, HashMap, HashSet};
use std::time::Duration;

use serde::{Deserialize, Serialize};
use toolcrib_core::defaults;

use crate::gate::Preset;

/// The owner's settings for one tool (`[tools.NAME]`).
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct ToolSettings {
    /// Timeout of a call with all its attempts, in place of the declared one.
    pub timeout: Option<Duration>,
    /// Attempts of a repeatable call, including the first, in place of the declared ones.
    pub attempts: Option<u32>,
    /// Wait before the second attempt; each further wait is half as long again.
    pub backoff: Option<Duration>,
    /// Whether the tool is enabled, in place of the declared default.
    pub enabled: Option<bool>,
    /// Disabled without a switch that can enable it: for the operator of the machine, not the user
    /// of the tool.
    pub off_for_good: bool,
    /// Always ask first (`true`), or never because of risk alone (`false`).
    pub ask: Option<bool>,
    /// In a run that has read text from outside: never ask for that reason (`false`), or ask about
    /// every call (`true`).
    pub taint: Option<bool>,
    /// Maximum concurrent calls.
    pub max_concurrent: Option<usize>,
    /// Configuration values, by key.
    pub config: HashMap<String, String>,
}

impl ToolSettings {
    /// Merges the settings under another name of the tool: the stricter of two values applies.
    fn merged_with(mut self, other: &Self) -> Self {
        fn least<T: Ord>(one: Option<T>, other: Option<T>) -> Option<T> {
            match (one, other) {
                (Some(one), Some(other)) => Some(one.min(other)),
                (one, other) => one.or(other),
            }
        }
        self.timeout = least(self.timeout, other.timeout);
        self.attempts = least(self.attempts, other.attempts);
        self.backoff = self.backoff.max(other.backoff);
        self.enabled = least(self.enabled, other.enabled);
        self.off_for_good |= other.off_for_good;
        self.ask = self.ask.max(other.ask);
        self.taint = self.taint.max(other.taint);
        self.max_concurrent = least(self.max_concurrent, other.max_concurrent);
        for (key, value) in &other.config {
            self.config.entry(key.clone()).or_insert_with(|| value.clone());
        }
        self
    }
}

impl EngineSettings {
    /// Returns the owner's settings for a tool, under any of its names.
    pub(crate) fn for_tool<'a>(&self, names: impl Iterator<Item = &'a str>) -> ToolSettings {
        let said = names.filter_map(|name| self.tools.get(name));
        said.fold(ToolSettings::default(), |all, one| all.merged_with(one))
    }
}

/// Settings of an engine. The defaults suit a first run on a laptop.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct EngineSettings {
    /// Preset: the verdict by risk if no rule applies.
    pub preset: Preset,
    /// Per tool, by canonical name.
    pub tools: HashMap<String, ToolSettings>,
    /// Features that are off, by the name of their master switch.
    pub features_off: HashSet<String>,
    /// Access of roles to tools: `allow_TOOL_ROLE`, else `allow_TOOL`, else allowed;
    /// `allow_code_execution` for all tools that run code or programs.
    pub flags: BTreeMap<String, bool>,
    /// Whether calls from outside that need an approval wait in the inbox; otherwise they are
    /// denied at once.
    pub inbox: bool,
    /// Whether the approver is asked in every channel, because the caller has defined how questions
    /// are handled (`--on-ask`).
    pub ask_everywhere: bool,
    /// Maximum concurrent calls of one source; `None` for no limit.
    pub max_per_source: Option<usize>,
    /// Maximum time to wait for a person; `None` for no limit.
    pub approval_timeout: Option<Duration>,
    /// Maximum concurrent calls of one batch.
    pub batch_concurrency: usize,
    /// Maximum characters of result text that a model gets.
    pub result_chars: usize,
}

impl Default for EngineSettings {
    fn default() -> Self {
        Self {
            preset: Preset::default(),
            tools: HashMap::new(),
            features_off: HashSet::new(),
            flags: BTreeMap::new(),
            inbox: false,
            ask_everywhere: false,
            max_per_source: None,
            approval_timeout: Some(defaults::APPROVAL_TIMEOUT),
            batch_concurrency: defaults::BATCH_CONCURRENCY,
            result_chars: defaults::RESULT_CHARS,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn of_two_names_of_a_tool_the_stricter_word_counts() {
        let of = |timeout, enabled, ask| ToolSettings {
            timeout: Some(Duration::from_secs(timeout)),
            enabled,
            ask,
            ..ToolSettings::default()
        };
        let mut settings = EngineSettings::default();
        settings.tools.insert("fetch_url".into(), of(9, Some(true), Some(false)));
        settings.tools.insert("web_fetch".into(), of(5, Some(false), Some(true)));
        settings.tools.insert("other".into(), of(1, None, None));
        let both = settings.for_tool(["fetch_url", "web_fetch"].into_iter());
        assert_eq!(both, of(5, Some(false), Some(true)));
        let one = settings.for_tool(["fetch_url"].into_iter());
        assert_eq!(one, of(9, Some(true), Some(false)));
        assert_eq!(settings.for_tool(["none"].into_iter()), ToolSettings::default());
    }
}
