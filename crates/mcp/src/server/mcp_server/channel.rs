//! Builds the channel back to the client of a request.

use std::sync::atomic::AtomicUsize;
use std::sync::{Arc, Mutex};

use rmcp::model::{ClientCapabilities, ProgressToken, RequestId};
use rmcp::service::{Peer, RoleServer};
use tokio::sync::mpsc;

use crate::client_channel::{ClientChannel, ClientQuestions, ProgressRoute};

/// How a client receives messages.
pub(super) struct ClientRoute {
    pub(super) peer: Option<Peer<RoleServer>>,
    pub(super) id: RequestId,
    pub(super) progress: Option<ProgressToken>,
    pub(super) logs: bool,
}

/// Creates the channel of a call, and its questions if they are sent in the response.
pub(super) fn client_channel(
    way: ClientRoute,
    capabilities: ClientCapabilities,
    modern: bool,
) -> (Arc<ClientChannel>, Option<mpsc::Receiver<ClientQuestions>>) {
    let (send, receive) = if modern && can_be_asked(&capabilities) {
        let (send, receive) = mpsc::channel(1);
        (Some(send), Some(receive))
    } else {
        (None, None)
    };
    // Clients of the current revision never get requests.
    let capabilities =
        if modern && send.is_none() { ClientCapabilities::default() } else { capabilities };
    let waiting = ProgressRoute::new(way.peer.clone(), way.progress);
    let caller = ClientChannel {
        peer: way.peer,
        request: way.id,
        waiting: Mutex::new(waiting),
        capabilities,
        logs: way.logs,
        missing_capability: Mutex::default(),
        questions: send,
        writing: AtomicUsize::new(0),
    };
    (Arc::new(caller), receive)
}

fn can_be_asked(capabilities: &ClientCapabilities) -> bool {
    capabilities.elicitation.is_some()
        || capabilities.sampling.is_some()
        || capabilities.roots.is_some()
}
