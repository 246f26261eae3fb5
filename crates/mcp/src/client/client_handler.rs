//! Client-side handler of server requests: asks a person the server's questions. Sampling is
//! refused with an explanation. The `inbound` module handles notifications before they get here.

use std::sync::Weak;

use rmcp::ClientHandler;
#[expect(deprecated, reason = "what is deprecated still has to be refused")]
use rmcp::model::{
    ClientCapabilities, ClientConfig, CreateMessageRequestParams, ElicitRequestParams,
    ElicitResult, ElicitationAction, ErrorCode, ErrorData, Implementation, ListRootsResult,
};
use rmcp::service::{InboundStreamOrigin, RequestContext, RoleClient};
use serde_json::json;
use toolcrib_core::CallCtx;

use super::connection::Connection;
use super::elicitation::{Elicitation, Elicited};
use crate::resource_contents::{PAGE_TYPE, PAGES_EXTENSION};

/// Our side of a connection.
pub(crate) struct McpClientHandler(pub(crate) Weak<Connection>);

impl McpClientHandler {
    /// Forwards a question to the person behind this call.
    pub(crate) async fn elicit(&self, call: &CallCtx, params: ElicitRequestParams) -> ElicitResult {
        let Some(connection) = self.0.upgrade() else {
            return ElicitResult::new(ElicitationAction::Cancel);
        };
        let question = match Elicitation::new(connection.config().name.as_str(), &params) {
            Ok(question) => question,
            Err(reason) => {
                connection.log().push_line(&format!("a question was declined: {reason}"));
                return ElicitResult::new(ElicitationAction::Decline);
            }
        };
        match connection.host().ask(call, question).await {
            Elicited::Accept(content) => {
                let accepted = ElicitResult::new(ElicitationAction::Accept);
                match content {
                    Some(content) => accepted.with_content(content),
                    None => accepted,
                }
            }
            Elicited::Decline => ElicitResult::new(ElicitationAction::Decline),
            Elicited::Cancel => ElicitResult::new(ElicitationAction::Cancel),
        }
    }
}

#[expect(deprecated, reason = "what is deprecated still has to be refused")]
impl ClientHandler for McpClientHandler {
    fn get_info(&self) -> ClientConfig {
        let mut capabilities =
            ClientCapabilities::builder().enable_elicitation().enable_tasks().build();
        // Our own clients can show pages, so servers may offer them.
        let pages = [("mimeTypes".to_owned(), json!([PAGE_TYPE]))].into_iter().collect();
        capabilities.extensions.get_or_insert_default().insert(PAGES_EXTENSION.to_owned(), pages);
        ClientConfig::new(capabilities, Implementation::new("toolcrib", env!("CARGO_PKG_VERSION")))
    }

    async fn create_message(
        &self,
        _: CreateMessageRequestParams,
        _: RequestContext<RoleClient>,
    ) -> Result<rmcp::model::CreateMessageResult, ErrorData> {
        let words = "sampling is not offered: it is deprecated, and tools here do not ask models. Do the work without it, or fail the call.";
        Err(ErrorData::new(ErrorCode::METHOD_NOT_FOUND, words, None))
    }

    async fn list_roots(
        &self,
        _: RequestContext<RoleClient>,
    ) -> Result<ListRootsResult, ErrorData> {
        Ok(ListRootsResult::default())
    }

    async fn create_elicitation(
        &self,
        params: ElicitRequestParams,
        context: RequestContext<RoleClient>,
    ) -> Result<ElicitResult, ErrorData> {
        let Some(connection) = self.0.upgrade() else {
            return Ok(ElicitResult::new(ElicitationAction::Cancel));
        };
        let origin = context.extensions.get::<InboundStreamOrigin>();
        let declined = match connection.calls().asking(origin).await {
            Ok(call) if call.questions.take() => return Ok(self.elicit(&call.ctx, params).await),
            Ok(_) => "it asked too often in this call".to_owned(),
            Err(why) => why.to_string(),
        };
        connection.log().push_line(&format!("a question was declined: {declined}"));
        Ok(ElicitResult::new(ElicitationAction::Decline))
    }
}
