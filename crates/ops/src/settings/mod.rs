//! Operations on the configuration.

mod configuration;
mod list;
mod reload;
mod set;

pub use configuration::{Configuration, Reloaded, SettingRow};
pub use list::list;
pub use reload::reload;
pub use set::{ChangeSettingRequest, SettingChanged, change};

/// The mask of a secret. Written back, it keeps the stored value.
pub const SECRET_MASK: &str = "***";
