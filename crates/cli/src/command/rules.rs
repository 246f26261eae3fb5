//! `toolcrib rules`: rule files, and the decisions of rules.

mod add_remove;
mod explain;
mod import_export;
mod lint_and_test;
mod list;
mod observed;
mod replay;
mod rules_context;
mod suggest;

use crate::clap_args::Rules;
use crate::output::Failure;

pub(crate) fn run(command: &Rules, json: bool) -> Result<u8, Failure> {
    match command {
        Rules::List(at) => list::run(at, json),
        Rules::Add(command) => add_remove::add(command, json),
        Rules::Rm(command) => add_remove::rm(command, json),
        Rules::Enforce(command) => add_remove::enforce(command, json),
        Rules::Replay(command) => replay::run(command, json),
        Rules::Suggest(at) => suggest::run(at, json),
        Rules::Explain(command) if command.lines => explain::run_filter(),
        Rules::Explain(command) => explain::run(command, json),
        Rules::Test(command) => lint_and_test::test(command, json),
        Rules::Lint(command) => lint_and_test::lint(command, json),
        Rules::Import(command) => import_export::import(command, json),
        Rules::Export(command) => import_export::export(command, json),
    }
}
