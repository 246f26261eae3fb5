//! Confirms and refuses pairings.

use std::collections::BTreeMap;

use super::owner::{apps, changed};
use super::row::{AppReply, PairingReply, RiskName};
use crate::context::OpContext;
use crate::error::OpError;

/// The pairing to confirm.
#[derive(Debug, Clone)]
pub struct ConfirmPairingRequest {
    /// Its id.
    pub pairing: String,
    /// The fingerprint that the owner has compared.
    pub fingerprint: String,
    /// The risk of tools, by their names at the app; others are high, or critical if the app says
    /// so.
    pub risks: BTreeMap<String, RiskName>,
}

/// Confirms a pairing. The caller must have asked the owner.
///
/// # Errors
/// [`OpError::NotFound`], [`OpError::Conflict`] (already decided, another fingerprint, other tools
/// than were shown, a used name), [`OpError::Gone`], [`OpError::Invalid`], [`OpError::Unavailable`]
/// if the app does not answer, [`OpError::Vault`], [`OpError::Store`], [`OpError::Unrecorded`].
pub async fn confirm(
    ctx: &OpContext<'_>,
    request: ConfirmPairingRequest,
) -> Result<AppReply, OpError> {
    let ConfirmPairingRequest { pairing, fingerprint, risks } = request;
    let risks = risks.into_iter().map(|(tool, risk)| (tool, risk.into())).collect();
    let app = apps(ctx)?.confirm(&pairing, &fingerprint, &risks, ctx.store.actor).await?;
    let risks: Vec<String> = app
        .risks
        .iter()
        .map(|(tool, risk)| format!("{tool}={}", RiskName::from(*risk).as_str()))
        .collect();
    let about =
        format!("{} at {} ({}): {}", app.name, app.address, app.fingerprint, risks.join(", "));
    changed(ctx, "app.confirm", about).await?;
    Ok(app.into())
}

/// Refuses a pairing that waits, or ends its code.
///
/// # Errors
/// [`OpError::NotFound`], [`OpError::Conflict`], [`OpError::Gone`], [`OpError::Vault`],
/// [`OpError::Store`], [`OpError::Unrecorded`].
pub async fn refuse(ctx: &OpContext<'_>, pairing: &str) -> Result<PairingReply, OpError> {
    let apps = apps(ctx)?;
    let refused = PairingReply::new(apps.refuse(pairing, ctx.store.actor).await?, apps.now());
    changed(ctx, "app.refuse", refused.pairing.clone()).await?;
    Ok(refused)
}
