//! Compiled rules.
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

/// Compiled rules of all layers. Cloning is cheap; clones share the rules.
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
    /// Compiles rules, all or none.
    ///
    /// # Errors
    /// Every rule that can never match, is dangerous, or fails its own examples, with the correct
    /// spelling.
    pub fn compile(rules: Vec<RuleSource>) -> Result<Self, Vec<RuleError>> {
        Self::take(rules, None)
    }

    /// Compiles rules for a known set of tools: a rule for another tool is an error, unless it is
    /// named like a server's tool (`server__tool`), which may be loaded later.
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

    /// Creates a set of parsed rules, for checking the examples of one of them.
    pub(super) fn of_rules(rules: Vec<Rule>) -> Self {
        Self::with(Vec::new(), rules)
    }

    fn with(written: Vec<RuleSource>, rules: Vec<Rule>) -> Self {
        let index = Index::new(&rules);
        let denies_paths = rules.iter().any(Rule::denies_paths);
        Self { inner: Arc::new(Inner { written, rules, index, denies_paths }) }
    }

    /// Returns the parsed rules.
    pub(super) fn rules(&self) -> &[Rule] {
        &self.inner.rules
    }

    /// Returns whether a rule denies single paths to a caller.
    #[must_use]
    pub fn has_path_denials(&self) -> bool {
        self.inner.denies_paths
    }

    /// Returns the findings about rules in the order of the rules: everything that
    /// [`RuleSet::compile`] refuses, and warnings.
    #[must_use]
    pub fn lint(rules: &[RuleSource]) -> Vec<Finding> {
        lint::check(rules, None).0
    }

    /// Returns the findings about rules for a known set of tools.
    #[must_use]
    pub fn lint_for(rules: &[RuleSource], known: &[String]) -> Vec<Finding> {
        lint::check(rules, Some(known)).0
    }

    /// Returns the rules as written, in order.
    #[must_use]
    pub fn sources(&self) -> &[RuleSource] {
        &self.inner.written
    }

    /// Returns a set in which the observed rules are in force; `None` if there are none.
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

    /// Returns whether there are no rules.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.inner.rules.is_empty()
    }

    /// Evaluates a call.
    #[must_use]
    pub fn evaluate(&self, asked: &RuleQuery<'_>) -> Evaluation {
        self.evaluate_as(asked, ToolContext::default())
    }

    /// Evaluates a call of a tool whose definition is known: rules that name one of its aliases
    /// apply too, and deny and ask rules about command lines apply to an external tool that runs
    /// them.
    #[must_use]
    pub fn evaluate_tool(&self, asked: &RuleQuery<'_>, spec: &ToolSpec) -> Evaluation {
        self.evaluate_as(asked, ToolContext { spec: Some(spec) })
    }

    fn evaluate_as(&self, asked: &RuleQuery<'_>, tool: ToolContext<'_>) -> Evaluation {
        let mut rules = CallerRules::new(&self.inner.rules, caller(asked));
        evaluate::evaluate(&self.inner.index, &mut rules, asked, tool)
    }

    /// Returns the rule that denies every call of a tool to all callers permanently: views omit the
    /// tool.
    #[must_use]
    pub fn hiding_rule(&self, spec: &ToolSpec) -> Option<&RuleRef> {
        let names =
            std::iter::once(spec.name.as_str()).chain(spec.aliases.iter().map(String::as_str));
        let number = names.filter_map(|name| self.inner.index.hiding_rule(name)).min()?;
        self.inner.rules.get(number as usize).map(|rule| &rule.named)
    }

    /// Returns at most so many allow rules that apply to the caller of a denied call and are close
    /// to it, as allowed alternatives. Close rules are other commands of the same program and other
    /// folders of the workspace. Any other rule, such as one about a file of the home folder, would
    /// disclose to the model things unrelated to its call.
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

/// Returns whether a pattern is about a program that one of the denied parts of a command line
/// calls.
fn is_of_denied_program(pattern: &CommandPattern, segments: &[SegmentEvaluation]) -> bool {
    let Some(program) = pattern.words().0.first() else { return false };
    let denied = segments.iter().filter(|segment| segment.verdict == Some(Verdict::Deny));
    denied.filter_map(|segment| segment.text.split_whitespace().next()).any(|word| word == program)
}
