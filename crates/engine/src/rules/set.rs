//! Rules, ready to judge.
#![deny(clippy::indexing_slicing)]

use std::sync::Arc;

use toolcrib_core::{RuleRef, ToolSpec, Verdict};

use super::class_table;
use super::found::Rules;
use super::index::Index;
use super::judge::{self, Tool};
use super::judgement::{Asked, Judgement};
use super::lint::{self, Finding, Severity};
use super::rule::{Rule, What};
use super::scope::Caller;
use super::written::{Fault, Written};

/// Rules of all layers, ready to judge. Cheap to clone: clones are the same rules.
#[derive(Debug, Clone, Default)]
pub struct RuleSet {
    inner: Arc<Inner>,
}

#[derive(Debug, Default)]
struct Inner {
    written: Vec<Written>,
    rules: Vec<Rule>,
    index: Index,
}

impl RuleSet {
    /// Takes rules, all or none.
    ///
    /// # Errors
    /// Every rule that can never match, is dangerous, or fails its own examples, with the spelling that works.
    pub fn compile(rules: Vec<Written>) -> Result<Self, Vec<Fault>> {
        Self::take(rules, None)
    }

    /// The same where it is known which tools there are: a rule for another one is a fault, unless its name is that of a server's tool
    /// (`server__tool`), which may be loaded later.
    ///
    /// # Errors
    /// As [`RuleSet::compile`].
    pub fn compile_for(rules: Vec<Written>, known: &[String]) -> Result<Self, Vec<Fault>> {
        Self::take(rules, Some(known))
    }

    fn take(written: Vec<Written>, known: Option<&[String]>) -> Result<Self, Vec<Fault>> {
        let (findings, rules) = lint::check(&written, known);
        let faults: Vec<Fault> = findings
            .into_iter()
            .filter(|finding| finding.severity == Severity::Error)
            .map(Fault::from)
            .collect();
        if !faults.is_empty() {
            return Err(faults);
        }
        let index = Index::new(&rules);
        Ok(Self { inner: Arc::new(Inner { written, rules, index }) })
    }

    /// Rules that were read before, for the examples of one.
    pub(super) fn of_rules(rules: Vec<Rule>) -> Self {
        let index = Index::new(&rules);
        Self { inner: Arc::new(Inner { written: Vec::new(), rules, index }) }
    }

    /// What is to be said of rules: all that [`RuleSet::compile`] refuses, and warnings. In the order of the rules.
    #[must_use]
    pub fn lint(rules: &[Written]) -> Vec<Finding> {
        lint::check(rules, None).0
    }

    /// The same where it is known which tools there are.
    #[must_use]
    pub fn lint_for(rules: &[Written], known: &[String]) -> Vec<Finding> {
        lint::check(rules, Some(known)).0
    }

    /// The rules as they are written, in their order.
    #[must_use]
    pub fn written(&self) -> &[Written] {
        &self.inner.written
    }

    /// Whether there are no rules.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.inner.rules.is_empty()
    }

    /// What the rules say of a call.
    #[must_use]
    pub fn judge(&self, asked: &Asked<'_>) -> Judgement {
        self.judge_as(asked, Tool::default())
    }

    /// The same of a call of a tool whose definition is known: rules that name one of its aliases speak too, and a program of somebody's
    /// that runs command lines is judged by the rules that deny or ask about them.
    #[must_use]
    pub fn judge_tool(&self, asked: &Asked<'_>, spec: &ToolSpec) -> Judgement {
        self.judge_as(asked, Tool { spec: Some(spec) })
    }

    fn judge_as(&self, asked: &Asked<'_>, tool: Tool<'_>) -> Judgement {
        let mut rules = Rules::new(&self.inner.rules, caller(asked));
        judge::judge(&self.inner.index, &mut rules, asked, tool)
    }

    /// The rule that denies every call of a tool to everybody for good: views leave the tool out.
    #[must_use]
    pub fn removing(&self, spec: &ToolSpec) -> Option<&RuleRef> {
        let names =
            std::iter::once(spec.name.as_str()).chain(spec.aliases.iter().map(String::as_str));
        let number = names.filter_map(|name| self.inner.index.removing(name)).min()?;
        self.inner.rules.get(number as usize).map(|rule| &rule.named)
    }

    /// Allow rules about the operation of a call that hold for its caller, at most so many: what would be allowed instead.
    #[must_use]
    pub fn allowing(&self, asked: &Asked<'_>, most: usize) -> Vec<&RuleRef> {
        let names = [asked.operation, asked.tool].map(class_table::canonical);
        let caller = caller(asked);
        let speaks = |rule: &&Rule| {
            rule.effect == Verdict::Allow
                && rule.counts()
                && names.iter().any(|name| rule.target.covers(name))
                && rule.scope.holds(&caller)
                && !matches!(rule.what, What::Any)
        };
        self.inner.rules.iter().filter(speaks).take(most).map(|rule| &rule.named).collect()
    }
}

fn caller<'a>(asked: &Asked<'a>) -> Caller<'a> {
    Caller {
        agent: asked.agent,
        channel: asked.channel,
        workspace: asked.workspace,
        now_ms: asked.now_ms,
    }
}
