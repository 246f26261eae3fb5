//! Stdio fast path: handles the most frequent requests without rmcp. These are tool lists, which
//! are cached as JSON, and calls that need only a response; for a client with a handshake, every
//! call without a progress token.
//!
//! rmcp identifies a message by trying all its forms (docs/adr/0066); `cargo xtask bench` compares
//! a call with the same call of a bare rmcp server.
#![deny(clippy::indexing_slicing)]

use std::panic::AssertUnwindSafe;
use std::sync::OnceLock;

use futures_util::FutureExt as _;
use rmcp::model::{
    CallToolRequestParams, ClientCapabilities, ErrorData, ProtocolVersion, RequestId,
    ServerJsonRpcMessage, ServerResult,
};
use rmcp::service::{Peer, RoleServer};

use super::McpServer;
use super::channel::{ClientRoute, client_channel};
use crate::server::ClientIdentity;
use crate::server::http_fast_path::{self, ListRequest, is_fast_meta};
use crate::stdio::{FastCall, FastPath, LineAction, PendingAnswer, ProtocolMode};

/// The fast path of one connection.
pub(super) struct StdioFastPath {
    serve: McpServer,
    /// Connection to a client with a handshake.
    peer: OnceLock<Peer<RoleServer>>,
}

/// The client of a call.
enum CallClient {
    /// A client with a handshake.
    Legacy(Peer<RoleServer>, ClientCapabilities),
    /// A client that declares its capabilities in each request.
    Modern(ClientCapabilities),
}

impl StdioFastPath {
    pub(super) fn new(serve: McpServer) -> Self {
        Self { serve, peer: OnceLock::new() }
    }

    /// Sets the connection to the client after the handshake.
    pub(super) fn set_peer(&self, peer: &Peer<RoleServer>) {
        let _ = self.peer.set(peer.clone());
    }

    fn list(&self, line: &[u8], met: ProtocolMode) -> Option<Vec<u8>> {
        let list = ListRequest::parse(line)?;
        let says = list.meta().is_some_and(|meta| meta.protocol_version().is_some());
        let modern = list.meta().is_some_and(is_fast_meta);
        if !modern && (says || met == ProtocolMode::Modern) {
            return None;
        }
        let capabilities = match list.meta().filter(|_| modern) {
            Some(meta) => meta.client_capabilities()?,
            None => self.peer.get()?.peer_info()?.capabilities.clone(),
        };
        let listing = self.serve.listing(&self.who()?, &capabilities)?;
        http_fast_path::write_answer(
            &list.id,
            if modern { &listing.modern } else { &listing.legacy },
        )
    }

    fn who(&self) -> Option<ClientIdentity> {
        self.serve.backend().identify(None).ok()
    }

    /// Returns the client of this call; `None` sends it to rmcp.
    fn client(&self, call: &FastCall) -> Option<CallClient> {
        match &call.meta {
            Some(meta) if is_fast_meta(meta) => {
                Some(CallClient::Modern(meta.client_capabilities()?))
            }
            Some(meta)
                if meta.protocol_version().is_some() || meta.get_progress_token().is_some() =>
            {
                None
            }
            _ => {
                let peer = self.peer.get()?;
                let info = peer.peer_info()?;
                let is_legacy = info.protocol_version < ProtocolVersion::V_2026_07_28;
                is_legacy.then(|| CallClient::Legacy(peer.clone(), info.capabilities.clone()))
            }
        }
    }

    fn work(&self, client: CallClient, who: ClientIdentity, call: FastCall) -> PendingAnswer {
        let FastCall { id, name, arguments, meta: _ } = call;
        let mut params = CallToolRequestParams::new(name);
        params.arguments = arguments;
        let (serve, own) = (self.serve.clone(), id.clone());
        let work = async move {
            match client {
                CallClient::Modern(capabilities) => {
                    serve.call_fast(who, own, params, capabilities).await
                }
                CallClient::Legacy(peer, capabilities) => {
                    serve.call_legacy(who, own, params, peer, capabilities).await
                }
            }
        };
        Box::pin(async move {
            // The first poll runs in the transport's task, where a panic would end the connection.
            let done = AssertUnwindSafe(work).catch_unwind().await;
            let broke = |_| Err(ErrorData::internal_error("the request broke", None));
            let said = match done.unwrap_or_else(broke) {
                Ok(result) => ServerJsonRpcMessage::response(result, id),
                Err(error) => ServerJsonRpcMessage::error(error, Some(id)),
            };
            serde_json::to_vec(&said).unwrap_or_default()
        })
    }
}

impl FastPath<RoleServer> for StdioFastPath {
    fn handle_line(&self, line: &[u8], met: ProtocolMode) -> LineAction<RoleServer> {
        let Some(call) = FastCall::parse(line) else {
            return self.list(line, met).map_or(LineAction::Other, LineAction::Answer);
        };
        match self.client(&call).zip(self.who()) {
            Some((client, who)) => LineAction::Work(call.id.clone(), self.work(client, who, call)),
            None => LineAction::Message(call.into()),
        }
    }
}

impl McpServer {
    /// Runs a call of a client with a handshake and without progress. Its questions and log lines
    /// do not need the request.
    async fn call_legacy(
        &self,
        who: ClientIdentity,
        id: RequestId,
        params: CallToolRequestParams,
        peer: Peer<RoleServer>,
        capabilities: ClientCapabilities,
    ) -> Result<ServerResult, ErrorData> {
        let way = ClientRoute { peer: Some(peer), id, progress: None, logs: true };
        let (caller, questions) = client_channel(way, capabilities, false);
        let done = self.begin_call(who, caller, questions, false, None, params).await?;
        let mut result = ServerResult::from(done.into_tool_response()?);
        result.strip_result_type_for_legacy_peer();
        result.strip_non_object_output_for_legacy_peer();
        Ok(result)
    }
}
