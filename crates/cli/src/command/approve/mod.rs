//! `toolcrib approve`: the inbox of questions to people, across all runs and single calls.

mod always;
mod decide;
mod decide_in_daemon;
mod dispatch;
mod edit;
mod hasty_note;
mod list;
mod question;
mod resume_target;
mod run_locally;
mod show;

pub(super) use decide::{decisions, may_run};
pub(super) use dispatch::run;
pub(super) use resume_target::ResumeTarget;
