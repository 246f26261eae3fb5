//! Chat channels: receives messages of people on the lists of accounts, answers them with runs, and
//! asks them for decisions.
//!
//! - `channel_loop`: one task per account.
//! - `account`: an account with its state.
//! - `receive`: requests messages, and stores them with their position.
//! - `answer`: does what is to be done for each person.
//! - `commands`: `/new`, `/stop`, `/status`.
//! - `turn`: the run that answers a message.
//! - `questions`: approvals and questions of models, and decisions about them.
//! - `outbox`: sends texts.
//!
//! Invariants
//! - A message is stored with the read position before anything is done with it, and starts at most
//!   one run, even if the daemon is killed in between. An answer is sent at least once.
//! - Only people on the list of an account reach a run. Their runs have the channel `message`.
//! - Only a press of a button of an open question decides about a call, never a text.

mod account;
mod answer;
mod channel_loop;
mod commands;
mod outbox;
mod questions;
mod receive;
mod turn;

pub(crate) use channel_loop::run_channels;
