//! wip
pub mod fs;
