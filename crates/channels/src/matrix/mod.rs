//! Matrix, over its client-server API (<https://spec.matrix.org/latest/client-server-api/>).
//!
//! - `client`: the requests, and the implementation of the trait.
//! - `sync`: received events, read leniently.
//! - `reactions`: the emoji that stand for buttons.

mod client;
mod reactions;
mod sync;

pub(crate) use client::Matrix;
