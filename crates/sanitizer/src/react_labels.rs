//! Lines of the ReAct format (`Action:`, `Action Input:`, `Observation:`), in which some models
//! write calls and read results: a backslash is inserted before the colon.
//!
//! The single words also begin benign lines (of reports and test plans), so a text matches only if
//! it contains `Action Input:`, a label that no other format uses, or `Thought:` together with one
//! of the others. Then all labels are escaped, so a second pass finds nothing.
#![deny(clippy::indexing_slicing)]

use super::byte_scan;

/// The labels found in a text.
#[derive(Default)]
pub(super) struct ReactLabels {
    /// Each with the byte of its colon.
    found: Vec<(Label, usize)>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Label {
    Thought,
    Action,
    ActionInput,
    Observation,
    FinalAnswer,
}

const LABELS: [(&str, Label); 5] = [
    ("action input", Label::ActionInput),
    ("action", Label::Action),
    ("observation", Label::Observation),
    ("thought", Label::Thought),
    ("final answer", Label::FinalAnswer),
];

impl ReactLabels {
    /// Adds the label of the line that begins at byte `start`, if there is one.
    pub(super) fn read_line(&mut self, text: &str, start: usize) {
        let found = label(byte_scan::text_from(text, start));
        self.found.extend(found.map(|(label, colon)| (label, start + colon)));
    }

    /// Returns the positions of the colons before which backslashes are inserted.
    pub(super) fn colons(self) -> impl Iterator<Item = usize> {
        let has = |wanted: Label| self.found.iter().any(|(label, _)| *label == wanted);
        let is_react = has(Label::ActionInput)
            || (has(Label::Thought)
                && (has(Label::Action) || has(Label::Observation) || has(Label::FinalAnswer)));
        let found = if is_react { self.found } else { Vec::new() };
        found.into_iter().map(|(_, colon)| colon)
    }
}

/// Returns the label that begins a line, and the byte of its colon. Emphasis and quote marks before
/// it count as blanks.
fn label(line: &str) -> Option<(Label, usize)> {
    let is_mark = |c: char| matches!(c, ' ' | '\t' | '*' | '>' | '_' | '#' | '-');
    let begin = line.trim_start_matches(is_mark);
    let start = line.len() - begin.len();
    let (name, label) = LABELS.iter().find(|(name, _)| {
        begin.as_bytes().get(..name.len()).is_some_and(|n| n.eq_ignore_ascii_case(name.as_bytes()))
    })?;
    let rest = byte_scan::text_from(begin, name.len());
    // `Action 1:` numbers its steps.
    let colon = rest.find(|c: char| !(matches!(c, ' ' | '*' | '_') || c.is_ascii_digit()))?;
    rest.as_bytes().get(colon).filter(|byte| **byte == b':')?;
    Some((*label, start + name.len() + colon))
}
