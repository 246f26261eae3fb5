//! Registry entries and the sources they come from.

use std::sync::Arc;

use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::BoxFuture;
use crate::error::{ErrorType, ToolError};
use crate::output::ToolOutput;
use crate::spec::ToolSpec;
use crate::tool::{CallCtx, Handler};
use crate::tool_name::ToolName;

/// How a provider declares one of its own tools.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct ProviderSpec {
    /// Provider id: `openai-chat`, `openai-responses`, `anthropic`, `gemini`.
    pub provider: String,
    /// The declaration, verbatim.
    pub declaration: Value,
    /// Types or names of its calls, such as `apply_patch_call`.
    #[serde(default)]
    pub call_types: Vec<String>,
}

/// A registered tool. The order of the variants is the order of matching: a tool that the provider
/// defines must never be shadowed by a local one of the same name.
#[derive(Clone)]
pub enum Entry {
    /// Declared by the provider, run by Toolcrib.
    ProviderDefined {
        /// Each provider's declaration.
        providers: Vec<ProviderSpec>,
        /// Runs the calls.
        handler: Arc<dyn Handler>,
    },
    /// Declared and run by the provider. Its calls are recorded; Toolcrib never runs them.
    Hosted {
        /// Name, description and risk, for lists and records.
        spec: Arc<ToolSpec>,
        /// Each provider's declaration.
        providers: Vec<ProviderSpec>,
    },
    /// Declared and run by Toolcrib.
    Local(Arc<dyn Handler>),
}

impl Entry {
    /// Creates an entry for a tool whose definition is broken: it is listed with this reason and
    /// cannot be called.
    #[must_use]
    pub fn broken(name: ToolName, reason: impl Into<String>) -> Self {
        let schema = serde_json::json!({"type": "object", "properties": {}});
        let spec = ToolSpec::new(name, "This tool is broken and cannot be called.", schema);
        Self::Local(Arc::new(Broken { spec: Arc::new(spec), reason: reason.into() }))
    }

    /// Returns the definition.
    #[must_use]
    pub fn spec(&self) -> &Arc<ToolSpec> {
        match self {
            Self::ProviderDefined { handler, .. } | Self::Local(handler) => handler.spec(),
            Self::Hosted { spec, .. } => spec,
        }
    }

    /// Returns the handler; `None` if the provider runs the tool.
    #[must_use]
    pub fn handler(&self) -> Option<&Arc<dyn Handler>> {
        match self {
            Self::ProviderDefined { handler, .. } | Self::Local(handler) => Some(handler),
            Self::Hosted { .. } => None,
        }
    }

    /// Returns the kind as text: `provider_defined`, `hosted` or `local`.
    #[must_use]
    pub fn kind(&self) -> &'static str {
        match self {
            Self::ProviderDefined { .. } => "provider_defined",
            Self::Hosted { .. } => "hosted",
            Self::Local(_) => "local",
        }
    }

    /// Returns the providers' own declarations; empty for a local tool.
    #[must_use]
    pub fn providers(&self) -> &[ProviderSpec] {
        match self {
            Self::ProviderDefined { providers, .. } | Self::Hosted { providers, .. } => providers,
            Self::Local(_) => &[],
        }
    }
}

/// Handler of [`Entry::broken`].
struct Broken {
    spec: Arc<ToolSpec>,
    reason: String,
}

impl Handler for Broken {
    fn spec(&self) -> &Arc<ToolSpec> {
        &self.spec
    }

    fn broken_reason(&self) -> Option<&str> {
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

/// A source of tools: the built-ins, a workspace folder, an MCP server, a paired app.
///
/// [`FixedSource`] is a source of tools that never change; implement the trait for tools that come
/// and go.
///
/// ```
/// use std::sync::{Arc, Mutex};
///
/// use toolcrib_core::{BoxFuture, Entry, ErrorType, Source, ToolError};
///
/// /// The tools of a device, for as long as it is connected.
/// struct Device {
///     tools: Arc<Mutex<Option<Vec<Entry>>>>,
/// }
///
/// impl Source for Device {
///     fn id(&self) -> &str {
///         "device"
///     }
///
///     fn load(&self) -> BoxFuture<'_, Result<Vec<Entry>, ToolError>> {
///         let tools = self.tools.lock().map(|tools| tools.clone()).unwrap_or_default();
///         let why = "The device is not connected.";
///         let gone = || ToolError::new(ErrorType::ToolNotAvailable, why);
///         Box::pin(std::future::ready(tools.ok_or_else(gone)))
///     }
/// }
///
/// // Its definitions come from outside, so they can only raise the risk of a call.
/// assert!(Device { tools: Arc::default() }.is_remote());
/// ```
pub trait Source: Send + Sync {
    /// Returns the id: `builtin`, `workspace` or the server's name.
    fn id(&self) -> &str;

    /// Returns whether the definitions come from outside this program: a server, a paired app, a
    /// folder. Tools of remote sources can raise risk and effect of a call above their declaration,
    /// never lower them, and are never innate. The default is `true`.
    fn is_remote(&self) -> bool {
        true
    }

    /// Returns the current entries.
    ///
    /// # Errors
    /// The reason for a failed load, for people; the registry retains the entries of the last load.
    fn load(&self) -> BoxFuture<'_, Result<Vec<Entry>, ToolError>>;
}

/// A source with a fixed list of entries that are code of this process.
pub struct FixedSource {
    id: String,
    remote: bool,
    entries: Vec<Entry>,
}

impl FixedSource {
    /// Creates a local source with these entries.
    pub fn new(id: impl Into<String>, entries: Vec<Entry>) -> Self {
        Self { id: id.into(), remote: false, entries }
    }
}

impl FixedSource {
    /// Marks the source as remote.
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
