//! The person at the terminal: what they are shown, and the keys that they press. It reads the terminal itself, never standard input as
//! such, which may be a model's answer.
//!
//! Invariants
//! - One card at a time; while it is shown nothing else is written, and what was to be written comes after it.
//! - Whoever stops waiting for a key has left the terminal, in the mode in which it was found.
//! - Nothing of a model, a tool or a file reaches the terminal before [`visible`] has seen it.

mod approve;
mod card;
mod clean;
mod console;
mod desk;
pub(crate) mod editor;
mod keyboard;
mod keys;
mod paint;
mod preview;
mod question;
mod wrap;

pub(crate) use approve::{TerminalApprover, decide};
pub(crate) use card::{arguments, because};
pub(crate) use clean::{one_line, visible};
pub(crate) use console::{Console, size};
pub(crate) use desk::edit;
pub(crate) use keyboard::{Keys, leave};
pub(crate) use keys::Key;
pub(crate) use paint::{Paint, Style, is_dumb};
pub(crate) use preview::preview;
pub(crate) use question::ask as ask_question;
pub(crate) use wrap::{Span, encode, shorten, tail, width, wrap};
