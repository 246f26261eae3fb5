//! Rules, ready to judge.
#![deny(clippy::indexing_slicing)]

use std::sync::Arc;

use toolcrib_core::{RuleRef, ToolSpec, Verdict};

use super::command_pattern::CommandPattern;
use super::evaluate::{self, ToolContext};
use super::evaluation::{Evaluation, RuleQuery, SegmentEvaluation};
use super::index::Index;
use super::lint::{self, Finding, Severity};
use super::matches::CallerRules;
use super::operation_classes;
use super::rule::{Rule, RulePattern};
use super::rule_scope::Caller;
use super::rule_source::{RuleError, RuleSource};

/// Rules of all layers, ready to judge. Cheap to clone: clones are the same rules.
#[derive(Debug, Clone, Default)]
pub struct RuleSet {
    inner: Arc<Inner>,
}

#[derive(Debug, Default)]
struct Inner {
    written: Vec<RuleSource>,
    rules: Vec<Rule>,
    index: Index,
    /// Whether a rule denies single paths.
    denies_paths: bool,
}

impl RuleSet {
    /// Takes rules, all or none.
    ///
    /// # Errors
    /// Every rule that can never match, is dangerous, or fails its own examples, with the spelling
    /// that works.
    pub fn compile(rules: Vec<RuleSource>) -> Result<Self, Vec<RuleError>> {
        Self::take(rules, None)
    }

    /// The same where it is known which tools there are: a rule for another one is a fault, unless
    /// its name is that of a server's tool (`server__tool`), which may be loaded later.
    ///
    /// # Errors
    /// As [`RuleSet::compile`].
    pub fn compile_for(rules: Vec<RuleSource>, known: &[String]) -> Result<Self, Vec<RuleError>> {
        Self::take(rules, Some(known))
    }

    fn take(written: Vec<RuleSource>, known: Option<&[String]>) -> Result<Self, Vec<RuleError>> {
        let (findings, rules) = lint::check(&written, known);
        let faults: Vec<RuleError> = findings
            .into_iter()
            .filter(|finding| finding.severity == Severity::Error)
            .map(RuleError::from)
            .collect();
        if !faults.is_empty() {
            return Err(faults);
        }
        Ok(Self::with(written, rules))
    }

    /// Rules that were read before, for the examples of one.
    pub(super) fn of_rules(rules: Vec<Rule>) -> Self {
        Self::with(Vec::new(), rules)
    }

    fn with(written: Vec<RuleSource>, rules: Vec<Rule>) -> Self {
        let index = Index::new(&rules);
        let denies_paths = rules.iter().any(Rule::denies_paths);
        Self { inner: Arc::new(Inner { written, rules, index, denies_paths }) }
    }

    /// The rules as they were read.
    pub(super) fn rules(&self) -> &[Rule] {
        &self.inner.rules
    }

    /// Whether a rule denies single paths to a caller.
    #[must_use]
    pub fn has_path_denials(&self) -> bool {
        self.inner.denies_paths
    }

    /// What is to be said of rules: all that [`RuleSet::compile`] refuses, and warnings. In the
    /// order of the rules.
    #[must_use]
    pub fn lint(rules: &[RuleSource]) -> Vec<Finding> {
        lint::check(rules, None).0
    }

    /// The same where it is known which tools there are.
    #[must_use]
    pub fn lint_for(rules: &[RuleSource], known: &[String]) -> Vec<Finding> {
        lint::check(rules, Some(known)).0
    }

    /// The rules as they are written, in their order.
    #[must_use]
    pub fn sources(&self) -> &[RuleSource] {
        &self.inner.written
    }

    /// The same rules, with those that are only observed in force; `None` where none is observed.
    ///
    /// # Errors
    /// As [`RuleSet::compile`]: a rule in force may contradict another one.
    pub fn with_observed(&self) -> Option<Result<Self, Vec<RuleError>>> {
        if !self.inner.written.iter().any(|rule| rule.text.is_observed) {
            return None;
        }
        let mut written = self.inner.written.clone();
        written.iter_mut().for_each(|rule| rule.text.is_observed = false);
        Some(Self::compile(written))
    }

    /// Whether there are no rules.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.inner.rules.is_empty()
    }

    /// What the rules say of a call.
    #[must_use]
    pub fn evaluate(&self, asked: &RuleQuery<'_>) -> Evaluation {
        self.evaluate_as(asked, ToolContext::default())
    }

    /// The same of a call of a tool whose definition is known: rules that name one of its aliases
    /// speak too, and an external tool that runs command lines is judged by the rules that deny or
    /// ask about them.
    #[must_use]
    pub fn evaluate_tool(&self, asked: &RuleQuery<'_>, spec: &ToolSpec) -> Evaluation {
        self.evaluate_as(asked, ToolContext { spec: Some(spec) })
    }

    fn evaluate_as(&self, asked: &RuleQuery<'_>, tool: ToolContext<'_>) -> Evaluation {
        let mut rules = CallerRules::new(&self.inner.rules, caller(asked));
        evaluate::evaluate(&self.inner.index, &mut rules, asked, tool)
    }

    /// The rule that denies every call of a tool to everybody for good: views leave the tool out.
    #[must_use]
    pub fn hiding_rule(&self, spec: &ToolSpec) -> Option<&RuleRef> {
        let names =
            std::iter::once(spec.name.as_str()).chain(spec.aliases.iter().map(String::as_str));
        let number = names.filter_map(|name| self.inner.index.hiding_rule(name)).min()?;
        self.inner.rules.get(number as usize).map(|rule| &rule.named)
    }

    /// Allow rules that hold for the caller of a denied call and are close to what was denied, at
    /// most so many: what would be allowed instead. Close are other commands of the same program
    /// and other folders of the workspace. A rule about anything else, such as one file of the home
    /// folder, would only tell the model about things that have nothing to do with its call.
    #[must_use]
    pub fn allowing_rules(
        &self,
        asked: &RuleQuery<'_>,
        denied: &[SegmentEvaluation],
        most: usize,
    ) -> Vec<&RuleRef> {
        let names = [asked.operation, asked.tool].map(operation_classes::canonical);
        let caller = caller(asked);
        let speaks = |rule: &&Rule| {
            rule.effect == Verdict::Allow
                && rule.counts()
                && names.iter().any(|name| rule.target.covers(name))
                && rule.scope.holds(&caller)
                && match &rule.what {
                    RulePattern::Command(pattern) => is_of_denied_program(pattern, denied),
                    RulePattern::Path(pattern) => pattern.is_of_workspace(),
                    RulePattern::Any | RulePattern::Host(_) | RulePattern::Argument(_) => false,
                }
        };
        self.inner.rules.iter().filter(speaks).take(most).map(|rule| &rule.named).collect()
    }
}

pub(super) fn caller<'a>(asked: &RuleQuery<'a>) -> Caller<'a> {
    Caller {
        agent: asked.agent,
        channel: asked.channel,
        workspace: asked.workspace,
        now_ms: asked.now_ms,
    }
}

/// Whether a pattern is about a program that one of the denied parts of a command line calls.
fn is_of_denied_program(pattern: &CommandPattern, segments: &[SegmentEvaluation]) -> bool {
    let Some(program) = pattern.words().0.first() else { return false };
    let denied = segments.iter().filter(|segment| segment.verdict == Some(Verdict::Deny));
    denied.filter_map(|segment| segment.text.split_whitespace().next()).any(|word| word == program)
}
