//! The outgoing copy: what of the stored history a request carries, so that it fits.
//!
//! Oldest whole exchanges go first. When the newest exchange alone is too long, what the person said stays, and its oldest rounds go. A
//! message of the model goes only with its results, which are inside it: nothing can be orphaned. The stored history is never changed.

use std::sync::Arc;

use toolcrib_providers::chat::{Message, UserKind, UserMessage};

use super::compaction::Summary;
use super::estimate::{self, Sizes};
use super::{exchange, shorten};

/// Tokens that the note about what was left out needs at most.
const NOTE: u64 = 24;

/// What a request carries of a conversation.
#[derive(Debug, Clone, PartialEq)]
pub struct Outgoing {
    /// The messages, oldest first.
    pub messages: Vec<Arc<Message>>,
    /// Messages that were left out, beside those that a summary replaces.
    pub dropped: usize,
    /// Results that were shortened, because the newest messages alone did not fit.
    pub shortened: usize,
    /// Tokens of the messages, as an estimate. It is above the budget only when the newest messages alone do not fit, even with their
    /// results shortened.
    pub estimate: u64,
}

/// The outgoing copy of a history in at most `budget` tokens: the summary, then the messages after it. `sizes` are the estimates of this
/// history, up to date.
#[must_use]
pub fn outgoing(
    history: &[Arc<Message>],
    summary: Option<&Summary>,
    budget: u64,
    sizes: &Sizes,
) -> Outgoing {
    let covered = summary.map_or(0, |summary| summary.covers.min(history.len()));
    let mut copy = Copy::default();
    if let Some(summary) = summary {
        copy.make(summary.message());
    }
    let mut kept = Kept { newest_said: None, from: covered };
    if copy.estimate + sizes.since(covered) > budget {
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
    Outgoing { messages: copy.messages, dropped, shortened, estimate: copy.estimate }
}

fn note(dropped: usize) -> UserMessage {
    let text = match dropped {
        1 => "[1 earlier message was left out]".to_owned(),
        _ => format!("[{dropped} earlier messages were left out]"),
    };
    UserMessage { text, images: Vec::new(), kind: UserKind::Guard }
}

/// Which messages stay.
struct Kept {
    /// Place of what the person said last, when it stays although messages after it go.
    newest_said: Option<usize>,
    /// From here on all stay.
    from: usize,
}

fn choose(history: &[Arc<Message>], covered: usize, room: u64, sizes: &Sizes) -> Kept {
    // As many whole exchanges as fit.
    let fitting = first_that_fits(history.len(), covered, room, sizes);
    if let Some(from) = exchange::starts(history, fitting).next() {
        return Kept { newest_said: None, from };
    }
    // The newest exchange is too long: as many of its rounds as fit, the newest in any case.
    let said = exchange::starts(history, covered).next_back();
    let after = said.map_or(covered, |place| place + 1);
    let room = room.saturating_sub(said.map_or(0, |place| sizes.of(place)));
    let newest_round = history
        .iter()
        .skip(after)
        .rposition(|message| matches!(**message, Message::Model(_)))
        .map_or(after, |place| after + place);
    let from = first_that_fits(history.len(), after, room, sizes).min(newest_round);
    match said {
        Some(place) if from == after => Kept { newest_said: None, from: place },
        newest_said => Kept { newest_said, from },
    }
}

/// The first place from which all messages fit together, not before `least`.
fn first_that_fits(end: usize, least: usize, room: u64, sizes: &Sizes) -> usize {
    let mut total = 0;
    let fits = |place: &usize| {
        total += sizes.of(*place);
        total <= room
    };
    (least..end).rev().take_while(fits).last().unwrap_or(end)
}

#[derive(Default)]
struct Copy {
    messages: Vec<Arc<Message>>,
    estimate: u64,
}

impl Copy {
    fn make(&mut self, message: UserMessage) {
        self.estimate += estimate::user(&message);
        self.messages.push(Arc::new(Message::User(message)));
    }

    fn take(&mut self, history: &[Arc<Message>], place: usize, sizes: &Sizes) {
        if let Some(message) = history.get(place) {
            self.estimate += sizes.of(place);
            self.messages.push(Arc::clone(message));
        }
    }

    /// Shortens results from a place on until all fits; returns how many.
    fn shorten(&mut self, from: usize, budget: u64) -> usize {
        let mut count = 0;
        for slot in self.messages.iter_mut().skip(from) {
            let Message::Model(message) = &**slot else { continue };
            if self.estimate <= budget || message.answers().is_empty() {
                continue;
            }
            let (shorter, shortened) = shorten::results(message, self.estimate - budget);
            if shortened > 0 {
                let saved = estimate::model(message).saturating_sub(estimate::model(&shorter));
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
    use super::super::properties::{answered, said};
    use super::*;

    fn texts(outgoing: &Outgoing) -> Vec<String> {
        let text = |message: &Arc<Message>| match &**message {
            Message::User(message) => message.text.clone(),
            Message::Model(message) => message.turn.text.clone(),
        };
        outgoing.messages.iter().map(text).collect()
    }

    fn check(history: &[Arc<Message>], summary: Option<&Summary>, budget: u64, expected: &[&str]) {
        let outgoing = outgoing(history, summary, budget, &Sizes::new(history));
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
        let sizes = Sizes::new(&history);
        let whole = outgoing(&history, None, u64::MAX, &sizes);
        assert_eq!((whole.messages.len(), whole.dropped, whole.shortened), (6, 0, 0));
        assert_eq!(whole.estimate, sizes.since(0));
        assert!(whole.messages.iter().zip(&history).all(|(a, b)| Arc::ptr_eq(a, b)));
    }

    #[test]
    fn oldest_exchanges_go_first_then_oldest_rounds() {
        let history = history();
        let sizes = Sizes::new(&history);
        let (one, two, second, third) =
            (named("one"), named("two"), named("second"), named("third"));
        let note = |n| format!("[{n} earlier messages were left out]");
        let all = sizes.since(0);
        check(&history, None, all, &[&one, &named("first"), &two, &second, "hint", &third]);
        check(&history, None, all - 1, &[&note(2), &two, &second, "hint", &third]);
        check(&history, None, sizes.since(2) + NOTE, &[&note(2), &two, &second, "hint", &third]);
        check(&history, None, sizes.since(2) + NOTE - 1, &[&two, &note(3), "hint", &third]);
        check(&history, None, sizes.of(2) + sizes.of(5) + NOTE, &[&two, &note(4), &third]);
    }

    #[test]
    fn a_summary_stands_for_what_it_covers() {
        let history = history();
        let sizes = Sizes::new(&history);
        let summary = Summary { text: "they met".into(), covers: 2 };
        let head = "[Conversation summary: they met]";
        let size = estimate::user(&summary.message());
        let (two, second, third) = (named("two"), named("second"), named("third"));
        let most = size + sizes.since(2);
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
        let sizes = Sizes::new(&history);
        for (budget, shortened) in [(sizes.since(0), 0), (sizes.since(0) - 300, 1), (900, 2)] {
            let outgoing = outgoing(&history, None, budget, &sizes);
            assert_eq!((outgoing.shortened, outgoing.dropped), (shortened, 0), "{budget}");
            assert!(outgoing.estimate <= budget, "{budget} {}", outgoing.estimate);
            let Message::Model(message) = &*outgoing.messages[1] else { panic!() };
            let text =
                |at: usize| message.answers()[at].as_ref().unwrap().wire["result"].to_string();
            assert_eq!(text(0).contains("characters left out"), shortened > 0);
            assert_eq!(text(1).contains("characters left out"), shortened > 1);
            assert_eq!(text(2), "\"short\"");
        }
        assert_eq!(sizes.since(0), Sizes::new(&history).since(0), "the history is as it was");
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
        **model = toolcrib_providers::chat::ModelMessage::new(model.turn.clone(), "p", "m");
        assert!(model.answer(0, answer));
        let history = vec![said(UserKind::Typed, "go"), message];
        let sizes = Sizes::new(&history);
        for (budget, media) in [(estimate::PICTURE + 500, 1), (500, 0)] {
            let outgoing = outgoing(&history, None, budget, &sizes);
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
        let outgoing = outgoing(&history, None, 10, &Sizes::new(&history));
        assert_eq!(outgoing.messages.len(), 1);
        assert_eq!(outgoing.estimate, 1_004);
    }
}
