//! Requests of apps to us: who sent them, and their signals.

use super::apps::Apps;
use super::model::App;
use super::signals::{NewSignal, Signal, SignalOutcome};
use crate::error::DeviceError;
use crate::key_pair::KeyPair;
use crate::signature::InboundRequest;

/// Maximum signals of one request.
const BATCH: usize = 50;

impl Apps {
    /// Returns the app that sent a request.
    ///
    /// # Errors
    /// [`DeviceError::Unauthorized`] without proof, [`DeviceError::Denied`] before the owner has
    /// confirmed the pairing, [`DeviceError::Row`], [`DeviceError::Vault`].
    pub async fn authenticate(
        &self,
        id: &str,
        request: InboundRequest<'_>,
    ) -> Result<App, DeviceError> {
        let unknown = || {
            DeviceError::Unauthorized(
                "no app has this id: it was never paired, or it was revoked; pair it again"
                    .to_owned(),
            )
        };
        let app = self.all().await?.into_iter().find(|app| app.id == id);
        if app.is_none() && !self.waits(id).await? {
            return Err(unknown());
        }
        let keys = KeyPair::read(&self.0.vault, id).await?.ok_or_else(unknown)?;
        if !keys.theirs.verifies(&request.message(), request.signature) {
            return Err(DeviceError::Unauthorized(
                "the signature is not valid: sign method, path, time, nonce and body with the key of the pairing".to_owned(),
            ));
        }
        // After the signature, so that a stranger uses up no nonce.
        self.0.nonces.accept(id, request.nonce, request.timestamp, self.now() / 1_000)?;
        app.ok_or_else(|| {
            DeviceError::Denied("the owner has not confirmed the pairing yet".to_owned())
        })
    }

    /// Takes signals of an app, each on its own.
    ///
    /// # Errors
    /// [`DeviceError::Invalid`] for more than 50 at once.
    pub fn add_signals(
        &self,
        app: &App,
        new: Vec<NewSignal>,
    ) -> Result<SignalOutcome, DeviceError> {
        if new.is_empty() || new.len() > BATCH {
            return Err(DeviceError::Invalid(format!("send 1 to {BATCH} signals at once")));
        }
        let now = self.now();
        let mut outcome = SignalOutcome::default();
        for (position, signal) in new.into_iter().enumerate() {
            match self.0.signals.add((&app.id, &app.name), &app.signals, signal, now) {
                Ok(()) => outcome.accepted += 1,
                Err(why) => outcome.rejected.push((position, why)),
            }
        }
        Ok(outcome)
    }

    /// Returns the five strongest signals at this time.
    #[must_use]
    pub fn strongest_signals(&self) -> Vec<Signal> {
        self.0.signals.strongest(self.now())
    }

    /// Returns whether a claim with this id waits for the owner.
    async fn waits(&self, id: &str) -> Result<bool, DeviceError> {
        let now = self.now();
        let all = self.0.pairings.all().await?;
        Ok(all.iter().any(|pairing| {
            pairing.state(now) == crate::pairing::PairingState::Claimed
                && pairing.claim.as_ref().is_some_and(|claim| claim.id == id)
        }))
    }
}
