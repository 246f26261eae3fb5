//! Operations on chat channels: accounts at Telegram and Matrix on which the assistant answers.

mod add;
mod allow;
mod list;
mod log;
mod remove;
mod row;
mod set;
mod show;
mod test;

pub use add::{AddChannelRequest, add};
pub use allow::{AllowPersonRequest, allow};
pub use list::list;
pub use log::{ChannelLogLine, log};
pub use remove::remove;
pub use row::ChannelReply;
pub use set::{SetChannelRequest, set};
pub use show::{ChannelDetails, ChannelPerson, ChannelStranger, show};
pub use test::test;
