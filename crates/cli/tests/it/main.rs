//! The binary as a person or a script runs it: words on the command line and bytes on standard input; standard output, standard error and
//! the exit code back. Real files in a folder of each test's own, a real web server on this machine, nothing else.
#![expect(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    reason = "a helper of a test fails the test, as the test itself would"
)]

mod agents;
mod approve;
mod args;
mod artifact;
mod audit;
mod backup;
mod bad_input;
mod bad_models;
mod chains;
mod chains_kept;
mod chat;
mod chat_terminal;
mod config_layers;
mod config_set;
mod conversations;
mod daemon;
mod daemon_log;
mod docs;
mod doctor;
mod documents;
mod editing;
mod exec;
mod files;
mod find;
mod formats;
mod history;
mod hooks;
mod keys;
mod kits;
#[cfg(target_os = "linux")]
mod makers;
mod mcp;
mod mcp_auth;
mod net;
mod own_tools;
mod planted;
mod policy;
mod presets;
mod python;
mod reference;
mod resume;
mod rules;
mod rules_calls;
mod rules_explain;
mod runs;
mod sandbox;
mod sanitize;
mod secrets;
mod service;
mod shell;
mod skills;
mod spec;
mod support;
mod taint;
mod tool;
mod trust;
mod undo;
mod userland;
