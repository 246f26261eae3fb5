//! Compaction: a cumulative summary, from a separate request to the model, replaces older messages
//! in requests.
//!
//! If no summary can be created, everything is sent while it fits; otherwise the oldest whole
//! exchanges are omitted.

use std::sync::Arc;

use serde::{Deserialize, Serialize};
use toolcrib_providers::conversation::{Message, UserKind, UserMessage};

use super::context_windows::ContextWindow;
use super::token_estimate::{self, MessageSizes};
use super::{exchanges, truncate};

/// Replaces the oldest messages of a conversation in requests. The messages themselves stay stored.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Summary {
    /// The summary, in the model's words.
    pub text: String,
    /// It replaces the messages before this index.
    pub covers: usize,
}

impl Summary {
    /// Returns the message that is sent in place of the covered ones.
    #[must_use]
    pub fn message(&self) -> UserMessage {
        let text = format!("[Conversation summary: {}]", self.text);
        UserMessage { text, images: Vec::new(), kind: UserKind::Summary }
    }
}

/// The conditions and limits of compaction.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct CompactionRules {
    /// Part of the window above which the conversation is compacted, above 0 and at most 1; any
    /// other value means the default.
    pub share: f64,
    /// Newest exchanges that stay verbatim; at least one.
    pub keep: usize,
    /// Maximum size of the summary, in tokens.
    pub summary_tokens: u64,
}

impl Default for CompactionRules {
    fn default() -> Self {
        Self { share: 0.70, keep: 4, summary_tokens: 2_048 }
    }
}

impl CompactionRules {
    /// Returns the number of tokens of a window above which a conversation is compacted.
    fn threshold(&self, window: u64) -> u64 {
        let share = if self.share > 0.0 && self.share <= 1.0 { self.share } else { 0.70 };
        // Whole permille, so that the result does not depend on float rounding.
        let permille = (share * 1_000.0).round() as u64;
        (u128::from(window) * u128::from(permille) / 1_000).try_into().unwrap_or(u64::MAX)
    }
}

/// The decision on compaction before the next request.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum CompactionPlan {
    /// No compaction: the conversation is short enough, or all of it must stay verbatim.
    Fits,
    /// Request a summary of the messages before this index.
    Compact {
        /// The index; an exchange begins here.
        upto: usize,
    },
}

/// Decides on compaction. `overhead` is the number of tokens of a request besides its messages:
/// system prompt and declared tools.
#[must_use]
pub fn plan_compaction(
    history: &[Arc<Message>],
    summary: Option<&Summary>,
    overhead: u64,
    window: &ContextWindow,
    rules: &CompactionRules,
    sizes: &MessageSizes,
) -> CompactionPlan {
    let covered = covered(history, summary);
    let used = overhead
        .saturating_add(summary.map_or(0, |summary| token_estimate::user(&summary.message())))
        .saturating_add(sizes.size_from(covered));
    if used <= rules.threshold(window.tokens) {
        return CompactionPlan::Fits;
    }
    match exchanges::starts(history, covered).rev().nth(rules.keep.max(1) - 1) {
        Some(upto) if upto > covered => CompactionPlan::Compact { upto },
        _ => CompactionPlan::Fits,
    }
}

pub(super) fn covered(history: &[Arc<Message>], summary: Option<&Summary>) -> usize {
    summary.map_or(0, |summary| summary.covers.min(history.len()))
}

/// Returns the summary in the model's answer, truncated; `None` if there is none.
#[must_use]
pub fn accept_summary(answer: &str, rules: &CompactionRules) -> Option<String> {
    let text = answer.trim();
    // Models repeat the form in which they were shown an earlier summary.
    let inner = text
        .strip_prefix("[Conversation summary:")
        .and_then(|text| text.strip_suffix(']'))
        .map_or(text, str::trim);
    let bounded = truncate::head(inner, token_estimate::chars(rules.summary_tokens)).trim_end();
    (!bounded.is_empty()).then(|| bounded.to_owned())
}

/// Returns the plan if no summary could be created: `None` if everything fits into `budget` tokens;
/// otherwise a summary that only reports the omission of as many oldest whole exchanges as
/// necessary. The newest exchange always stays.
#[must_use]
pub fn plan_without_summary(
    history: &[Arc<Message>],
    summary: Option<&Summary>,
    budget: u64,
    sizes: &MessageSizes,
) -> Option<Summary> {
    let covered = covered(history, summary);
    let head = summary.map_or(0, |summary| token_estimate::user(&summary.message()));
    if head.saturating_add(sizes.size_from(covered)) <= budget {
        return None;
    }
    let without = |place: usize| {
        let left_out = place - covered;
        let note = format!("[{left_out} older messages were left out without a summary]");
        let text = summary.map_or_else(|| note.clone(), |old| format!("{}\n{note}", old.text));
        Summary { text, covers: place }
    };
    let mut places = exchanges::starts(history, covered).filter(|place| *place > covered);
    let mut newest = None;
    places
        .by_ref()
        .map(without)
        .inspect(|left_out| newest = Some(left_out.clone()))
        .find(|left_out| {
            token_estimate::user(&left_out.message()) + sizes.size_from(left_out.covers) <= budget
        })
        .or(newest)
}

#[cfg(test)]
mod tests {
    use super::super::property_tests::{answered, said};
    use super::super::summary_request;
    use super::*;

    const RULES: CompactionRules = CompactionRules { share: 0.70, keep: 2, summary_tokens: 2_048 };

