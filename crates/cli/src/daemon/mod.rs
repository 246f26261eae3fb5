//! The daemon of this person: what it is made of here, and how the other commands find it.

mod host;
mod place;
mod serve;

pub(crate) use place::Place;
pub(crate) use serve::serve;
