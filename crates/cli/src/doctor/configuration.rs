//! Configuration and rules: whether they are valid, and everything that they refer to exists.

use std::path::Path;

use toolcrib_app::Toolcrib;
use toolcrib_app::rules::RuleSet;

use super::Finding;
use crate::clap_args::WorkspaceArgs;
use crate::config::{self, Config, Env};
use crate::output::Failure;
use crate::{bootstrap, rule_layers};

const NAME: &str = "configuration";
const RULES: &str = "rules";

pub(super) async fn check(workspace: &Path) -> Vec<Finding> {
    let broken =
        |name, failure: Failure| Finding::fail(name, failure.message).into_configuration_fault();
    let config = match config::load(&Env::from_process(), Some(workspace)) {
        Ok(config) => config,
        Err(failure) => {
            return vec![
                broken(NAME, failure)
                    .with_fix("correct the file; `toolcrib config path` lists all files"),
            ];
        }
    };
    let rules = match rule_layers::load_rules(Some(workspace), &config) {
        Ok(rules) => rules,
        Err(failure) => {
            return vec![
                Finding::ok(NAME, "the configuration is valid"),
                broken(RULES, failure)
                    .with_fix("correct the file; `toolcrib rules lint` shows the problems"),
            ];
        }
    };
    let mut found = Vec::new();
    let world = WorkspaceArgs { root: vec![workspace.to_owned()], ..WorkspaceArgs::default() };
    match bootstrap::build_without_rules(&world, &config).await {
        Ok(toolcrib) => found.extend(check_names(&toolcrib, &config, &rules)),
        Err(failure) => found.push(broken(NAME, failure)),
    }
    for remark in &config.remarks {
        found.push(Finding::warn(NAME, remark));
    }
    match config::key_warnings(&config, &Env::from_process()) {
        Ok(remarks) => {
            found.extend(remarks.into_iter().map(|remark| Finding::warn("keys", remark)));
        }
        Err(failure) => found.push(broken("keys", failure)),
    }
    if found.is_empty() {
        found.push(Finding::ok(
            NAME,
            "the configuration is valid, and everything that it refers to exists",
        ));
    }
    let count = rules.sources().len();
    found.push(Finding::ok(RULES, format!("{count} rules apply")));
    found
}

fn check_names(toolcrib: &Toolcrib, config: &Config, rules: &RuleSet) -> Vec<Finding> {
    let tools = bootstrap::unknown_tools(toolcrib, config);
    let matchers = bootstrap::unknown_matchers(toolcrib, config);
    let tools = tools.iter().map(ToString::to_string);
    let all = tools.chain(matchers.iter().map(ToString::to_string));
    let refused = bootstrap::check_tool_names(toolcrib, config, rules).err();
    let refused =
        refused.map(|failure| Finding::fail(NAME, failure.message).into_configuration_fault());
    all.map(|what| Finding::warn(NAME, what)).chain(refused).collect()
}
