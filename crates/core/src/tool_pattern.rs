//! Tool lists of agents and skills: exact names, `group:g`, `server:s`, a bare server name, and
//! globs with `*`. A name never matches as a prefix.
//!
//! One implementation serves display and enforcement, so that the list a person sees is the list
//! that a model can call.

/// The properties of a tool that a list item can match.
#[derive(Debug, Clone, Copy)]
pub struct ToolIdentity<'a> {
    /// Canonical name.
    pub name: &'a str,
    /// Other names of the tool.
    pub aliases: &'a [String],
    /// Its group.
    pub group: Option<&'a str>,
    /// Id of its source.
    pub source: &'a str,
}

/// Returns whether a list item matches this tool.
#[must_use]
pub fn matches(item: &str, tool: &ToolIdentity<'_>) -> bool {
    if let Some(group) = item.strip_prefix("group:") {
        return tool.group == Some(group);
    }
    if let Some(server) = item.strip_prefix("server:") {
        return tool.source == server;
    }
    if item.contains('*') {
        // Other programs put `mcp__` before the name of a server.
        return glob_matches(item.strip_prefix("mcp__").unwrap_or(item), tool.name);
    }
    if is_mcp_spelling(item, tool.name) {
        return true;
    }
    let is_named = |alias: &String| alias == item || is_action_of(alias, item);
    item == tool.name || item == tool.source || tool.aliases.iter().any(is_named)
}

/// Returns whether an item is another spelling of the tool `server__tool` of an MCP server:
/// `mcp__server__tool` and `mcp__server` (Claude Code), `mcp_server_tool` (VS Code),
/// `mcp:server.tool`.
fn is_mcp_spelling(item: &str, name: &str) -> bool {
    let Some((server, tool)) = name.split_once("__") else { return false };
    if let Some(rest) = item.strip_prefix("mcp__") {
        return rest == name || rest == server;
    }
    if let Some(rest) = item.strip_prefix("mcp:") {
        return rest.split_once('.') == Some((server, tool)) || rest == server;
    }
    let rest = item.strip_prefix("mcp_").and_then(|rest| rest.strip_prefix(server));
    rest.and_then(|rest| rest.strip_prefix('_')) == Some(tool)
}

/// Returns whether a list item can only match tools of an MCP server, so that it matches nothing
/// while the server is unreachable.
#[must_use]
pub fn names_a_server(item: &str) -> bool {
    let begins = ["server:", "mcp__", "mcp_", "mcp:"];
    begins.iter().any(|begin| item.starts_with(begin)) || item.contains("__")
}

/// Returns whether an alias is an action of this tool: `file_manager.read` of `file_manager`.
#[must_use]
pub fn is_action_of(alias: &str, name: &str) -> bool {
    alias.strip_prefix(name).is_some_and(|rest| rest.len() > 1 && rest.starts_with('.'))
}

/// Returns whether the text matches the pattern: `*` matches any text, every other character
/// matches itself.
#[must_use]
pub fn glob_matches(pattern: &str, text: &str) -> bool {
    let mut parts = pattern.split('*');
    let Some(mut rest) = parts.next().and_then(|first| text.strip_prefix(first)) else {
        return false;
    };
    let mut parts: Vec<&str> = parts.collect();
    let Some(last) = parts.pop() else { return rest.is_empty() };
    for part in parts {
        let Some((_, after)) = rest.split_once(part) else { return false };
        rest = after;
    }
    rest.ends_with(last)
}

#[cfg(test)]
mod tests {
    use super::{ToolIdentity, glob_matches, matches};

    #[test]
    fn spellings_of_tools_of_servers_are_read() {
        let tool = ToolIdentity {
            name: "git_hub__list_issues",
            aliases: &[],
            group: None,
            source: "git_hub",
        };
        for (item, expected) in [
            ("git_hub__list_issues", true),
            ("mcp__git_hub__list_issues", true),
            ("mcp_git_hub_list_issues", true),
            ("mcp:git_hub.list_issues", true),
            ("mcp__git_hub", true),
            ("mcp__git_hub__*", true),
            ("mcp_git_hub_list", false),
            ("mcp:git_hub.list", false),
            ("mcp__other__list_issues", false),
        ] {
            assert_eq!(matches(item, &tool), expected, "{item}");
        }
        let own = ToolIdentity { name: "read_file", aliases: &[], group: None, source: "builtin" };
        assert!(!matches("mcp__read_file", &own) && !matches("mcp_read_file", &own));
    }

    #[test]
    fn a_name_with_actions_stands_for_all_of_them() {
        let aliases = ["file_manager.read".to_owned()];
        let tool =
            ToolIdentity { name: "read_file", aliases: &aliases, group: None, source: "builtin" };
        for (item, expected) in [
            ("file_manager", true),
            ("file_manager.read", true),
            ("file_manager.write", false),
            ("file_manage", false),
            ("file_manager.", false),
            ("file_manager.rea", false),
        ] {
            assert_eq!(matches(item, &tool), expected, "{item}");
        }
    }

    #[test]
    fn globs() {
        for (pattern, name, expected) in [
            ("*", "anything", true),
            ("git__*", "git__push", true),
            ("git__*", "gitlab__push", false),
            ("*_file", "read_file", true),
            ("read*file", "read_file", true),
            ("a*a", "a", false),
            ("*e*e*", "here", true),
            ("*x*", "here", false),
        ] {
            assert_eq!(glob_matches(pattern, name), expected, "{pattern} {name}");
        }
    }
}
