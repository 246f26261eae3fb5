//! The verdict on a call: the result of rules, or the default if no rule matches.

use toolcrib_app::rules::{Evaluation, SegmentEvaluation};
use toolcrib_core::{Decider, RuleRef, Ruling, Verdict};

/// The verdict if no rule matches.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct DefaultVerdict {
    /// The verdict.
    pub(super) verdict: Verdict,
    /// `default`, `preset`, or the part of policy besides rules that decides.
    pub(super) by: &'static str,
    /// The reason, in words.
    pub(super) reason: String,
}

impl DefaultVerdict {
    /// Creates the default that the caller gives.
    #[must_use]
    pub(super) fn given(verdict: Verdict) -> Self {
        Self { verdict, by: "default", reason: format!("the default is {verdict}") }
    }

    /// Creates the default from the ruling of all parts of policy except rules.
    #[must_use]
    pub(super) fn from_ruling(ruling: Ruling) -> Self {
        let by = match ruling.by {
            Decider::Rule => "preset",
            by => decider_word(by),
        };
        Self { verdict: ruling.verdict, by, reason: ruling.reason.into_owned() }
    }
}

/// The verdict on a call, with the deciding rule.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct CallVerdict {
    /// The verdict.
    pub(super) verdict: Verdict,
    /// The deciding rule; `None` if no rule decides.
    pub(super) rule: Option<RuleRef>,
    /// The reason, in words.
    pub(super) reason: String,
    /// `rule`, `floor`, or a value of [`DefaultVerdict::by`].
    pub(super) by: &'static str,
    /// Parts of a command line, in order; empty for other calls.
    pub(super) segments: Vec<SegmentVerdict>,
}

/// Returns the part of policy that decides, in one word.
fn decider_word(by: Decider) -> &'static str {
    match by {
        Decider::Permission => "permission",
        Decider::Taint => "taint",
        Decider::Tool => "tool",
        Decider::Switch => "switch",
        Decider::Gate => "gate",
        Decider::Rule => "rule",
        Decider::Preset => "preset",
    }
}

/// The verdict on one part of a command line.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct SegmentVerdict {
    /// The evaluation by rules.
    pub(super) evaluation: SegmentEvaluation,
    /// The verdict.
    pub(super) verdict: Verdict,
}

impl CallVerdict {
    /// Combines the parts: the strictest verdict wins; a part that no rule matches gets the
    /// default.
    #[must_use]
    pub(super) fn new(evaluation: Evaluation, otherwise: &DefaultVerdict) -> Self {
        let Evaluation { verdict, rule, always_asks, reason, segments } = evaluation;
        let resolved = |said: Option<Verdict>, rule: &Option<RuleRef>| match (said, rule) {
            (Some(said), Some(_)) => said,
            (Some(least), None) => least.max(otherwise.verdict),
            (None, _) => otherwise.verdict,
        };
        let is_allowed = verdict == Some(Verdict::Allow);
        let part = |evaluation: SegmentEvaluation| {
            let needs_no_rule =
                evaluation.verdict.is_none() && (is_allowed || is_input_redirect(&evaluation.text));
            let verdict = match needs_no_rule {
                true => Verdict::Allow,
                false => resolved(evaluation.verdict, &evaluation.rule),
            };
            SegmentVerdict { evaluation, verdict }
        };
        let segments: Vec<SegmentVerdict> = segments.into_iter().map(part).collect();
        let own = resolved(verdict, &rule);
        let whole = segments.iter().map(|part| part.verdict).max().unwrap_or(own).max(own);
        if rule.is_some() && verdict == Some(whole) {
            return Self { verdict: whole, rule, reason, by: "rule", segments };
        }
        let reason = match verdict {
            Some(said) if said == whole => reason,
            _ => format!("{reason}; {}", otherwise.reason),
        };
        let by = if always_asks && whole == Verdict::Ask { "floor" } else { otherwise.by };
        Self { verdict: whole, rule: None, reason, by, segments }
    }

    /// Replaces the verdict by the ruling of the engine.
    pub(super) fn overruled(self, ruling: Ruling) -> Self {
        Self {
            verdict: ruling.verdict,
            by: decider_word(ruling.by),
            rule: ruling.rule,
            reason: ruling.reason.into_owned(),
            segments: self.segments,
        }
    }
}

/// Returns whether the text is an input redirect: reading a file needs no rule.
fn is_input_redirect(text: &str) -> bool {
    text.trim_start_matches(|c: char| c.is_ascii_digit()).starts_with('<')
}
