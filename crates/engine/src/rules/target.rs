//! The part of a rule before the parenthesis: the operations that it names.
#![deny(clippy::indexing_slicing)]

use toolcrib_core::{Verdict, remote_name, similar_names, tool_pattern};

use super::operation_classes::{self, CLASSES, PathAccess, SpecifierKind};

/// The two parts of a rule's text.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Parts<'a> {
    pub(super) tool: &'a str,
    pub(super) specifier: Option<&'a str>,
}

/// Operations that a rule names.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Target {
    /// Canonical operations or tools.
    pub(super) names: Vec<String>,
    /// Patterns of operations or tools, with `*`.
    pub(super) globs: Vec<String>,
    pub(super) subject: SpecifierKind,
}

/// Splits `Tool` or `Tool(specifier)`.
pub(super) fn split(rule: &str) -> Result<Parts<'_>, String> {
    let trimmed = rule.trim();
    if trimmed.is_empty() {
        return Err("the rule is empty; write Tool or Tool(specifier)".to_owned());
    }
    if trimmed != rule {
        return Err(format!("it begins or ends with a blank; write {trimmed}"));
    }
    let Some((tool, rest)) = rule.split_once('(') else {
        return match rule.contains(')') {
            true => Err("a bracket is closed that was never opened; write Tool(specifier)".into()),
            false => Ok(Parts { tool: name(rule)?, specifier: None }),
        };
    };
    let Some(specifier) = rest.strip_suffix(')') else {
        return Err(match rest.rsplit_once(')') {
            Some((inside, _)) => {
                format!("there is text after the closing parenthesis; write {tool}({inside})")
            }
            None => format!("the bracket is not closed; write {rule})"),
        });
    };
    if tool.trim() != tool {
        return Err(format!(
            "there is a space before the opening parenthesis; write {}({rest}",
            tool.trim()
        ));
    }
    let tool = name(tool)?;
    if specifier.trim().is_empty() {
        return Err(format!("the parentheses are empty; for every call write {tool}"));
    }
    if specifier.trim() != specifier {
        let specifier = specifier.trim();
        return Err(format!(
            "the specifier begins or ends with a blank; write {tool}({specifier})"
        ));
    }
    Ok(Parts { tool, specifier: Some(specifier) })
}

fn name(tool: &str) -> Result<&str, String> {
    if tool.is_empty() {
        return Err("there is no tool before the parenthesis; write Tool(specifier)".to_owned());
    }
    let good = |c: char| c.is_alphanumeric() || "_-.:*".contains(c);
    match tool.chars().find(|c| !good(*c)) {
        None => Ok(tool),
        Some(c) => Err(format!(
            "\"{tool}\" is not the name of a tool: it holds {c:?}; write Tool or Tool(specifier)"
        )),
    }
}

/// Resolves the operations. `known` are the existing tools, if known.
pub(super) fn resolve(
    tool: &str,
    effect: Verdict,
    is_unsafe: bool,
    known: Option<&[String]>,
) -> Result<Target, String> {
    if let Some(class) = CLASSES.iter().find(|class| class.name == tool) {
        let names = class.operations.iter().map(|name| (*name).to_owned()).collect();
        return Ok(Target { names, globs: Vec::new(), subject: class.subject });
    }
    let spelled = remote(tool)?;
    let name = spelled.as_deref().unwrap_or(tool);
    if name.contains('*') {
        return glob(tool, name, effect, is_unsafe);
    }
    let name = with_alias(name);
    if spelled.is_none() {
        check_known(tool, &name, known)?;
    }
    let subject = operation_classes::subject(&name);
    Ok(Target { names: vec![name], globs: Vec::new(), subject })
}

/// Converts `mcp__server__tool`, `mcp__server`, `mcp__server__*` and `mcp:server.tool` to
/// Toolcrib's names of remote tools.
fn remote(tool: &str) -> Result<Option<String>, String> {
    let parts = if let Some(rest) = tool.strip_prefix("mcp__") {
        rest.split_once("__").or(Some((rest, "*")))
    } else if let Some(rest) = tool.strip_prefix("mcp:") {
        rest.split_once(['.', ':']).or(Some((rest, "*")))
    } else if tool.starts_with("mcp_") {
        return Err(format!(
            "\"{tool}\" does not say where the server's name ends; write mcp__SERVER__TOOL"
        ));
    } else {
        return Ok(None);
    };
    Ok(match parts {
        Some(("" | "*", "" | "*")) => Some("*__*".to_owned()),
        Some((server, tool)) if server.is_empty() || tool.is_empty() => {
            return Err("a part of the name is missing; write mcp__SERVER__TOOL".to_owned());
        }
        Some((server, tool)) if server.contains('*') || tool.contains('*') => {
            Some(format!("{server}__{tool}"))
        }
        Some((server, tool)) => Some(remote_name(server, tool).to_string()),
        None => None,
    })
}

fn glob(tool: &str, name: &str, effect: Verdict, is_unsafe: bool) -> Result<Target, String> {
    let head = name.split('*').next().unwrap_or_default();
    let anchored = head.split_once("__").is_some_and(|(server, _)| !server.is_empty());
    if effect == Verdict::Allow && !anchored && !is_unsafe {
        return Err(format!(
            "an allow rule for {tool} would cover tools that are not known yet; name a server (mcp__SERVER__*) or the tools one by one, or say unsafe = true"
        ));
    }
    // A pattern that matches a class covers the operations of the class.
    let names = CLASSES
        .iter()
        .filter(|class| tool_pattern::glob_matches(name, class.name))
        .flat_map(|class| class.operations.iter().map(|name| (*name).to_owned()))
        .collect();
    Ok(Target { names, globs: vec![name.to_owned()], subject: SpecifierKind::Argument })
}

