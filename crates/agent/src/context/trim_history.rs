//! Trims the history: the outgoing copy contains the part of the stored history that fits.
//!
//! The oldest whole exchanges are left out first. If the newest exchange alone is too long, the
//! person's message stays, and its oldest rounds are left out. A message of the model is left out
//! only with its results, which are inside it, so that there are no orphans. The stored history is
//! never changed.

use std::sync::Arc;

use toolcrib_providers::conversation::{Message, UserKind, UserMessage};

use super::compaction::Summary;
use super::token_estimate::{self, MessageSizes};
use super::{exchanges, truncate};

/// Maximum tokens of the note about omitted messages.
const NOTE: u64 = 24;

/// The part of a conversation that a request contains.
#[derive(Debug, Clone, PartialEq)]
pub struct OutgoingHistory {
    /// The messages, oldest first.
    pub messages: Vec<Arc<Message>>,
    /// Number of omitted messages, without those that a summary replaces.
    pub dropped: usize,
    /// Number of truncated results, if the newest messages alone did not fit.
    pub shortened: usize,
    /// Estimated tokens of the messages. Above the budget only if the newest messages alone do not
    /// fit, even with their results truncated.
    pub estimate: u64,
}

/// Returns the outgoing copy of a history in at most `budget` tokens: the summary, then the
/// messages after it. `sizes` are the current estimates of this history.
#[must_use]
pub fn trim_history(
    history: &[Arc<Message>],
    summary: Option<&Summary>,
    budget: u64,
    sizes: &MessageSizes,
) -> OutgoingHistory {
    let covered = summary.map_or(0, |summary| summary.covers.min(history.len()));
    let mut copy = OutgoingBuilder::default();
    if let Some(summary) = summary {
        copy.make(summary.message());
    }
    let mut kept = KeptRange { newest_said: None, from: covered };
    if copy.estimate + sizes.size_from(covered) > budget {
        let room = budget.saturating_sub(copy.estimate + NOTE);
        kept = choose(history, covered, room, sizes);
    }
    if let Some(place) = kept.newest_said {
        copy.take(history, place, sizes);
    }
    let dropped = kept.from - covered - usize::from(kept.newest_said.is_some());
    if dropped > 0 {
        copy.make(note(dropped));
    }
    let first_kept = copy.messages.len();
    for place in kept.from..history.len() {
        copy.take(history, place, sizes);
    }
    let shortened = copy.shorten(first_kept, budget);
    OutgoingHistory { messages: copy.messages, dropped, shortened, estimate: copy.estimate }
}

fn note(dropped: usize) -> UserMessage {
    let text = match dropped {
        1 => "[1 earlier message was left out]".to_owned(),
        _ => format!("[{dropped} earlier messages were left out]"),
    };
    UserMessage { text, images: Vec::new(), kind: UserKind::Guard }
}

/// The messages that stay.
struct KeptRange {
    /// Index of the last message of a person, if it stays although messages after it are left out.
    newest_said: Option<usize>,
    /// All messages from this index on stay.
    from: usize,
}

fn choose(history: &[Arc<Message>], covered: usize, room: u64, sizes: &MessageSizes) -> KeptRange {
    // As many whole exchanges as fit.
    let fitting = first_that_fits(history.len(), covered, room, sizes);
    if let Some(from) = exchanges::starts(history, fitting).next() {
        return KeptRange { newest_said: None, from };
    }
    // The newest exchange is too long: as many of its rounds as fit, at least the newest.
    let said = exchanges::starts(history, covered).next_back();
    let after = said.map_or(covered, |place| place + 1);
    let room = room.saturating_sub(said.map_or(0, |place| sizes.size(place)));
    let newest_round = history
        .iter()
        .skip(after)
        .rposition(|message| matches!(**message, Message::Model(_)))
        .map_or(after, |place| after + place);
    let from = first_that_fits(history.len(), after, room, sizes).min(newest_round);
    match said {
        Some(place) if from == after => KeptRange { newest_said: None, from: place },
        newest_said => KeptRange { newest_said, from },
    }
}

