//! Requests of the paired daemon: who sent them, and that they are new.

use crate::error::DeviceError;
use crate::key_pair::KeyPair;
use crate::nonces::Nonces;
use crate::signature::{InboundRequest, response_message};

/// Name of the only peer.
const DAEMON: &str = "daemon";

/// Accepts requests of the paired daemon, and signs the answers to them.
pub struct NodeRequests {
    keys: KeyPair,
    nonces: Nonces,
}

impl NodeRequests {
    /// Creates the check. Requests before `now_s`, a Unix time, are refused, because another
    /// process of this node may have accepted them.
    pub(super) fn new(keys: KeyPair, now_s: i64) -> Self {
        Self { keys, nonces: Nonces::new(now_s) }
    }

    /// Accepts a request once.
    ///
    /// # Errors
    /// [`DeviceError::Unauthorized`] without the daemon's signature, or if the request is not new.
    pub fn accept(&self, request: &InboundRequest<'_>, now_s: i64) -> Result<(), DeviceError> {
        if !self.keys.theirs.verifies(&request.message(), request.signature) {
            return Err(DeviceError::Unauthorized(
                "the request is not signed by the daemon with which this node is paired".to_owned(),
            ));
        }
        // After the signature, so that a stranger uses up no nonce.
        self.nonces.accept(DAEMON, request.nonce, request.timestamp, now_s)
    }

    /// Signs a response to a request with this nonce; the signature is base64.
    ///
    /// # Errors
    /// [`DeviceError::Vault`] if the key of this node is damaged.
    pub fn sign(&self, status: u16, nonce: &str, body: &[u8]) -> Result<String, DeviceError> {
        let message = response_message(status, nonce, body);
        self.keys.ours.sign(&message).map_err(|error| DeviceError::Vault(error.to_string()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::keys::OwnKey;

    #[test]
    fn only_the_paired_daemon_is_accepted_and_each_request_once() {
        let (daemon, node) = (OwnKey::fresh_ed25519().unwrap(), OwnKey::fresh_ed25519().unwrap());
        let own = node.peer_key().unwrap();
        let requests =
            NodeRequests::new(KeyPair { ours: node, theirs: daemon.peer_key().unwrap() }, 1_000);
        let request = |signature: &'static str| InboundRequest {
            method: "POST",
            path: "/execute",
            timestamp: "1010",
            nonce: "0123456789abcdef",
            signature,
            body: b"{}",
        };
        let signature = daemon.sign(&request("").message()).unwrap();
        let signed: &'static str = Box::leak(signature.into_boxed_str());
        let tampered = InboundRequest { body: b"{ }", ..request(signed) };
        for (refused, part) in [(request(""), "not signed"), (tampered, "not signed")] {
            let why = requests.accept(&refused, 1_010).unwrap_err().to_string();
            assert!(why.contains(part), "{why}");
        }
        requests.accept(&request(signed), 1_010).unwrap();
        let again = requests.accept(&request(signed), 1_010).unwrap_err().to_string();
        assert!(again.contains("used before"), "{again}");
        // The daemon knows the answer by the key that this node claimed.
        let signature = requests.sign(200, "0123456789abcdef", b"{}").unwrap();
        assert!(own.verifies(&response_message(200, "0123456789abcdef", b"{}"), &signature));
    }
}
