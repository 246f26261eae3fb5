//! Index for finding the rules about a call.
#![deny(clippy::indexing_slicing)]

use std::collections::HashMap;

use aho_corasick::AhoCorasick;
use toolcrib_core::{Verdict, tool_pattern};

use super::command_pattern::CommandPattern;
use super::operation_classes::{self, PATHS, PathAccess};
use super::prefix_trie::{End, Trie};
use super::rule::{Rule, RulePattern};

/// Rules of one operation, by kind of specifier.
#[derive(Debug, Clone, Default)]
pub(super) struct OperationRules {
    /// Rules about every call.
    pub(super) any: Vec<u32>,
    pub(super) arguments: Vec<u32>,
    pub(super) hosts: Vec<u32>,
    pub(super) paths: PathRules,
}

/// Rules about paths, by the first part of their pattern.
#[derive(Debug, Clone, Default)]
pub(super) struct PathRules {
    by_first: HashMap<String, Vec<u32>, foldhash::fast::RandomState>,
    others: Vec<u32>,
}

impl PathRules {
    fn add(&mut self, number: u32, rule: &Rule) {
        let first = match &rule.what {
            RulePattern::Path(pattern) => pattern.first_part(),
            _ => None,
        };
        match first {
            Some(first) => self.by_first.entry(first.to_owned()).or_default().push(number),
            None => self.others.push(number),
        }
    }

    pub(super) fn is_empty(&self) -> bool {
        self.by_first.is_empty() && self.others.is_empty()
    }

    /// Returns the rules that may apply to paths with these first parts; `None` for any path.
    pub(super) fn candidates(&self, parts: Option<&[&str]>) -> impl Iterator<Item = u32> {
        let all = self.by_first.values().filter(move |_| parts.is_none());
        let some = parts.unwrap_or_default().iter().filter_map(|part| self.by_first.get(*part));
        self.others.iter().chain(all.chain(some).flatten()).copied()
    }
}

/// Rules about commands.
#[derive(Debug, Clone, Default)]
pub(super) struct CommandRules {
    /// Deny and ask rules without patterns.
    pub(super) strict: Trie,
    /// Deny and ask rules with a `*` among the words.
    pub(super) strict_globs: Vec<Glob>,
    /// Finds the longest literal piece of each of these patterns.
    pub(super) finder: Option<AhoCorasick>,
    /// Patterns without such a piece.
    pub(super) unknown_globs: Vec<usize>,
    /// Allow rules.
    pub(super) allow: Trie,
}

/// A rule with a `*` among its words.
#[derive(Debug, Clone)]
pub(super) struct Glob {
    pub(super) rule: u32,
    pub(super) text: String,
    pub(super) open: bool,
}

/// Index for finding the rules about a call.
#[derive(Debug, Clone, Default)]
pub(super) struct Index {
    names: HashMap<String, OperationRules, foldhash::fast::RandomState>,
    globs: Vec<(String, u32)>,
    /// Rules that deny whole operations to all callers permanently.
    removing: HashMap<String, u32, foldhash::fast::RandomState>,
    removing_globs: Vec<(String, u32)>,
    pub(super) commands: CommandRules,
    /// Deny and ask rules about reading.
    pub(super) reads: PathRules,
    /// Deny and ask rules about changes.
    pub(super) edits: PathRules,
    /// Rules about hosts.
    pub(super) hosts: Vec<u32>,
}

impl Index {
    /// Builds the index of these rules.
    pub(super) fn new(rules: &[Rule]) -> Self {
        let mut index = Self::default();
        for (number, rule) in (0_u32..).zip(rules).filter(|(_, rule)| rule.counts()) {
            index.add(number, rule);
        }
        index.commands.finish();
        index
    }

