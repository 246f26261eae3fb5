//! The call that a question about rules names.

use serde_json::{Map, Value, json};
use toolcrib_app::{DryRunReport, Toolcrib};
use toolcrib_core::remote_name;
use toolcrib_core::similar_names::likely_typos;

use crate::error::OpError;

/// The tool that runs command lines.
pub(super) const SHELL_TOOL: &str = "execute_shell_command";

/// Classes of rules, each with a tool and the argument that the brackets contain.
const RULE_CLASSES: [(&str, &str, &str); 12] = [
    ("Bash", SHELL_TOOL, "command"),
    ("Read", "read_file", "path"),
    ("Edit", "edit_file", "path"),
    ("MultiEdit", "edit_file", "path"),
    ("Write", "write_file", "path"),
    ("Glob", "find_files", "path"),
    ("Grep", "code_search", "path"),
    ("LS", "list_dir", "path"),
    ("WebFetch", "fetch_url", "url"),
    ("WebSearch", "web_search", "query"),
    ("Agent", "agent", "agent"),
    ("Task", "agent", "agent"),
];

/// A hypothetical call, as named by a caller.
#[derive(Debug, Clone, PartialEq)]
pub enum AskedCall {
    /// A command line, or a call in the notation of rules, such as `Read(./secrets/x)`.
    Text(String),
    /// A tool, or a class of rules such as `Read`, with its arguments.
    Tool {
        /// The name.
        tool: String,
        /// The arguments.
        args: Map<String, Value>,
    },
}

/// A hypothetical call.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct HypotheticalCall {
    /// The call in words for people.
    pub(super) display: String,
    /// The operation that policy names.
    pub(super) operation: String,
    /// Canonical name of the tool.
    pub(super) tool: String,
    /// Its arguments.
    pub(super) args: Value,
}

impl HypotheticalCall {
    /// Creates the call for a command line.
    pub(super) fn from_command_line(line: &str) -> Self {
        Self::of(line, SHELL_TOOL, json!({"command": line}))
    }

    fn of(shown: &str, tool: &str, args: Value) -> Self {
        let tool = tool.to_owned();
        Self { display: shown.to_owned(), operation: tool.clone(), tool, args }
    }

    /// Adopts the operation and the arguments that the pipeline determined.
    pub(super) fn adopt(&mut self, forecast: &DryRunReport) {
        let Some(tool) = &forecast.tool else { return };
        self.tool = tool.to_string();
        self.operation = forecast.report.operation.clone().unwrap_or_else(|| self.tool.clone());
        self.args = forecast.args.clone();
    }

    /// Resolves the named call.
    pub(super) fn new(asked: &AskedCall, toolcrib: &Toolcrib) -> Result<Self, OpError> {
        match asked {
            AskedCall::Tool { tool, args } => Ok(Self::from_tool(tool, args.clone(), toolcrib)),
            AskedCall::Text(text) => Self::from_text(text, toolcrib),
        }
    }

    fn from_tool(name: &str, args: Map<String, Value>, toolcrib: &Toolcrib) -> Self {
        let class = RULE_CLASSES.iter().find(|(class, ..)| *class == name);
        let tool = class.map_or(name, |(_, tool, _)| tool);
        let tool =
            toolcrib.spec(tool).map_or_else(|| mcp_tool_name(tool), |spec| spec.name.to_string());
        let args = Value::Object(args);
        Self::of(&format!("{tool} {args}"), &tool, args)
    }

    /// Parses `Tool(what)` if there is such a tool or class; otherwise, the text is a command line.
    fn from_text(text: &str, toolcrib: &Toolcrib) -> Result<Self, OpError> {
        let Some((name, what)) = parse_call(text) else { return Ok(Self::from_command_line(text)) };
        let tool = |tool: &str, key: &str, what: &str| {
            Self::of(
                text.trim(),
                tool,
                Value::Object(Map::from_iter([(key.to_owned(), json!(what))])),
            )
        };
        if let Some((_, name, key)) = RULE_CLASSES.iter().find(|(class, ..)| *class == name) {
            let what = match what.strip_prefix("domain:") {
                Some(domain) if *key == "url" => format!("https://{domain}/"),
                _ => what.to_owned(),
            };
            return Ok(tool(name, key, &what));
        }
        if name.starts_with("mcp__") {
            return Ok(tool(&mcp_tool_name(name), "input", what));
        }
        if let Some(spec) = toolcrib.spec(name) {
            let required = spec
                .input_schema
                .get("required")
                .and_then(|list| list.get(0))
                .and_then(Value::as_str);
            return match required {
                Some(key) => Ok(tool(spec.name.as_str(), key, what)),
                None if what.trim().is_empty() => Ok(Self::from_tool(name, Map::new(), toolcrib)),
                None => Err(OpError::Invalid(format!(
                    "name the tool {name} and its arguments apart: several arguments cannot be told from one text"
                ))),
            };
        }
        match nearest_name(name, toolcrib) {
            Some(near) if !what.contains([';', '|', '&', '\n']) => {
                Err(OpError::Invalid(format!("there is no tool {name}, did you mean {near}?")))
            }
            _ => Ok(Self::from_command_line(text)),
        }
    }
}

/// Returns the class or tool that was probably meant, ignoring case.
fn nearest_name(name: &str, toolcrib: &Toolcrib) -> Option<String> {
    let tools = toolcrib.infos().into_iter().map(|info| info.id.to_string());
    let known: Vec<String> =
        RULE_CLASSES.iter().map(|(class, ..)| (*class).to_owned()).chain(tools).collect();
    let lower: Vec<String> = known.iter().map(|name| name.to_lowercase()).collect();
    let near = *likely_typos(name, lower.iter().map(String::as_str)).first()?;
    known.into_iter().find(|name| name.to_lowercase() == near)
}

/// Returns the canonical name of a tool of a server: `mcp__server__tool` is `server__tool`.
fn mcp_tool_name(name: &str) -> String {
    let parts = name.strip_prefix("mcp__").and_then(|rest| rest.split_once("__"));
    parts.map_or_else(|| name.to_owned(), |(server, tool)| remote_name(server, tool).to_string())
}

/// Parses `Name(what)`: the name directly precedes the bracket, which ends with the text.
fn parse_call(text: &str) -> Option<(&str, &str)> {
    let (name, rest) = text.trim().split_once('(')?;
    let what = rest.strip_suffix(')')?;
    let is_name = |c: char| c.is_ascii_alphanumeric() || matches!(c, '_' | '-' | '.');
    let fits = name.starts_with(|c: char| c.is_ascii_alphabetic()) && name.chars().all(is_name);
    fits.then_some((name, what))
}

#[cfg(test)]
mod tests {
    use super::parse_call;

    #[test]
    fn what_looks_like_a_call() {
        for (text, expected) in [
            ("Read(./a b)", Some(("Read", "./a b"))),
            (" Bash(echo $(x)) ", Some(("Bash", "echo $(x)"))),
            ("mcp__a__b()", Some(("mcp__a__b", ""))),
            ("echo $(x)", None),
            ("(git push)", None),
            ("git push", None),
            ("f(){ x; }", None),
        ] {
            assert_eq!(parse_call(text), expected, "{text}");
        }
    }
}
