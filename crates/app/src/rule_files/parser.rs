//! Parses rule files: our TOML format, and JSON lists of allow, ask and deny.
#![deny(clippy::indexing_slicing)]

use std::path::Path;

use serde::Deserialize;
use toml::Spanned;
use toolcrib_core::similar_names::unknown_name;
use toolcrib_engine::rules::{Layer, RuleSource, RuleText};

use super::claude;
use super::error::RulesError;

/// A rule file as written.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct RuleFileDocument {
    #[serde(default)]
    rules: Vec<Spanned<RuleText>>,
}

/// Parses the rules of a TOML file. The origin of each rule is its first line.
///
/// # Errors
/// [`RulesError::Malformed`] with the line: not TOML, an unknown key, a wrong type.
pub fn parse_rules(path: &Path, text: &str, layer: Layer) -> Result<Vec<RuleSource>, RulesError> {
    let malformed = |at: usize, what: String| RulesError::Malformed {
        path: path.to_path_buf(),
        line: line_of(text, at),
        what,
    };
    let file: RuleFileDocument = toml::from_str(text).map_err(|error| {
        let span = error.span().unwrap_or_default();
        let what = error_message(error.message(), text.get(span.clone()).unwrap_or_default());
        malformed(span.start, what)
    })?;
    // Line numbers are counted incrementally, so that files with thousands of rules stay linear.
    let (mut counted, mut line) = (0, 1);
    let rules = file.rules.into_iter().map(|rule| {
        let start = rule.span().start;
        line += text.get(counted..start).map_or(0, |between| line_of(between, between.len()) - 1);
        counted = start;
        let origin = format!("{}:{line}", path.display());
        RuleSource { text: rule.into_inner(), layer, origin }
    });
    Ok(rules.collect())
}

/// Parses rules for evaluation: our TOML format, or JSON lists, in Claude Code's settings or on
/// their own.
///
/// # Errors
/// [`RulesError::Malformed`] as [`parse_rules`], and for JSON of another form.
pub fn parse_any_format(path: &Path, text: &str) -> Result<Vec<RuleSource>, RulesError> {
    if !text.trim_start().starts_with('{') {
        return parse_rules(path, text, Layer::User);
    }
    let found = claude::parse_claude(text).map_err(|(line, what)| RulesError::Malformed {
        path: path.to_path_buf(),
        line,
        what,
    })?;
    let written = found.rules.into_iter().map(|(line, text)| RuleSource {
        text,
        layer: Layer::User,
        origin: format!("{}:{line}", path.display()),
    });
    Ok(written.collect())
}

/// Returns the identity of a rule, which excludes its reason and examples.
pub(super) fn identity(rule: &RuleText) -> impl Eq + std::hash::Hash + use<> {
    let RuleText { effect, rule, agents, channels, workspaces, .. } = rule.clone();
    (effect, rule.trim().to_owned(), agents, channels, workspaces)
}

/// Returns the line number, from 1, of a byte offset.
pub(super) fn line_of(text: &str, at: usize) -> usize {
    1 + text.bytes().take(at).filter(|byte| *byte == b'\n').count()
}

/// Rewords the parser's message and adds a suggestion. `at` is the text at the position of the
/// error.
fn error_message(said: &str, at: &str) -> String {
    for (begin, what) in [("unknown field ", "key"), ("unknown variant ", "word")] {
        if let Some(names) = said.strip_prefix(begin) {
            return unknown_name(what, names);
        }
    }
    if let Some(name) = said.strip_prefix("missing field ") {
        return format!("a rule needs {name}");
    }
    if said.starts_with("invalid type: ")
        && at.starts_with(|c: char| c.is_ascii_digit())
        && at.contains('-')
    {
        return format!("a date is written in quotes: \"{at}\"");
    }
    said.lines().next().unwrap_or_default().to_owned()
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use toolcrib_engine::rules::Layer;

    use super::{parse_any_format, parse_rules};

    #[track_caller]
    fn wrong(text: &str, error: &str) {
        let said = parse_rules(Path::new("r.toml"), text, Layer::User).unwrap_err().to_string();
        assert_eq!(said, error, "{text}");
    }

    #[test]
    fn rules_know_their_lines() {
        let text = "# mine\n[[rules]]\neffect = \"deny\"\nrule = \"Bash(rm *)\"\n\n# pushing\n[[rules]]\n\
            effect = \"ask\"\nrule = \"Bash(git push:*)\"\nmatch = [\"git push\"]\n";
        let rules = parse_rules(Path::new("r.toml"), text, Layer::User).unwrap();
        let lines: Vec<_> =
            rules.iter().map(|r| (r.origin.as_str(), r.text.rule.as_str())).collect();
        assert_eq!(lines, [("r.toml:2", "Bash(rm *)"), ("r.toml:7", "Bash(git push:*)")]);
        let inline = "rules = [\n  {effect = \"deny\", rule = \"Edit\"},\n  {effect = \"ask\", rule = \"Read\"},\n]\n";
        let rules = parse_rules(Path::new("r.toml"), inline, Layer::User).unwrap();
        assert_eq!(
            rules.iter().map(|r| r.origin.as_str()).collect::<Vec<_>>(),
            ["r.toml:2", "r.toml:3"]
        );
        assert!(parse_rules(Path::new("r.toml"), "", Layer::User).unwrap().is_empty());
    }

    #[test]
    fn what_is_wrong_has_its_line() {
        wrong("[[rule]]\n", "r.toml:1: unknown key `rule`, did you mean `rules`?");
        wrong(
            "[[rules]]\neffect = \"deny\"\nrules = \"x\"\n",
            "r.toml:3: unknown key `rules`, did you mean `rule`?",
        );
        wrong(
            "[[rules]]\neffect = \"forbid\"\nrule = \"x\"\n",
            "r.toml:2: unknown word `forbid`; known are allow, ask, deny",
        );
        wrong("[[rules]]\neffect = \"deny\"\n", "r.toml:1: a rule needs `rule`");
        wrong(
            "[[rules]]\neffect = \"deny\"\nrule = 5\n",
            "r.toml:3: invalid type: integer `5`, expected a string",
        );
        wrong(
            "[[rules]]\neffect = \"deny\"\nrule = \"x\"\nexpires = 2027-01-31\n",
            "r.toml:4: a date is written in quotes: \"2027-01-31\"",
        );
    }

    #[test]
    fn json_is_read_to_judge_with() {
        for text in [
            "{\"permissions\": {\"allow\": [\"Read\"],\n\"deny\": [\"Read\"]}, \"env\": {}}",
            "{\"allow\": [\"Read\"],\n\"deny\": [\"Read\"]}",
        ] {
            let rules = parse_any_format(Path::new("s.json"), text).unwrap();
            let seen: Vec<_> =
                rules.iter().map(|r| (r.text.effect.as_str(), r.origin.as_str())).collect();
            assert_eq!(seen, [("deny", "s.json:2"), ("allow", "s.json:1")]);
        }
        let said = parse_any_format(Path::new("s.json"), "{\"alow\": []}").unwrap_err().to_string();
        assert_eq!(said, "s.json:1: unknown key `alow`, did you mean `allow`?");
    }
}