/// Returns the first index from which all messages fit together, not before `least`.
fn first_that_fits(end: usize, least: usize, room: u64, sizes: &MessageSizes) -> usize {
    let mut total = 0;
    let fits = |place: &usize| {
        total += sizes.size(*place);
        total <= room
    };
    (least..end).rev().take_while(fits).last().unwrap_or(end)
}

#[derive(Default)]
struct OutgoingBuilder {
    messages: Vec<Arc<Message>>,
    estimate: u64,
}

impl OutgoingBuilder {
    fn make(&mut self, message: UserMessage) {
        self.estimate += token_estimate::user(&message);
        self.messages.push(Arc::new(Message::User(message)));
    }

    fn take(&mut self, history: &[Arc<Message>], place: usize, sizes: &MessageSizes) {
        if let Some(message) = history.get(place) {
            self.estimate += sizes.size(place);
            self.messages.push(Arc::clone(message));
        }
    }

    /// Truncates results from an index on until everything fits; returns their number.
    fn shorten(&mut self, from: usize, budget: u64) -> usize {
        let mut count = 0;
        for slot in self.messages.iter_mut().skip(from) {
            let Message::Model(message) = &**slot else { continue };
            if self.estimate <= budget || message.answers().is_empty() {
                continue;
            }
            let (shorter, shortened) = truncate::truncate_results(message, self.estimate - budget);
            if shortened > 0 {
                let saved =
                    token_estimate::model(message).saturating_sub(token_estimate::model(&shorter));
                self.estimate = self.estimate.saturating_sub(saved);
                *slot = Arc::new(Message::Model(Box::new(shorter)));
                count += shortened;
            }
        }
        count
    }
}

#[cfg(test)]
mod tests {
    use super::super::property_tests::{answered, said};
    use super::*;

    fn texts(outgoing: &OutgoingHistory) -> Vec<String> {
        let text = |message: &Arc<Message>| match &**message {
            Message::User(message) => message.text.clone(),
            Message::Model(message) => message.turn.text.clone(),
        };
        outgoing.messages.iter().map(text).collect()
    }

    fn check(history: &[Arc<Message>], summary: Option<&Summary>, budget: u64, expected: &[&str]) {
        let outgoing = trim_history(history, summary, budget, &MessageSizes::new(history));
        let short = |text: &String| text.chars().take(40).collect::<String>();
        assert_eq!(texts(&outgoing).iter().map(short).collect::<Vec<_>>(), expected);
        assert!(outgoing.estimate <= budget, "{}", outgoing.estimate);
    }

    /// Two exchanges; each message is about 250 tokens.
    fn history() -> Vec<Arc<Message>> {
        let long = |name: &str| format!("{name:40}{}", "x".repeat(700));
        vec![
            said(UserKind::Typed, &long("one")),
            answered(&long("first"), &["r"]),
            said(UserKind::Typed, &long("two")),
            answered(&long("second"), &["r"]),
            said(UserKind::Guard, "hint"),
            answered(&long("third"), &["r"]),
        ]
    }

    fn named(name: &str) -> String {
        format!("{name:40}")
    }

    #[test]
    fn what_fits_goes_as_it_is() {
        let history = history();
        let sizes = MessageSizes::new(&history);
        let whole = trim_history(&history, None, u64::MAX, &sizes);
        assert_eq!((whole.messages.len(), whole.dropped, whole.shortened), (6, 0, 0));
        assert_eq!(whole.estimate, sizes.size_from(0));
        assert!(whole.messages.iter().zip(&history).all(|(a, b)| Arc::ptr_eq(a, b)));
    }

    #[test]
    fn oldest_exchanges_go_first_then_oldest_rounds() {
        let history = history();
        let sizes = MessageSizes::new(&history);
        let (one, two, second, third) =
            (named("one"), named("two"), named("second"), named("third"));
        let note = |n| format!("[{n} earlier messages were left out]");
        let all = sizes.size_from(0);
        check(&history, None, all, &[&one, &named("first"), &two, &second, "hint", &third]);
        check(&history, None, all - 1, &[&note(2), &two, &second, "hint", &third]);
        check(
            &history,
            None,
            sizes.size_from(2) + NOTE,
            &[&note(2), &two, &second, "hint", &third],
        );
        check(&history, None, sizes.size_from(2) + NOTE - 1, &[&two, &note(3), "hint", &third]);
        check(&history, None, sizes.size(2) + sizes.size(5) + NOTE, &[&two, &note(4), &third]);
    }

