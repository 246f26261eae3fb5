//! Operations on the phone for SMS.

mod add;
mod remove;
mod row;
mod set;
mod show;
mod test;

pub use add::{AddPhoneRequest, add};
pub use remove::remove;
pub use row::PhoneReply;
pub use set::{SetPhoneRequest, set};
pub use show::{PhoneDetails, show};
pub use test::test;
