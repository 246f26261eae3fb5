//! Creates the server for MCP clients.

use std::sync::Arc;

use ring::error::Unspecified;
use ring::rand::{SecureRandom as _, SystemRandom};
use toolcrib_mcp::server::{McpBackend, McpServer, ToolListMode};

use crate::toolcrib::Toolcrib;

/// The system provides no random bytes for the key of an MCP server.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error(
    "the system provides no random bytes, so the MCP server cannot sign its request states; check that /dev/urandom can be read, then start it again"
)]
pub struct RandomUnavailable;

/// Creates the server for MCP clients; `backend` belongs to this Toolcrib.
///
/// # Errors
/// [`RandomUnavailable`]: with a guessable key, clients could forge request states.
pub fn serve(
    toolcrib: &Toolcrib,
    backend: Arc<dyn McpBackend>,
    mode: ToolListMode,
) -> Result<McpServer, RandomUnavailable> {
    let key = request_state_key(|key| SystemRandom::new().fill(key))?;
    Ok(McpServer::new(backend, toolcrib.mcp().client_channel().clone(), mode, key))
}

/// Creates the key that signs the request states that clients send back.
fn request_state_key(
    fill: impl FnOnce(&mut [u8]) -> Result<(), Unspecified>,
) -> Result<[u8; 32], RandomUnavailable> {
    let mut key = [0; 32];
    fill(&mut key).map_err(|_| RandomUnavailable)?;
    Ok(key)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn without_random_bytes_there_is_no_key() {
        assert_eq!(request_state_key(|_| Err(Unspecified)), Err(RandomUnavailable));
        let filled = request_state_key(|key| {
            key.fill(7);
            Ok(())
        });
        assert_eq!(filled, Ok([7; 32]));
    }
}
