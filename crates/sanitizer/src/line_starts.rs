//! One pass over the lines of a text for those that open a conversation turn (`Human:`) or are
//! labels of the ReAct format (`Action:`).
//!
//! Few lines begin with the letters of either; the first two letters exclude the others without a
//! closer check.
#![deny(clippy::indexing_slicing)]

use super::control_token_scan::turn_marker;
use super::react_labels::ReactLabels;

/// Adds the colons of the lines before which backslashes are inserted.
pub(super) fn find_line_starts(text: &str, found: &mut Vec<usize>) {
    let bytes = text.as_bytes();
    let mut labels = ReactLabels::default();
    if may_begin(bytes, 0).label {
        labels.read_line(text, 0);
    }
    for newline in memchr::memchr_iter(b'\n', bytes) {
        let begins = may_begin(bytes, newline + 1);
        if begins.turn {
            found.extend(turn_marker(text, newline));
        }
        if begins.label {
            labels.read_line(text, newline + 1);
        }
    }
    found.extend(labels.colons());
}

/// What a line may be.
struct Begins {
    turn: bool,
    label: bool,
}

/// Checks the first two letters of the line at byte `start`.
fn may_begin(bytes: &[u8], start: usize) -> Begins {
    let mut line = bytes.get(start..).unwrap_or(&[]).iter().copied();
    let first = line.find(|b| !matches!(b, b' ' | b'\t')).unwrap_or(0);
    if matches!(first, b'*' | b'>' | b'_' | b'#' | b'-') {
        // Marks can precede a label.
        return Begins { turn: false, label: true };
    }
    let second = line.next().unwrap_or(0);
    let letters = (first | 0x20, second | 0x20);
    Begins {
        // Hidden characters and full-width letters are not ASCII; both may be part of the name.
        turn: matches!(letters, (b'h', b'u') | (b'a', b's'))
            || first >= 0x80
            || (second >= 0x80 && matches!(letters.0, b'h' | b'a')),
        label: matches!(letters, (b'a', b'c') | (b'o', b'b') | (b't', b'h') | (b'f', b'i')),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// Reads every line, whatever its first letters are.
    fn line_by_line(text: &str) -> Vec<usize> {
        let newlines = || text.match_indices('\n').map(|(newline, _)| newline);
        let mut found: Vec<usize> =
            newlines().filter_map(|newline| turn_marker(text, newline)).collect();
        let mut labels = ReactLabels::default();
        labels.read_line(text, 0);
        newlines().for_each(|newline| labels.read_line(text, newline + 1));
        found.extend(labels.colons());
        found
    }

    fn line() -> impl Strategy<Value = String> {
        let name = prop_oneof![
            Just("Human"),
            Just("ASSISTANT"),
            Just("a\u{AD}ssistant"),
            Just("H\u{200B}uman"),
            Just("Ｈuman"),
            Just("Action Input"),
            Just("action 1"),
            Just("Thought"),
            Just("OBSERVATION"),
            Just("Final Answer"),
            Just("Acorn"),
            Just(""),
        ];
        ("(|\n|\n \t)[ \t\r>*_#\u{200B}\u{A0}-]{0,2}", name, "(|:| :|[ *:]{0,2})")
            .prop_map(|(before, name, after)| format!("{before}{name}{after}"))
    }

    proptest! {
        #[test]
        fn no_line_is_passed_over(lines in proptest::collection::vec(line(), 0..8)) {
            let text = lines.join("\n");
            let mut found = Vec::new();
            find_line_starts(&text, &mut found);
            prop_assert_eq!(found, line_by_line(&text), "{:?}", text);
        }
    }
}
