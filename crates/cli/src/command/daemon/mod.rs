//! The commands that contact a daemon.

mod dispatch;
mod healthcheck;
mod open;
mod reload;
mod service;
mod status;
mod stop;
mod token;

pub(super) use dispatch::run;
pub(super) use open::run as open;
pub(super) use status::run as status;
pub(super) use stop::run as stop;
pub(super) use token::run as token;
