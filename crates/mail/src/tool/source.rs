//! The tools as a source for the registry.

use std::sync::Arc;

use toolcrib_core::entry::FixedSource;
use toolcrib_core::{Entry, Handler, ToolSpec, TypedHandler};

use super::definition::SOURCE;
use super::mail_tools::MailTools;
use super::{
    check_email, compose_email, read_email, reply_email, search_email, setup_email,
    unsubscribe_email,
};

impl MailTools {
    /// The tools in declaration order.
    #[must_use]
    pub fn handlers(&self) -> Vec<Arc<dyn Handler>> {
        let tools = || self.clone();
        vec![
            TypedHandler::handler(setup_email::SetupEmail(tools())),
            TypedHandler::handler(check_email::CheckEmail(tools())),
            TypedHandler::handler(read_email::ReadEmail(tools())),
            TypedHandler::handler(search_email::SearchEmail(tools())),
            TypedHandler::handler(compose_email::ComposeEmail(tools())),
            TypedHandler::handler(reply_email::ReplyEmail(tools())),
            TypedHandler::handler(unsubscribe_email::UnsubscribeEmail(tools())),
        ]
    }

    /// The tools as a source for the registry.
    #[must_use]
    pub fn source(&self) -> FixedSource {
        FixedSource::new(SOURCE, self.handlers().into_iter().map(Entry::Local).collect())
    }
}

/// The definitions of all tools in order, for documentation.
#[must_use]
pub fn specs() -> Vec<ToolSpec> {
    vec![
        setup_email::spec(),
        check_email::spec(),
        read_email::spec(),
        search_email::spec(),
        compose_email::spec(),
        reply_email::spec(),
        unsubscribe_email::spec(),
    ]
}
