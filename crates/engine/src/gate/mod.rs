//! The gates of stage 7, one file each. Rules and taint join them here.

mod permission;
mod preset;

pub use permission::{GrantedPermissions, PermissionGate};
pub(crate) use preset::Owner;
pub use preset::Preset;
