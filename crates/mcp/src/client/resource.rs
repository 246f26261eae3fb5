//! What a server has to be read beside its tools: pages of MCP Apps, files of skills. It is read when somebody wants it, and not before.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use rmcp::model::{ErrorCode, ReadResourceRequestParams, ReadResourceResult, ResourceContents};
use rmcp::service::ServiceError;
use toolcrib_core::{ErrorType, ToolError, ToolMeta};

use super::connection::{Connection, Live};
use crate::contents::{Body, Contents};

/// Bytes of one thing that is read.
const BYTES: usize = 4 << 20;
/// Characters of an error that are passed on.
const WORDS: usize = 500;

impl Connection {
    /// Reads what the server has under this address, connecting first; `None` = it has nothing there.
    ///
    /// # Errors
    /// Why it cannot be read: the server cannot be reached, is another one than was reviewed, or gives more than 4 MB.
    pub async fn read(&self, uri: &str) -> Result<Option<Contents>, ToolError> {
        let live = self.reviewed().await?;
        let asked = live.peer().read_resource(ReadResourceRequestParams::new(uri));
        match self.in_time(asked).await? {
            Ok(result) => self.only(result, uri),
            Err(ServiceError::McpError(error)) if is_nothing(error.code) => Ok(None),
            Err(error) => Err(self.unread(&error)),
        }
    }

    /// The server, connected, if it is still the one that was reviewed.
    pub(super) async fn reviewed(&self) -> Result<std::sync::Arc<Live>, ToolError> {
        let live = self.live().await?;
        let name = self.config().name.as_str();
        let reviewed = self.host().pins(name).await.unwrap_or_default();
        if reviewed.identity == live.says().identity {
            return Ok(live);
        }
        let text = format!(
            "The MCP server {name} calls itself something else since it was reviewed, so nothing is read from it. The owner can look with `toolcrib mcp review {name}`."
        );
        Err(ToolError::new(ErrorType::ToolNotAvailable, text))
    }

    /// An answer, in the time that a call may take.
    pub(super) async fn in_time<T>(&self, answer: impl Future<Output = T>) -> Result<T, ToolError> {
        let answered = tokio::time::timeout(self.config().timeout, answer).await;
        if answered.is_ok() {
            self.answered();
        } else {
            self.did_not_answer();
        }
        answered.map_err(|_| self.odd("it gave no answer in time"))
    }

    fn odd(&self, what: &str) -> ToolError {
        let name = &self.config().name;
        ToolError::execution(format!("The MCP server {name} could not be read from: {what}."))
    }

    pub(super) fn unread(&self, error: &ServiceError) -> ToolError {
        if error.auth_challenge().is_some() {
            return self.needs_authorization();
        }
        self.odd(&error.to_string().chars().take(WORDS).collect::<String>())
    }

    /// The one thing that was asked for.
    fn only(&self, result: ReadResourceResult, uri: &str) -> Result<Option<Contents>, ToolError> {
        let found = result.contents.into_iter().find_map(|contents| match contents {
            ResourceContents::TextResourceContents { uri: own, mime_type, text, meta }
                if own == uri =>
            {
                Some((mime_type, Ok(Body::Text(text)), meta))
            }
            ResourceContents::BlobResourceContents { uri: own, mime_type, blob, meta }
                if own == uri =>
            {
                Some((mime_type, STANDARD.decode(blob.trim()).map(Body::Bytes), meta))
            }
            _ => None,
        });
        let Some((media_type, body, meta)) = found else { return Ok(None) };
        let body = body.map_err(|_| self.odd("what it gave is no valid base64"))?;
        if body.len() > BYTES {
            return Err(self.odd(&format!("{uri} has more than {BYTES} bytes")));
        }
        let meta = ToolMeta::of(meta.map(|meta| meta.0).unwrap_or_default());
        let meta = meta.map_err(|error| self.odd(&format!("{uri}: {error}")))?;
        let meta = meta.map(|meta| meta.as_map().clone()).unwrap_or_default();
        Ok(Some(Contents { media_type, body, meta }))
    }
}

/// How servers say that there is nothing: today's revision, the older ones, and those without any resources.
fn is_nothing(code: ErrorCode) -> bool {
    [ErrorCode::INVALID_PARAMS, ErrorCode::RESOURCE_NOT_FOUND, ErrorCode::METHOD_NOT_FOUND]
        .contains(&code)
}
