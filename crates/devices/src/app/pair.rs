//! Pairing of an app: the claim, and its confirmation by the owner.

use std::collections::BTreeMap;

use serde_json::Value;
use toolcrib_core::{Risk, canonical_json};

use super::apps::{Apps, check_risks, name_taken, writer};
use super::capability::{Capability, as_reviewed, default_risk};
use super::model::{App, check_name};
use crate::address::AppAddress;
use crate::error::DeviceError;
use crate::key_pair::KeyPair;
use crate::keys::random_hex;
use crate::pairing::{
    AppClaim, ClaimedApp, DeviceKind, NewClaim, NewPairing, Pairing, PairingState,
};
use crate::signature::InboundRequest;

/// Maximum paired apps.
const MOST_APPS: usize = 64;
/// Maximum types of signals of one app.
const MOST_SIGNALS: usize = 32;
/// Maximum characters of a type of signal.
const SIGNAL_CHARS: usize = 40;

impl Apps {
    /// Creates a pairing code, which is shown once.
    ///
    /// # Errors
    /// [`DeviceError::Conflict`] if too many codes are open or too many apps paired,
    /// [`DeviceError::Row`].
    pub async fn create_pairing(&self, by: &str) -> Result<NewPairing, DeviceError> {
        if self.all().await?.len() >= MOST_APPS {
            return Err(DeviceError::Conflict(format!(
                "{MOST_APPS} apps are paired, the most that there can be; revoke one first"
            )));
        }
        self.forget_old_claims().await?;
        self.0.pairings.create(by).await
    }

    /// Returns all pairings of the last day, the newest first.
    ///
    /// # Errors
    /// [`DeviceError::Row`].
    pub async fn pairings(&self) -> Result<Vec<Pairing>, DeviceError> {
        self.0.pairings.all().await
    }

    /// Returns one pairing.
    ///
    /// # Errors
    /// [`DeviceError::UnknownPairing`], [`DeviceError::Row`].
    pub async fn pairing(&self, id: &str) -> Result<Pairing, DeviceError> {
        self.0.pairings.get(id).await
    }

    /// Takes the claim of an app that knows a code. The request must be signed with the key of the
    /// claim, so that no program claims with the key of another.
    ///
    /// # Errors
    /// [`DeviceError::Unauthorized`], [`DeviceError::Gone`], [`DeviceError::Invalid`],
    /// [`DeviceError::Conflict`] if the name is used, [`DeviceError::Row`],
    /// [`DeviceError::Vault`].
    pub async fn claim(
        &self,
        new: NewClaim,
        request: InboundRequest<'_>,
    ) -> Result<ClaimedApp, DeviceError> {
        let now = self.now();
        let is_taken = self.all().await?.iter().any(|app| app.name == new.name)
            || self.is_claimed(&new.name).await?;
        let id = random_hex::<16>().map_err(|error| DeviceError::Vault(error.to_string()))?;
        let keys = KeyPair::fresh(new.key.clone());
        let keys = keys.map_err(|error| DeviceError::Vault(error.to_string()))?;
        let fingerprint = new.key.fingerprint();
        let check = || {
            new.key.check().map_err(|error| DeviceError::Invalid(error.to_string()))?;
            if !new.key.verifies(&request.message(), request.signature) {
                return Err(DeviceError::Unauthorized(
                    "the signature does not belong to the key of the claim; sign the request with that key".to_owned(),
                ));
            }
            self.0.nonces.accept(&fingerprint, request.nonce, request.timestamp, now / 1_000)?;
            check_name(&new.name).map_err(DeviceError::Invalid)?;
            if is_taken {
                return Err(name_taken(&new.name));
            }
            let address = AppAddress::parse(&new.address)
                .map_err(|error| DeviceError::Invalid(error.to_string()))?;
            // Only the policy is asked; nothing is connected to before the owner confirms it.
            address
                .client(&self.0.client)
                .map_err(|error| DeviceError::Invalid(error.to_string()))?;
            let tools = Capability::parse_all(&new.capabilities).map_err(DeviceError::Invalid)?;
            check_signals(&new.signals)?;
            Ok(AppClaim {
                id: id.clone(),
                kind: DeviceKind::App,
                name: new.name.clone(),
                address: address.to_string(),
                fingerprint: fingerprint.clone(),
                capabilities: tools.into_iter().map(|tool| tool.definition).collect(),
                signals: new.signals.clone(),
                claimed_at: now,
            })
        };
        let pairing = self.0.pairings.claim(&new.code, check).await?;
        keys.store(&self.0.vault, &id).await?;
        let daemon_key = keys.ours.peer_key();
        Ok(ClaimedApp {
            pairing: pairing.id,
            id,
            fingerprint,
            daemon_key: daemon_key.map_err(|error| DeviceError::Vault(error.to_string()))?,
            expires_at: pairing.expires_at,
        })
    }

