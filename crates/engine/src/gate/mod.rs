//! The gates of stage 7, one file each. What rules say is judged in `rules`.

mod hosts;
mod permission;
mod preset;
mod rules;
mod taint;

pub(crate) use hosts::HostsGate;
pub use permission::{GrantedPermissions, PermissionGate};
pub(crate) use preset::Owner;
pub use preset::Preset;
pub(crate) use rules::RulesGate;
pub(crate) use taint::TaintGate;
