//! Takes the claim of an app that knows a pairing code.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;
use toolcrib_app::Toolcrib;
use toolcrib_devices::{InboundRequest, NewClaim, PeerKey};

use crate::error::OpError;

/// A key in base64, under its kind.
#[derive(Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "snake_case")]
#[schemars(rename = "AppKey")]
pub enum KeyBody {
    /// An ed25519 public key of 32 bytes.
    Ed25519(String),
    /// A random secret of 32 bytes, for HMAC-SHA256.
    Hmac(String),
}

/// The claim of an app, which sends it with the code.
#[derive(Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(rename = "NewAppClaim")]
pub struct ClaimRequest {
    /// The code, as the person typed it.
    pub code: String,
    /// Name of the app: 1 to 24 of a-z, 0-9 and `_`. Its tools are `if_NAME__TOOL`.
    pub name: String,
    /// Where it listens, such as `http://127.0.0.1:7811`.
    pub address: String,
    /// The key with which it signs.
    pub key: KeyBody,
    /// Its tools, as `GET /capabilities` returns them.
    pub capabilities: Value,
    /// The types of its signals.
    #[serde(default)]
    pub signals: Vec<String>,
}

/// The answer to a claim. The pairing counts once the owner has confirmed it.
#[derive(Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[schemars(rename = "AppClaimAnswer")]
pub struct ClaimReply {
    /// Id of the pairing.
    pub pairing: String,
    /// Id of the app, which its requests name.
    pub id: String,
    /// Fingerprint of the app's key: show it to the person, who compares it.
    pub fingerprint: String,
    /// The key with which Toolcrib signs its requests to the app.
    pub daemon_key: KeyBody,
    /// Until when the owner can confirm it, milliseconds since 1970.
    pub expires_at: i64,
}

impl From<PeerKey> for KeyBody {
    fn from(key: PeerKey) -> Self {
        match key {
            PeerKey::Ed25519(key) => Self::Ed25519(key),
            PeerKey::Hmac(key) => Self::Hmac(key),
        }
    }
}

/// Takes a claim. Nothing is connected to before the owner confirms it.
///
/// # Errors
/// [`OpError::Unauthorized`] for a wrong code or signature, [`OpError::Gone`] for a code that has
/// ended, [`OpError::Invalid`], [`OpError::Conflict`] if the name is used, [`OpError::Vault`],
/// [`OpError::Store`].
pub async fn claim(
    toolcrib: &Toolcrib,
    request: InboundRequest<'_>,
) -> Result<ClaimReply, OpError> {
    let body: ClaimRequest = serde_json::from_slice(request.body)
        .map_err(|error| OpError::Invalid(format!("the claim is not valid: {error}")))?;
    let key = match body.key {
        KeyBody::Ed25519(key) => PeerKey::Ed25519(key),
        KeyBody::Hmac(key) => PeerKey::Hmac(key),
    };
    let new = NewClaim {
        code: body.code,
        name: body.name,
        address: body.address,
        key,
        capabilities: body.capabilities,
        signals: body.signals,
    };
    let claimed = toolcrib.apps().claim(new, request).await?;
    tracing::info!(pairing = %claimed.pairing, fingerprint = %claimed.fingerprint, "an app waits for the owner");
    Ok(ClaimReply {
        pairing: claimed.pairing,
        id: claimed.id,
        fingerprint: claimed.fingerprint,
        daemon_key: claimed.daemon_key.into(),
        expires_at: claimed.expires_at,
    })
}
