//! Tool lists of agents and skills: exact names, `group:g`, `server:s`, a bare server name, globs only with `*`, never a prefix (DESIGN 9).

use crate::registry::Registered;

/// Whether one item of a list names this tool.
pub(crate) fn matches(item: &str, tool: &Registered) -> bool {
    let spec = tool.spec();
    if let Some(group) = item.strip_prefix("group:") {
        return spec.group.as_deref() == Some(group);
    }
    if let Some(server) = item.strip_prefix("server:") {
        return &*tool.source == server;
    }
    let name = spec.name.as_str();
    if item.contains('*') {
        return glob(item, name);
    }
    item == name || item == &*tool.source || spec.aliases.iter().any(|alias| alias == item)
}

/// `*` stands for any text; everything else stands for itself.
fn glob(pattern: &str, name: &str) -> bool {
    let mut parts = pattern.split('*');
    let Some(mut rest) = parts.next().and_then(|first| name.strip_prefix(first)) else {
        return false;
    };
    let mut parts: Vec<&str> = parts.collect();
    let Some(last) = parts.pop() else { return rest.is_empty() };
    for part in parts {
        let Some(at) = rest.find(part) else { return false };
        rest = &rest[at + part.len()..];
    }
    rest.ends_with(last)
}

#[cfg(test)]
mod tests {
    use super::glob;

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
            assert_eq!(glob(pattern, name), expected, "{pattern} {name}");
        }
    }
}
