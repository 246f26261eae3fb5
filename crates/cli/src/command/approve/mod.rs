//! `toolcrib approve`: the inbox of questions to people, across all runs and single calls.

mod always;
mod decide;
mod decide_in_daemon;
mod dispatch;
mod edit;
mod hasty_note;
mod list;
mod question;
pub(super) mod resume_target;
mod run_locally;
mod show;

pub(super) use decide::decisions;
pub(super) use dispatch::run;
