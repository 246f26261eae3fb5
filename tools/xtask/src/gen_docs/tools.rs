//! `docs/tools.md`: every tool with its parameters, from `toolcrib tool list` and `tool show`.

use anyhow::{Context, Result};
use serde_json::Value;

use super::binary::Binary;
use super::markdown::{cell, notice};

const ABOUT: &str = "# Tools

Risk, effect and reach are the worst that a call of the tool can do. What one call does is judged from its arguments: a GET is less than a DELETE.

In a run there are besides: `ask_user`, which asks a person and waits for the answer, `load_skill`, which loads the instructions of a
[skill](agents.md#skills), and [tools of your own](own-tools.md).

";

pub(super) fn page(binary: &Binary) -> Result<String> {
    let list = binary.json(&["tool", "list", "--json"])?;
    let tools = list.as_array().context("`toolcrib tool list --json` prints no list")?;
    let mut specs = Vec::new();
    for tool in tools {
        let name = tool["id"].as_str().context("a tool without an id")?;
        specs.push(binary.json(&["tool", "show", name, "--json"])?);
    }
    let mut page = notice("`toolcrib tool list` and `toolcrib tool show`");
    page.push_str(ABOUT);
    page.push_str(&overview(&specs));
    for spec in &specs {
        page.push_str(&section(spec)?);
    }
    Ok(page)
}

fn overview(specs: &[Value]) -> String {
    let mut out =
        String::from("| tool | what it does | risk | effect | timeout |\n|---|---|---|---|---|\n");
    for spec in specs {
        let name = word(spec, "name");
        let about = word(spec, "description");
        let first = about.split_inclusive(". ").next().unwrap_or(about).trim_end();
        let (risk, effect) = (word(spec, "risk"), word(spec, "effect"));
        out.push_str(&format!(
            "| [`{name}`](#{name}) | {} | {risk} | {effect} | {} |\n",
            cell(first),
            timeout(spec)
        ));
    }
    out
}

fn section(spec: &Value) -> Result<String> {
    let mut out = format!("\n## {}\n\n{}\n\n", word(spec, "name"), word(spec, "description"));
    let facts: Vec<String> =
        facts(spec).into_iter().map(|(name, value)| format!("{name}: {value}")).collect();
    out.push_str(&format!("{}.\n", facts.join("; ")));
    out.push_str(&parameters(&spec["input_schema"]));
    for example in spec["examples"].as_array().into_iter().flatten() {
        let args = serde_json::to_string(&example["args"])?;
        out.push_str(&format!("\nExample: {}\n\n```json\n{args}\n```\n", word(example, "need")));
    }
    Ok(out)
}

fn facts(spec: &Value) -> Vec<(&'static str, String)> {
    let mut facts = vec![
        ("Risk", word(spec, "risk").to_owned()),
        ("effect", word(spec, "effect").to_owned()),
        ("timeout", timeout(spec)),
        ("words of", word(spec, "trust").to_owned()),
    ];
    let reach = spec["reach"].as_object().into_iter().flatten();
    let reach: Vec<&str> =
        reach.filter(|(_, yes)| **yes == true).map(|(name, _)| name.as_str()).collect();
    if !reach.is_empty() {
        facts.push(("reach", reach.join(", ")));
    }
    let aliases: Vec<&str> =
        spec["aliases"].as_array().into_iter().flatten().filter_map(Value::as_str).collect();
    if !aliases.is_empty() {
        facts.push(("also called", format!("`{}`", aliases.join("`, `"))));
    }
    facts
}

fn parameters(schema: &Value) -> String {
    let Some(properties) = schema["properties"].as_object().filter(|p| !p.is_empty()) else {
        return "\nNo parameters.\n".to_owned();
    };
    let required =
        |name: &str| schema["required"].as_array().is_some_and(|r| r.iter().any(|n| n == name));
    let mut out = String::from("\n| parameter | type | what it is |\n|---|---|---|\n");
    for (name, property) in properties {
        let needed = if required(name) { " (required)" } else { "" };
        let about = format!("{}{}", word(property, "description"), default(property));
        out.push_str(&format!(
            "| `{name}`{needed} | {} | {} |\n",
            cell(&kind(property)),
            cell(&about)
        ));
    }
    out
}

fn default(property: &Value) -> String {
    property
        .get("default")
        .filter(|d| !d.is_null())
        .map_or_else(String::new, |d| format!(" Default: `{d}`."))
}

/// The type of a parameter in words: `string`, `integer 1..100`, `"GET" or "POST"`.
fn kind(property: &Value) -> String {
    if let Some(values) = property["enum"].as_array() {
        return values.iter().map(Value::to_string).collect::<Vec<_>>().join(" or ");
    }
    if let Some(of) = property["anyOf"].as_array().or_else(|| property["oneOf"].as_array()) {
        return of
            .iter()
            .filter(|k| k["type"] != "null")
            .map(kind)
            .collect::<Vec<_>>()
            .join(" or ");
    }
    let name = match &property["type"] {
        Value::String(name) => name.clone(),
        Value::Array(names) => {
            let names = names.iter().filter_map(Value::as_str).filter(|name| *name != "null");
            names.collect::<Vec<_>>().join(" or ")
        }
        _ => "any".to_owned(),
    };
    match (name.as_str(), &property["minimum"], &property["maximum"]) {
        ("array", ..) => format!("array of {}", kind(&property["items"])),
        (_, Value::Null, Value::Null) => name,
        (_, least, Value::Null) => format!("{name}, at least {least}"),
        (_, Value::Null, most) => format!("{name}, at most {most}"),
        (_, least, most) => format!("{name}, {least} to {most}"),
    }
}

/// The seconds of a duration such as `{"secs": 10, "nanos": 0}`.
fn timeout(spec: &Value) -> String {
    spec["timeout"]["secs"].as_u64().map_or_else(String::new, |seconds| format!("{seconds} s"))
}

fn word<'a>(value: &'a Value, member: &str) -> &'a str {
    value[member].as_str().unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn types_are_written_in_words() {
        for (property, expected) in [
            (json!({"type": "string"}), "string"),
            (json!({"type": ["integer", "null"], "minimum": 1, "maximum": 9}), "integer, 1 to 9"),
            (json!({"type": "integer", "minimum": 0}), "integer, at least 0"),
            (json!({"enum": ["a", "b"]}), "\"a\" or \"b\""),
            (json!({"anyOf": [{"type": "string"}, {"type": "null"}]}), "string"),
            (json!({"type": "array", "items": {"type": "string"}}), "array of string"),
            (json!({}), "any"),
        ] {
            assert_eq!(kind(&property), expected, "{property}");
        }
    }

    #[test]
    fn a_tool_has_its_section() {
        let spec = json!({
            "name": "read_file", "description": "Reads. More.", "risk": "safe", "effect": "read", "trust": "workspace",
            "timeout": {"secs": 10, "nanos": 0}, "aliases": ["cat"], "reach": {"outbound": false, "exec": true},
            "input_schema": {"properties": {"path": {"type": "string", "description": "Where."}}, "required": ["path"]},
            "examples": [{"need": "Read it.", "args": {"path": "a"}}],
        });
        let section = section(&spec).unwrap();
        for part in [
            "## read_file\n\nReads. More.\n\nRisk: safe; effect: read; timeout: 10 s; words of: workspace; reach: exec; also called: `cat`.\n",
            "| `path` (required) | string | Where. |\n",
            "Example: Read it.\n\n```json\n{\"path\":\"a\"}\n```\n",
        ] {
            assert!(section.contains(part), "{part}\nnot in\n{section}");
        }
        assert!(
            overview(&[spec])
                .contains("| [`read_file`](#read_file) | Reads. | safe | read | 10 s |\n")
        );
    }
}
