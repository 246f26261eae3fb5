//! Operations on the configuration.

mod configuration;
mod list;
mod mask;
mod reload;
mod set;

pub use configuration::{Configuration, Reloaded, SettingRow};
pub use list::list;
pub use mask::SECRET_MASK;
pub use reload::reload;
pub use set::{ChangeSettingRequest, SettingChanged, change};
