//! Unknown names of tools in the configuration and in matchers of hooks.

use std::fmt;

use toolcrib_app::Toolcrib;
use toolcrib_app::rules::{RuleSet, class_names};
use toolcrib_core::similar_names::likely_typos;
use toolcrib_ops::rules::known_tools;

use crate::config::{Config, Env};
use crate::output::{self, Failure};
use crate::rule_layers;

/// Returns the tools that the configuration names and that do not exist on this machine.
pub(crate) fn unknown_tools<'a>(toolcrib: &Toolcrib, config: &'a Config) -> Vec<UnknownTool<'a>> {
    if config.configured_tools().next().is_none() {
        return Vec::new();
    }
    let infos = toolcrib.infos();
    let specs = infos.iter().filter_map(|info| toolcrib.spec(info.id.as_str()));
    let known: Vec<String> = specs
        .flat_map(|spec| [vec![spec.name.to_string()], spec.aliases.clone()].concat())
        .collect();
    let unknown = config.configured_tools().filter(|name| toolcrib.spec(name).is_none());
    unknown
        .map(|name| UnknownTool {
            name,
            near: likely_typos(name, known.iter().map(String::as_str))
                .first()
                .map(|n| (*n).to_owned()),
            closes: config.restricts(name),
            place: config.tool_location(name),
        })
        .collect()
}

/// A tool that the configuration names and that does not exist on this machine.
pub(crate) struct UnknownTool<'a> {
    name: &'a str,
    /// The tool that was probably meant.
    near: Option<String>,
    /// Whether the setting disables the tool or makes it ask: the intended tool then remains
    /// unrestricted.
    closes: bool,
    place: String,
}

impl fmt::Display for UnknownTool<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { name, place, .. } = self;
        match &self.near {
            Some(near) => write!(f, "{place}: there is no tool {name}, did you mean {near}?"),
            None => write!(f, "{place}: there is no tool {name} here"),
        }
    }
}

/// Returns unknown names in matchers of hooks: such a hook would silently never run.
pub(crate) fn unknown_matchers(toolcrib: &Toolcrib, config: &Config) -> Vec<UnknownMatcher> {
    let hooks = config.command_hooks(&Env::from_process());
    let is_unknown = |name: &str| toolcrib.spec(name).is_none();
    let mut unknown: Vec<UnknownMatcher> = Vec::new();
    for hook in &hooks {
        unknown.extend(hook.matcher.names().filter(|name| is_unknown(name)).map(|name| {
            let (name, place) = (name.to_owned(), hook.origin.clone());
            UnknownMatcher { name, near: None, place }
        }));
    }
    if unknown.is_empty() {
        return unknown;
    }
    let mut known = known_tools(toolcrib);
    known.extend(class_names().map(str::to_owned));
    let known = || known.iter().map(String::as_str);
    for UnknownMatcher { name, near, .. } in &mut unknown {
        let cased = known().find(|known| known.eq_ignore_ascii_case(name));
        *near = cased.or_else(|| likely_typos(name, known()).first().copied()).map(str::to_owned);
    }
    unknown
}

/// An unknown name in the matcher of a hook.
pub(crate) struct UnknownMatcher {
    name: String,
    /// The tool that was probably meant.
    near: Option<String>,
    place: String,
}

impl fmt::Display for UnknownMatcher {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { name, near, place } = self;
        write!(f, "{place}: the matcher names {name}, and there is no tool or class of that name")?;
        match near {
            Some(near) => write!(f, ", did you mean {near}?"),
            None => write!(f, " here"),
        }
    }
}

/// Warns about hooks that will probably never run because of a typo. A name without a similar one
/// may belong to a tool of another workspace.
pub(crate) fn warn_misspelled_hooks(toolcrib: &Toolcrib, config: &Config) {
    let unknown = unknown_matchers(toolcrib, config);
    let slips = unknown.iter().filter(|matcher| matcher.near.is_some());
    slips.for_each(|matcher| output::warn_once(&matcher.to_string()));
}

/// Refuses a typo in the name of a tool that is to be disabled or to ask: otherwise, the intended
/// tool would remain unrestricted.
pub(crate) fn check_tools(toolcrib: &Toolcrib, config: &Config) -> Result<(), Failure> {
    check_tool_names(toolcrib, config, &toolcrib.rules())
}

/// Checks the names in a configuration and rules that are not in force yet.
pub(crate) fn check_tool_names(
    toolcrib: &Toolcrib,
    config: &Config,
    rules: &RuleSet,
) -> Result<(), Failure> {
    rule_layers::check_names(rules, toolcrib)?;
    let unknown = unknown_tools(toolcrib, config);
    match unknown.iter().find(|tool| tool.closes && tool.near.is_some()) {
        Some(tool) => Err(Failure::configuration(format!(
            "{tool} If it is a tool of another workspace, put the section into .toolcrib/config.toml there"
        ))),
        None => Ok(()),
    }
}
