//! A registered tool: its definition and the settings that apply to it.

use std::collections::HashMap;
use std::sync::{Arc, OnceLock};
use std::time::Duration;

use tokio::sync::Semaphore;
use toolcrib_argument_decoder::Schema;
use toolcrib_core::{Entry, ToolSpec, defaults};

use crate::secrets::Secrets;
use crate::settings::EngineSettings;
use crate::tool_names::names;

/// A tool with everything the pipeline needs to run it.
#[derive(Clone)]
pub(crate) struct RegisteredTool {
    pub(crate) entry: Entry,
    pub(crate) source: Arc<str>,
    pub(crate) schema: Arc<Schema>,
    pub(crate) output_schema: Option<Arc<Schema>>,
    pub(crate) timeout: Duration,
    /// Attempts of a repeatable call, including the first.
    pub(crate) attempts: u32,
    /// Wait before the second attempt.
    pub(crate) backoff: Duration,
    /// Enabled or disabled by the owner's settings; a switch that a person sets later has
    /// precedence.
    pub(crate) enabled: Option<bool>,
    /// Whether no switch can enable it.
    pub(crate) off_for_good: bool,
    /// Whether its definition comes from a remote source, see [`toolcrib_core::Source::is_remote`].
    pub(crate) remote: bool,
    /// The owner's setting `ask`.
    pub(crate) ask: Option<bool>,
    pub(crate) limit: Option<Arc<Semaphore>>,
    pub(crate) source_limit: Option<Arc<Semaphore>>,
    pub(crate) missing_config: Vec<String>,
    pub(crate) definition_hash: OnceLock<String>,
}

impl RegisteredTool {
    pub(crate) fn spec(&self) -> &Arc<ToolSpec> {
        self.entry.spec()
    }

    /// Applies the settings. `before` is the previous settings: if the limit is unchanged, the
    /// semaphore is reused, so that running calls still count.
    pub(crate) fn follow(
        &mut self,
        now: &EngineSettings,
        before: Option<&EngineSettings>,
        secrets: &Secrets,
    ) {
        let spec = Arc::clone(self.spec());
        let own = now.for_tool(names(&spec));
        secrets.add(secrets_of(&spec, &own.config));
        self.missing_config = spec
            .config
            .iter()
            .filter(|key| key.required && own.config.get(&key.key).is_none_or(String::is_empty))
            .map(|key| key.key.clone())
            .collect();
        self.timeout = own.timeout.unwrap_or(spec.timeout).min(MAX_TOOL_TIMEOUT);
        self.attempts = own.attempts.unwrap_or(spec.attempts);
        self.backoff = own.backoff.unwrap_or(defaults::RETRY_BACKOFF);
        self.enabled = own.enabled;
        self.off_for_good = own.off_for_good;
        self.ask = own.ask;
        let limit = before.map(|before| before.for_tool(names(&spec)).max_concurrent);
        if limit != Some(own.max_concurrent) {
            self.limit = own.max_concurrent.map(semaphore);
        }
    }

    /// Returns the hash of the definition, computed on first use.
    pub(crate) fn definition_hash(&self) -> &str {
        self.definition_hash.get_or_init(|| self.spec().definition_hash())
    }
}

/// Maximum duration of a call of any tool.
const MAX_TOOL_TIMEOUT: Duration = Duration::from_secs(24 * 3600);

/// Returns the configured values that are masked everywhere: all except those of keys that the tool
/// declares as not secret.
fn secrets_of<'a>(
    spec: &'a ToolSpec,
    config: &'a HashMap<String, String>,
) -> impl Iterator<Item = &'a str> {
    let is_open = |name: &str| spec.config.iter().any(|key| key.key == name && !key.secret);
    config.iter().filter(move |(name, _)| !is_open(name)).map(|(_, value)| value.as_str())
}

/// Creates a semaphore for at least one call, because with none the tool could never run.
pub(crate) fn semaphore(calls: usize) -> Arc<Semaphore> {
    Arc::new(Semaphore::new(calls.clamp(1, Semaphore::MAX_PERMITS)))
}
