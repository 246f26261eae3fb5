//! Property test against tree-sitter-bash: every command that it finds is also found here.
//!
//! The crate does not use tree-sitter itself: a pipeline of 200 KB takes it 22 seconds, and it
//! parses here-documents, patterns and continued lines differently from bash.

use std::collections::HashSet;

use proptest::prelude::*;
use proptest::test_runner::{Config, RngAlgorithm, TestRng, TestRunner};
use toolcrib_shell_parser::{Word, parse};

use crate::line_generator::{PROGRAMS, line};

/// Names of commands as written; tree-sitter also reports some reserved words as programs.
fn names(line: &str) -> Option<Vec<String>> {
    let mut parser = tree_sitter::Parser::new();
    parser.set_language(&tree_sitter_bash::LANGUAGE.into()).unwrap();
    let tree = parser.parse(line, None).unwrap();
    if tree.root_node().has_error() {
        return None;
    }
    let mut names = Vec::new();
    let mut nodes = vec![tree.root_node()];
    while let Some(node) = nodes.pop() {
        if node.kind() == "command_name" {
            names.push(line[node.byte_range()].to_owned());
        }
        nodes.extend((0..node.child_count()).filter_map(|i| node.child(i)));
    }
    Some(names)
}

#[test]
fn commands_that_tree_sitter_finds_are_found() {
    let config = Config { cases: 1000, failure_persistence: None, ..Config::default() };
    let rng = TestRng::deterministic_rng(RngAlgorithm::ChaCha);
    let count = std::cell::Cell::new(0_usize);
    let result = TestRunner::new_with_rng(config, rng).run(&line(), |line| {
        let parsed = parse(&line);
        // Its parsing of here-documents differs from bash.
        let is_fair = parsed.fault.is_none() && !line.contains("<<");
        let Some(names) = names(&line).filter(|_| is_fair) else { return Ok(()) };
        let known: HashSet<&str> = parsed
            .segments
            .iter()
            .flat_map(|s| &s.readings)
            .filter_map(|r| match r.program() {
                Word::Known(text) => Some(text.as_str()),
                Word::Unknown(_) => None,
            })
            .collect();
        for name in names.iter().filter(|name| PROGRAMS.contains(&name.as_str())) {
            count.set(count.get() + 1);
            prop_assert!(known.contains(name.as_str()), "{line:?}: {name} is not a command here");
        }
        Ok(())
    });
    if let Err(error) = result {
        panic!("{error}");
    }
    assert!(count.get() > 80, "only {} names were compared", count.get());
}
