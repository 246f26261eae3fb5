//! A transport to a server behind its [`InboundGate`].

use std::sync::Arc;

use rmcp::model::ClientJsonRpcMessage;
use rmcp::service::{RoleClient, RxJsonRpcMessage};
use rmcp::transport::Transport;

use super::InboundGate;
use super::gate::Verdict;

/// Forwards the messages that the gate allows. When the gate ends a server, the transport looks
/// closed.
pub(crate) struct GatedTransport<T> {
    inner: T,
    gate: Arc<InboundGate>,
    /// Whether the gate has ended the server.
    ended: bool,
}

impl<T> GatedTransport<T> {
    pub(crate) fn new(inner: T, gate: Arc<InboundGate>) -> Self {
        Self { inner, gate, ended: false }
    }
}

impl<T: Transport<RoleClient>> Transport<RoleClient> for GatedTransport<T> {
    type Error = T::Error;

    fn send(
        &mut self,
        message: ClientJsonRpcMessage,
    ) -> impl Future<Output = Result<(), Self::Error>> + Send + 'static {
        self.gate.sends(&message);
        self.inner.send(message)
    }

    /// Receives a message. Cancel safe, like that of `T`: nothing is awaited after a message has
    /// arrived.
    async fn receive(&mut self) -> Option<RxJsonRpcMessage<RoleClient>> {
        while !self.ended {
            let message = self.inner.receive().await?;
            match self.gate.judge(message) {
                Verdict::Pass(message) => return Some(*message),
                Verdict::Consumed => {}
                Verdict::End => self.ended = true,
            }
        }
        None
    }

    async fn close(&mut self) -> Result<(), Self::Error> {
        self.inner.close().await
    }
}
