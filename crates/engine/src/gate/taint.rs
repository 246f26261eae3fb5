//! Taint gate: calls that need an approval after the run has read text from outside, even if rules
//! allow them.
//!
//! No check can reliably distinguish instructions from data in the text of a page, so this gate
//! ignores the wording. It considers the source of the text and the harm that the next call could
//! do with it.

use std::collections::HashMap;

use toolcrib_core::{Decider, Effect, Gate, GateInput, Label, Labels, Reach, ReasonKind, Vote};

use crate::settings::ToolSettings;

/// The harm that a call could do with text from outside.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Harm {
    /// No effect that leaves the workspace or cannot be undone: it reads, searches, or writes where
    /// every change is journaled.
    None,
    /// It fetches from outside: the requested address can carry data of the run.
    Fetches,
    /// It sends data outside, or changes something there.
    Sends,
    /// It runs an unconfined program.
    Runs,
    /// It destroys something.
    Destroys,
}

impl Harm {
    /// All variants, mildest first.
    #[cfg(test)]
    const ALL: [Self; 5] = [Self::None, Self::Fetches, Self::Sends, Self::Runs, Self::Destroys];

    /// Returns the worst harm that a call of this effect and reach could do.
    fn from_assessment(effect: Effect, reach: Reach) -> Self {
        match (effect, reach) {
            (Effect::Destructive, _) => Self::Destroys,
            (_, Reach { exec: true, .. }) => Self::Runs,
            (effect, Reach { outbound: true, .. }) if effect > Effect::Read => Self::Sends,
            (_, Reach { outbound: true, .. }) => Self::Fetches,
            _ => Self::None,
        }
    }

    /// Returns the labels with which a run must ask about such a call; empty if it never asks.
    fn asking_labels(self) -> &'static [Label] {
        match self {
            Self::None => &[],
            Self::Fetches => &Label::ALL,
            Self::Sends | Self::Runs | Self::Destroys => &[Label::Untrusted],
        }
    }

    fn description(self) -> &'static str {
        match self {
            Self::None => "is asked about in such a run, as the settings of the tool say",
            Self::Fetches => "could carry it outside in the address that it asks for",
            Self::Sends => "sends something outside or changes something there",
            Self::Runs => "runs a program that can do whatever it is told",
            Self::Destroys => "destroys something",
        }
    }
}

/// Asks about calls that a labelled run must not make without an approval.
pub(crate) struct TaintGate {
    /// Overrides of the owner: `[tools.NAME] taint`.
    owner: HashMap<String, bool>,
}

impl TaintGate {
    /// Creates a gate with the owner's overrides by canonical tool name.
    pub(crate) fn new<'a>(tools: impl IntoIterator<Item = (&'a String, &'a ToolSettings)>) -> Self {
        let said = |(name, tool): (&'a String, &'a ToolSettings)| Some((name.clone(), tool.taint?));
        Self { owner: tools.into_iter().filter_map(said).collect() }
    }

    /// Returns the labels because of which this call asks; empty if it does not ask.
    fn labels(&self, proposal: &GateInput<'_>, harm: Harm) -> &'static [Label] {
        match self.owner.get(proposal.spec.name.as_str()) {
            Some(false) => &[],
            Some(true) => &[Label::Untrusted],
            None => harm.asking_labels(),
        }
    }
}

impl Gate for TaintGate {
    fn name(&self) -> &'static str {
        "taint"
    }

    fn decider(&self) -> Decider {
        Decider::Taint
    }

    fn evaluate(&self, proposal: &GateInput<'_>) -> Result<Vote, String> {
        if proposal.labels.is_empty() {
            return Ok(Vote::Abstain);
        }
        let harm = Harm::from_assessment(proposal.effect, proposal.reach);
        let labels = self.labels(proposal, harm);
        if labels.is_empty() || labels.iter().any(|label| proposal.labels.get(*label).is_none()) {
            return Ok(Vote::Abstain);
        }
        let reason = reason(proposal.labels, labels, proposal.operation, harm);
        Ok(Vote::Ask { kind: ReasonKind::Taint, reason, rule: None })
    }
}

