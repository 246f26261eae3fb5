//! The folder whose rules a command concerns, and its configuration.

use std::path::{Path, PathBuf};

use toolcrib_app::Toolcrib;
use toolcrib_app::rule_files::RuleFile;
use toolcrib_app::rules::RuleSet;
use toolcrib_ops::rules;

use crate::clap_args::{RulesWorkspaceArgs, WorkspaceArgs};
use crate::config::Config;
use crate::output::Failure;
use crate::{bootstrap, rule_layers};

/// The folder whose rules apply, and the configuration.
pub(super) struct RulesContext {
    pub(super) workspace: PathBuf,
    pub(super) config: Config,
}

impl RulesContext {
    pub(super) fn load(at: &RulesWorkspaceArgs) -> Result<Self, Failure> {
        let workspace = at.workspace.clone().unwrap_or_else(|| PathBuf::from("."));
        if !workspace.is_dir() {
            return Err(Failure::usage(format!("{} is not a folder", workspace.display())));
        }
        let world = WorkspaceArgs { root: vec![workspace.clone()], ..WorkspaceArgs::default() };
        let config = bootstrap::load_config(&world)?;
        Ok(Self { workspace, config })
    }

    pub(super) fn rule_files(&self) -> Vec<RuleFile> {
        rule_layers::list_rule_files(Some(&self.workspace), &self.config)
    }

    /// Builds a Toolcrib without rules.
    pub(super) fn toolcrib(&self) -> Result<Toolcrib, Failure> {
        let world =
            WorkspaceArgs { root: vec![self.workspace.clone()], ..WorkspaceArgs::default() };
        bootstrap::block_on(bootstrap::build_without_rules(&world, &self.config))
    }

    /// Builds a Toolcrib with these rules and the stored switches.
    pub(super) fn toolcrib_with_rules(
        &self,
        rules: &RuleSet,
        json: bool,
    ) -> Result<Toolcrib, Failure> {
        let world =
            WorkspaceArgs { root: vec![self.workspace.clone()], ..WorkspaceArgs::default() };
        bootstrap::block_on(bootstrap::inspect_with_rules(&world, &self.config, rules, json))
    }

    /// Returns the names of the existing tools.
    pub(super) fn tool_names(&self) -> Result<Vec<String>, Failure> {
        Ok(rules::known_tools(&self.toolcrib()?))
    }

    /// Returns the file to write.
    pub(super) fn file_to_edit(&self, project: bool) -> Result<RuleFile, Failure> {
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

/// Renders a path for people.
pub(super) fn path_text(path: &Path) -> String {
    path.display().to_string()
}
