//! The way back to whoever asks.

use std::sync::{Arc, Mutex};

use rmcp::model::{ClientCapabilities, ProgressToken, RequestId};
use rmcp::service::{Peer, RoleServer};
use tokio::sync::mpsc;

use crate::desk::{Caller, Questions};

/// How a client is told of things.
pub(super) struct Way {
    pub(super) peer: Option<Peer<RoleServer>>,
    pub(super) id: RequestId,
    pub(super) progress: Option<ProgressToken>,
    pub(super) logs: bool,
}

/// Whoever waits for a call, and its questions if it is asked by an answer.
pub(super) fn caller(
    way: Way,
    capabilities: ClientCapabilities,
    modern: bool,
) -> (Arc<Caller>, Option<mpsc::Receiver<Questions>>) {
    let (send, receive) = if modern && can_be_asked(&capabilities) {
        let (send, receive) = mpsc::channel(1);
        (Some(send), Some(receive))
    } else {
        (None, None)
    };
    // Nobody of today's revision is asked by a request.
    let capabilities =
        if modern && send.is_none() { ClientCapabilities::default() } else { capabilities };
    let caller = Caller {
        peer: way.peer,
        request: way.id,
        progress: way.progress,
        capabilities,
        logs: way.logs,
        lacks: Mutex::default(),
        questions: send,
    };
    (Arc::new(caller), receive)
}

fn can_be_asked(capabilities: &ClientCapabilities) -> bool {
    capabilities.elicitation.is_some()
        || capabilities.sampling.is_some()
        || capabilities.roots.is_some()
}
