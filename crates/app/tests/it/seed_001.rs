//! Seed 001, "Tool System": its test points, acceptance criteria, rules and error scenarios.
//!
//! Belonging to later work:
//! - the loop that sends results back to a model until it answers without calls (the rows here play the model);
//! - the page: chat cards of calls, check boxes of an agent's tools, frame rate;
//! - dialogs of a phone's operating system (the rows here use the host's permissions and an approver);
//! - agents as stored objects, tokens and cost of a conversation, sessions on disk.

mod edges;
mod errors;
mod functional;
mod rules;
mod tools;

use crate::row::check;

#[test]
fn seed_001() {
    let tables = [
        functional::rows(),
        tools::rows(),
        errors::rows(),
        rules::rows(),
        edges::performance(),
        edges::security(),
        edges::edge_cases(),
    ];
    check(tables.into_iter().flatten().collect());
}
