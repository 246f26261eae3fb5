//! `toolcrib rules`: files of rules, and what they say.

mod ask;
mod check;
mod edit;
mod exchange;
mod explain;
mod filter;
mod list;

use std::path::{Path, PathBuf};

use serde_json::{Value, json};
use toolcrib_app::Toolcrib;
use toolcrib_app::core::Verdict;
use toolcrib_app::rule_files::Place;
use toolcrib_app::rules::{Layer, Written};

use crate::cli::{Rules, RulesAt, World};
use crate::config::Config;
use crate::output::Failure;
use crate::{rules, world};

pub(crate) fn run(command: &Rules, json: bool) -> Result<u8, Failure> {
    match command {
        Rules::List(at) => list::run(at, json),
        Rules::Add(command) => edit::add(command, json),
        Rules::Rm(command) => edit::rm(command, json),
        Rules::Explain(command) if command.lines => filter::run(),
        Rules::Explain(command) => explain::run(command, json),
        Rules::Test(command) => check::test(command, json),
        Rules::Lint(command) => check::lint(command, json),
        Rules::Import(command) => exchange::import(command, json),
        Rules::Export(command) => exchange::export(command, json),
    }
}

/// The folder whose rules count, and the configuration.
struct Here {
    workspace: PathBuf,
    config: Config,
}

impl Here {
    fn of(at: &RulesAt) -> Result<Self, Failure> {
        let workspace = at.workspace.clone().unwrap_or_else(|| PathBuf::from("."));
        if !workspace.is_dir() {
            return Err(Failure::usage(format!("{} is no folder", workspace.display())));
        }
        let world = World { root: vec![workspace.clone()], ..World::default() };
        let config = world::configured(&world)?;
        Ok(Self { workspace, config })
    }

    fn places(&self) -> Vec<Place> {
        rules::places(Some(&self.workspace), &self.config)
    }

    /// Everything but rules, ready to be asked.
    fn toolcrib(&self) -> Result<Toolcrib, Failure> {
        let world = World { root: vec![self.workspace.clone()], ..World::default() };
        world::block_on(world::without_rules(&world, &self.config))
    }

    /// Names of the tools that there are.
    fn tools(&self) -> Result<Vec<String>, Failure> {
        Ok(rules::tool_names(&self.toolcrib()?))
    }

    /// The file that is written.
    fn target(&self, project: bool) -> Result<Place, Failure> {
        if project {
            return Ok(rules::project(&self.workspace, &self.config));
        }
        rules::user().ok_or_else(|| {
            Failure::configuration(
                "there is no home folder to keep rules in; set TOOLCRIB_HOME to a folder",
            )
        })
    }
}

/// Whose rule it is, for people.
fn layer_word(layer: Layer) -> &'static str {
    match layer {
        Layer::Managed => "managed",
        Layer::User => "user",
        Layer::Project => "project",
        Layer::Untrusted => "untrusted",
    }
}

/// A rule for machines.
fn machine(number: usize, rule: &Written) -> Value {
    let Written { text, layer, origin } = rule;
    json!({
        "number": number,
        "effect": text.effect,
        "rule": text.rule,
        "layer": layer,
        "origin": origin,
        "agents": text.agents,
        "channels": text.channels,
        "workspaces": text.workspaces,
        "reason": text.reason,
        "expires": text.expires,
        "unsafe": text.is_unsafe,
        "counts": counts(rule),
    })
}

/// Whether a rule has any say: what a workspace that nobody trusts allows, it allows nobody.
fn counts(rule: &Written) -> bool {
    rule.layer != Layer::Untrusted || rule.text.effect != Verdict::Allow
}

/// A path as people know it.
fn shown(path: &Path) -> String {
    path.display().to_string()
}
