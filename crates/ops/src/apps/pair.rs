//! Creates pairing codes, and lists pairings.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::owner::{apps, changed};
use super::row::PairingReply;
use crate::context::OpContext;
use crate::error::OpError;

/// A new pairing. The code is shown once.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[schemars(rename = "NewPairing")]
pub struct NewPairingReply {
    /// The code that the app sends, such as `ABCD-EFGH`.
    pub code: String,
    /// The pairing.
    #[serde(flatten)]
    pub pairing: PairingReply,
}

/// Creates a code for one app, valid once and for 5 minutes.
///
/// # Errors
/// [`OpError::Conflict`] if too many codes are open or too many apps paired, [`OpError::Store`],
/// [`OpError::Unrecorded`].
pub async fn pair(ctx: &OpContext<'_>) -> Result<NewPairingReply, OpError> {
    let apps = apps(ctx)?;
    let new = apps.create_pairing(ctx.store.actor).await?;
    changed(ctx, "app.pair", new.pairing.id.clone()).await?;
    Ok(NewPairingReply {
        code: new.code.shown(),
        pairing: PairingReply::new(new.pairing, apps.now()),
    })
}

/// Lists the pairings of the last day, the newest first.
///
/// # Errors
/// [`OpError::Store`].
pub async fn pairings(ctx: &OpContext<'_>) -> Result<Vec<PairingReply>, OpError> {
    let apps = apps(ctx)?;
    let now = apps.now();
    let all = apps.pairings().await?;
    Ok(all.into_iter().map(|pairing| PairingReply::new(pairing, now)).collect())
}

/// Shows a pairing.
///
/// # Errors
/// [`OpError::NotFound`], [`OpError::Store`].
pub async fn pairing(ctx: &OpContext<'_>, id: &str) -> Result<PairingReply, OpError> {
    let apps = apps(ctx)?;
    Ok(PairingReply::new(apps.pairing(id).await?, apps.now()))
}
