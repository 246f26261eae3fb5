//! Uses a pairing code at a daemon, and keeps the keys of both sides in the vault of this machine.

use std::sync::Arc;
use std::time::Duration;

use serde::Deserialize;
use serde_json::{Value, json};
use toolcrib_core::{Clock as _, SystemClock};
use toolcrib_net::{Bytes, Follow, HttpClient, Limits, Method, Request};

use super::requests::NodeRequests;
use crate::address::AppAddress;
use crate::app::{Capability, check_name};
use crate::error::DeviceError;
use crate::key_pair::KeyPair;
use crate::key_vault::KeyVault;
use crate::keys::{OwnKey, PeerKey, random_hex};
use crate::signature::{NONCE_HEADER, SIGNATURE_HEADER, TIMESTAMP_HEADER, request_message};

/// Path of claims at a daemon.
const CLAIM_PATH: &str = "/api/v1/pairings/claim";
/// Time limit of a claim.
const CLAIM_TIMEOUT: Duration = Duration::from_secs(30);
/// Maximum bytes of the answer to a claim; a real one has less than 1 KB.
const ANSWER_BYTES: usize = 64 * 1024;
/// Name of the keys in the vault. A machine is a node of one daemon.
const KEYS: &str = "of-this-node";

/// What a node asks for.
#[derive(Debug, Clone)]
pub struct NodeClaim {
    /// The pairing code, as typed.
    pub code: String,
    /// Address of the daemon, such as `https://home.example` or `http://192.168.1.10:8717`.
    pub daemon: String,
    /// Name of this node: the part of the names of its tools.
    pub name: String,
    /// Where the daemon reaches this node.
    pub address: String,
    /// The tools, in the form of `/capabilities`.
    pub capabilities: Value,
}

/// The pairing of this machine with a daemon.
pub struct NodePairing {
    vault: Arc<dyn KeyVault>,
    client: HttpClient,
}

/// The answer to a claim.
#[derive(Deserialize)]
struct Claimed {
    daemon_key: PeerKey,
}

impl NodePairing {
    /// Creates the pairing, with the vault of this machine.
    #[must_use]
    pub fn new(vault: Arc<dyn KeyVault>, client: HttpClient) -> Self {
        Self { vault, client }
    }

    /// Returns the check of requests of the paired daemon; `None` if this machine is not paired.
    ///
    /// # Errors
    /// [`DeviceError::Vault`].
    pub async fn requests(&self) -> Result<Option<NodeRequests>, DeviceError> {
        let keys = KeyPair::read(&self.vault, KEYS).await?;
        Ok(keys.map(|keys| NodeRequests::new(keys, SystemClock.now_ms() / 1_000)))
    }

    /// Uses a code, and keeps the keys in place of those of an earlier pairing. Returns the
    /// fingerprint of this node, which the owner of the daemon compares.
    ///
    /// # Errors
    /// [`DeviceError::Invalid`] if the name, an address or a tool is not valid,
    /// [`DeviceError::Unreachable`] with the daemon's reason, [`DeviceError::Vault`].
    pub async fn claim(&self, claim: NodeClaim) -> Result<String, DeviceError> {
        let invalid = |why: String| DeviceError::Invalid(why);
        check_name(&claim.name).map_err(invalid)?;
        AppAddress::parse(&claim.address).map_err(|error| invalid(error.to_string()))?;
        Capability::parse_all(&claim.capabilities).map_err(invalid)?;
        let daemon =
            AppAddress::parse(&claim.daemon).map_err(|error| invalid(error.to_string()))?;
        let vault_error = |error: crate::keys::KeyError| DeviceError::Vault(error.to_string());
        // An ed25519 key: the claim may go over a network without TLS, and has no secret then.
        let own = OwnKey::fresh_ed25519().map_err(vault_error)?;
        let key = own.peer_key().map_err(vault_error)?;
        let fingerprint = key.fingerprint();
        let body = json!({
            "code": claim.code, "name": claim.name, "address": claim.address, "key": key,
            "capabilities": claim.capabilities, "signals": [],
        });
        let answer = self.post(&daemon, &own, body.to_string()).await?;
        let unusable = |why: String| DeviceError::Unreachable(why);
        let Claimed { daemon_key } = serde_json::from_value(answer)
            .map_err(|error| unusable(format!("the daemon answers without its key: {error}")))?;
        daemon_key.check().map_err(|error| unusable(error.to_string()))?;
        KeyPair { ours: own, theirs: daemon_key }.store(&self.vault, KEYS).await?;
        Ok(fingerprint)
    }

    async fn post(
        &self,
        daemon: &AppAddress,
        own: &OwnKey,
        body: String,
    ) -> Result<Value, DeviceError> {
        let failed = |why: &dyn std::fmt::Display| {
            DeviceError::Unreachable(format!("the daemon at {daemon}: {why}"))
        };
        let client = daemon.client(&self.client).map_err(|error| failed(&error))?;
        let nonce = random_hex::<16>().map_err(|error| failed(&error))?;
        let timestamp = (SystemClock.now_ms() / 1_000).to_string();
        let message = request_message("POST", CLAIM_PATH, &timestamp, &nonce, body.as_bytes());
        let signature = own.sign(&message).map_err(|error| failed(&error))?;
        let header = |name: &str, value: &str| (name.to_owned(), value.to_owned());
        let request = Request {
            headers: vec![
                header("content-type", "application/json"),
                header(TIMESTAMP_HEADER, &timestamp),
                header(NONCE_HEADER, &nonce),
                header(SIGNATURE_HEADER, &signature),
            ],
            body: Bytes::from(body),
            follow: Follow::Never,
            ..Request::new(Method::POST, daemon.url(CLAIM_PATH))
        };
        let limits = Limits {
            total: CLAIM_TIMEOUT,
            max_wire_bytes: ANSWER_BYTES,
            max_inflated_bytes: ANSWER_BYTES,
            max_redirects: 0,
            ..Limits::default()
        };
        let response = client.fetch(&request, &limits).await.map_err(|error| failed(&error))?;
        let answer: Value = serde_json::from_slice(&response.body).unwrap_or_default();
        if response.head.status == 201 {
            return Ok(answer);
        }
        let status = response.head.status;
        let reason = answer.get("detail").and_then(Value::as_str).map(str::to_owned);
        Err(failed(&reason.unwrap_or_else(|| format!("it answers with status {status}"))))
    }
}
