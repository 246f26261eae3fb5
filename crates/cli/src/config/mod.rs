//! The configuration. In order of precedence: values pinned by the operator of the machine,
//! command-line options, the environment, the project's file, the person's file, the defaults.
//!
//! Invariants
//! - Every key of a file is applied, or refused with its line; no key is ignored, and no file is
//!   applied partly. The only exception is reported with a remark: settings that an untrusted
//!   workspace must not have are left out.
//! - No weaker layer loosens a value that the managed file pins, and an untrusted workspace loosens
//!   no value at all.
//! - Errors, warnings and `Debug` texts contain neither keys nor headers of providers.
//!
//! Deliberately absent: the meaning of the values in the components that they configure.

mod apps;
mod calendar;
mod deserialize;
mod drafts;
pub(crate) mod duration_and_money;
mod edit;
mod env_layer;
mod environment;
mod file_paths;
mod flag_name;
mod heartbeat;
mod hooks;
mod key_path;
mod layer;
mod layer_source;
mod layered_config;
mod layers;
mod loader;
mod model_chain;
mod model_resolution;
mod notifications;
mod on_ask;
mod permissions;
mod plain_message;
mod project_trust;
mod provider_key;
mod providers;
mod python;
mod sandbox;
mod sandbox_policy;
mod schema;
mod server;
mod shell;
mod text_or_secret;
mod tool_search;
mod tool_search_settings;
mod web;

#[cfg(test)]
mod docs_page_tests;
#[cfg(test)]
mod tests;

pub(crate) use edit::ConfigEditor;
pub(crate) use env_layer::parse_value;
pub(crate) use environment::Env;
pub(crate) use key_path::KeyPath;
pub(crate) use layer::{ConfigValue, Layer, Origin};
pub(crate) use loader::{
    ConfigPaths, load, load_draft, parse, parse_layer, parse_project, project_file, read_file,
};
pub(crate) use model_chain::{ModelChain, ModelChoice, ModelFlags, resolve_model_chain};
pub(crate) use on_ask::OnAsk;
pub(crate) use provider_key::{key_warnings, known_keys};
pub(crate) use providers::list_providers;
pub(crate) use schema::Config;
pub(crate) use server::{DEFAULT_LISTEN, ServerSection};
