//! Matching rules for a call or a part of it.
#![deny(clippy::indexing_slicing)]

use std::collections::HashMap;

use toolcrib_core::{RuleRef, Verdict};

use super::path_pattern::MatchKind;
use super::rule::Rule;
use super::rule_scope::Caller;

/// The matching rules: for each effect the first one of the strongest layer.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct RuleMatches {
    pub(super) deny: Option<u32>,
    pub(super) ask: Option<u32>,
    /// A deny or ask rule that possibly matches.
    pub(super) maybe: Option<u32>,
    pub(super) allow: Option<u32>,
}

/// The rules that apply to one caller.
pub(super) struct CallerRules<'a> {
    all: &'a [Rule],
    caller: Caller<'a>,
    /// For rules with a scope, whether the scope includes the caller.
    scope_holds: HashMap<u32, bool, foldhash::fast::RandomState>,
}

impl<'a> CallerRules<'a> {
    pub(super) fn new(all: &'a [Rule], caller: Caller<'a>) -> Self {
        Self { all, caller, scope_holds: HashMap::default() }
    }

    /// Returns a rule, if it applies to the caller.
    pub(super) fn get(&mut self, number: u32) -> Option<&'a Rule> {
        let rule = self.all.get(number as usize)?;
        if rule.scope.is_open() {
            return Some(rule);
        }
        let caller = self.caller;
        self.scope_holds.entry(number).or_insert_with(|| rule.scope.holds(&caller)).then_some(rule)
    }

    /// Returns the reference of a rule.
    pub(super) fn rule_ref(&self, number: u32) -> Option<&'a RuleRef> {
        self.all.get(number as usize).map(|rule| &rule.named)
    }

    fn stronger(&self, one: Option<u32>, other: u32) -> Option<u32> {
        let rank = |number: u32| (self.all.get(number as usize).map(|rule| rule.layer), number);
        Some(one.map_or(other, |one| if rank(other) < rank(one) { other } else { one }))
    }

    /// Adds a matching rule, if it applies to the caller.
    pub(super) fn add(&mut self, found: &mut RuleMatches, number: u32, fit: MatchKind) {
        let Some(rule) = self.get(number) else { return };
        match (fit, rule.effect) {
            (MatchKind::No, _) | (MatchKind::Could, Verdict::Allow) => {}
            (MatchKind::Could, _) => found.maybe = self.stronger(found.maybe, number),
            (MatchKind::Yes, Verdict::Deny) => found.deny = self.stronger(found.deny, number),
            (MatchKind::Yes, Verdict::Ask) => found.ask = self.stronger(found.ask, number),
            (MatchKind::Yes, Verdict::Allow) => found.allow = self.stronger(found.allow, number),
        }
    }

    /// Merges both sets of matches.
    pub(super) fn join(&mut self, found: &mut RuleMatches, other: RuleMatches) {
        for number in [other.deny, other.ask, other.allow].into_iter().flatten() {
            self.add(found, number, MatchKind::Yes);
        }
        if let Some(number) = other.maybe {
            self.add(found, number, MatchKind::Could);
        }
    }
}

impl RuleMatches {
    /// Returns the strictest verdict with its rule.
    pub(super) fn verdict(&self) -> Option<(Verdict, u32)> {
        self.deny
            .map(|rule| (Verdict::Deny, rule))
            .or(self.ask.map(|rule| (Verdict::Ask, rule)))
            .or(self.maybe.map(|rule| (Verdict::Ask, rule)))
            .or(self.allow.map(|rule| (Verdict::Allow, rule)))
    }

    /// Returns whether the verdict asks only because a rule possibly matches.
    pub(super) fn is_uncertain(&self) -> bool {
        self.deny.is_none() && self.ask.is_none() && self.maybe.is_some()
    }
}
