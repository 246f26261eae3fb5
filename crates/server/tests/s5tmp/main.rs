//! Temporary: the tests of one helper alone.
#![expect(
    clippy::unwrap_used,
    clippy::panic,
    reason = "a helper of a test fails the test, as the test itself would"
)]
#[path = "../it/audit.rs"]
mod audit;
#[path = "../it/docs_page.rs"]
mod docs_page;
#[path = "../it/figures.rs"]
mod figures;
#[path = "../it/grants.rs"]
mod grants;
#[cfg(feature = "otlp")]
#[path = "../it/otlp.rs"]
mod otlp;
#[path = "../it/rules.rs"]
mod rules;
#[path = "../it/secrets.rs"]
mod secrets;
#[path = "../it/settings.rs"]
mod settings;
#[path = "../it/support/mod.rs"]
mod support;
