//! One rule, read.
#![deny(clippy::indexing_slicing)]

use toolcrib_core::{RuleRef, Verdict};

use super::argument::ArgumentPattern;
use super::class_table::{AGENTS, Group, Subject};
use super::command::CommandPattern;
use super::host::HostPattern;
use super::path::PathPattern;
use super::scope::Scope;
use super::target::{self, Target};
use super::written::{Layer, Written};

/// What of a call a rule is about.
#[derive(Debug, Clone)]
pub(super) enum What {
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

/// One rule, read.
#[derive(Debug, Clone)]
pub(super) struct Rule {
    pub(super) effect: Verdict,
    pub(super) layer: Layer,
    pub(super) is_unsafe: bool,
    pub(super) named: RuleRef,
    pub(super) scope: Scope,
    pub(super) target: Target,
    pub(super) what: What,
}

impl Rule {
    /// Reads a rule; the error says what is wrong with it and the spelling that works.
    pub(super) fn read(written: &Written, known: Option<&[String]>) -> Result<Self, String> {
        let text = &written.text;
        let parts = target::split(&text.rule)?;
        let target = target::resolve(parts.tool, text.effect, text.is_unsafe, known)?;
        let what = match parts.specifier {
            None => What::Any,
            Some(specifier) => read_specifier(parts.tool, specifier, &target, &written.origin)?,
        };
        let what = match (what, target.subject) {
            // Every line, spelled with a star.
            (What::Command(CommandPattern::Any), _) => What::Any,
            // All that is read, or changed, by whichever tool.
            (What::Any, Subject::Path(Group::Read | Group::Edit)) => What::Path(PathPattern::all()),
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
            scope: Scope::parse(text)?,
            target,
            what,
        })
    }

    /// Whether it is about every call of the operations that it names.
    pub(super) fn is_bare(&self) -> bool {
        match &self.what {
            What::Any => true,
            What::Path(pattern) => pattern.is_all(),
            _ => false,
        }
    }

    /// Whether it can say anything: allow rules of a workspace that nobody trusts cannot.
    pub(super) fn counts(&self) -> bool {
        self.effect != Verdict::Allow || self.layer != Layer::Untrusted
    }

    /// One spelling for all rules that are about the same calls.
    pub(super) fn about(&self) -> String {
        let what = match &self.what {
            What::Any => String::new(),
            What::Command(pattern) => pattern.canonical(),
            What::Path(pattern) => pattern.canonical(),
            What::Host(pattern) => pattern.canonical(),
            What::Argument(pattern) => pattern.canonical(),
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
) -> Result<What, String> {
    Ok(match target.subject {
        Subject::Command => What::Command(CommandPattern::parse(specifier)?),
        Subject::Path(_) => What::Path(PathPattern::parse(specifier, origin)?),
        Subject::Host => match specifier.strip_prefix("domain:") {
            Some(domain) => What::Host(HostPattern::parse(domain)?),
            None => return other_of_host(tool, specifier),
        },
        Subject::Agent => {
            let value = specifier.strip_prefix("agent:").unwrap_or(specifier).to_owned();
            let keys = AGENTS.iter().map(|key| (*key).to_owned()).collect();
            What::Argument(ArgumentPattern { keys, value })
        }
        Subject::Argument => What::Argument(ArgumentPattern::parse(tool, specifier)?),
    })
}

/// A specifier of a tool with an address that is not about the host.
fn other_of_host(tool: &str, specifier: &str) -> Result<What, String> {
    let address = specifier.strip_prefix("url:").unwrap_or(specifier);
    let pattern = match address == specifier && !specifier.contains("//") {
        true => ArgumentPattern::parse(tool, specifier).ok(),
        false => None,
    };
    pattern.map(What::Argument).ok_or_else(|| {
        let host = address.rsplit("://").next().unwrap_or(address);
        let host = host.split(['/', '*', '?']).next().unwrap_or_default();
        let host = if host.is_empty() { "example.com" } else { host };
        format!(
            "addresses have too many spellings to be compared as text; write {tool}(domain:{host})"
        )
    })
}
