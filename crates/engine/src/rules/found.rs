//! What is found for a call or a part of it: the rules that decide.
#![deny(clippy::indexing_slicing)]

use std::collections::HashMap;

use toolcrib_core::{RuleRef, Verdict};

use super::path::Fit;
use super::rule::Rule;
use super::scope::Caller;

/// The rules that speak about something, of each effect the first one of the strongest layer.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Found {
    pub(super) deny: Option<u32>,
    pub(super) ask: Option<u32>,
    /// A deny or ask rule that is perhaps about it.
    pub(super) could: Option<u32>,
    pub(super) allow: Option<u32>,
}

/// The rules as one caller has them.
pub(super) struct Rules<'a> {
    all: &'a [Rule],
    caller: Caller<'a>,
    /// Of those with a scope, whether it holds.
    held: HashMap<u32, bool, foldhash::fast::RandomState>,
}

impl<'a> Rules<'a> {
    pub(super) fn new(all: &'a [Rule], caller: Caller<'a>) -> Self {
        Self { all, caller, held: HashMap::default() }
    }

    /// A rule, if it holds for the caller.
    pub(super) fn get(&mut self, number: u32) -> Option<&'a Rule> {
        let rule = self.all.get(number as usize)?;
        if rule.scope.is_open() {
            return Some(rule);
        }
        let caller = self.caller;
        self.held.entry(number).or_insert_with(|| rule.scope.holds(&caller)).then_some(rule)
    }

    /// How the rule is named.
    pub(super) fn named(&self, number: u32) -> Option<&'a RuleRef> {
        self.all.get(number as usize).map(|rule| &rule.named)
    }

    fn stronger(&self, one: Option<u32>, other: u32) -> Option<u32> {
        let rank = |number: u32| (self.all.get(number as usize).map(|rule| rule.layer), number);
        Some(one.map_or(other, |one| if rank(other) < rank(one) { other } else { one }))
    }

    /// Adds a rule that fits, if it holds for the caller.
    pub(super) fn take(&mut self, found: &mut Found, number: u32, fit: Fit) {
        let Some(rule) = self.get(number) else { return };
        match (fit, rule.effect) {
            (Fit::No, _) | (Fit::Could, Verdict::Allow) => {}
            (Fit::Could, _) => found.could = self.stronger(found.could, number),
            (Fit::Yes, Verdict::Deny) => found.deny = self.stronger(found.deny, number),
            (Fit::Yes, Verdict::Ask) => found.ask = self.stronger(found.ask, number),
            (Fit::Yes, Verdict::Allow) => found.allow = self.stronger(found.allow, number),
        }
    }

    /// Both together.
    pub(super) fn join(&mut self, found: &mut Found, other: Found) {
        for number in [other.deny, other.ask, other.allow].into_iter().flatten() {
            self.take(found, number, Fit::Yes);
        }
        if let Some(number) = other.could {
            self.take(found, number, Fit::Could);
        }
    }
}

impl Found {
    /// The strictest of it, with its rule.
    pub(super) fn verdict(&self) -> Option<(Verdict, u32)> {
        self.deny
            .map(|rule| (Verdict::Deny, rule))
            .or(self.ask.map(|rule| (Verdict::Ask, rule)))
            .or(self.could.map(|rule| (Verdict::Ask, rule)))
            .or(self.allow.map(|rule| (Verdict::Allow, rule)))
    }

    /// Whether it asks only because a rule is perhaps about it.
    pub(super) fn is_perhaps(&self) -> bool {
        self.deny.is_none() && self.ask.is_none() && self.could.is_some()
    }
}
