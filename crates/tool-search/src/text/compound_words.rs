//! Compound names like "GitHub" and "YouTube": one word to some authors, two for the rule that
//! splits identifiers.

use super::split_into;

/// Maximum bytes of a compound; longer ones are function names.
const LONGEST: usize = 20;
/// Maximum number of words in a compound.
const MOST_WORDS: usize = 3;

/// Returns the runs of letters and digits of a text as written. Non-ASCII characters are included,
/// because only folding shows which are letters.
pub(crate) fn runs(text: &str) -> impl Iterator<Item = &str> {
    text.split(|c: char| c.is_ascii() && !c.is_ascii_alphanumeric()).filter(|run| !run.is_empty())
}

/// Returns whether a run is a compound: two or three words joined with inner capitals. `memory` is
/// a scratch buffer.
pub(crate) fn is_compound(run: &str, memory: &mut String) -> bool {
    if run.len() > LONGEST || !run.bytes().any(|b| b.is_ascii_lowercase()) {
        return false;
    }
    memory.clear();
    split_into(run, memory);
    (2..=MOST_WORDS).contains(&memory.split(' ').count())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn compounds_are_told_from_other_words() {
        let mut memory = String::new();
        for run in ["GitHub", "YouTube", "OpenAI", "iPhone", "base64"] {
            assert!(is_compound(run, &mut memory), "{run}");
        }
        for run in
            ["github", "Weather", "HTTP", "", "getAllOpenIssues", "étapes", "a".repeat(99).as_str()]
        {
            assert!(!is_compound(run, &mut memory), "{run}");
        }
    }

    #[test]
    fn runs_are_as_written() {
        let got: Vec<&str> = runs("Open a GitHub-issue, now!").collect();
        assert_eq!(got, ["Open", "a", "GitHub", "issue", "now"]);
        assert_eq!(runs("cafe\u{301} noir").next(), Some("cafe\u{301}"));
    }
}
