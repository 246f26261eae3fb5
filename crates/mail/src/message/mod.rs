//! Messages: reading those that came, writing those that go.

mod compose;
mod read;
mod recipients;
pub(crate) mod unsubscribe;

pub(crate) use compose::{Compose, compose, compose_notification};
pub(crate) use read::{File, Parsed, Summary, parse, summary, thread};
pub use recipients::recipients;

#[cfg(test)]
mod tests;
