//! The call that the words of `rules explain` mean.

use serde_json::{Map, Value, json};
use toolcrib_app::{DryRunReport, Toolcrib};
use toolcrib_core::suggest::likely_typos;
use toolcrib_core::{Ruling, remote_name};

use crate::clap_args::RulesExplain;
use crate::output::Failure;

/// The tool that runs command lines.
pub(super) const SHELL_TOOL: &str = "execute_shell_command";

/// Classes of rules with a tool that each is about, and the argument that stands in the brackets.
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

/// A hypothetical call.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct HypotheticalCall {
    /// As people are told of it.
    pub(super) display: String,
    /// The operation that policy names.
    pub(super) operation: String,
    /// Canonical name of the tool.
    pub(super) tool: String,
    /// Its arguments.
    pub(super) args: Value,
}

impl HypotheticalCall {
    /// A command line.
    pub(super) fn from_command_line(line: &str) -> Self {
        Self::new(line, SHELL_TOOL, json!({"command": line}))
    }

    fn new(shown: &str, tool: &str, args: Value) -> Self {
        let tool = tool.to_owned();
        Self { display: shown.to_owned(), operation: tool.clone(), tool, args }
    }

    /// Takes operation and arguments as the pipeline has them, and gives what policy says of the
    /// call.
    pub(super) fn apply_dry_run(&mut self, forecast: DryRunReport) -> Option<Ruling> {
        let ruling = forecast.report.ruling?;
        if let Some(tool) = forecast.tool {
            self.tool = tool.to_string();
            self.operation = forecast.report.operation.unwrap_or_else(|| self.tool.clone());
            self.args = forecast.args;
        }
        Some(ruling)
    }

    /// What the command asks about.
    pub(super) fn from_args(command: &RulesExplain, toolcrib: &Toolcrib) -> Result<Self, Failure> {
        if command.args.is_some() && command.tool.is_none() {
            return Err(Failure::usage("--args are those of a tool; say which with --tool NAME"));
        }
        match (&command.tool, &command.text) {
            (Some(tool), _) => Self::from_tool(tool, command.args.as_deref(), toolcrib),
            (None, Some(text)) => Self::from_text(text, toolcrib),
            (None, None) => {
                Err(Failure::usage("say what is asked about: a command line, or --tool"))
            }
        }
    }

    fn from_tool(name: &str, args: Option<&str>, toolcrib: &Toolcrib) -> Result<Self, Failure> {
        let args: Map<String, Value> = match args.map(str::trim).filter(|args| !args.is_empty()) {
            None => Map::new(),
            Some(args) => serde_json::from_str(args)
                .map_err(|error| Failure::usage(format!("--args is not a JSON object: {error}")))?,
        };
        let class = RULE_CLASSES.iter().find(|(class, ..)| *class == name);
        let tool = class.map_or(name, |(_, tool, _)| tool);
        let tool =
            toolcrib.spec(tool).map_or_else(|| mcp_tool_name(tool), |spec| spec.name.to_string());
        let args = Value::Object(args);
        Ok(Self::new(&format!("{tool} {args}"), &tool, args))
    }

    /// `Tool(what)` where there is such a tool or class; a command line otherwise.
    fn from_text(text: &str, toolcrib: &Toolcrib) -> Result<Self, Failure> {
        let Some((name, what)) = parse_call(text) else { return Ok(Self::from_command_line(text)) };
        let tool = |tool: &str, key: &str, what: &str| {
            Self::new(
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
                None if what.trim().is_empty() => Self::from_tool(name, None, toolcrib),
                None => Err(Failure::usage(format!(
                    "say what {name} gets with --tool {name} --args JSON"
                ))),
            };
        }
        match nearest_name(name, toolcrib) {
            Some(near) if !what.contains([';', '|', '&', '\n']) => {
                Err(Failure::usage(format!("there is no tool {name}, did you mean {near}?")))
            }
            _ => Ok(Self::from_command_line(text)),
        }
    }
}

/// The class or tool that was probably meant, ignoring case.
fn nearest_name(name: &str, toolcrib: &Toolcrib) -> Option<String> {
    let tools = toolcrib.infos().into_iter().map(|info| info.id.to_string());
    let known: Vec<String> =
        RULE_CLASSES.iter().map(|(class, ..)| (*class).to_owned()).chain(tools).collect();
    let lower: Vec<String> = known.iter().map(|name| name.to_lowercase()).collect();
    let near = *likely_typos(name, lower.iter().map(String::as_str)).first()?;
    known.into_iter().find(|name| name.to_lowercase() == near)
}

/// The canonical name of a tool of a server: `mcp__server__tool` is `server__tool`.
fn mcp_tool_name(name: &str) -> String {
    let parts = name.strip_prefix("mcp__").and_then(|rest| rest.split_once("__"));
    parts.map_or_else(|| name.to_owned(), |(server, tool)| remote_name(server, tool).to_string())
}

/// `Name(what)`: the name directly in front of the bracket, which the last one closes.
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
