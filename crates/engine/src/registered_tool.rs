//! A tool as it is registered: its definition, and the settings that apply to it.

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
    /// On or off by the owner's settings; a switch that a person sets later wins.
    pub(crate) enabled: Option<bool>,
    /// Whether no switch turns it on.
    pub(crate) off_for_good: bool,
    /// Whether its definition comes from elsewhere, see [`toolcrib_core::Source::is_remote`].
    pub(crate) remote: bool,
    /// What the owner says about asking.
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

    /// Applies the settings. `before` are the previous ones: where the limit is the same, its
    /// semaphore stays, so that running calls still count.
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

    /// Hash of the definition, computed when something is first bound to it.
    pub(crate) fn definition_hash(&self) -> &str {
        self.definition_hash.get_or_init(|| self.spec().definition_hash())
    }
}

/// No call of any tool runs longer.
const MAX_TOOL_TIMEOUT: Duration = Duration::from_secs(24 * 3600);

/// Configured values that are masked everywhere: all but those of a key that the tool declares as
/// not secret.
fn secrets_of<'a>(
    spec: &'a ToolSpec,
    config: &'a HashMap<String, String>,
) -> impl Iterator<Item = &'a str> {
    let is_open = |name: &str| spec.config.iter().any(|key| key.key == name && !key.secret);
    config.iter().filter(move |(name, _)| !is_open(name)).map(|(_, value)| value.as_str())
}

/// At least one call at once, or nothing would ever run.
pub(crate) fn semaphore(calls: usize) -> Arc<Semaphore> {
    Arc::new(Semaphore::new(calls.clamp(1, Semaphore::MAX_PERMITS)))
}
