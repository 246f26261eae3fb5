//! Tool lists of agents and skills against the tools there are: exact names, `group:g`, `server:s`, a bare server name, globs only with
//! `*`, never a prefix (DESIGN 9, Agents and skills).
//!
//! The engine matches the same lists when it makes a view; a test holds the two together.
#![deny(clippy::indexing_slicing)]

use serde_json::Value;
use toolcrib_core::ToolSpec;
use toolcrib_core::pattern::{self, Named};

use super::near::{nearest, shown};

/// Tools that a model on this device may be given, whatever else is on (seed 000, Tool Enablement: on-device allow list).
pub const ON_DEVICE_TOOLS: [&str; 8] = [
    "get_local_time",
    "get_location_from_ip",
    "web_search",
    "open_url",
    "memory_store",
    "memory_forget",
    "memory_reinforce",
    "execute_shell_command",
];

/// Tools that no skill takes away: people stay reachable, long results readable, and other skills loadable (SPEC 6.6: always safe).
const ALWAYS: [&str; 3] = ["ask_user", "load_skill", "read_artifact"];

/// A registered tool, as far as lists can name it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ToolNames {
    /// Canonical name.
    pub name: String,
    /// Other names that mean it.
    pub aliases: Vec<String>,
    /// Group that it is listed with.
    pub group: Option<String>,
    /// Id of its source: `builtin`, a server's name.
    pub source: String,
}

impl ToolNames {
    /// The names of a tool of this source.
    #[must_use]
    pub fn of(spec: &ToolSpec, source: &str) -> Self {
        Self {
            name: spec.name.to_string(),
            aliases: spec.aliases.clone(),
            group: spec.group.clone(),
            source: source.to_owned(),
        }
    }
}

/// Decides whether arguments fit a tool's schema; the text says why they do not.
pub type Check<'a> = dyn Fn(&str, &Value) -> Result<(), String> + 'a;

/// The tools there are, as the loader needs them: enabled or not.
#[derive(Clone, Copy)]
pub struct Tools<'a> {
    /// All registered tools, in stable order.
    pub names: &'a [ToolNames],
    /// Checks arguments against the real schema of a tool, given by its canonical name.
    pub check: &'a Check<'a>,
}

impl Tools<'_> {
    /// The canonical name of a tool.
    ///
    /// # Errors
    /// The fragment `unknown tool "x"` with near names.
    pub(super) fn canonical(&self, name: &str) -> Result<&str, String> {
        let by_name = self.names.iter().find(|tool| tool.name == name);
        let by_alias = || self.names.iter().find(|t| t.aliases.iter().any(|alias| alias == name));
        by_name.or_else(by_alias).map(|tool| tool.name.as_str()).ok_or_else(|| {
            let names = self.names.iter().map(|tool| tool.name.as_str());
            let near = super::near::did_you_mean(&nearest(name, names));
            format!("unknown tool \"{}\"{near}", shown(name))
        })
    }
}

/// One entry of a list, with the tools that it names.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Expanded {
    /// The entry.
    pub entry: String,
    /// Canonical names, in the order of the tools.
    pub tools: Vec<String>,
}

/// An entry that names nothing.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Unknown {
    /// The entry.
    pub entry: String,
    /// Up to three names that it may mean, the nearest first.
    pub near: Vec<String>,
}

/// What a list comes to.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Expansion {
    /// Canonical names of all tools that the list names, in the order of the tools.
    pub tools: Vec<String>,
    /// The entries that name something, in the order of the list.
    pub entries: Vec<Expanded>,
    /// The entries that name nothing, in the order of the list.
    pub unknown: Vec<Unknown>,
}

impl Expansion {
    /// What is wrong with the list, as a fragment; `None` = nothing.
    #[must_use]
    pub fn complaint(&self) -> Option<String> {
        let each = self.unknown.iter().map(|unknown| {
            let near: Vec<&str> = unknown.near.iter().map(String::as_str).collect();
            let near = super::near::did_you_mean(&near);
            format!("unknown tool or list entry \"{}\"{near}", shown(&unknown.entry))
        });
        let all: Vec<String> = each.collect();
        (!all.is_empty()).then(|| format!("tools: {}", all.join("; ")))
    }
}

/// Expands a list; `None` = all tools.
#[must_use]
pub fn expand(list: Option<&[String]>, tools: &[ToolNames]) -> Expansion {
    let Some(list) = list else {
        let tools = tools.iter().map(|tool| tool.name.clone()).collect();
        return Expansion { tools, ..Expansion::default() };
    };
    let named = |tool: &&ToolNames| list.iter().any(|entry| matches(entry, tool));
    let mut expansion = Expansion {
        tools: tools.iter().filter(named).map(|tool| tool.name.clone()).collect(),
        ..Expansion::default()
    };
    for entry in list {
        let found = tools.iter().filter(|tool| matches(entry, tool));
        let found: Vec<String> = found.map(|tool| tool.name.clone()).collect();
        if found.is_empty() {
            expansion.unknown.push(Unknown { entry: entry.clone(), near: near(entry, tools) });
        } else {
            expansion.entries.push(Expanded { entry: entry.clone(), tools: found });
        }
    }
    expansion
}

/// The list to put into a view while a skill is active: its own, and what no skill takes away; `None` = no limit (DESIGN 9: an empty
/// list means no limit).
#[must_use]
pub fn skill_limit(allowed_tools: &[String]) -> Option<Vec<String>> {
    if allowed_tools.is_empty() {
        return None;
    }
    let always = ALWAYS.into_iter().filter(|name| !allowed_tools.iter().any(|tool| tool == name));
    Some(allowed_tools.iter().cloned().chain(always.map(str::to_owned)).collect())
}

/// Whether the entries of a list can be read at all.
///
/// # Errors
/// What is wrong, as a fragment.
pub(super) fn check_entries(entries: &[String]) -> Result<(), String> {
    for entry in entries {
        if entry.trim().is_empty() {
            return Err("tools: an entry is empty".to_owned());
        }
        if entry.contains(['?', '[', ']', '{', '}']) {
            return Err(format!("tools: \"{}\" has a wildcard other than *", shown(entry)));
        }
        if matches!(entry.split_once(':'), Some(("group" | "server", rest)) if rest.contains('*')) {
            return Err(format!("tools: \"{}\" has a * in a group or server name", shown(entry)));
        }
    }
    Ok(())
}

fn matches(entry: &str, tool: &ToolNames) -> bool {
    let ToolNames { name, aliases, group, source } = tool;
    pattern::matches(entry, &Named { name, aliases, group: group.as_deref(), source })
}

/// What an entry may mean, among names of its own kind.
fn near(entry: &str, tools: &[ToolNames]) -> Vec<String> {
    let found = if let Some(group) = entry.strip_prefix("group:") {
        return prefixed("group:", nearest(group, tools.iter().filter_map(|t| t.group.as_deref())));
    } else if let Some(server) = entry.strip_prefix("server:") {
        return prefixed("server:", nearest(server, tools.iter().map(|t| t.source.as_str())));
    } else {
        let names = tools.iter().flat_map(|tool| {
            let aliases = tool.aliases.iter().map(String::as_str);
            [tool.name.as_str(), tool.source.as_str()].into_iter().chain(aliases)
        });
        nearest(entry.trim_matches('*'), names)
    };
    found.into_iter().map(str::to_owned).collect()
}

fn prefixed(prefix: &str, names: Vec<&str>) -> Vec<String> {
    names.into_iter().map(|name| format!("{prefix}{name}")).collect()
}

#[cfg(test)]
mod tests;
