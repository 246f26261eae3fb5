//! Tests of the binary as a person or a script runs it: command-line arguments, standard input and
//! output, standard error and the exit code. Real files in a separate folder per test, a real web
//! server on this machine, and nothing else.
#![expect(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    reason = "a helper of a test fails the test, as the test itself would"
)]

mod agents;
mod app_attacks;
mod approve;
mod apps;
mod args;
mod artifact;
mod assistant;
mod audit;
mod audit_bundle;
mod background_runs;
mod backup;
mod bad_input;
mod bad_model_input;
mod caldav;
mod calendar_and_links;
mod chat;
mod chat_terminal;
mod code_execution;
mod code_tools;
mod command_suite;
mod config_layers;
mod config_set;
mod conversations;
mod custom_tools;
mod daemon;
mod daemon_log;
mod db_migrate;
mod denied_paths;
mod docs_blocks;
mod docs_examples;
mod doctor;
mod document_tools;
mod draft_commands;
mod exec;
mod executed_files;
mod file_tools;
mod first_try;
mod format_detection;
mod help_and_completions;
mod help_snapshots;
mod history;
mod hooks;
mod html_cards;
mod idempotency;
mod kits;
mod mail_commands;
#[cfg(unix)]
mod mail_daemon;
mod matrix;
mod mcp;
mod mcp_auth;
mod mcp_calls;
mod mcp_card_page;
mod mcp_launchers;
mod mcp_search;
mod net_check;
mod node;
mod notifications;
mod output_snapshots;
mod permissions_and_dry_run;
mod presets;
#[cfg(target_os = "linux")]
mod private_addresses;
mod programs_end;
mod prove;
mod python;
mod resume;
mod rule_commands;
mod rules_explain;
mod rules_from_history;
mod rules_govern_calls;
mod run;
mod sandbox;
#[cfg(target_os = "linux")]
mod sandbox_backends;
#[cfg(target_os = "linux")]
mod sandbox_shell;
mod sanitize;
mod saved_chains;
mod secret_leaks;
mod secrets;
mod service;
#[cfg(feature = "postgres")]
mod shared_database;
mod shell_tool;
mod skills;
mod sms;
mod snapshots;
mod spec;
#[cfg(target_os = "linux")]
mod storage_faults;
mod support;
mod surfaces_agree;
mod surroundings;
mod taint;
mod telegram;
mod tool_chain;
mod tool_command;
mod tool_search;
mod trust;
mod undo;
mod userland;
mod web_services;
mod web_tools;
