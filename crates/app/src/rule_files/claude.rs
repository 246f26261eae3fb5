//! Claude Code rules: reads and writes lists of allow, ask and deny.
#![deny(clippy::indexing_slicing)]

use serde_json::{Map, Value, json};
use toolcrib_core::Verdict;
use toolcrib_core::similar_names::likely_typos;
use toolcrib_engine::rules::{RuleSource, RuleText};

use super::parser::line_of;
use super::rule_import::Skipped;

/// Content of an object of rule lists.
#[derive(Debug, Default)]
pub(super) struct ClaudeRules {
    /// Rules with their lines, strictest lists first.
    pub(super) rules: Vec<(usize, RuleText)>,
    /// Entries that are not imported.
    pub(super) skipped: Vec<Skipped>,
}

/// Parses settings with `permissions`, or an object that consists of the lists only.
///
/// # Errors
/// Line and message: not JSON, an invalid list, an unknown key beside bare lists.
pub(super) fn parse_claude(text: &str) -> Result<ClaudeRules, (usize, String)> {
    let whole: Map<String, Value> = serde_json::from_str(text)
        .map_err(|error| (error.line().max(1), format!("it is not a JSON object: {error}")))?;
    let settings = whole.get("permissions");
    let lists = match settings {
        None => &whole,
        Some(Value::Object(lists)) => lists,
        Some(_) => {
            return Err((
                line_of_key(text, "permissions", 0),
                "`permissions` is not an object".to_owned(),
            ));
        }
    };
    let mut found = ClaudeRules::default();
    for effect in [Verdict::Deny, Verdict::Ask, Verdict::Allow] {
        if let Some(list) = lists.get(effect.as_str()) {
            found.rules.extend(rules(text, effect, list)?);
        }
    }
    for key in lists.keys().filter(|key| key.parse::<Verdict>().is_err()) {
        match other_setting_hint(key) {
            Some(why) => found
                .skipped
                .push(Skipped { what: format!("permissions.{key}"), why: why.to_owned() }),
            None if settings.is_some() => {
                let why = "it is not known here".to_owned();
                found.skipped.push(Skipped { what: format!("permissions.{key}"), why });
            }
            None => return Err((line_of_key(text, key, 0), unknown(key))),
        }
    }
    Ok(found)
}

fn unknown(key: &str) -> String {
    let known = ["allow", "ask", "deny", "permissions"];
    match likely_typos(key, known.into_iter()).first() {
        Some(near) => format!("unknown key `{key}`, did you mean `{near}`?"),
        None => format!("unknown key `{key}`; known are {}", known.join(", ")),
    }
}

/// Returns a hint for keys of `permissions` that are not rules: the setting with the same purpose.
fn other_setting_hint(key: &str) -> Option<&'static str> {
    Some(match key {
        "defaultMode" => {
            "what happens where no rule speaks is `policy` in config.toml, or --policy"
        }
        "additionalDirectories" => "more folders are named with --root",
        "disableBypassPermissionsMode" => "there is nothing here that goes past rules",
        _ => return None,
    })
}

fn rules(
    text: &str,
    effect: Verdict,
    list: &Value,
) -> Result<Vec<(usize, RuleText)>, (usize, String)> {
    let start = text.find(&format!("\"{effect}\"")).unwrap_or_default();
    let wrong = || (line_of(text, start), format!("`{effect}` is not a list of strings"));
    let mut from = start + effect.as_str().len() + 2;
    // Line numbers are counted incrementally, so that long lists stay linear.
    let (mut counted, mut line) = (start, line_of(text, start));
    let mut found = Vec::new();
    for entry in list.as_array().ok_or_else(wrong)? {
        let rule = entry.as_str().ok_or_else(wrong)?;
        // An entry whose escapes differ from those of our serializer gets the line of the previous
        // one.
        let literal = entry.to_string();
        if let Some(at) = text.get(from..).and_then(|rest| rest.find(&literal)) {
            let at = from + at;
            line += text.get(counted..at).map_or(0, |between| line_of(between, between.len()) - 1);
            counted = at;
            from = at + literal.len();
        }
        found.push((line, RuleText::new(effect, rule)));
    }
    Ok(found)
}

fn line_of_key(text: &str, key: &str, default: usize) -> usize {
    line_of(text, text.find(&json!(key).to_string()).unwrap_or(default))
}

/// Converts rules to Claude Code's settings; also returns those that cannot be expressed there.
#[must_use]
pub fn to_claude(rules: &[RuleSource]) -> (Value, Vec<Skipped>) {
    let mut lists: [(Verdict, Vec<String>); 3] =
        [(Verdict::Allow, Vec::new()), (Verdict::Ask, Vec::new()), (Verdict::Deny, Vec::new())];
    let mut skipped = Vec::new();
    for RuleSource { text, .. } in rules {
        if let Some(why) = inexpressible(text) {
            let what = format!("{} {}", text.effect, text.rule);
            skipped.push(Skipped { what, why: why.to_owned() });
            continue;
        }
        for (effect, list) in &mut lists {
            if *effect == text.effect && !list.contains(&text.rule) {
                list.push(text.rule.clone());
            }
        }
    }
    let lists: Map<String, Value> =
        lists.into_iter().map(|(effect, list)| (effect.to_string(), json!(list))).collect();
    (json!({"permissions": lists}), skipped)
}

/// Returns the reason why a rule cannot be expressed in Claude Code's settings.
fn inexpressible(rule: &RuleText) -> Option<&'static str> {
    let RuleText { agents, channels, workspaces, expires, is_observed, .. } = rule;
    if *is_observed {
        return Some("it is only observed, which those settings cannot say");
    }
    let anywhere = agents.is_empty() && channels.is_empty() && workspaces.is_empty();
    if !anywhere || expires.is_some() {
        return Some(
            "it is limited to an agent, a channel, a workspace or a time, which those settings cannot say",
        );
    }
    let foreign = rule.rule.starts_with(char::is_uppercase) || rule.rule.starts_with("mcp__");
    (!foreign).then_some("it names a tool of Toolcrib, which is not known there")
}
