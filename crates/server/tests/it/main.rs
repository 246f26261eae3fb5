//! The daemon as its users meet it: over sockets, with a real store, real tools and a scripted model.
#![expect(
    clippy::unwrap_used,
    clippy::panic,
    reason = "a helper of a test fails the test, as the test itself would"
)]

mod documents;
mod support;
mod tools;
