//! The fifteen stages of the pipeline, one file each, in their order.

pub(crate) mod receive;
pub(crate) mod switch;
pub(crate) mod resolve;
pub(crate) mod decode;
pub(crate) mod repeat;
pub(crate) mod guard;
pub(crate) mod assess;
pub(crate) mod gates;
pub(crate) mod budget;
pub(crate) mod approve;
pub(crate) mod admit;
pub(crate) mod intent;
pub(crate) mod run;
pub(crate) mod shape;
pub(crate) mod settle;
