//! The sandbox from outside.
#![cfg(target_os = "linux")]

mod egress;
mod escape;
mod life;
mod policy;
mod world;
