//! Allow rules for commands that allow more than they seem to.
#![deny(clippy::indexing_slicing)]

use super::command_pattern::CommandPattern;
use super::dangerous_programs::{BROAD, INTERPRETERS, RUNNERS, WRAPPERS};

/// Returns why an allow rule with this pattern would be dangerous, with a safe spelling.
pub(super) fn danger_of(pattern: &CommandPattern) -> Option<String> {
    let (words, open) = pattern.words();
    if pattern.has_inner_star() {
        return Some(format!(
            "a * before the end matches any text, including options and the names of other commands; write the words out, as in Bash({}:*), or set unsafe = true",
            plain_words(words)
        ));
    }
    let (first, rest) = words.split_first()?;
    let program = bare(first);
    // `git*` is as open as `git:*`, and more.
    let open = open || words.last().is_some_and(|word| word.ends_with('*'));
    let rest_is_options = rest.iter().all(|word| is_option(word));
    if RUNNERS.contains(&program) && open {
        return Some(runs(
            program,
            "runs other programs, or text as a program, with any words after its name",
        ));
    }
    if RUNNERS.contains(&program) && matches!(program, "eval" | "source" | "." | "exec") {
        return Some(runs(program, "runs text as a program"));
    }
    if INTERPRETERS.contains(&program) && rest_is_options && (open || !only_tells(rest)) {
        return Some(runs(
            program,
            "runs any program text or script file, also one that was written just before",
        ));
    }
    if WRAPPERS.contains(&program) && rest_is_options && open {
        return Some(runs(program, "runs the program that is named behind it"));
    }
    None
}

/// Returns a warning for the author of an accepted allow rule.
pub(super) fn warning(pattern: &CommandPattern) -> Option<String> {
    let (words, open) = pattern.words();
    let [first] = words else { return None };
    let program = bare(first);
    let (.., what) = BROAD.iter().find(|(name, ..)| open && *name == program)?;
    Some(format!(
        "it allows more than it seems to: {what}; name the sub-commands, as in Bash({program} SUBCOMMAND:*)"
    ))
}

fn runs(program: &str, what: &str) -> String {
    format!("{program} {what}; write the whole command, or say unsafe = true")
}

/// Returns the program without folders, version or star: `/usr/bin/python3.12` becomes `python`.
fn bare(word: &str) -> &str {
    let name = word.rsplit('/').next().unwrap_or(word).trim_end_matches('*');
    let short = name.trim_end_matches(|c: char| c.is_ascii_digit() || c == '.');
    let is_known = INTERPRETERS.contains(&short) && !INTERPRETERS.contains(&name);
    if is_known { short } else { name }
}

/// Returns whether the word is an option, a setting, a number or a duration, which names no program
/// to run.
fn is_option(word: &str) -> bool {
    let digits = word.trim_end_matches(['s', 'm', 'h', 'd', '*']);
    word.starts_with('-')
        || word.contains('=')
        || digits.is_empty()
        || digits.bytes().all(|b| b.is_ascii_digit() || b == b'.')
}

/// Returns whether the options only make a program print information about itself.
fn only_tells(options: &[String]) -> bool {
    let tells = |option: &String| {
        matches!(option.as_str(), "--version" | "--help" | "-V" | "-h" | "-v" | "-version")
    };
    !options.is_empty() && options.iter().all(tells)
}

fn plain_words(words: &[String]) -> String {
    let plain: Vec<&str> =
        words.iter().map(String::as_str).take_while(|word| !word.contains('*')).collect();
    if plain.is_empty() { "PROGRAM".to_owned() } else { plain.join(" ") }
}

#[cfg(test)]
mod tests {
    use serde_json::json;
    use toolcrib_core::Verdict;

    use super::super::{Layer, RuleQuery, RuleSet, RuleSource};
    use super::*;

    #[test]
    fn dangerous_allow_rules() {
        for (text, dangerous) in [
            ("bash:*", true),
            ("sh", true),
            ("sh -s", true),
            ("bash -c:*", true),
            ("/bin/bash:*", true),
            ("bash ./build.sh:*", false),
            ("bash --version", false),
            ("python:*", true),
            ("python3:*", true),
            ("python3.12 -c:*", true),
            ("python -m:*", true),
            ("python*", true),
            ("python -m pytest:*", false),
            ("python3 setup.py:*", false),
            ("node:*", true),
            ("node -e:*", true),
            ("node build.js", false),
            ("env:*", true),
            ("env", false),
            ("env A=b:*", true),
            ("env A=b cargo test:*", false),
            ("sudo:*", true),
            ("sudo -n:*", true),
            ("sudo systemctl status:*", false),
            ("xargs:*", true),
            ("xargs -n 1:*", true),
            ("xargs grep:*", false),
            ("find:*", false),
            ("find .:*", false),
            ("find . -name x", false),
            ("eval:*", true),
            ("eval x", true),
            ("ssh:*", true),
            ("ssh host:*", true),
            ("ssh host uptime", false),
            ("timeout:*", true),
            ("timeout 5:*", true),
            ("timeout 5s cargo test:*", false),
            ("npx:*", true),
            ("* --version", true),
            ("git * main", true),
            ("git:*", false),
            ("git push:*", false),
            ("git push*", false),
            ("ls:*", false),
        ] {
            let pattern = CommandPattern::parse(text).expect(text);
            assert_eq!(danger_of(&pattern).is_some(), dangerous, "{text}");
        }
    }

    /// A warning about something that the bare rule does not cover would be wrong.
    #[test]
    fn every_warning_is_about_a_line_that_the_rule_allows() {
        for (program, line, _) in BROAD {
            let rule =
                json!({"effect": "allow", "rule": format!("Bash({program}:*)"), "unsafe": true});
            let rule = RuleSource {
                text: serde_json::from_value(rule).unwrap(),
                layer: Layer::User,
                origin: "rules.toml:1".to_owned(),
            };
            let rules = RuleSet::compile(vec![rule]).unwrap();
            let judged = rules.evaluate(&RuleQuery {
                operation: "shell",
                tool: "shell",
                args: &json!({"command": line}),
                agent: "coder",
                channel: "chat",
                workspace: "/a-workspace-that-is-not-there",
                now_ms: 0,
            });
            assert_eq!(judged.verdict, Some(Verdict::Allow), "{line}: {}", judged.reason);
        }
    }

    #[test]
    fn remarks() {
        for (text, remarked) in
            [("git:*", true), ("git status:*", false), ("git", false), ("ls:*", false)]
        {
            assert_eq!(
                warning(&CommandPattern::parse(text).expect(text)).is_some(),
                remarked,
                "{text}"
            );
        }
    }
}