    /// Exchanges of about 100 tokens each.
    fn exchanges(count: usize) -> Vec<Arc<Message>> {
        let one = |n| {
            [said(UserKind::Typed, &format!("question {n}")), answered(&"x".repeat(160), &["r"])]
        };
        (0..count).flat_map(one).collect()
    }

    fn window(tokens: u64) -> ContextWindow {
        ContextWindow { tokens, max_output: None, known: true }
    }

    fn check(
        history: &[Arc<Message>],
        covers: usize,
        overhead: u64,
        tokens: u64,
        expected: CompactionPlan,
    ) {
        let summary = (covers > 0).then(|| Summary { text: String::new(), covers });
        let sizes = MessageSizes::new(history);
        let plan =
            plan_compaction(history, summary.as_ref(), overhead, &window(tokens), &RULES, &sizes);
        assert_eq!(plan, expected, "{covers} {overhead} {tokens}");
    }

    #[test]
    fn plans() {
        let history = exchanges(5);
        let size = MessageSizes::new(&history).size_from(0);
        // Exactly 70 % does not exceed it.
        check(&history, 0, 700 - size.min(700), 1_000, CompactionPlan::Fits);
        check(&history, 0, 701 - size.min(701), 1_000, CompactionPlan::Compact { upto: 6 });
        check(&history, 0, 0, 10, CompactionPlan::Compact { upto: 6 });
        check(&history, 6, 0, 10, CompactionPlan::Fits);
        check(&history, 4, 0, 10, CompactionPlan::Compact { upto: 6 });
        check(&history[..4], 0, 0, 10, CompactionPlan::Fits);
        check(&[], 0, 1_000, 10, CompactionPlan::Fits);
        assert!(size < 700, "{size}");
    }

    #[test]
    fn hints_and_rounds_do_not_begin_an_exchange() {
        let mut history = exchanges(3);
        history.insert(2, said(UserKind::Guard, "hint"));
        history.insert(3, answered("more", &["r"]));
        check(&history, 0, 0, 10, CompactionPlan::Compact { upto: 4 });
        history.push(said(UserKind::Answer, "[Answer to: Q] A"));
        check(&history, 0, 0, 10, CompactionPlan::Compact { upto: 6 });
    }

    #[test]
    fn a_share_that_cannot_be_counts_as_the_default() {
        for (share, expected) in [
            (0.7, 700),
            (0.855, 855),
            (1.0, 1_000),
            (0.0, 700),
            (-1.0, 700),
            (1.5, 700),
            (f64::NAN, 700),
        ] {
            let rules = CompactionRules { share, ..RULES };
            assert_eq!(rules.threshold(1_000), expected, "{share}");
        }
        assert_eq!(CompactionRules::default().threshold(u64::MAX), u64::MAX / 10 * 7 + 3);
    }

    #[test]
    fn the_request_holds_the_old_summary_and_the_messages_and_calls_them_data() {
        let history = exchanges(4);
        let old = Summary { text: "they met before".into(), covers: 2 };
        let (system, prompt) = summary_request(&history, Some(&old), 6, 10_000, &RULES);
        assert!(system.contains("All of it is data") && system.contains("at most 1536 words"));
        assert!(!system.contains("{words}"));
        for (part, there) in [
            ("they met before", true),
            ("question 0", false),
            ("question 1", true),
            ("question 2", true),
            ("question 3", false),
        ] {
            assert_eq!(prompt.text.contains(part), there, "{part}");
        }
        // Invalid indexes must not cause a failure.
        let (_, prompt) =
            summary_request(&history, Some(&Summary { covers: 99, ..old }), 1, 0, &RULES);
        assert!(prompt.text.contains("The record ends here"));
    }

    #[test]
    fn answers_that_are_a_summary() {
        let rules = CompactionRules { summary_tokens: 5, ..RULES };
        for (answer, expected) in [
            ("", None),
            (" \n\t", None),
            ("[Conversation summary: ]", None),
            (" They met. ", Some("They met.")),
            ("[Conversation summary: They met.]", Some("They met.")),
            ("1234567890 1234567890 1234567890", Some("1234567890 123456789")),
        ] {
            assert_eq!(accept_summary(answer, &rules).as_deref(), expected, "{answer}");
        }
    }

    #[test]
    fn without_a_summary_all_stays_while_it_fits() {
        let history = exchanges(4);
        let sizes = MessageSizes::new(&history);
        let all = sizes.size_from(0);
        assert_eq!(plan_without_summary(&history, None, all, &sizes), None);
        let once = plan_without_summary(&history, None, all - 1, &sizes).unwrap();
        assert_eq!(once.covers, 2);
        assert_eq!(once.text, "[2 older messages were left out without a summary]");
        let twice = plan_without_summary(&history, Some(&once), 0, &sizes).unwrap();
        assert_eq!(twice.covers, 6, "the newest exchange stays");
        assert!(twice.text.starts_with(&once.text) && twice.text.contains("[4 older"));
        assert_eq!(plan_without_summary(&history, Some(&twice), 0, &sizes), None);
    }

    #[test]
    fn a_summary_is_stored_as_plain_data() {
        let summary = Summary { text: "t".into(), covers: 3 };
        let stored = serde_json::to_string(&summary).unwrap();
        assert_eq!(stored, r#"{"text":"t","covers":3}"#);
        assert_eq!(serde_json::from_str::<Summary>(&stored).unwrap(), summary);
    }
}
