//! Scope of a rule: its callers and its expiry.
#![deny(clippy::indexing_slicing)]

use std::path::{Path, PathBuf};

use jiff::Timestamp;
use jiff::civil::Date;
use jiff::tz::TimeZone;
use toolcrib_core::{CHANNELS, similar_names};

use super::path_pattern::{home, normalise};
use super::rule_source::RuleText;

/// Scope of a rule: its callers and its expiry.
#[derive(Debug, Clone, Default, PartialEq, Eq, Hash)]
pub(super) struct RuleScope {
    agents: Vec<String>,
    channels: Vec<String>,
    workspaces: Vec<PathBuf>,
    /// Milliseconds since 1970 at which the rule expires.
    pub(super) until_ms: Option<i64>,
}

/// The caller, and the time of the call.
#[derive(Debug, Clone, Copy)]
pub(super) struct Caller<'a> {
    pub(super) agent: &'a str,
    pub(super) channel: &'a str,
    pub(super) workspace: &'a str,
    pub(super) now_ms: i64,
}

impl RuleScope {
    /// Parses the scope of a rule.
    pub(super) fn parse(text: &RuleText) -> Result<Self, String> {
        for channel in &text.channels {
            if CHANNELS.contains(&channel.as_str()) {
                continue;
            }
            let near = similar_names::similar_names(channel, CHANNELS.into_iter());
            let offered = if near.is_empty() { CHANNELS.to_vec() } else { near };
            return Err(format!(
                "there is no channel \"{channel}\"; write {}",
                offered.join(" or ")
            ));
        }
        if text.agents.iter().any(|agent| agent.trim().is_empty()) {
            return Err("the name of an agent is empty; for all agents leave agents out".to_owned());
        }
        let workspaces =
            text.workspaces.iter().map(|folder| workspace(folder)).collect::<Result<_, _>>()?;
        let mut scope = Self {
            agents: text.agents.clone(),
            channels: text.channels.clone(),
            workspaces,
            until_ms: text.expires.as_deref().map(until).transpose()?,
        };
        scope.agents.sort_unstable();
        scope.channels.sort_unstable();
        scope.workspaces.sort_unstable();
        Ok(scope)
    }

    /// Returns whether the scope includes all callers without expiry.
    pub(super) fn is_open(&self) -> bool {
        *self == Self::default()
    }

    /// Returns whether the scope includes every caller of another scope for at least as long.
    pub(super) fn holds_wherever(&self, other: &Self) -> bool {
        let all = |own: &[String], others: &[String]| own.is_empty() || own == others;
        let workspaces = self.workspaces.is_empty() || self.workspaces == other.workspaces;
        let until = self.until_ms.unwrap_or(i64::MAX) >= other.until_ms.unwrap_or(i64::MAX);
        all(&self.agents, &other.agents)
            && all(&self.channels, &other.channels)
            && workspaces
            && until
    }

    pub(super) fn has_ended(&self, now_ms: i64) -> bool {
        self.until_ms.is_some_and(|until| now_ms >= until)
    }

    /// Returns whether the scope includes a call.
    pub(super) fn holds(&self, caller: &Caller<'_>) -> bool {
        let one_of = |own: &[String], asked: &str| own.is_empty() || own.iter().any(|o| o == asked);
        !self.has_ended(caller.now_ms)
            && one_of(&self.agents, caller.agent)
            && one_of(&self.channels, caller.channel)
            && self.holds_in(caller.workspace)
    }

    /// Returns whether the scope includes any caller in a workspace.
    pub(super) fn holds_for_any(&self, workspace: &str, now_ms: i64) -> bool {
        !self.has_ended(now_ms) && self.holds_in(workspace)
    }

    fn holds_in(&self, workspace: &str) -> bool {
        if self.workspaces.is_empty() {
            return true;
        }
        if workspace.is_empty() {
            return false;
        }
        let lexical = normalise(Path::new(workspace));
        if self.workspaces.iter().any(|folder| lexical.starts_with(folder)) {
            return true;
        }
        let Ok(real) = std::fs::canonicalize(workspace) else { return false };
        let leads_to = |folder: &PathBuf| std::fs::canonicalize(folder).unwrap_or_default();
        self.workspaces.iter().any(|folder| {
            real.starts_with(folder)
                || Some(leads_to(folder))
                    .filter(|f| f.is_absolute())
                    .is_some_and(|f| real.starts_with(f))
        })
    }
}

fn workspace(folder: &str) -> Result<PathBuf, String> {
    let path = match folder.strip_prefix("~/").or((folder == "~").then_some("")) {
        Some(rest) => home().map(|home| home.join(rest)).ok_or("there is no home folder")?,
        None => PathBuf::from(folder),
    };
    if path.is_absolute() {
        return Ok(normalise(&path));
    }
    Err(format!(
        "\"{folder}\" is not a whole path of a workspace; write /PATH/{folder} or ~/{folder}"
    ))
}

/// Parses the expiry of a rule: the end of a day in UTC, or a moment.
fn until(text: &str) -> Result<i64, String> {
    if let Ok(date) = text.parse::<Date>()
        && text.len() == 10
    {
        let next = date.tomorrow().and_then(|day| day.to_zoned(TimeZone::UTC));
        return next.map(|day| day.timestamp().as_millisecond()).map_err(|error| error.to_string());
    }
    text.parse::<Timestamp>().map(Timestamp::as_millisecond).map_err(|_| {
        format!("\"{text}\" is not an expiry of a rule; write a date (2027-01-31) or a time with its zone (2027-01-31T18:00:00Z)")
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn caller(workspace: &str) -> Caller<'_> {
        Caller { agent: "coder", channel: "chat", workspace, now_ms: 0 }
    }

    #[test]
    fn workspaces_by_components() {
        for (folder, asked, expected) in [
            ("/a/b", "/a/b", true),
            ("/a/b", "/a/b/c", true),
            ("/a/b/", "/a/b", true),
            ("/a/b", "/a/bc", false),
            ("/a/b", "/a", false),
            ("/a/b", "/a/x/../b", true),
            ("/a/b", "/a/b/../x", false),
            ("/a/b", "", false),
        ] {
            let scope = RuleScope {
                workspaces: vec![workspace(folder).expect(folder)],
                ..RuleScope::default()
            };
            assert_eq!(scope.holds(&caller(asked)), expected, "{folder} {asked}");
        }
        assert!(workspace("a/b").is_err());
    }

    #[test]
    fn ends() {
        const DAY: i64 = 24 * 3600 * 1000;
        for (text, expected) in [
            ("1970-01-01", Some(DAY)),
            ("1970-01-02T00:00:00Z", Some(DAY)),
            ("1970-01-02T01:00:00+01:00", Some(DAY)),
            ("soon", None),
            ("2027-02-30", None),
            ("2027-01-31T18:00:00", None),
        ] {
            assert_eq!(until(text).ok(), expected, "{text}");
        }
        let scope = RuleScope { until_ms: Some(10), ..RuleScope::default() };
        assert!(scope.holds(&Caller { now_ms: 9, ..caller("") }));
        assert!(!scope.holds(&Caller { now_ms: 10, ..caller("") }));
    }

    #[test]
    fn agents_and_channels() {
        let scope = RuleScope {
            agents: vec!["coder".into()],
            channels: vec!["chat".into()],
            ..RuleScope::default()
        };
        assert!(scope.holds(&caller("")));
        assert!(!scope.holds(&Caller { agent: "", ..caller("") }));
        assert!(!scope.holds(&Caller { channel: "background", ..caller("") }));
    }
}
