//! The tool catalog: all registered tools, and the view of one caller.

use std::collections::HashMap;
use std::sync::Arc;

use serde::{Deserialize, Serialize};

use crate::BoxFuture;
use crate::entry::{Entry, Source};
use crate::error::ToolError;
use crate::exclusion::Exclusion;
use crate::spec::{Status, Tier};
use crate::store::SwitchState;
use crate::tool_name::ToolName;
use crate::view_request::ViewRequest;

/// A tool that is not in the view.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Excluded {
    /// The tool.
    pub name: ToolName,
    /// Why.
    pub reason: Exclusion,
}

/// The tools that one caller sees, and the excluded ones with their reasons. The order is stable
/// because prompt caches depend on it.
#[derive(Debug, Default)]
pub struct View {
    /// The tools.
    pub tools: Vec<Entry>,
    /// The excluded tools.
    pub excluded: Vec<Excluded>,
    names: HashMap<String, usize, foldhash::fast::RandomState>,
}

impl View {
    /// Creates a view of these tools, indexed by names and aliases.
    #[must_use]
    pub fn new(tools: Vec<Entry>, excluded: Vec<Excluded>) -> Self {
        let mut names = HashMap::default();
        for (i, entry) in tools.iter().enumerate() {
            for alias in &entry.spec().aliases {
                names.entry(alias.clone()).or_insert(i);
            }
        }
        // A tool's own name wins over another's alias.
        for (i, entry) in tools.iter().enumerate() {
            names.insert(entry.spec().name.as_str().to_owned(), i);
        }
        Self { tools, excluded, names }
    }

    /// Returns the entry with this name or alias.
    #[must_use]
    pub fn find(&self, name: &str) -> Option<&Entry> {
        self.names.get(name).and_then(|&i| self.tools.get(i))
    }

    /// Returns all names and aliases.
    pub fn names(&self) -> impl Iterator<Item = &str> {
        self.names.keys().map(String::as_str)
    }
}

/// A tool as listed on settings pages, whether enabled or not.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ToolInfo {
    /// Id: the canonical name.
    pub id: ToolName,
    /// Name for people, in English.
    pub title: String,
    /// Localization key of the title.
    pub title_key: String,
    /// Description of the tool, in English.
    pub description: String,
    /// Localization key of the description.
    pub description_key: String,
    /// Id of its source.
    pub source: String,
    /// Place in the offering.
    pub tier: Tier,
    /// Group that it is listed with.
    pub group: Option<String>,
    /// Whether it can be used now.
    #[serde(flatten)]
    pub status: Status,
    /// Whether the tool and everything above it (group, source, tier, feature) is switched on.
    pub enabled: bool,
    /// Effective state: `off` if the tool or something above it is off; `ask` if its own switch,
    /// its group's switch or the settings (`[tools.NAME] ask`) say so.
    pub state: SwitchState,
    /// The tool's own state, ignoring everything above it: its switch, or else the settings and its
    /// definition. It applies again when the group is enabled again.
    pub own_state: SwitchState,
    /// The feature switch of a tool without its own switch.
    pub controlled_by: Option<String>,
}

/// The registry as other crates see it.
pub trait Catalog: Send + Sync {
    /// Returns the tools that a caller sees, and the excluded ones.
    fn view(&self, request: &Arc<ViewRequest>) -> Arc<View>;

    /// Returns every tool, enabled or not, in a stable order.
    fn infos(&self) -> Vec<ToolInfo>;

    /// Sets the state of one tool in this process; storing it is the caller's task.
    ///
    /// # Errors
    /// `tool_not_found`, or `tool_disabled` if a feature switch controls the tool or it is
    /// permanently off; the message says which.
    fn set_tool_state(&self, tool: &str, state: SwitchState) -> Result<(), ToolError>;

    /// Switches one tool on or off.
    ///
    /// # Errors
    /// See [`set_tool_state`](Self::set_tool_state).
    fn set_enabled(&self, tool: &str, enabled: bool) -> Result<(), ToolError> {
        self.set_tool_state(tool, enabled.into())
    }

    /// Sets the kill switch: `false` refuses every new call at once.
    fn set_tools_enabled(&self, enabled: bool);

    /// Loads a source and replaces an earlier one with the same id. The change is atomic; running
    /// calls finish on the old entries.
    ///
    /// A tool of a remote source that cannot be registered (invalid schema, name already used) does
    /// not fail the source. It becomes an entry with [`Status::Error`], named `source__tool` if its
    /// own name is already used.
    fn attach<'a>(&'a self, source: &'a dyn Source) -> BoxFuture<'a, Result<usize, ToolError>>;

    /// Unloads a source; `false` if it was not loaded.
    fn detach(&self, source: &str) -> bool;

    /// Returns a counter that grows with every change.
    fn generation(&self) -> u64;
}
