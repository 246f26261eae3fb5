//! `docs/events.md`: the events of a run, from the types that are serialised.

mod source;

use std::fmt::Write as _;
use std::fs;

use anyhow::{Context, Result, ensure};

use super::markdown::{cell, notice};
use crate::tree;
use source::{Body, Member, Type, Variant};

/// Where the types are.
const SOURCES: [&str; 11] = [
    "crates/agent/src/events.rs",
    "crates/agent/src/machine/state.rs",
    "crates/agent/src/context/prices.rs",
    "crates/providers/src/model_turn.rs",
    "crates/providers/src/conversation.rs",
    "crates/core/src/approval.rs",
    "crates/core/src/call.rs",
    "crates/core/src/grant.rs",
    "crates/core/src/outcome.rs",
    "crates/core/src/spec.rs",
    "crates/core/src/tool.rs",
];

const ABOUT: &str = "# Events

`toolcrib run --json`, `toolcrib resume --json` and `toolcrib chat --json` write what happens as it happens: one JSON object per line on
standard output, each with its `type`. The order is that of the events; new members and new types may come, so skip what you do not know.

A run begins with `run-start` and ends with `run-end`, or with `run-paused` where it waits for a person; `toolcrib resume` then begins with a
`run-start` of its own (`resumed: true`). What goes wrong before a run begins is one object on standard error: `{\"error\": …,
\"exit_code\": …}`. What a command of `toolcrib chat` says is a line `{\"type\": \"command\", \"line\": …, \"text\": …}`.

The states of a call in `tool` events are those that common chat front ends share: `input-streaming`, `input-available`,
`approval-requested`, `approval-responded`, `output-available`, `output-error`, `output-denied`; and `progress`, while it runs. Before `input-available` a call has no id; its
`round` and `index` say which one it is. After `retry`, pieces since the last `request` are void.

";

pub(super) fn page() -> Result<String> {
    let mut types = Vec::new();
    for path in SOURCES {
        let text = fs::read_to_string(tree::root().join(path))
            .with_context(|| format!("reading {path}"))?;
        types.extend(source::types(&text).with_context(|| path.to_owned())?);
    }
    let types = Types(types);
    let event = types.find("Event").context("there is no type Event")?;
    let Body::Enum(variants) = &event.body else { anyhow::bail!("Event is not an enum") };
    ensure!(!variants.is_empty(), "Event has no variants");
    let mut page = notice(SOURCES[0]) + ABOUT + "| type | what happened |\n|---|---|\n";
    for variant in variants {
        let (name, about) = (&variant.name, cell(&variant.about));
        let _ = writeln!(page, "| [`{name}`](#{name}) | {about} |");
    }
    for variant in variants {
        let _ = write!(page, "\n## `{}`\n\n{}\n", variant.name, variant.about);
        types.variant(variant, "type", &mut page);
    }
    page.push_str("\n## Types\n\n`?` = the member is left out when there is nothing to say.\n");
    for name in types.used(variants) {
        if let Some(one) = types.find(&name) {
            types.section(one, &mut page);
        }
    }
    Ok(page)
}

struct Types(Vec<Type>);

impl Types {
    fn find(&self, name: &str) -> Option<&Type> {
        self.0.iter().find(|one| one.name == name)
    }

    /// The members of one variant.
    fn variant(&self, variant: &Variant, tag: &str, page: &mut String) {
        let mut members: Vec<&Member> = variant.members.iter().collect();
        if let Some(Body::Struct(inner)) =
            variant.inner.as_deref().and_then(|inner| self.find(inner)).map(|one| &one.body)
        {
            members.extend(inner);
        }
        let rows = self.rows(&members);
        if !rows.is_empty() {
            let _ = write!(page, "\n| member | type | what it is |\n|---|---|---|\n{rows}");
        }
        for state in self.states(&members) {
            let Body::Enum(variants) = &state.body else { continue };
            let tag = state.tag.as_deref().unwrap_or(tag);
            for variant in variants {
                let _ = write!(page, "\n`{tag}` = `{}`: {}\n", variant.name, variant.about);
                self.variant(variant, tag, page);
            }
        }
    }

    /// The rows of members; those of flat ones stand beside them.
    fn rows(&self, members: &[&Member]) -> String {
        let mut rows = String::new();
        for member in members {
            match self.find(unwrapped(&member.of)).map(|one| &one.body).filter(|_| member.flat) {
                Some(Body::Struct(inner)) => rows += &self.rows(&inner.iter().collect::<Vec<_>>()),
                Some(Body::Enum(_)) => {}
                None => {
                    let mark = if member.optional { "?" } else { "" };
                    let (name, about) = (&member.name, cell(&member.about));
                    let _ =
                        writeln!(rows, "| `{name}`{mark} | {} | {about} |", self.words(&member.of));
                }
            }
        }
        rows
    }

