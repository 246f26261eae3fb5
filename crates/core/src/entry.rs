//! A registered tool, and where entries come from.

use std::sync::Arc;

use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::BoxFuture;
use crate::error::{ErrorType, ToolError};
use crate::name::ToolName;
use crate::output::ToolOutput;
use crate::spec::ToolSpec;
use crate::tool::{CallCtx, Handler};

/// How one provider declares a tool of its own.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct ProviderSpec {
    /// Provider id: `openai-chat`, `openai-responses`, `anthropic`, `gemini`.
    pub provider: String,
    /// The declaration, verbatim.
    pub declaration: Value,
    /// Types or names under which its calls arrive, such as `apply_patch_call`.
    #[serde(default)]
    pub call_types: Vec<String>,
}

/// A registered tool. The order of the arms is the order of matching (seed 003).
#[derive(Clone)]
pub enum Entry {
    /// Declared by the provider, run here.
    ProviderDefined {
        /// How each provider declares it.
        providers: Vec<ProviderSpec>,
        /// What runs it.
        handler: Arc<dyn Handler>,
    },
    /// Declared and run by the provider; recorded here, never run.
    Hosted {
        /// What is known of it.
        spec: Arc<ToolSpec>,
        /// How each provider declares it.
        providers: Vec<ProviderSpec>,
    },
    /// Declared and run here.
    Local(Arc<dyn Handler>),
}

impl Entry {
    /// A row for something that should be a tool and is not: it is listed with this reason and never called.
    #[must_use]
    pub fn broken(name: ToolName, reason: impl Into<String>) -> Self {
        let schema = serde_json::json!({"type": "object", "properties": {}});
        let spec = ToolSpec::new(name, "This tool is broken and cannot be called.", schema);
        Self::Local(Arc::new(Broken { spec: Arc::new(spec), reason: reason.into() }))
    }

    /// The definition.
    #[must_use]
    pub fn spec(&self) -> &Arc<ToolSpec> {
        match self {
            Self::ProviderDefined { handler, .. } | Self::Local(handler) => handler.spec(),
            Self::Hosted { spec, .. } => spec,
        }
    }

    /// What runs it here; `None` = the provider does.
    #[must_use]
    pub fn handler(&self) -> Option<&Arc<dyn Handler>> {
        match self {
            Self::ProviderDefined { handler, .. } | Self::Local(handler) => Some(handler),
            Self::Hosted { .. } => None,
        }
    }

    /// Who declares and who runs it, in a word (seed 003): `provider_defined`, `hosted` or `local`.
    #[must_use]
    pub fn kind(&self) -> &'static str {
        match self {
            Self::ProviderDefined { .. } => "provider_defined",
            Self::Hosted { .. } => "hosted",
            Self::Local(_) => "local",
        }
    }

    /// How providers declare it themselves; empty for a local tool.
    #[must_use]
    pub fn providers(&self) -> &[ProviderSpec] {
        match self {
            Self::ProviderDefined { providers, .. } | Self::Hosted { providers, .. } => providers,
            Self::Local(_) => &[],
        }
    }
}

/// What [`Entry::broken`] registers.
struct Broken {
    spec: Arc<ToolSpec>,
    reason: String,
}

impl Handler for Broken {
    fn spec(&self) -> &Arc<ToolSpec> {
        &self.spec
    }

    fn fault(&self) -> Option<&str> {
        Some(&self.reason)
    }

    fn call<'a>(
        &'a self,
        _: &'a CallCtx,
        _: &'a Value,
    ) -> BoxFuture<'a, Result<ToolOutput, ToolError>> {
        let text =
            format!("Tool {} is broken: {}. Do not call it again.", self.spec.name, self.reason);
        let error = ToolError::new(ErrorType::ToolNotAvailable, text);
        Box::pin(std::future::ready(Err(error)))
    }
}

impl std::fmt::Debug for Entry {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let kind = match self {
            Self::ProviderDefined { .. } => "ProviderDefined",
            Self::Hosted { .. } => "Hosted",
            Self::Local(_) => "Local",
        };
        f.debug_tuple(kind).field(&self.spec().name).finish()
    }
}

/// Where tools come from: built in, a workspace folder, an MCP server, a paired app.
pub trait Source: Send + Sync {
    /// Its id: `builtin`, `workspace`, the server's name.
    fn id(&self) -> &str;

    /// Whether what it says of its tools comes from elsewhere: a server, a paired app, a folder. Such tools may say that a call is more
    /// than they declared, never less, and are never innate. Unless a source says otherwise, it is remote.
    fn is_remote(&self) -> bool {
        true
    }

    /// Its entries now.
    fn load(&self) -> BoxFuture<'_, Result<Vec<Entry>, ToolError>>;
}

/// A source whose entries are code of this process, known beforehand.
pub struct FixedSource {
    id: String,
    remote: bool,
    entries: Vec<Entry>,
}

impl FixedSource {
    /// A source with these entries.
    pub fn new(id: impl Into<String>, entries: Vec<Entry>) -> Self {
        Self { id: id.into(), remote: false, entries }
    }
}

impl FixedSource {
    /// The same as if it were remote.
    #[must_use]
    pub fn remote(mut self) -> Self {
        self.remote = true;
        self
    }
}

impl Source for FixedSource {
    fn id(&self) -> &str {
        &self.id
    }

    fn is_remote(&self) -> bool {
        self.remote
    }

    fn load(&self) -> BoxFuture<'_, Result<Vec<Entry>, ToolError>> {
        Box::pin(std::future::ready(Ok(self.entries.clone())))
    }
}
