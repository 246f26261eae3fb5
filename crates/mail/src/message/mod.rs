//! Messages: reading those that came, writing those that go.

mod compose;
mod read;
mod recipients;

pub(crate) use compose::{Compose, compose, compose_notification};
pub(crate) use read::{Summary, parse, summary, thread};
pub(crate) use recipients::recipients;

#[cfg(test)]
mod tests;