/// Replaces the alias in `alias.action` and `alias` by the canonical name.
fn with_alias(name: &str) -> String {
    match name.split_once('.') {
        Some(_) if operation_classes::canonical(name) != name => {
            operation_classes::canonical(name).to_owned()
        }
        Some((tool, action)) => format!("{}.{action}", operation_classes::canonical(tool)),
        None => operation_classes::canonical(name).to_owned(),
    }
}

fn check_known(written: &str, name: &str, known: Option<&[String]>) -> Result<(), String> {
    let lower = written.to_lowercase();
    if written.starts_with(char::is_uppercase) || known.is_none() {
        let of_class = CLASSES.iter().any(|class| class.operations.contains(&name));
        let class = CLASSES.iter().find(|class| class.name.to_lowercase() == lower);
        if let Some(class) = class.filter(|_| !of_class) {
            return Err(format!("there is no tool {written}; write {}", class.name));
        }
    }
    let Some(known) = known else { return Ok(()) };
    let tool = name.split('.').next().unwrap_or(name);
    let of_product = || {
        CLASSES.iter().any(|class| class.operations.contains(&tool))
            || operation_classes::ALIASES.iter().any(|(_, operation)| *operation == tool)
    };
    if known.iter().any(|k| k == tool || k == name) || name.contains("__") || of_product() {
        return Ok(());
    }
    let names = known.iter().map(String::as_str).chain(CLASSES.iter().map(|class| class.name));
    let near = similar_names::similar_names(written, names);
    Err(match near.as_slice() {
        [] => format!("there is no tool {written}, so the rule can never match"),
        near => format!("there is no tool {written}; did you mean {}?", near.join(", ")),
    })
}

impl Target {
    /// Returns whether a rule with this target covers an operation of a tool.
    pub(super) fn covers(&self, name: &str) -> bool {
        self.names.iter().any(|own| own == name)
            || self.globs.iter().any(|glob| tool_pattern::glob_matches(glob, name))
    }

    /// Returns the group of path uses that it covers.
    pub(super) fn group(&self) -> Option<PathAccess> {
        match self.subject {
            SpecifierKind::Path(group) => Some(group),
            _ => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn taking_apart() {
        for (rule, tool, specifier) in [
            ("Bash", "Bash", None),
            ("Bash(git push:*)", "Bash", Some("git push:*")),
            ("Read(./a(b)/c)", "Read", Some("./a(b)/c")),
            ("mcp__s__t", "mcp__s__t", None),
        ] {
            assert_eq!(split(rule), Ok(Parts { tool, specifier }), "{rule}");
        }
        for (rule, words) in [
            ("", "empty"),
            ("Bash ", "write Bash"),
            ("Bash(git push", "write Bash(git push)"),
            ("Bash)", "never opened"),
            ("Bash(a)b", "write Bash(a)"),
            ("Bash ()", "write Bash()"),
            ("Bash()", "for every call write Bash"),
            ("Bash( )", "for every call write Bash"),
            ("Bash(git push )", "write Bash(git push)"),
            ("(git)", "no tool"),
            ("git push", "write Tool or Tool(specifier)"),
        ] {
            let error = split(rule).expect_err(rule);
            assert!(error.contains(words), "{rule}: {error}");
        }
    }

    #[test]
    fn names() {
        let check = |tool: &str, names: &[&str], globs: &[&str]| {
            let target = resolve(tool, Verdict::Deny, false, None).expect(tool);
            assert_eq!(target.names, names, "{tool}");
            assert_eq!(target.globs, globs, "{tool}");
        };
        check("Bash", &["execute_shell_command"], &[]);
        check("bash_manager", &["execute_shell_command"], &[]);
        check("web_fetch", &["fetch_url"], &[]);
        check("mcp__github__get_issue", &["github__get_issue"], &[]);
        check("mcp:github.get_issue", &["github__get_issue"], &[]);
        check("github__get_issue", &["github__get_issue"], &[]);
        check("mcp__github", &[], &["github__*"]);
        check("mcp__github__*", &[], &["github__*"]);
        check("mcp__*", &[], &["*__*"]);
        check("file_manager.delete", &["delete_file"], &[]);
        check("git_manager.push", &["git_manager.push"], &[]);
        check("*_file", &[], &["*_file"]);
        check("mcp__my.server__get", &[remote_name("my.server", "get").as_str()], &[]);
    }

    #[test]
    fn names_that_are_refused() {
        let known = ["read_file".to_owned(), "get_weather".to_owned()];
        for (tool, effect, words) in [
            ("read", Verdict::Deny, "write Read"),
            ("WEBFETCH", Verdict::Deny, "write WebFetch"),
            ("mcp_github_get", Verdict::Deny, "mcp__SERVER__TOOL"),
            ("mcp__*", Verdict::Allow, "unsafe = true"),
            ("*", Verdict::Allow, "unsafe = true"),
            ("get_*", Verdict::Allow, "unsafe = true"),
        ] {
            let error = resolve(tool, effect, false, None).expect_err(tool);
            assert!(error.contains(words), "{tool}: {error}");
            assert!(
                effect != Verdict::Allow || resolve(tool, effect, true, None).is_ok(),
                "{tool}"
            );
        }
        let error = resolve("get_wether", Verdict::Deny, false, Some(&known)).expect_err("unknown");
        assert!(error.contains("get_weather"), "{error}");
        for tool in ["get_weather", "later__tool", "Bash", "WebSearch", "shell", "bash_manager"] {
            assert!(resolve(tool, Verdict::Deny, false, Some(&known)).is_ok(), "{tool}");
        }
        assert!(resolve("mcp__github__*", Verdict::Allow, false, None).is_ok());
    }
}
