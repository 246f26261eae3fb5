//! Codex rules: `prefix_rule(pattern = [..], decision = "allow|prompt|forbidden", justification =
//! .., match = [..], not_match = [..])`. A list inside a pattern means any of its words.
#![deny(clippy::indexing_slicing)]

use toolcrib_core::Verdict;
use toolcrib_core::similar_names::likely_typos;
use toolcrib_engine::rules::RuleText;

use super::parser::line_of;
use super::rule_import::Skipped;
use super::starlark::{self, Call, StarlarkValue};

/// Maximum number of rules to which the alternatives of one pattern may expand.
const MAX_ALTERNATIVES: usize = 1_000;

type Error = (usize, String);
type ParsedRules = (Vec<(usize, RuleText)>, Vec<Skipped>);

/// Parses a file: rules with their lines, and skipped entries.
///
/// # Errors
/// Line and message of the first invalid entry; no rule of the file is imported in that case.
pub(super) fn parse_codex(text: &str) -> Result<ParsedRules, Error> {
    let at_line = |(at, what): Error| (line_of(text, at), what);
    let (mut rules, mut skipped) = (Vec::new(), Vec::new());
    for call in starlark::read(text).map_err(at_line)? {
        let line = line_of(text, call.at);
        match call.name.as_str() {
            "prefix_rule" => {
                let rule = PrefixRule::from_call(call).map_err(|what| (line, what))?;
                for words in rule.alternatives().map_err(|what| (line, what))? {
                    match rule.rule_for_words(&words) {
                        Ok(text) => rules.push((line, text)),
                        Err(why) => skipped.push(Skipped {
                            what: format!("line {line}: {}", words.join(" ")),
                            why,
                        }),
                    }
                }
            }
            "host_executable" | "network_rule" => skipped.push(Skipped {
                what: format!("line {line}: {}", call.name),
                why: "there is no equivalent rule here".to_owned(),
            }),
            name => {
                return Err((
                    line,
                    format!("`{name}` is not known; rules are calls of prefix_rule(…)"),
                ));
            }
        }
    }
    Ok((rules, skipped))
}

struct PrefixRule {
    pattern: Vec<Vec<String>>,
    decision: Verdict,
    justification: Option<String>,
    matches: Vec<String>,
    not_match: Vec<String>,
}

impl PrefixRule {
    fn from_call(call: Call) -> Result<Self, String> {
        let mut rule = Self {
            pattern: Vec::new(),
            decision: Verdict::Allow,
            justification: None,
            matches: Vec::new(),
            not_match: Vec::new(),
        };
        for (key, value) in call.args {
            match key.as_str() {
                "pattern" => rule.pattern = pattern(value)?,
                "decision" => rule.decision = decision(&text(&key, value)?)?,
                "justification" => rule.justification = Some(text(&key, value)?),
                "match" => rule.matches = examples(&key, value)?,
                "not_match" => rule.not_match = examples(&key, value)?,
                _ => return Err(unknown(&key)),
            }
        }
        if rule.pattern.is_empty() {
            return Err("a prefix_rule needs `pattern`, a list of words".to_owned());
        }
        Ok(rule)
    }

    /// Returns all combinations of the alternatives.
    fn alternatives(&self) -> Result<Vec<Vec<&str>>, String> {
        let mut all: Vec<Vec<&str>> = vec![Vec::new()];
        for words in &self.pattern {
            if all.len().saturating_mul(words.len()) > MAX_ALTERNATIVES {
                return Err(format!("the pattern expands to more than {MAX_ALTERNATIVES} rules"));
            }
            let mut longer = Vec::with_capacity(all.len() * words.len());
            for begin in &all {
                for word in words {
                    longer.push(begin.iter().copied().chain([word.as_str()]).collect());
                }
            }
            all = longer;
        }
        Ok(all)
    }

    /// Returns the rule for one combination, with the examples that apply to it.
    fn rule_for_words(&self, words: &[&str]) -> Result<RuleText, String> {
        let odd = |word: &&&str| {
            word.is_empty()
                || word.contains(|c: char| c.is_whitespace() || "*:'\"\\()$`".contains(c))
        };
        if let Some(word) = words.iter().find(odd) {
            return Err(format!("the word {word:?} cannot be written in a rule"));
        }
        let prefix = words.join(" ");
        let is_about = |example: &&String| {
            example
                .strip_prefix(&prefix)
                .is_some_and(|rest| rest.is_empty() || rest.starts_with(' '))
        };
        let mut rule = RuleText::new(self.decision, format!("Bash({prefix}:*)"));
        rule.reason.clone_from(&self.justification);
        rule.matches = self.matches.iter().filter(is_about).cloned().collect();
        rule.not_match.clone_from(&self.not_match);
        Ok(rule)
    }
}

fn unknown(key: &str) -> String {
    let known = ["pattern", "decision", "justification", "match", "not_match"];
    match likely_typos(key, known.into_iter()).first() {
        Some(near) => format!("unknown key `{key}`, did you mean `{near}`?"),
        None => format!("unknown key `{key}`; known are {}", known.join(", ")),
    }
}

