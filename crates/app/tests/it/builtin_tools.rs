//! The first built-in tools: contracts, permissions, edge cases and error texts.

mod edge_cases;
mod error_texts;
mod functional;
mod tool_contracts;
mod visibility_and_permissions;

use crate::test_case::run_cases;

#[test]
fn builtin_tool_cases() {
    let tables = [
        functional::rows(),
        tool_contracts::rows(),
        error_texts::rows(),
        visibility_and_permissions::rows(),
        edge_cases::performance(),
        edge_cases::security(),
        edge_cases::edge_cases(),
    ];
    run_cases(tables.into_iter().flatten().collect());
}