    /// Confirms a pairing: connects to the app, compares its tools with those that the owner was
    /// shown, and stores it with the risks that the owner chose. Tools without a chosen risk are
    /// high, or critical if the app says so.
    ///
    /// # Errors
    /// [`DeviceError::UnknownPairing`], [`DeviceError::Conflict`] (already decided, another
    /// fingerprint, other tools, a used name), [`DeviceError::Gone`], [`DeviceError::Invalid`],
    /// [`DeviceError::Unreachable`], [`DeviceError::Row`], [`DeviceError::Vault`].
    pub async fn confirm(
        &self,
        pairing: &str,
        fingerprint: &str,
        risks: &BTreeMap<String, Risk>,
        by: &str,
    ) -> Result<App, DeviceError> {
        let claim = self.0.pairings.waiting(pairing, Some(fingerprint)).await?;
        let reviewed = as_reviewed(&claim.address, &claim.fingerprint, &claim.capabilities);
        let risk = |(tool, definition): (&String, &Value)| {
            let risk = risks.get(tool).copied().unwrap_or_else(|| default_risk(definition));
            (tool.clone(), risk)
        };
        let chosen: BTreeMap<String, Risk> = reviewed.tools.iter().map(risk).collect();
        check_risks(risks, &chosen)?;
        let app = App {
            id: claim.id.clone(),
            name: claim.name.clone(),
            kind: claim.kind,
            address: claim.address.clone(),
            fingerprint: claim.fingerprint.clone(),
            paired_at: self.now(),
            paired_by: by.to_owned(),
            reviewed,
            risks: chosen,
            seen: None,
            signals: claim.signals.clone(),
            offline: None,
        };
        let (_, now) = self.look(&app).await.map_err(|why| {
            DeviceError::Unreachable(format!(
                "the app {} at {} cannot be paired: {why}",
                app.name, app.address
            ))
        })?;
        let digest =
            |tools| serde_json::to_value(tools).map(|tools| canonical_json::sha256(&tools));
        if digest(&now.tools).ok() != digest(&app.reviewed.tools).ok() {
            return Err(DeviceError::Conflict(
                "the app has other tools now than it asked for; refuse it, and pair it again"
                    .to_owned(),
            ));
        }
        // One of several confirmations gets the pairing, and stores the app.
        self.0.pairings.confirm(pairing, fingerprint, by).await?;
        let stored = self
            .0
            .rows
            .change(&writer(by), &app.name, |row| match row {
                Some(_) => Err(name_taken(&app.name)),
                None => Ok((Some(app.clone()), "paired".to_owned(), ())),
            })
            .await;
        if let Err(error) = stored {
            self.0.pairings.take_back(pairing, by).await?;
            return Err(error);
        }
        Ok(app)
    }

    /// Refuses a pairing that waits, or ends its code.
    ///
    /// # Errors
    /// [`DeviceError::UnknownPairing`], [`DeviceError::Conflict`], [`DeviceError::Gone`],
    /// [`DeviceError::Row`], [`DeviceError::Vault`].
    pub async fn refuse(&self, pairing: &str, by: &str) -> Result<Pairing, DeviceError> {
        let refused = self.0.pairings.refuse(pairing, by).await?;
        if let Some(claim) = &refused.claim {
            KeyPair::remove(&self.0.vault, &claim.id).await?;
        }
        Ok(refused)
    }

    /// Removes the keys of claims that were not confirmed in time.
    async fn forget_old_claims(&self) -> Result<(), DeviceError> {
        let now = self.now();
        for pairing in self.0.pairings.all().await? {
            if let (PairingState::Expired, Some(claim)) = (pairing.state(now), &pairing.claim) {
                KeyPair::remove(&self.0.vault, &claim.id).await?;
            }
        }
        Ok(())
    }
}

fn check_signals(types: &[String]) -> Result<(), DeviceError> {
    let plain = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || matches!(c, '_' | '.');
    let is_good =
        |one: &String| !one.is_empty() && one.len() <= SIGNAL_CHARS && one.chars().all(plain);
    if types.len() > MOST_SIGNALS || !types.iter().all(is_good) {
        return Err(DeviceError::Invalid(format!(
            "an app has at most {MOST_SIGNALS} types of signals, each of 1 to {SIGNAL_CHARS} of a-z, 0-9, `_` and `.`"
        )));
    }
    Ok(())
}