    /// The types of flat members that have variants.
    fn states<'t>(&'t self, members: &[&Member]) -> Vec<&'t Type> {
        let flat = members.iter().filter(|member| member.flat);
        let types = flat.filter_map(|member| self.find(unwrapped(&member.of)));
        types.filter(|one| matches!(one.body, Body::Enum(_))).collect()
    }

    /// A Rust type in words.
    fn words(&self, of: &str) -> String {
        let inner = |outer: &str| of.strip_prefix(outer)?.strip_suffix('>');
        if let Some(of) = inner("Option<") {
            return format!("{} or null", self.words(of));
        }
        if let Some(of) = inner("Box<").or_else(|| inner("Arc<")) {
            return self.words(of);
        }
        if let Some(of) = inner("Vec<") {
            return format!("list of {}", self.words(of));
        }
        match of {
            "String" | "&'static str" | "str" | "ToolName" => "text".to_owned(),
            "bool" => "true or false".to_owned(),
            "Value" => "any JSON".to_owned(),
            "ErrorType" => "[error type](errors.md)".to_owned(),
            "u8" | "u32" | "u64" | "usize" | "i64" | "f64" => "number".to_owned(),
            _ => match self.find(of) {
                Some(one) if one.transparent => {
                    let unit = one.about.split('.').next().unwrap_or_default();
                    format!(
                        "number of {}{}",
                        unit.get(..1).unwrap_or_default().to_lowercase(),
                        unit.get(1..).unwrap_or_default()
                    )
                }
                Some(_) => format!("[{of}](#{})", of.to_lowercase()),
                None if of.ends_with("Id") => "id (text)".to_owned(),
                None => format!("`{of}`"),
            },
        }
    }

    /// The types that members refer to, in the order in which they come up.
    fn used(&self, variants: &[Variant]) -> Vec<String> {
        let mut names = Vec::new();
        variants.iter().for_each(|variant| self.collect(variant, &mut names));
        names
    }

    fn collect(&self, variant: &Variant, names: &mut Vec<String>) {
        let inner = variant.inner.as_deref().and_then(|inner| self.find(unwrapped(inner)));
        self.collect_members(&variant.members, names);
        if let Some(one) = inner {
            self.collect_body(&one.body, names);
        }
    }

    fn collect_members(&self, members: &[Member], names: &mut Vec<String>) {
        for member in members {
            let name = unwrapped(&member.of);
            let Some(one) = self.find(name) else { continue };
            if member.flat {
                self.collect_body(&one.body, names);
            } else if !one.transparent && !names.iter().any(|known| known == name) {
                names.push(name.to_owned());
                self.collect_body(&one.body, names);
            }
        }
    }

    fn collect_body(&self, body: &Body, names: &mut Vec<String>) {
        match body {
            Body::Struct(members) => self.collect_members(members, names),
            Body::Enum(variants) => {
                variants.iter().for_each(|variant| self.collect(variant, names));
            }
        }
    }

    /// The section of a type that others refer to.
    fn section(&self, one: &Type, page: &mut String) {
        let _ = write!(page, "\n### {}\n\n{}\n", one.name, one.about);
        match &one.body {
            Body::Struct(members) => {
                let rows = self.rows(&members.iter().collect::<Vec<_>>());
                let _ = write!(page, "\n| member | type | what it is |\n|---|---|---|\n{rows}");
            }
            Body::Enum(variants) => {
                page.push('\n');
                for variant in variants {
                    let value = match (&one.tag, &variant.inner) {
                        (Some(tag), _) => format!("`{{\"{tag}\": \"{}\"}}`", variant.name),
                        (None, Some(inner)) => {
                            format!("`{{\"{}\": …}}` ({})", variant.name, self.words(inner))
                        }
                        (None, None) => format!("`\"{}\"`", variant.name),
                    };
                    let _ = writeln!(page, "- {value}: {}{}", variant.about, self.beside(variant));
                }
            }
        }
    }

    /// The other members of a variant, in one line.
    fn beside(&self, variant: &Variant) -> String {
        let mut members: Vec<&Member> = variant.members.iter().collect();
        if let Some(Body::Struct(inner)) =
            variant.inner.as_deref().and_then(|inner| self.find(unwrapped(inner))).map(|t| &t.body)
        {
            members.extend(inner);
        }
        let mut words = Vec::new();
        for member in members {
            let of = self.find(unwrapped(&member.of));
            match of.map(|one| &one.body).filter(|_| member.flat) {
                Some(Body::Struct(inner)) => {
                    words.extend(inner.iter().map(|inner| format!("`{}`", inner.name)));
                }
                _ => words.push(format!("`{}` ({})", member.name, self.words(&member.of))),
            }
        }
        if words.is_empty() { String::new() } else { format!(" Beside it: {}.", words.join(", ")) }
    }
}

/// The type inside `Option`, `Vec` and `Box`.
fn unwrapped(of: &str) -> &str {
    let inner = ["Option<", "Vec<", "Box<", "Arc<"]
        .iter()
        .find_map(|outer| of.strip_prefix(outer)?.strip_suffix('>'));
    inner.map_or(of, unwrapped)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_page_has_every_event_and_every_state() {
        let page = page().unwrap();
        for part in [
            "\n## `run-start`\n",
            "| `estimated_tokens` | number |",
            "`state` = `output-denied`: ",
            "| `question` | text |",
            "| `hosted`? | list of text |",
            "| `error_type` | [error type](errors.md) or null |",
            "\n### ApprovalRequest\n",
            "- `{\"decision\": \"deny\"}`: ",
            "- `{\"text\": …}` (text): ",
            "- `\"refused\"`: ",
        ] {
            assert!(page.contains(part), "{part:?} is missing in\n{page}");
        }
        assert!(!page.contains("| `Vec<"), "a type has no words");
    }
}
