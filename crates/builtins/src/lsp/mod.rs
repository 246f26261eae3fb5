//! Code intelligence: real language servers, one for each language and project, started when they are first asked and kept warm.
//!
//! A server is a program of somebody else that runs programs of the project (build scripts, macros, plug-ins). It runs in the sandbox, sees
//! the workspace and cannot change it, and has no network. What it says is bounded and taken for data; one that dies, hangs, floods or
//! talks nonsense costs the call that asked it, and is started anew at the next.

mod answer;
mod asking;
mod frame;
mod manager;
mod position;
mod servers;
mod session;
mod shared;
mod telling;

pub(crate) use asking::{Action, Query};
pub(crate) use manager::Servers;
pub(crate) use telling::shown;
