//! View request: the inputs that decide which tools a caller sees.

use serde::{Deserialize, Serialize};

/// Capabilities of the caller's model.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct ModelCapabilities {
    /// Provider that declares hosted and provider-defined tools; empty excludes those tools.
    pub provider: String,
    /// Names that a small model may be given, such as an on-device model; `None` allows all.
    pub allow: Option<Vec<String>>,
}

/// The inputs that decide which tools a caller sees. The default sees every enabled tool that is
/// ready.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct ViewRequest {
    /// The caller's role, which the flags `allow_TOOL_ROLE` name; empty means that only flags
    /// without a role apply.
    pub role: String,
    /// The agent's tool list: exact names, `group:g`, `server:s`, globs with `*`; `None` means no
    /// limit.
    pub agent: Option<Vec<String>>,
    /// The tool list of the active skill; `None` or empty means no limit.
    pub skill: Option<Vec<String>>,
    /// Features that are off for this caller, by the name of their switch.
    pub features_off: Vec<String>,
    /// Capabilities of the model.
    pub model: ModelCapabilities,
}

impl ViewRequest {
    /// Returns whether nothing limits the view.
    #[must_use]
    pub fn is_default(&self) -> bool {
        let Self { role, agent, skill, features_off, model } = self;
        role.is_empty()
            && agent.is_none()
            && skill.is_none()
            && features_off.is_empty()
            && model.provider.is_empty()
            && model.allow.is_none()
    }
}
