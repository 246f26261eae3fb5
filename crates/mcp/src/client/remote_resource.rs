//! Reads resources of a server on demand: pages of MCP Apps and files of skills.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use rmcp::model::{ErrorCode, ReadResourceRequestParams, ReadResourceResult, ResourceContents};
use rmcp::service::ServiceError;
use toolcrib_core::{ErrorType, ToolError, ToolMeta};

use super::connection::{Connection, LiveConnection};
use crate::resource_contents::{Contents, ResourceBody};

/// Maximum bytes of one resource.
const BYTES: usize = 4 << 20;
/// Characters of an error that are passed on.
const WORDS: usize = 500;

impl Connection {
    /// Reads the resource with this URI, connecting first; `None` if it does not exist.
    ///
    /// # Errors
    /// Why it cannot be read: the server cannot be reached, differs from the reviewed one, or sends
    /// more than 4 MB.
    pub async fn read(&self, uri: &str) -> Result<Option<Contents>, ToolError> {
        let live = self.reviewed_connection().await?;
        let asked = live.peer().read_resource(ReadResourceRequestParams::new(uri));
        match self.with_timeout(asked).await? {
            Ok(result) => self.only(result, uri),
            Err(ServiceError::McpError(error)) if is_nothing(error.code) => Ok(None),
            Err(error) => Err(self.read_failed(&error)),
        }
    }

    /// Returns the live connection, if the server is still the one that was reviewed.
    pub(super) async fn reviewed_connection(
        &self,
    ) -> Result<std::sync::Arc<LiveConnection>, ToolError> {
        let live = self.live().await?;
        let name = self.config().name.as_str();
        let reviewed = self.host().reviewed_tools(name).await.unwrap_or_default();
        if reviewed.identity == live.advertised().identity {
            return Ok(live);
        }
        let text = format!(
            "The MCP server {name} calls itself something else since it was reviewed, so nothing is read from it. The owner can look with `toolcrib mcp review {name}`."
        );
        Err(ToolError::new(ErrorType::ToolNotAvailable, text))
    }

    /// Waits for a response within the time limit of a call.
    pub(super) async fn with_timeout<T>(
        &self,
        answer: impl Future<Output = T>,
    ) -> Result<T, ToolError> {
        let answered = tokio::time::timeout(self.config().timeout, answer).await;
        if answered.is_ok() {
            self.record_answer();
        } else {
            self.record_timeout();
        }
        answered.map_err(|_| self.odd("it gave no answer in time"))
    }

    fn odd(&self, what: &str) -> ToolError {
        let name = &self.config().name;
        ToolError::execution(format!("The MCP server {name} could not be read from: {what}."))
    }

    pub(super) fn read_failed(&self, error: &ServiceError) -> ToolError {
        if error.auth_challenge().is_some() {
            return self.needs_authorization();
        }
        self.odd(&error.to_string().chars().take(WORDS).collect::<String>())
    }

    /// Returns the single content of a result.
    fn only(&self, result: ReadResourceResult, uri: &str) -> Result<Option<Contents>, ToolError> {
        let found = result.contents.into_iter().find_map(|contents| match contents {
            ResourceContents::TextResourceContents { uri: own, mime_type, text, meta }
                if own == uri =>
            {
                Some((mime_type, Ok(ResourceBody::Text(text)), meta))
            }
            ResourceContents::BlobResourceContents { uri: own, mime_type, blob, meta }
                if own == uri =>
            {
                Some((mime_type, STANDARD.decode(blob.trim()).map(ResourceBody::Bytes), meta))
            }
            _ => None,
        });
        let Some((media_type, body, meta)) = found else { return Ok(None) };
        let body = body.map_err(|_| self.odd("it sent invalid base64"))?;
        if body.len() > BYTES {
            return Err(self.odd(&format!("{uri} has more than {BYTES} bytes")));
        }
        let meta = ToolMeta::from_map(meta.map(|meta| meta.0).unwrap_or_default());
        let meta = meta.map_err(|error| self.odd(&format!("{uri}: {error}")))?;
        let meta = meta.map(|meta| meta.as_map().clone()).unwrap_or_default();
        Ok(Some(Contents { media_type, body, meta }))
    }
}

/// Returns whether the code means "not found": in the current revision, in older ones, and in
/// servers without resources.
fn is_nothing(code: ErrorCode) -> bool {
    [ErrorCode::INVALID_PARAMS, ErrorCode::RESOURCE_NOT_FOUND, ErrorCode::METHOD_NOT_FOUND]
        .contains(&code)
}