    #[test]
    fn a_summary_stands_for_what_it_covers() {
        let history = history();
        let sizes = MessageSizes::new(&history);
        let summary = Summary { text: "they met".into(), covers: 2 };
        let head = "[Conversation summary: they met]";
        let size = token_estimate::user(&summary.message());
        let (two, second, third) = (named("two"), named("second"), named("third"));
        let most = size + sizes.size_from(2);
        check(&history, Some(&summary), most, &[head, &two, &second, "hint", &third]);
        check(
            &history,
            Some(&summary),
            most - 1,
            &[head, &two, "[1 earlier message was left out]", "hint", &third],
        );
        let beyond = Summary { covers: 99, ..summary };
        check(&history, Some(&beyond), most, &[head]);
    }

    #[test]
    fn results_are_shortened_when_the_newest_round_alone_is_too_long() {
        let long = "line of a result\n".repeat(500);
        let history =
            vec![said(UserKind::Typed, "go"), answered("calls", &[&long, &long, "short"])];
        let sizes = MessageSizes::new(&history);
        for (budget, shortened) in
            [(sizes.size_from(0), 0), (sizes.size_from(0) - 300, 1), (900, 2)]
        {
            let outgoing = trim_history(&history, None, budget, &sizes);
            assert_eq!((outgoing.shortened, outgoing.dropped), (shortened, 0), "{budget}");
            assert!(outgoing.estimate <= budget, "{budget} {}", outgoing.estimate);
            let Message::Model(message) = &*outgoing.messages[1] else { panic!() };
            let text =
                |at: usize| message.answers()[at].as_ref().unwrap().wire["result"].to_string();
            assert_eq!(text(0).contains("characters left out"), shortened > 0);
            assert_eq!(text(1).contains("characters left out"), shortened > 1);
            assert_eq!(text(2), "\"short\"");
        }
        assert_eq!(
            sizes.size_from(0),
            MessageSizes::new(&history).size_from(0),
            "the history is as it was"
        );
    }

    #[test]
    fn structured_results_and_pictures_are_shortened_too() {
        let rows: Vec<_> = (0..500).map(|n| serde_json::json!({"row": n, "\"": "\\"})).collect();
        let mut message = answered("calls", &["placeholder"]);
        let Message::Model(model) = Arc::make_mut(&mut message) else { panic!() };
        let mut answer = model.answers()[0].clone().unwrap();
        answer.wire["result"] = rows.into();
        let blob = toolcrib_core::Blob { media_type: "image/png".into(), data: vec![1] };
        answer.media = vec![toolcrib_core::Block::Image(blob)];
        **model = toolcrib_providers::conversation::ModelMessage::new(model.turn.clone(), "p", "m");
        assert!(model.answer(0, answer));
        let history = vec![said(UserKind::Typed, "go"), message];
        let sizes = MessageSizes::new(&history);
        for (budget, media) in [(token_estimate::IMAGE_TOKENS + 500, 1), (500, 0)] {
            let outgoing = trim_history(&history, None, budget, &sizes);
            assert!(outgoing.estimate <= budget, "{budget} {}", outgoing.estimate);
            let Message::Model(message) = &*outgoing.messages[1] else { panic!() };
            let answer = message.answers()[0].as_ref().unwrap();
            assert_eq!(answer.media.len(), media);
            assert_eq!(answer.wire["media_left_out"], serde_json::json!((media == 0).then_some(1)));
        }
    }

    #[test]
    fn a_message_that_cannot_be_shortened_goes_and_is_reported() {
        let history = vec![said(UserKind::Typed, &"x".repeat(4_000))];
        let outgoing = trim_history(&history, None, 10, &MessageSizes::new(&history));
        assert_eq!(outgoing.messages.len(), 1);
        assert_eq!(outgoing.estimate, 1_004);
    }
}
