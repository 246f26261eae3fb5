//! Over pipes, the common requests without the library: a list of tools that is written down already, and a call that is told of by nothing but its
//! answer. Of a client that shook hands, that is every call which wants no progress.
#![deny(clippy::indexing_slicing)]

use std::panic::AssertUnwindSafe;
use std::sync::OnceLock;

use futures_util::FutureExt as _;
use rmcp::model::{
    CallToolRequestParams, ClientCapabilities, ErrorData, ProtocolVersion, RequestId,
    ServerJsonRpcMessage, ServerResult,
};
use rmcp::service::{Peer, RoleServer};

use super::Serve;
use super::caller::{Way, caller};
use crate::lines::{Beside, Call, Met, Taken, Work};
use crate::server::Who;
use crate::server::plain::{self, List, is_plain};

/// What answers them.
pub(super) struct Piped {
    serve: Serve,
    /// The way to a client that shook hands.
    peer: OnceLock<Peer<RoleServer>>,
}

/// What is known of the client of a call.
enum Client {
    /// It shook hands.
    Legacy(Peer<RoleServer>, ClientCapabilities),
    /// It says of itself what it can in each request.
    Modern(ClientCapabilities),
}

impl Piped {
    pub(super) fn new(serve: Serve) -> Self {
        Self { serve, peer: OnceLock::new() }
    }

    /// From here on the client can be told of things.
    pub(super) fn meets(&self, peer: &Peer<RoleServer>) {
        let _ = self.peer.set(peer.clone());
    }

    fn list(&self, line: &[u8], met: Met) -> Option<Vec<u8>> {
        let list = List::of(line)?;
        let says = list.meta().is_some_and(|meta| meta.protocol_version().is_some());
        let modern = list.meta().is_some_and(is_plain);
        if !modern && (says || met == Met::Modern) {
            return None;
        }
        let listing = self.serve.listing(&self.who()?)?;
        plain::answer(&list.id, if modern { &listing.modern } else { &listing.legacy })
    }

    fn who(&self) -> Option<Who> {
        self.serve.door().who(None).ok()
    }

    /// Who makes this call; `None` = it is for the library.
    fn client(&self, call: &Call) -> Option<Client> {
        match &call.meta {
            Some(meta) if is_plain(meta) => Some(Client::Modern(meta.client_capabilities()?)),
            Some(meta)
                if meta.protocol_version().is_some() || meta.get_progress_token().is_some() =>
            {
                None
            }
            _ => {
                let peer = self.peer.get()?;
                let info = peer.peer_info()?;
                let is_legacy = info.protocol_version < ProtocolVersion::V_2026_07_28;
                is_legacy.then(|| Client::Legacy(peer.clone(), info.capabilities.clone()))
            }
        }
    }

    fn work(&self, client: Client, who: Who, call: Call) -> Work {
        let Call { id, name, arguments, meta: _ } = call;
        let mut params = CallToolRequestParams::new(name);
        params.arguments = arguments;
        let (serve, own) = (self.serve.clone(), id.clone());
        let work = async move {
            match client {
                Client::Modern(capabilities) => {
                    serve.call_plainly(who, own, params, capabilities).await
                }
                Client::Legacy(peer, capabilities) => {
                    serve.call_of_legacy(who, own, params, peer, capabilities).await
                }
            }
        };
        Box::pin(async move {
            // Where this is polled first, a panic would end the whole connection.
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

impl Beside<RoleServer> for Piped {
    fn take(&self, line: &[u8], met: Met) -> Taken<RoleServer> {
        let Some(call) = Call::of(line) else {
            return self.list(line, met).map_or(Taken::Other, Taken::Answer);
        };
        match self.client(&call).zip(self.who()) {
            Some((client, who)) => Taken::Work(call.id.clone(), self.work(client, who, call)),
            None => Taken::Message(call.into()),
        }
    }
}

impl Serve {
    /// A call of a client that shook hands and wants no progress: what it is asked and told of besides does not need its request.
    async fn call_of_legacy(
        &self,
        who: Who,
        id: RequestId,
        params: CallToolRequestParams,
        peer: Peer<RoleServer>,
        capabilities: ClientCapabilities,
    ) -> Result<ServerResult, ErrorData> {
        let way = Way { peer: Some(peer), id, progress: None, logs: true };
        let (caller, questions) = caller(way, capabilities, false);
        let done = self.begin_call(who, caller, questions, false, None, params).await?;
        let mut result = ServerResult::from(done.of_tool()?);
        result.strip_result_type_for_legacy_peer();
        result.strip_non_object_output_for_legacy_peer();
        Ok(result)
    }
}
