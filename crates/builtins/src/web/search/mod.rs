//! Web search: the back ends, each with the format of its service, and the chain that tries them in
//! order.

mod backend;
mod brave;
mod chain;
mod duckduckgo;
mod exa;
mod google;
mod searxng;
mod tavily;

#[cfg(test)]
mod tests;

pub(crate) use backend::{Hit, Query};
pub(crate) use chain::{SearchAnswer, SearchChain};
