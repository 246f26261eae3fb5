//! The configuration: flags, then the environment, then the project's file, then the person's, then
//! the defaults; and above all of them what the operator of the machine pins.
//!
//! Invariants
//! - A key of a file is taken or refused with its line; nothing is ignored, nothing half of a file
//!   is used. The one exception says so: what a workspace that is not trusted must not say is left
//!   out with a remark.
//! - No layer below loosens what the managed file pins, and a workspace that is not trusted loosens
//!   nothing at all.
//! - No key and no header of a provider stands in an error, a warning or a `Debug` text.
//!
//! Absent on purpose: what the keys mean to the parts that they configure.

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
