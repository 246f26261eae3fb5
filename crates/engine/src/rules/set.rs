//! Rules, ready to judge.

use std::sync::Arc;

use super::judgement::{Asked, Judgement};
use super::written::{Fault, Written};

/// Rules of all layers, ready to judge. Cheap to clone: clones are the same rules.
#[derive(Debug, Clone, Default)]
pub struct RuleSet {
    rules: Arc<[Written]>,
}

impl RuleSet {
    /// Takes rules, all or none.
    ///
    /// # Errors
    /// Every rule that can never match, is dangerous, or fails its own examples, with the spelling that works.
    pub fn compile(rules: Vec<Written>) -> Result<Self, Vec<Fault>> {
        Ok(Self { rules: rules.into() })
    }

    /// The rules as they are written, in their order.
    #[must_use]
    pub fn written(&self) -> &[Written] {
        &self.rules
    }

    /// What the rules say of a call.
    #[must_use]
    pub fn judge(&self, asked: &Asked<'_>) -> Judgement {
        let _ = asked;
        Judgement {
            verdict: None,
            rule: None,
            reason: "no rule speaks of it".to_owned(),
            segments: Vec::new(),
        }
    }
}
