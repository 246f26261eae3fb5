//! Temporary: the topics of one part alone.
#![expect(clippy::unwrap_used, clippy::panic, reason = "a helper of a test fails the test, as the test itself would")]
#![expect(dead_code, unused_imports, reason = "temporary")]

#[path = "it/calls.rs"]
mod calls;
#[path = "it/documents.rs"]
mod documents;
#[path = "it/exec.rs"]
mod exec;
#[path = "it/files.rs"]
mod files;
#[path = "it/support/mod.rs"]
mod support;
#[path = "it/switches.rs"]
mod switches;
#[path = "it/tools.rs"]
mod tools;
