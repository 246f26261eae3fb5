//! `toolcrib rules`: files of rules, and what they say.

mod add_remove;
mod explain;
mod explain_jsonl;
mod hypothetical_call;
mod import_export;
mod lint_and_test;
mod list;

use std::path::{Path, PathBuf};

use serde_json::{Value, json};
use toolcrib_app::Toolcrib;
use toolcrib_app::core::Verdict;
use toolcrib_app::rule_files::RuleFile;
use toolcrib_app::rules::{Layer, RuleSource};

use crate::clap_args::{Rules, RulesWorkspaceArgs, WorkspaceArgs};
use crate::config::Config;
use crate::output::Failure;
use crate::{bootstrap, rule_layers};

pub(crate) fn run(command: &Rules, json: bool) -> Result<u8, Failure> {
    match command {
        Rules::List(at) => list::run(at, json),
        Rules::Add(command) => add_remove::add(command, json),
        Rules::Rm(command) => add_remove::rm(command, json),
        Rules::Explain(command) if command.lines => explain_jsonl::run(),
        Rules::Explain(command) => explain::run(command, json),
        Rules::Test(command) => lint_and_test::test(command, json),
        Rules::Lint(command) => lint_and_test::lint(command, json),
        Rules::Import(command) => import_export::import(command, json),
        Rules::Export(command) => import_export::export(command, json),
    }
}

/// The folder whose rules count, and the configuration.
struct RulesContext {
    workspace: PathBuf,
    config: Config,
}

impl RulesContext {
    fn load(at: &RulesWorkspaceArgs) -> Result<Self, Failure> {
        let workspace = at.workspace.clone().unwrap_or_else(|| PathBuf::from("."));
        if !workspace.is_dir() {
            return Err(Failure::usage(format!("{} is no folder", workspace.display())));
        }
        let world = WorkspaceArgs { root: vec![workspace.clone()], ..WorkspaceArgs::default() };
        let config = bootstrap::load_config(&world)?;
        Ok(Self { workspace, config })
    }

    fn rule_files(&self) -> Vec<RuleFile> {
        rule_layers::list_rule_files(Some(&self.workspace), &self.config)
    }

    /// Everything but rules, ready to be asked.
    fn toolcrib(&self) -> Result<Toolcrib, Failure> {
        let world =
            WorkspaceArgs { root: vec![self.workspace.clone()], ..WorkspaceArgs::default() };
        bootstrap::block_on(bootstrap::build_without_rules(&world, &self.config))
    }

    /// Names of the tools that there are.
    fn tool_names(&self) -> Result<Vec<String>, Failure> {
        Ok(rule_layers::tool_names(&self.toolcrib()?))
    }

    /// The file that is written.
    fn file_to_edit(&self, project: bool) -> Result<RuleFile, Failure> {
        if project {
            return Ok(rule_layers::project_file(&self.workspace, &self.config));
        }
        rule_layers::user_file().ok_or_else(|| {
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
fn rule_json(number: usize, rule: &RuleSource) -> Value {
    let RuleSource { text, layer, origin } = rule;
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
        "counts": is_effective(rule),
    })
}

/// Whether a rule has any effect: allow rules of an untrusted workspace have none.
fn is_effective(rule: &RuleSource) -> bool {
    rule.layer != Layer::Untrusted || rule.text.effect != Verdict::Allow
}

/// A path as people know it.
fn path_text(path: &Path) -> String {
    path.display().to_string()
}
