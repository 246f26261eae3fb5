//! Output to the person at the terminal, and keys from them. Keys are read from the terminal
//! itself, never from standard input as such, which may be a model's response.
//!
//! Invariants
//! - At most one prompt is open; while it is open, no other output is written, and waiting output
//!   follows it.
//! - Dropping a listener restores the mode of the terminal.
//! - Text of models, tools and files passes [`escape_controls`] before it reaches the terminal.

mod approval_prompt;
pub(crate) mod args_editor;
mod call_preview;
mod card;
mod console;
mod key_decoder;
mod keyboard;
mod modal;
mod question_prompt;
mod style;
mod terminal_approver;
mod text_wrap;

pub(crate) use approval_prompt::{describe_reason, render_args};
pub(crate) use call_preview::{preview_call, quote_for_shell, style_diff_line};
pub(crate) use card::draw as draw_card;
pub(crate) use console::{Console, terminal_size};
pub(crate) use key_decoder::Key;
pub(crate) use keyboard::{Keys, restore_terminal};
pub(crate) use modal::apply_key;
pub(crate) use question_prompt::ask_question;
pub(crate) use style::{Style, Styler, is_dumb_terminal};
pub(crate) use terminal_approver::{TerminalApprover, ask_decision};
pub(crate) use text_wrap::{Span, encode, tail_of_width, truncate_to_width, width, wrap};
pub(crate) use toolcrib_core::display_text::{escape_controls, escape_to_line};
