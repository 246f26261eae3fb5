//! The help page of every command: one snapshot for each top-level command, with the pages of its
//! subcommands.

use std::thread;

use crate::snapshots;
use crate::support::TestEnv;

#[test]
fn every_help_page() {
    let env = TestEnv::new();
    let top = help(&env, &[]);
    let commands: Vec<String> = commands(&top).into_iter().map(str::to_owned).collect();
    let pages: Vec<String> = thread::scope(|scope| {
        let walks: Vec<_> = commands
            .chunks(commands.len().div_ceil(4))
            .map(|part| {
                let env = &env;
                scope.spawn(move || part.iter().map(|name| pages(env, &[name])).collect::<Vec<_>>())
            })
            .collect();
        walks.into_iter().flat_map(|walk| walk.join().unwrap()).collect()
    });
    snapshots::compare("help", "toolcrib", &top);
    for (name, text) in commands.iter().zip(&pages) {
        snapshots::compare("help", name, text);
    }
    snapshots::no_others("help", &[commands, vec!["toolcrib".to_owned()]].concat());
}

fn help(env: &TestEnv, command: &[&str]) -> String {
    snapshots::run(env, &[command, &["--help"]].concat()).code(0).stdout
}

/// Returns the page of a command, and those of its subcommands.
fn pages(env: &TestEnv, command: &[&str]) -> String {
    let text = help(env, command);
    let mut pages = format!("$ toolcrib {} --help\n{text}", command.join(" "));
    for below in commands(&text) {
        pages.push('\n');
        pages.push_str(&self::pages(env, &[command, &[below]].concat()));
    }
    pages
}

/// Headings of lists of commands: clap's, and the groups of the first page.
const LISTS: [&str; 7] =
    ["Commands:", "Run:", "Decide:", "Govern:", "Tools:", "Look back:", "Operate:"];

/// Returns the names in the lists of commands; continuation lines of descriptions are indented
/// further.
fn commands(help: &str) -> Vec<&str> {
    let mut is_listed = false;
    let mut names = Vec::new();
    for line in help.lines() {
        if LISTS.contains(&line) {
            is_listed = true;
        } else if !line.starts_with("  ") {
            is_listed = false;
        } else if is_listed && !line.starts_with("   ") {
            names.extend(line.split_whitespace().next().filter(|name| *name != "help"));
        }
    }
    names
}
