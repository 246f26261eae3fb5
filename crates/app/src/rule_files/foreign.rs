//! Rules of other programs, on their way to become ours.

use std::path::Path;
use std::str::FromStr;

use toolcrib_core::Verdict;
use toolcrib_engine::rules::{Fault, Layer, RuleSet, RuleText, Written};

use super::error::RulesError;
use super::place::Place;
use super::read::identity;
use super::{anchor, claude, codex, place};

/// Whose file it is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ForeignFormat {
    /// `settings.json` of Claude Code.
    Claude,
    /// `*.rules` of Codex: calls of `prefix_rule`.
    Codex,
}

impl FromStr for ForeignFormat {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        match text {
            "claude" => Ok(Self::Claude),
            "codex" => Ok(Self::Codex),
            _ => Err(format!("\"{text}\" is no format; use claude or codex")),
        }
    }
}

impl ForeignFormat {
    /// What a file probably is, by its name.
    #[must_use]
    pub fn of(path: &Path) -> Option<Self> {
        match path.extension()?.to_str()? {
            "json" | "jsonc" => Some(Self::Claude),
            "rules" | "codexpolicy" | "star" => Some(Self::Codex),
            _ => None,
        }
    }
}

/// Something of a foreign file that does not become a rule.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Skipped {
    /// What it is.
    pub what: String,
    /// Why it is left out, and where it belongs.
    pub why: String,
}

/// What a foreign file says.
#[derive(Debug, Default)]
pub struct Foreign {
    /// Its rules, with where they stand.
    pub rules: Vec<Written>,
    /// What it says that is no rule.
    pub skipped: Vec<Skipped>,
}

impl Foreign {
    /// Reads a file.
    ///
    /// # Errors
    /// [`RulesError`] when it cannot be read, or its form is not what it should be.
    pub fn read(path: &Path, format: ForeignFormat) -> Result<Self, RulesError> {
        let text = place::read(path)
            .map_err(|error| RulesError::Unreadable { path: path.to_path_buf(), error })?;
        let malformed =
            |(line, what)| RulesError::Malformed { path: path.to_path_buf(), line, what };
        let (rules, skipped) = match format {
            ForeignFormat::Claude => {
                let found = claude::read(&text).map_err(malformed)?;
                (found.rules, found.skipped)
            }
            ForeignFormat::Codex => codex::read(&text).map_err(malformed)?,
        };
        let rules = rules.into_iter().map(|(line, text)| Written {
            text,
            layer: Layer::User,
            origin: format!("{}:{line}", path.display()),
        });
        Ok(Self { rules: rules.collect(), skipped })
    }
}

/// A rule with nothing but what it says.
pub(super) fn plain(effect: Verdict, rule: impl Into<String>) -> RuleText {
    RuleText {
        effect,
        rule: rule.into(),
        agents: Vec::new(),
        channels: Vec::new(),
        workspaces: Vec::new(),
        reason: None,
        matches: Vec::new(),
        not_match: Vec::new(),
        expires: None,
        is_unsafe: false,
    }
}

/// What becomes of the rules of foreign files.
#[derive(Debug, Default)]
pub struct Imported {
    /// Those that can be taken.
    pub taken: Vec<Written>,
    /// Those that cannot, and why.
    pub refused: Vec<Fault>,
}

/// Looks which rules can be taken beside those that a file has, marked as unsafe where `anyway` says so. What begins at the folder of its
/// old file begins there in the new one too.
///
/// # Errors
/// [`RulesError`] when the file cannot be read.
pub fn import(rules: Vec<Written>, place: &Place, anyway: bool) -> Result<Imported, RulesError> {
    let mut imported = Imported::default();
    for mut rule in rules {
        let faults = match faults(vec![rule.clone()]) {
            faults if faults.is_empty() || !anyway => faults,
            _ => {
                rule.text.is_unsafe = true;
                self::faults(vec![rule.clone()])
            }
        };
        if !faults.is_empty() {
            imported.refused.extend(faults);
            continue;
        }
        let file = rule.origin.rsplit_once(':').map_or("", |(file, _)| file);
        rule.text.rule = anchor::at_home(&rule.text.rule, Path::new(file), Some(&place.path));
        rule.layer = place.layer;
        let reason = rule.text.reason.take();
        rule.text.reason = reason.or_else(|| Some(format!("imported from {}", rule.origin)));
        imported.taken.push(rule);
    }
    together(&mut imported, place.rules()?);
    Ok(imported)
}

/// Leaves out what says the same as another rule, or what another rule makes idle.
fn together(imported: &mut Imported, existing: Vec<Written>) {
    let known: Vec<_> = existing.iter().map(|rule| identity(&rule.text)).collect();
    imported.taken.retain(|rule| !known.contains(&identity(&rule.text)));
    let all = existing.into_iter().chain(imported.taken.iter().cloned()).collect();
    for fault in faults(all) {
        let is_meant = |rule: &Written| rule.origin == fault.origin && rule.text.rule == fault.rule;
        if let Some(at) = imported.taken.iter().rposition(is_meant) {
            drop(imported.taken.remove(at));
            imported.refused.push(fault);
        }
    }
}

fn faults(rules: Vec<Written>) -> Vec<Fault> {
    RuleSet::compile(rules).err().unwrap_or_default()
}
