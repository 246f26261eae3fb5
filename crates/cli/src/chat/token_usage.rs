//! Tokens and cost of a chat, as far as providers report them.

use toolcrib_agent::context::Money;
use toolcrib_agent::events::Event;

/// Counts answers.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct TokenUsage {
    answers: u64,
    /// Number of answers without reported tokens.
    untold: u64,
    /// Number of answers of models without a known price.
    unpriced: u64,
    input: u64,
    output: u64,
    cost: Option<Money>,
    /// Estimated tokens of tool definitions that were not sent.
    saved: u64,
}

impl TokenUsage {
    pub(crate) fn record(&mut self, event: &Event) {
        if let Event::RunEnd { tokens_saved, .. } = event {
            self.saved = self.saved.saturating_add(*tokens_saved);
        }
        let Event::Answer { usage, cost, .. } = event else { return };
        self.answers += 1;
        match usage.filter(|usage| usage.total().is_some()) {
            Some(usage) => {
                self.input = self.input.saturating_add(usage.input.unwrap_or(0));
                self.output = self.output.saturating_add(usage.output.unwrap_or(0));
            }
            None => self.untold += 1,
        }
        match cost {
            Some(cost) => self.cost = Some(self.cost.unwrap_or_default() + *cost),
            None => self.unpriced += 1,
        }
    }

    /// Renders the usage as text; an unknown figure is not shown as zero.
    pub(crate) fn summary(&self) -> String {
        if self.answers == 0 {
            return "no answer yet".to_owned();
        }
        let mut tokens = match self.untold == self.answers {
            true => "tokens unknown".to_owned(),
            false => format!("{} tokens in, {} out", self.input, self.output),
        };
        if self.untold > 0 && self.untold < self.answers {
            tokens += &format!(" ({} more answers did not say)", self.untold);
        }
        let cost = match self.cost {
            None => "cost unknown".to_owned(),
            Some(cost) if self.unpriced == 0 => format!("cost {cost}"),
            Some(cost) => {
                format!("cost {cost}, without {} answers of unknown price", self.unpriced)
            }
        };
        let saved = match self.saved {
            0 => String::new(),
            saved => format!(" · about {saved} tokens of tool definitions not sent"),
        };
        format!("{} answers · {tokens} · {cost}{saved}", self.answers)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use toolcrib_providers::{Stop, Usage};

    /// Input and output tokens, and micro-dollars.
    type Reported = (Option<(u64, u64)>, Option<u64>);

    #[track_caller]
    fn check(answers: &[Reported], expected: &str) {
        let mut used = TokenUsage::default();
        for (tokens, cost) in answers {
            used.record(&Event::Answer {
                text: String::new(),
                provider: "p".into(),
                model: "m".into(),
                fallback: false,
                stop: Stop::End,
                usage: tokens.map(|(input, output)| Usage {
                    input: Some(input),
                    output: Some(output),
                    ..Usage::default()
                }),
                cost: cost.map(Money),
                hosted: Vec::new(),
                notes: Vec::new(),
            });
        }
        assert_eq!(used.summary(), expected);
    }

    #[test]
    fn what_is_unknown_stays_unknown() {
        check(&[], "no answer yet");
        check(&[(None, None)], "1 answers · tokens unknown · cost unknown");
        check(
            &[(Some((100, 20)), Some(1_500)), (Some((50, 5)), Some(500))],
            "2 answers · 150 tokens in, 25 out · cost $0.0020 (estimate)",
        );
        check(
            &[(Some((1, 2)), Some(1_500)), (None, None)],
            "2 answers · 1 tokens in, 2 out (1 more answers did not say) · cost $0.0015 (estimate), without 1 answers of unknown price",
        );
    }
}
