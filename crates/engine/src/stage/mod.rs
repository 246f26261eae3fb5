//! The fifteen stages of the pipeline, one file each, in order.

mod action_alias;
pub(crate) mod admit;
pub(crate) mod approve;
pub(crate) mod assess;
pub(crate) mod budget;
pub(crate) mod decode;
pub(crate) mod gates;
pub(crate) mod guard;
pub(crate) mod intent;
pub(crate) mod phase;
pub(crate) mod receive;
pub(crate) mod repeat;
pub(crate) mod resolve;
mod retry;
pub(crate) mod run;
pub(crate) mod settle;
pub(crate) mod shape_result;
pub(crate) mod step;
pub(crate) mod switch;
