//! Client-side handler of server requests: elicitation, progress, and changed tool lists. Sampling
//! is refused with an explanation.

use std::sync::Weak;

use rmcp::ClientHandler;
#[expect(deprecated, reason = "what is deprecated still has to be refused")]
use rmcp::model::{
    ClientCapabilities, ClientConfig, CreateMessageRequestParams, ElicitRequestParams,
    ElicitResult, ElicitationAction, ErrorCode, ErrorData, Implementation, ListRootsResult,
    LoggingMessageNotificationParam, ProgressNotificationParam,
};
use rmcp::service::{NotificationContext, RequestContext, RoleClient};
use serde_json::json;

use super::connection::Connection;
use super::elicitation::{Elicitation, Elicited};
use crate::resource_contents::PAGE_TYPE;

/// The MCP Apps extension (SEP-1865).
const PAGES_EXTENSION: &str = "io.modelcontextprotocol/ui";

/// Our side of a connection.
pub(crate) struct McpClientHandler(pub(crate) Weak<Connection>);

impl McpClientHandler {
    /// Forwards a question to the person behind this connection.
    pub(crate) async fn elicit(&self, params: ElicitRequestParams) -> ElicitResult {
        let Some(connection) = self.0.upgrade() else {
            return ElicitResult::new(ElicitationAction::Cancel);
        };
        let message = match &params {
            ElicitRequestParams::FormElicitationParams { message, .. }
            | ElicitRequestParams::UrlElicitationParams { message, .. } => message.clone(),
            _ => String::new(),
        };
        let params = serde_json::to_value(&params).unwrap_or_default();
        let server = connection.config().name.to_string();
        let question = Elicitation { server, message, params };
        let call = connection.newest_call();
        match connection.host().ask(call.as_ref(), question).await {
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
        _: RequestContext<RoleClient>,
    ) -> Result<ElicitResult, ErrorData> {
        Ok(self.elicit(params).await)
    }

    async fn on_progress(
        &self,
        params: ProgressNotificationParam,
        _: NotificationContext<RoleClient>,
    ) {
        let Some(connection) = self.0.upgrade() else { return };
        if let Some(call) = connection.call_of(&params.progress_token) {
            connection.host().progress(&call, params.progress, params.total, params.message);
        }
    }

    async fn on_logging_message(
        &self,
        params: LoggingMessageNotificationParam,
        _: NotificationContext<RoleClient>,
    ) {
        let Some(connection) = self.0.upgrade() else { return };
        let text: String = params.data.to_string().chars().take(2000).collect();
        connection.log().push_line(&format!("{:?}: {text}", params.level));
    }

    async fn on_tool_list_changed(&self, _: NotificationContext<RoleClient>) {
        if let Some(connection) = self.0.upgrade() {
            connection.recheck_tools();
        }
    }
}
