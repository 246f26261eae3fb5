//! What a server may want of us while we are connected: questions to people, progress, news of its tools. Sampling is refused in words.

use std::sync::Weak;

use rmcp::ClientHandler;
#[expect(deprecated, reason = "what is deprecated still has to be refused")]
use rmcp::model::{
    ClientCapabilities, ClientConfig, CreateMessageRequestParams, ElicitRequestParams,
    ElicitResult, ElicitationAction, ErrorCode, ErrorData, Implementation, ListRootsResult,
    LoggingMessageNotificationParam, ProgressNotificationParam,
};
use rmcp::service::{NotificationContext, RequestContext, RoleClient};
use serde_json::{Value, json};

use super::connection::Connection;

/// The extension MCP Apps (SEP-1865).
const PAGES_EXTENSION: &str = "io.modelcontextprotocol/ui";
/// What its pages are.
const PAGES: &str = "text/html;profile=mcp-app";

/// Something that a server asks of a person in the middle of a call.
#[derive(Debug, Clone, PartialEq)]
pub struct Elicitation {
    /// Which server asks.
    pub server: String,
    /// What it says.
    pub message: String,
    /// The parameters as they came, for somebody who can be asked in the same way.
    pub params: Value,
}

/// What a person answered.
#[derive(Debug, Clone, PartialEq)]
pub enum Elicited {
    /// These values, by the schema of the question.
    Accept(Option<Value>),
    /// No.
    Decline,
    /// Nobody answered.
    Cancel,
}

/// Our side of a connection.
pub(crate) struct OurSide(pub(crate) Weak<Connection>);

impl OurSide {
    /// Asks whoever can be asked about this connection.
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
impl ClientHandler for OurSide {
    fn get_info(&self) -> ClientConfig {
        let mut capabilities =
            ClientCapabilities::builder().enable_elicitation().enable_tasks().build();
        // Pages are passed on to clients of ours, so a server may offer them.
        let pages = [("mimeTypes".to_owned(), json!([PAGES]))].into_iter().collect();
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
        connection.log().note(&format!("{:?}: {text}", params.level));
    }

    async fn on_tool_list_changed(&self, _: NotificationContext<RoleClient>) {
        if let Some(connection) = self.0.upgrade() {
            connection.look_again();
        }
    }
}
