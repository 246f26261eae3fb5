//! The gates of stage 7, one file each. `rules` evaluates rules.

mod executed_files;
mod host_allowlist;
mod permission;
mod preset;
mod rules;
mod taint;

pub(crate) use executed_files::ExecutedFilesGate;
pub(crate) use host_allowlist::HostAllowlistGate;
pub use permission::{GrantedPermissions, PermissionGate};
pub use preset::Preset;
pub(crate) use preset::PresetOwner;
pub(crate) use rules::RulesGate;
pub(crate) use taint::TaintGate;
