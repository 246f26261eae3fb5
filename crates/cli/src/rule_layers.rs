//! The rules of all layers, and their files.

use std::path::{Path, PathBuf};

use toolcrib_app::Toolcrib;
use toolcrib_app::rule_files::{self, RuleFile, RulesError};
use toolcrib_app::rules::{Layer, RuleSet, RuleSource};
use toolcrib_core::Verdict;
use toolcrib_ops::rules::{is_misspelled_name, known_tools};

use crate::config::{Config, Env};
use crate::folders;
use crate::output::Failure;

/// The rule file of the operator of the machine. It is always read: no setting of a caller omits
/// it.
const MANAGED: &str = "/etc/toolcrib/rules.toml";
/// Variable with one more file of such rules, which must exist.
const MANAGED_VARIABLE: &str = "TOOLCRIB_MANAGED_RULES";
/// Name of the file in the person's configuration folder, and in `.toolcrib` of a workspace.
const FILE: &str = "rules.toml";

impl From<RulesError> for Failure {
    fn from(error: RulesError) -> Self {
        let code = if matches!(error, RulesError::Unwritable { .. }) { 1 } else { 3 };
        Self { code, message: error.to_string() }
    }
}

/// Lists the rule files, strongest layer first.
pub(crate) fn list_rule_files(workspace: Option<&Path>, config: &Config) -> Vec<RuleFile> {
    let managed = RuleFile::new(Layer::Managed, MANAGED);
    let more = Env::from_process()
        .path(MANAGED_VARIABLE)
        .map(|path| RuleFile { must_exist: true, ..RuleFile::new(Layer::Managed, path) });
    let project = workspace.map(|workspace| project_file(workspace, config));
    [managed].into_iter().chain(more).chain(user_file()).chain(project).collect()
}

/// Returns the person's own file; `None` if there is no home folder.
pub(crate) fn user_file() -> Option<RuleFile> {
    folders::config_folder().map(|folder| RuleFile::new(Layer::User, folder.join(FILE)))
}

/// Returns the file of a workspace.
pub(crate) fn project_file(workspace: &Path, config: &Config) -> RuleFile {
    let trusted = config.is_trusted_workspace(workspace, &Env::from_process());
    let layer = if trusted { Layer::Project } else { Layer::Untrusted };
    // The origin of a rule is also read in other folders, so the path must be absolute.
    let folder = std::path::absolute(workspace).unwrap_or_else(|_| PathBuf::from(workspace));
    RuleFile::new(layer, folder.join(folders::PROJECT_FOLDER).join(FILE))
}

/// Loads the rules that apply in a workspace.
///
/// # Errors
/// Exit code 3 if a file is broken: no call may run then.
pub(crate) fn load_rules(workspace: Option<&Path>, config: &Config) -> Result<RuleSet, Failure> {
    Ok(rule_files::compile_files(&list_rule_files(workspace, config))?)
}

/// Refuses a typo in the name of a tool that is to be denied or to ask: otherwise, the intended
/// tool would remain unrestricted.
///
/// # Errors
/// Exit code 3, with the name that was probably meant.
pub(crate) fn check_names(rules: &RuleSet, toolcrib: &Toolcrib) -> Result<(), Failure> {
    let closing = rules.sources().iter().filter(|rule| rule.text.effect != Verdict::Allow);
    let closing: Vec<RuleSource> = closing.cloned().collect();
    if closing.is_empty() {
        return Ok(());
    }
    let mut faults =
        RuleSet::compile_for(closing, &known_tools(toolcrib)).err().unwrap_or_default();
    faults.retain(is_misspelled_name);
    if faults.is_empty() { Ok(()) } else { Err(RulesError::Refused(faults).into()) }
}
