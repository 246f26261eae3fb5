//! The commands that ask a daemon.

mod healthcheck;
mod open;
mod reload;
mod status;
mod stop;
mod token;

pub(super) use healthcheck::run as healthcheck;
pub(super) use open::run as open;
pub(super) use reload::run as reload;
pub(super) use status::run as status;
pub(super) use stop::run as stop;
pub(super) use token::run as token;
