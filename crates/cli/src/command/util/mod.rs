//! `toolcrib util`: documents about the program itself.

mod completions_and_man;
mod dispatch;
mod errors;
mod openapi;

pub(super) use dispatch::run;
