//! A parsed rule.
#![deny(clippy::indexing_slicing)]

use toolcrib_core::{RuleRef, Verdict};

use super::argument_pattern::ArgumentPattern;
use super::command_pattern::CommandPattern;
use super::host_pattern::HostPattern;
use super::operation_classes::{AGENTS, PathAccess, SpecifierKind};
use super::path_pattern::PathPattern;
use super::rule_scope::RuleScope;
use super::rule_source::{Layer, RuleSource};
use super::target::{self, Target};

/// The part of a call that a rule matches.
#[derive(Debug, Clone)]
pub(super) enum RulePattern {
    /// Every call.
    Any,
    /// Commands.
    Command(CommandPattern),
    /// Files and folders.
    Path(PathPattern),
    /// Hosts.
    Host(HostPattern),
    /// One argument.
    Argument(ArgumentPattern),
}

/// A parsed rule.
#[derive(Debug, Clone)]
pub(super) struct Rule {
    pub(super) effect: Verdict,
    pub(super) layer: Layer,
    pub(super) is_unsafe: bool,
    pub(super) named: RuleRef,
    pub(super) scope: RuleScope,
    pub(super) target: Target,
    pub(super) what: RulePattern,
}

impl Rule {
    /// Parses a rule; the error names the problem and the correct spelling.
    pub(super) fn parse(written: &RuleSource, known: Option<&[String]>) -> Result<Self, String> {
        let text = &written.text;
        let parts = target::split(&text.rule)?;
        let target = target::resolve(parts.tool, text.effect, text.is_unsafe, known)?;
        let what = match parts.specifier {
            None => RulePattern::Any,
            Some(specifier) => read_specifier(parts.tool, specifier, &target, &written.origin)?,
        };
        let what = match (what, target.subject) {
            // Every line, written as a star.
            (RulePattern::Command(CommandPattern::Any), _) => RulePattern::Any,
            // Everything that any tool reads or changes.
            (RulePattern::Any, SpecifierKind::Path(PathAccess::Read | PathAccess::Edit)) => {
                RulePattern::Path(PathPattern::all())
            }
            (what, _) => what,
        };
        let named = RuleRef {
            effect: text.effect,
            rule: text.rule.clone(),
            origin: written.origin.clone(),
            reason: text.reason.clone(),
        };
        Ok(Self {
            effect: text.effect,
            layer: written.layer,
            is_unsafe: text.is_unsafe,
            named,
            scope: RuleScope::parse(text)?,
            target,
            what,
        })
    }

    /// Returns whether the rule matches every call of the operations that it names.
    pub(super) fn is_bare(&self) -> bool {
        match &self.what {
            RulePattern::Any => true,
            RulePattern::Path(pattern) => pattern.is_all(),
            _ => false,
        }
    }

    /// Returns whether the rule can have an effect: allow rules of an untrusted workspace cannot.
    pub(super) fn counts(&self) -> bool {
        self.effect != Verdict::Allow || self.layer != Layer::Untrusted
    }

    /// Returns one spelling for all rules about the same calls.
    pub(super) fn about(&self) -> String {
        let what = match &self.what {
            RulePattern::Any => String::new(),
            RulePattern::Command(pattern) => pattern.canonical(),
            RulePattern::Path(pattern) => pattern.canonical(),
            RulePattern::Host(pattern) => pattern.canonical(),
            RulePattern::Argument(pattern) => pattern.canonical(),
        };
        let Target { names, globs, subject } = &self.target;
        format!("{} {} {subject:?} {what}", names.join(","), globs.join(","))
    }
}

fn read_specifier(
    tool: &str,
    specifier: &str,
    target: &Target,
    origin: &str,
) -> Result<RulePattern, String> {
    Ok(match target.subject {
        SpecifierKind::Command => RulePattern::Command(CommandPattern::parse(specifier)?),
        SpecifierKind::Path(_) => RulePattern::Path(PathPattern::parse(specifier, origin)?),
        SpecifierKind::Host => match specifier.strip_prefix("domain:") {
            Some(domain) => RulePattern::Host(HostPattern::parse(domain)?),
            None => return other_of_host(tool, specifier),
        },
        SpecifierKind::Agent => {
            let value = specifier.strip_prefix("agent:").unwrap_or(specifier).to_owned();
            let keys = AGENTS.iter().map(|key| (*key).to_owned()).collect();
            RulePattern::Argument(ArgumentPattern { keys, value })
        }
        SpecifierKind::Argument => RulePattern::Argument(ArgumentPattern::parse(tool, specifier)?),
    })
}

/// Handles a specifier of a tool with an address argument that is not about the host.
fn other_of_host(tool: &str, specifier: &str) -> Result<RulePattern, String> {
    let address = specifier.strip_prefix("url:").unwrap_or(specifier);
    let pattern = match address == specifier && !specifier.contains("//") {
        true => ArgumentPattern::parse(tool, specifier).ok(),
        false => None,
    };
    pattern.map(RulePattern::Argument).ok_or_else(|| {
        let host = address.rsplit("://").next().unwrap_or(address);
        let host = host.split(['/', '*', '?']).next().unwrap_or_default();
        let host = if host.is_empty() { "example.com" } else { host };
        format!(
            "addresses have too many spellings to be compared as text; write {tool}(domain:{host})"
        )
    })
}