fn decision(word: &str) -> Result<Verdict, String> {
    match word {
        "allow" => Ok(Verdict::Allow),
        "prompt" => Ok(Verdict::Ask),
        "forbidden" => Ok(Verdict::Deny),
        _ => Err(format!("`{word}` is not a decision; use allow, prompt or forbidden")),
    }
}

fn text(key: &str, value: StarlarkValue) -> Result<String, String> {
    match value {
        StarlarkValue::Text(text) => Ok(text),
        StarlarkValue::List(_) => Err(format!("`{key}` is a string")),
    }
}

fn list(key: &str, value: StarlarkValue) -> Result<Vec<StarlarkValue>, String> {
    match value {
        StarlarkValue::List(list) => Ok(list),
        StarlarkValue::Text(_) => Err(format!("`{key}` is a list")),
    }
}

fn pattern(value: StarlarkValue) -> Result<Vec<Vec<String>>, String> {
    let words = |part| match part {
        StarlarkValue::Text(word) => Ok(vec![word]),
        StarlarkValue::List(words) if words.is_empty() => {
            Err("a list of alternatives is empty".to_owned())
        }
        StarlarkValue::List(words) => {
            words.into_iter().map(|word| text("an alternative", word)).collect()
        }
    };
    list("pattern", value)?.into_iter().map(words).collect()
}

/// Parses command lines, or lists of their words.
fn examples(key: &str, value: StarlarkValue) -> Result<Vec<String>, String> {
    let line = |example| match example {
        StarlarkValue::Text(line) => Ok(line),
        StarlarkValue::List(words) => {
            let words = words
                .into_iter()
                .map(|word| text("a word of an example", word).map(|word| quoted(&word)));
            Ok(words.collect::<Result<Vec<_>, String>>()?.join(" "))
        }
    };
    list(key, value)?.into_iter().map(line).collect()
}

/// Quotes a word for the shell.
fn quoted(word: &str) -> String {
    let plain = |c: char| c.is_ascii_alphanumeric() || "_-./:=@%+,".contains(c);
    if !word.is_empty() && word.chars().all(plain) {
        return word.to_owned();
    }
    format!("'{}'", word.replace('\'', r"'\''"))
}

#[cfg(test)]
mod tests {
    use super::parse_codex;

    #[test]
    fn alternatives_become_rules_of_their_own() {
        let text = "prefix_rule(\n    pattern = [\"git\", [\"push\", \"fetch\"]],\n    decision = \"prompt\",\n    \
            justification = \"leaves this machine\",\n    match = [\"git push origin\", [\"git\", \"fetch\", \"a b\"]],\n    \
            not_match = [\"git status\"],\n)\nprefix_rule(pattern = [\"ls\"])\n";
        let (rules, skipped) = parse_codex(text).unwrap();
        assert!(skipped.is_empty());
        let seen: Vec<_> = rules
            .iter()
            .map(|(line, rule)| {
                (*line, rule.effect.as_str(), rule.rule.as_str(), rule.matches.join("|"))
            })
            .collect();
        assert_eq!(
            seen,
            [
                (1, "ask", "Bash(git push:*)", "git push origin".to_owned()),
                (1, "ask", "Bash(git fetch:*)", "git fetch 'a b'".to_owned()),
                (8, "allow", "Bash(ls:*)", String::new()),
            ]
        );
        assert_eq!(rules[0].1.reason.as_deref(), Some("leaves this machine"));
        assert_eq!(rules[1].1.not_match, ["git status"]);
    }

    #[test]
    fn what_cannot_be_said_is_left_out_and_what_is_wrong_refused() {
        let (rules, skipped) = parse_codex("prefix_rule(pattern = [\"echo\", \"a b\"])\nhost_executable(name = \"git\", paths = [])").unwrap();
        assert!(rules.is_empty());
        assert_eq!(skipped.len(), 2);
        for (text, error) in [
            ("prefix_rule()", "a prefix_rule needs `pattern`, a list of words"),
            ("prefix_rule(pattern = \"git\")", "`pattern` is a list"),
            ("prefix_rule(pattern = [[]])", "a list of alternatives is empty"),
            ("prefix_rule(patern = [\"git\"])", "unknown key `patern`, did you mean `pattern`?"),
            (
                "prefix_rule(pattern = [\"a\"], decision = \"deny\")",
                "`deny` is not a decision; use allow, prompt or forbidden",
            ),
            ("other(pattern = [\"a\"])", "`other` is not known; rules are calls of prefix_rule(…)"),
        ] {
            assert_eq!(parse_codex(text).unwrap_err(), (1, error.to_owned()), "{text}");
        }
        let ten = format!("[{}]", "\"a\",".repeat(10));
        let many = format!("prefix_rule(pattern = [{}])", format!("{ten},").repeat(9));
        assert_eq!(
            parse_codex(&many).unwrap_err().1,
            "the pattern expands to more than 1000 rules"
        );
    }
}
