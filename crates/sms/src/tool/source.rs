//! The tools as a source for the registry.

use std::sync::Arc;

use toolcrib_core::entry::FixedSource;
use toolcrib_core::{Entry, Handler, ToolSpec, TypedHandler};

use super::definition::SOURCE;
use super::sms_tools::SmsTools;
use super::{check_sms, read_sms, reply_sms, search_sms, send_sms};

impl SmsTools {
    /// Returns the tools in declaration order.
    #[must_use]
    pub fn handlers(&self) -> Vec<Arc<dyn Handler>> {
        let tools = || self.clone();
        vec![
            TypedHandler::handler(check_sms::CheckSms(tools())),
            TypedHandler::handler(read_sms::ReadSms(tools())),
            TypedHandler::handler(search_sms::SearchSms(tools())),
            TypedHandler::handler(send_sms::SendSms(tools())),
            TypedHandler::handler(reply_sms::ReplySms(tools())),
        ]
    }

    /// Returns the tools as a source for the registry.
    #[must_use]
    pub fn source(&self) -> FixedSource {
        FixedSource::new(SOURCE, self.handlers().into_iter().map(Entry::Local).collect())
    }
}

/// Returns the definitions of all tools in order, for documentation.
#[must_use]
pub fn specs() -> Vec<ToolSpec> {
    vec![
        check_sms::spec(),
        read_sms::spec(),
        search_sms::spec(),
        send_sms::spec(),
        reply_sms::spec(),
    ]
}
