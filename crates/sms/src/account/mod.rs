//! The phone.
//!
//! - `model`: its settings, pure.
//! - `file`: the file `sms.toml`.
//! - `phones`: finding, testing, saving, changing and removing it.

mod file;
mod model;
mod phones;

pub use model::{NewPhone, SmsPhone};
pub use phones::{PhonePasswords, SmsPhones};
