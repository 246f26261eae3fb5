//! The names under which a tool can be called.

use toolcrib_core::ToolSpec;

/// Returns the name and the aliases of a tool.
pub(crate) fn names(spec: &ToolSpec) -> impl Iterator<Item = &str> + Clone {
    std::iter::once(spec.name.as_str()).chain(spec.aliases.iter().map(String::as_str))
}

/// Converts `mcp:s.t` and `mcp__s__t` to `s__t`.
pub(crate) fn remote_spelling(name: &str) -> Option<String> {
    if let Some(rest) = name.strip_prefix("mcp__") {
        return Some(rest.to_owned());
    }
    let (server, tool) = name.strip_prefix("mcp:")?.split_once('.')?;
    Some(format!("{server}__{tool}"))
}
