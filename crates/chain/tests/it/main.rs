//! `code_exec` with the real interpreter, the real sandbox and the Python of this machine.

mod environment;
mod expression;
mod full;
mod hostile;
mod world;