/// Returns the reason: the content that was read, the result it came from, and the harm that the
/// call could do with it.
fn reason(has: &Labels, asked: &[Label], operation: &str, harm: Harm) -> String {
    let read = has.iter().filter(|(label, _)| asked.contains(label));
    let read: Vec<String> =
        read.map(|(label, by)| format!("{} ({by})", label.description())).collect();
    format!("this run has read {}, and {operation} {}", read.join(" and "), harm.description())
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};
    use toolcrib_core::{CallId, Context, LabelSource, Origin, Risk, ToolName, ToolSpec};

    use super::*;

    const OUTBOUND: Reach = Reach { outbound: true, exec: false, private_read: false };
    const EXEC: Reach = Reach { outbound: false, exec: true, private_read: false };
    const BOTH: Reach = Reach { outbound: true, exec: true, private_read: false };
    const NOWHERE: Reach = Reach { outbound: false, exec: false, private_read: false };

    /// What a call of this effect and reach could do.
    #[rustfmt::skip]
    const TABLE: [(Effect, Reach, Harm); 20] = [
        (Effect::Pure,        NOWHERE,  Harm::None),
        (Effect::Read,        NOWHERE,  Harm::None),
        (Effect::Idempotent,  NOWHERE,  Harm::None),
        (Effect::SideEffect,  NOWHERE,  Harm::None),
        (Effect::Destructive, NOWHERE,  Harm::Destroys),
        (Effect::Pure,        OUTBOUND, Harm::Fetches),
        (Effect::Read,        OUTBOUND, Harm::Fetches),
        (Effect::Idempotent,  OUTBOUND, Harm::Sends),
        (Effect::SideEffect,  OUTBOUND, Harm::Sends),
        (Effect::Destructive, OUTBOUND, Harm::Destroys),
        (Effect::Pure,        EXEC,     Harm::Runs),
        (Effect::Read,        EXEC,     Harm::Runs),
        (Effect::Idempotent,  EXEC,     Harm::Runs),
        (Effect::SideEffect,  EXEC,     Harm::Runs),
        (Effect::Destructive, EXEC,     Harm::Destroys),
        (Effect::Pure,        BOTH,     Harm::Runs),
        (Effect::Read,        BOTH,     Harm::Runs),
        (Effect::Idempotent,  BOTH,     Harm::Runs),
        (Effect::SideEffect,  BOTH,     Harm::Runs),
        (Effect::Destructive, BOTH,     Harm::Destroys),
    ];

    /// And in which runs it is asked about: with no label, private, untrusted, both.
    const ASKS: [(Harm, [bool; 4]); 5] = [
        (Harm::None, [false, false, false, false]),
        (Harm::Fetches, [false, false, false, true]),
        (Harm::Sends, [false, false, true, true]),
        (Harm::Runs, [false, false, true, true]),
        (Harm::Destroys, [false, false, true, true]),
    ];

    fn runs() -> [Labels; 4] {
        let by = |tool: &str, source: Option<&str>| LabelSource {
            call: None,
            tool: tool.to_owned(),
            source: source.map(str::to_owned),
        };
        let mut private = Labels::default();
        private.raise(Label::Private, by("read_mail", None));
        let mut untrusted = Labels::default();
        untrusted.raise(Label::Untrusted, by("fetch_url", Some("https://x/y")));
        let mut both = private.clone();
        both.inherit(&untrusted);
        [Labels::default(), private, untrusted, both]
    }

    fn judge(gate: &TaintGate, effect: Effect, reach: Reach, labels: &Labels) -> Vote {
        let name = ToolName::local("work").unwrap();
        let spec = ToolSpec::new(name, "A tool.", json!({"type": "object"}));
        gate.evaluate(&GateInput {
            unconfined: false,
            call: CallId::fresh(),
            run: None,
            origin: Origin::Model,
            context: &Context::default(),
            spec: &spec,
            operation: "work.now",
            args: &Value::Null,
            risk: Risk::Safe,
            effect,
            reach,
            extra_permissions: &[],
            labels,
        })
        .unwrap()
    }

    fn saying(taint: Option<bool>) -> TaintGate {
        let settings = ToolSettings { taint, ..ToolSettings::default() };
        TaintGate::new([(&"work".to_owned(), &settings)])
    }

    #[test]
    fn every_cell_of_the_table() {
        for (effect, reach, harm) in TABLE {
            assert_eq!(Harm::from_assessment(effect, reach), harm, "{effect:?} {reach:?}");
            let private = Reach { private_read: true, ..reach };
            assert_eq!(
                Harm::from_assessment(effect, private),
                harm,
                "reading private data does no harm yet"
            );
            let (_, expected) = ASKS.into_iter().find(|(asked, _)| *asked == harm).unwrap();
            for (labels, asks) in runs().iter().zip(expected) {
                let vote = judge(&saying(None), effect, reach, labels);
                assert_eq!(vote != Vote::Abstain, asks, "{effect:?} {reach:?} {labels}");
            }
        }
        assert_eq!(ASKS.map(|(harm, _)| harm), Harm::ALL);
    }

    #[test]
    fn the_owner_may_say_otherwise_of_a_tool() {
        for (effect, reach, _) in TABLE {
            for (place, labels) in runs().iter().enumerate() {
                assert_eq!(judge(&saying(Some(false)), effect, reach, labels), Vote::Abstain);
                let asks = judge(&saying(Some(true)), effect, reach, labels) != Vote::Abstain;
                assert_eq!(asks, place >= 2, "{effect:?} {reach:?} {labels}");
            }
        }
    }

    #[test]
    fn the_reason_names_what_was_read_and_what_the_call_could_do() {
        let check = |effect, reach, run: usize, expected: &str| {
            let Vote::Ask { kind, reason, rule } =
                judge(&saying(None), effect, reach, &runs()[run])
            else {
                panic!("{expected} is not asked")
            };
            assert_eq!((kind, reason.as_str(), rule), (ReasonKind::Taint, expected, None));
        };
        let read = "this run has read text from outside (fetch_url https://x/y, run by the provider of the model)";
        let sends = "work.now sends something outside or changes something there";
        check(Effect::SideEffect, OUTBOUND, 2, &format!("{read}, and {sends}"));
        check(Effect::SideEffect, OUTBOUND, 3, &format!("{read}, and {sends}"));
        check(Effect::Destructive, NOWHERE, 2, &format!("{read}, and work.now destroys something"));
        let carries = "and private data (read_mail, run by the provider of the model), and work.now could carry it outside in the address that it asks for";
        check(Effect::Read, OUTBOUND, 3, &format!("{read} {carries}"));
    }
}