    fn add(&mut self, number: u32, rule: &Rule) {
        for glob in &rule.target.globs {
            self.globs.push((glob.clone(), number));
        }
        if rule.effect == Verdict::Deny && rule.is_bare() && rule.scope.is_open() {
            for name in &rule.target.names {
                self.removing.entry(name.clone()).or_insert(number);
            }
            let globs = rule.target.globs.iter().map(|glob| (glob.clone(), number));
            self.removing_globs.extend(globs);
        }
        match &rule.what {
            RulePattern::Command(pattern) => self.commands.add(number, rule.effect, pattern),
            RulePattern::Path(_) => self.add_path(number, rule),
            RulePattern::Any | RulePattern::Argument(_) | RulePattern::Host(_) => {
                for name in &rule.target.names {
                    let of = self.names.entry(name.clone()).or_default();
                    match &rule.what {
                        RulePattern::Argument(_) => of.arguments.push(number),
                        RulePattern::Host(_) => of.hosts.push(number),
                        _ => of.any.push(number),
                    }
                }
            }
        }
        if matches!(rule.what, RulePattern::Host(_)) {
            self.hosts.push(number);
        }
    }

    fn add_path(&mut self, number: u32, rule: &Rule) {
        let group = rule.target.group().unwrap_or(PathAccess::Own);
        for (operation, uses) in PATHS {
            let about = match group {
                PathAccess::Read => uses.iter().any(|one| one.reads),
                PathAccess::Edit => uses.iter().any(|one| one.writes),
                PathAccess::Own => rule.target.covers(operation),
            };
            if about {
                self.names.entry((*operation).to_owned()).or_default().paths.add(number, rule);
            }
        }
        if rule.effect == Verdict::Allow {
            return;
        }
        if rule.is_bare() {
            for name in &rule.target.names {
                self.names.entry(name.clone()).or_default().any.push(number);
            }
        }
        match group {
            PathAccess::Read => self.reads.add(number, rule),
            PathAccess::Edit => self.edits.add(number, rule),
            PathAccess::Own => {}
        }
    }

    /// Returns the rules of an operation by this name, or an alias of it.
    pub(super) fn for_operation(&self, name: &str) -> Option<&OperationRules> {
        self.names.get(operation_classes::canonical(name))
    }

    /// Returns the rule that denies a whole tool to all callers permanently.
    pub(super) fn hiding_rule(&self, name: &str) -> Option<u32> {
        let name = operation_classes::canonical(name);
        let of_glob =
            || self.removing_globs.iter().find(|(glob, _)| tool_pattern::glob_matches(glob, name));
        self.removing.get(name).copied().or_else(|| of_glob().map(|(_, rule)| *rule))
    }

    /// Returns the rules whose name pattern matches.
    pub(super) fn for_patterns<'a>(&'a self, name: &'a str) -> impl Iterator<Item = u32> + 'a {
        self.globs
            .iter()
            .filter(move |(glob, _)| tool_pattern::glob_matches(glob, name))
            .map(|(_, rule)| *rule)
    }
}

impl CommandRules {
    fn add(&mut self, number: u32, effect: Verdict, pattern: &CommandPattern) {
        let (words, open) = pattern.words();
        let plain = words.iter().map(String::as_str).take_while(|word| !word.contains('*'));
        let end = match pattern {
            CommandPattern::Glob { .. } => End::Pattern,
            _ if open => End::Open,
            _ => End::Exact,
        };
        if effect == Verdict::Allow {
            self.allow.insert(plain, number, end);
        } else if end == End::Pattern {
            self.strict_globs.push(Glob { rule: number, text: words.join(" "), open });
        } else {
            self.strict.insert(plain, number, end);
        }
    }

    fn finish(&mut self) {
        if self.strict_globs.is_empty() {
            return;
        }
        let pieces: Vec<&str> = self
            .strict_globs
            .iter()
            .map(|glob| glob.text.split('*').max_by_key(|piece| piece.len()).unwrap_or_default())
            .collect();
        // If the pieces cannot be searched, every pattern is compared.
        self.finder = AhoCorasick::new(&pieces).ok();
        let unknown = |piece: &str| piece.is_empty() || self.finder.is_none();
        self.unknown_globs =
            (0..).zip(&pieces).filter(|(_, piece)| unknown(piece)).map(|(at, _)| at).collect();
    }
}
