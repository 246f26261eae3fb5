//! Configuration and rules: are they read, and is what they name there?

use std::path::Path;

use toolcrib_app::Toolcrib;
use toolcrib_app::rules::RuleSet;

use super::Finding;
use crate::cli::World;
use crate::config::{self, Config, Env};
use crate::output::Failure;
use crate::{rules, world};

const NAME: &str = "configuration";
const RULES: &str = "rules";

pub(super) async fn look(workspace: &Path) -> Vec<Finding> {
    let broken = |name, failure: Failure| Finding::fail(name, failure.message).of_configuration();
    let config = match config::load(&Env::of_process(), Some(workspace)) {
        Ok(config) => config,
        Err(failure) => {
            return vec![
                broken(NAME, failure)
                    .fix("correct the file; `toolcrib config path` names them all"),
            ];
        }
    };
    let rules = match rules::load(Some(workspace), &config) {
        Ok(rules) => rules,
        Err(failure) => {
            return vec![
                Finding::ok(NAME, "it is read"),
                broken(RULES, failure).fix("correct the file; `toolcrib rules lint` says more"),
            ];
        }
    };
    let mut found = Vec::new();
    let world = World { root: vec![workspace.to_owned()], ..World::default() };
    match world::without_rules(&world, &config).await {
        Ok(toolcrib) => found.extend(names(&toolcrib, &config, &rules)),
        Err(failure) => found.push(broken(NAME, failure)),
    }
    for remark in &config.remarks {
        found.push(Finding::warn(NAME, remark));
    }
    match config::key_remarks(&config, &Env::of_process()) {
        Ok(remarks) => {
            found.extend(remarks.into_iter().map(|remark| Finding::warn("keys", remark)));
        }
        Err(failure) => found.push(broken("keys", failure)),
    }
    if found.is_empty() {
        found.push(Finding::ok(NAME, "it is read, and what it names is there"));
    }
    let count = rules.written().len();
    found.push(Finding::ok(RULES, format!("{count} rules hold")));
    found
}

fn names(toolcrib: &Toolcrib, config: &Config, rules: &RuleSet) -> Vec<Finding> {
    let tools = world::unknown_tools(toolcrib, config);
    let matchers = world::unknown_matchers(toolcrib, config);
    let tools = tools.iter().map(ToString::to_string);
    let all = tools.chain(matchers.iter().map(ToString::to_string));
    let refused = world::check_words(toolcrib, config, rules).err();
    let refused = refused.map(|failure| Finding::fail(NAME, failure.message).of_configuration());
    all.map(|what| Finding::warn(NAME, what)).chain(refused).collect()
}
