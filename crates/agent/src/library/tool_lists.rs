//! Tool lists of agents and skills: exact names, `group:g`, `server:s`, a bare server name, and
//! globs with `*`; never a prefix.
//!
//! The engine matches the same lists when it creates a view; a test ensures that both agree.
#![deny(clippy::indexing_slicing)]

use serde_json::Value;
use toolcrib_core::ToolSpec;
use toolcrib_core::tool_pattern::{self, ToolIdentity};

use super::suggest::{quote_name, similar_names};

/// Tools that a model on this device may receive, regardless of other settings: the default of the
/// allow list for small models.
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

/// Tools that no skill can remove: questions to the user, long results, and loading other skills.
const ALWAYS_ALLOWED: [&str; 3] = ["ask_user", "load_skill", "read_artifact"];

/// The names of a registered tool that lists can use.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ToolNames {
    /// Canonical name.
    pub name: String,
    /// Aliases.
    pub aliases: Vec<String>,
    /// Group of the tool.
    pub group: Option<String>,
    /// Id of its source: `builtin`, or a server's name.
    pub source: String,
}

impl ToolNames {
    /// Returns the names of a tool of this source.
    #[must_use]
    pub fn from_spec(spec: &ToolSpec, source: &str) -> Self {
        Self {
            name: spec.name.to_string(),
            aliases: spec.aliases.clone(),
            group: spec.group.clone(),
            source: source.to_owned(),
        }
    }
}

/// Checks arguments against a tool's schema; the error states why they do not fit.
pub type ArgsCheck<'a> = dyn Fn(&str, &Value) -> Result<(), String> + 'a;

/// All registered tools, enabled or not, for the loader.
#[derive(Clone, Copy)]
pub struct KnownTools<'a> {
    /// The names, in stable order.
    pub names: &'a [ToolNames],
    /// Checks arguments against the real schema of a tool, given by its canonical name.
    pub check: &'a ArgsCheck<'a>,
}

impl KnownTools<'_> {
    /// Returns the canonical name of a tool.
    ///
    /// # Errors
    /// The fragment `unknown tool "x"` with similar names.
    pub(super) fn canonical(&self, name: &str) -> Result<&str, String> {
        let by_name = self.names.iter().find(|tool| tool.name == name);
        let by_alias = || self.names.iter().find(|t| t.aliases.iter().any(|alias| alias == name));
        by_name.or_else(by_alias).map(|tool| tool.name.as_str()).ok_or_else(|| {
            let names = self.names.iter().map(|tool| tool.name.as_str());
            let near = super::suggest::did_you_mean(&similar_names(name, names));
            format!("unknown tool \"{}\"{near}", quote_name(name))
        })
    }
}

/// One entry of a list, with the tools that it names.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ExpandedEntry {
    /// The entry.
    pub entry: String,
    /// Canonical names, in the order of the tools.
    pub tools: Vec<String>,
}

/// An entry that matches no tool.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct UnknownEntry {
    /// The entry.
    pub entry: String,
    /// Up to three similar names, the most similar first.
    pub near: Vec<String>,
}

/// Result of expanding a list.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Expansion {
    /// Canonical names of all matched tools, in the order of the tools.
    pub tools: Vec<String>,
    /// The entries with matches, in the order of the list.
    pub entries: Vec<ExpandedEntry>,
    /// The entries without matches, in the order of the list.
    pub unknown: Vec<UnknownEntry>,
}

impl Expansion {
    /// Returns the problem of the list, as a sentence fragment; `None` if there is none.
    #[must_use]
    pub fn complaint(&self) -> Option<String> {
        let each = self.unknown.iter().map(|unknown| {
            let near: Vec<&str> = unknown.near.iter().map(String::as_str).collect();
            let near = super::suggest::did_you_mean(&near);
            format!("unknown tool or list entry \"{}\"{near}", quote_name(&unknown.entry))
        });
        let all: Vec<String> = each.collect();
        (!all.is_empty()).then(|| format!("tools: {}", all.join("; ")))
    }
}

/// Expands a list; `None` means all tools.
#[must_use]
pub fn expand_tool_list(list: Option<&[String]>, tools: &[ToolNames]) -> Expansion {
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
            expansion
                .unknown
                .push(UnknownEntry { entry: entry.clone(), near: suggestions(entry, tools) });
        } else {
            expansion.entries.push(ExpandedEntry { entry: entry.clone(), tools: found });
        }
    }
    expansion
}

/// Returns the tool list of a view while a skill is active: the skill's tools plus those that no
/// skill can remove; `None` for no limit (an empty list means no limit).
#[must_use]
pub fn skill_limit(allowed_tools: &[String]) -> Option<Vec<String>> {
    if allowed_tools.is_empty() {
        return None;
    }
    let always =
        ALWAYS_ALLOWED.into_iter().filter(|name| !allowed_tools.iter().any(|tool| tool == name));
    Some(allowed_tools.iter().cloned().chain(always.map(str::to_owned)).collect())
}

/// Checks the syntax of the entries of a list.
///
/// # Errors
/// The problem, as a sentence fragment.
pub(super) fn check_entries(entries: &[String]) -> Result<(), String> {
    for entry in entries {
        if entry.trim().is_empty() {
            return Err("tools: an entry is empty".to_owned());
        }
        if entry.contains(['?', '[', ']', '{', '}']) {
            return Err(format!("tools: \"{}\" has a wildcard other than *", quote_name(entry)));
        }
        if matches!(entry.split_once(':'), Some(("group" | "server", rest)) if rest.contains('*')) {
            return Err(format!(
                "tools: \"{}\" has a * in a group or server name",
                quote_name(entry)
            ));
        }
    }
    Ok(())
}

fn matches(entry: &str, tool: &ToolNames) -> bool {
    let ToolNames { name, aliases, group, source } = tool;
    tool_pattern::matches(entry, &ToolIdentity { name, aliases, group: group.as_deref(), source })
}

/// Returns similar names of the entry's kind.
fn suggestions(entry: &str, tools: &[ToolNames]) -> Vec<String> {
    let found = if let Some(group) = entry.strip_prefix("group:") {
        return prefixed(
            "group:",
            similar_names(group, tools.iter().filter_map(|t| t.group.as_deref())),
        );
    } else if let Some(server) = entry.strip_prefix("server:") {
        return prefixed("server:", similar_names(server, tools.iter().map(|t| t.source.as_str())));
    } else {
        let names = tools.iter().flat_map(|tool| {
            let aliases = tool.aliases.iter().map(String::as_str);
            [tool.name.as_str(), tool.source.as_str()].into_iter().chain(aliases)
        });
        similar_names(entry.trim_matches('*'), names)
    };
    found.into_iter().map(str::to_owned).collect()
}

fn prefixed(prefix: &str, names: Vec<&str>) -> Vec<String> {
    names.into_iter().map(|name| format!("{prefix}{name}")).collect()
}

#[cfg(test)]
mod tests;
