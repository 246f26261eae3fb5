//! The paired apps of the owner: listing, renaming, reviewing, revoking.

use std::collections::{BTreeMap, HashMap};
use std::sync::{Arc, Mutex};

use toolcrib_assistant::{Step, TypedRows, Writer};
use toolcrib_core::{AssistantRowStore, Author, Risk, RowKind};
use toolcrib_net::HttpClient;

use super::capability::default_risk;
use super::model::{App, check_name};
use super::signals::Signals;
use crate::error::DeviceError;
use crate::key_pair::KeyPair;
use crate::key_vault::KeyVault;
use crate::nonces::Nonces;
use crate::pairing::Pairings;

/// The owner of all apps, the only one so far.
pub(super) const OWNER: &str = "";

/// What the apps need.
pub struct AppsParts {
    /// The store of pairings and apps.
    pub store: Arc<dyn AssistantRowStore>,
    /// The vault with their keys.
    pub vault: Arc<dyn KeyVault>,
    /// The client with the owner's address policy.
    pub client: HttpClient,
}

/// The paired apps of the owner. Clones share them.
#[derive(Clone)]
pub struct Apps(pub(super) Arc<Inner>);

pub(super) struct Inner {
    pub(super) rows: TypedRows<App>,
    pub(super) pairings: Pairings,
    pub(super) vault: Arc<dyn KeyVault>,
    pub(super) client: HttpClient,
    pub(super) nonces: Nonces,
    pub(super) signals: Signals,
    /// Failed health checks in a row, by the id of the app.
    pub(super) misses: Mutex<HashMap<String, u32>>,
    /// Revisions of the apps whose tools are attached, by name.
    pub(super) attached: Mutex<BTreeMap<String, i64>>,
}

impl Apps {
    /// Creates the apps on these parts.
    #[must_use]
    pub fn new(parts: AppsParts) -> Self {
        let AppsParts { store, vault, client } = parts;
        let rows = TypedRows::new(Arc::clone(&store), RowKind::App);
        let nonces = Nonces::new(rows.now() / 1_000);
        Self(Arc::new(Inner {
            rows,
            pairings: Pairings::new(store),
            vault,
            client,
            nonces,
            signals: Signals::default(),
            misses: Mutex::default(),
            attached: Mutex::default(),
        }))
    }

    /// Returns the Unix time in milliseconds.
    #[must_use]
    pub fn now(&self) -> i64 {
        self.0.rows.now()
    }

    /// Returns all apps, by name.
    ///
    /// # Errors
    /// [`DeviceError::Row`].
    pub async fn all(&self) -> Result<Vec<App>, DeviceError> {
        Ok(self.0.rows.all(OWNER).await?.into_iter().map(|row| row.body).collect())
    }

    /// Returns the app with this name or id.
    ///
    /// # Errors
    /// [`DeviceError::UnknownApp`], [`DeviceError::Row`].
    pub async fn find(&self, name_or_id: &str) -> Result<App, DeviceError> {
        let all = self.all().await?;
        let found = all.into_iter().find(|app| app.name == name_or_id || app.id == name_or_id);
        found.ok_or_else(|| DeviceError::UnknownApp(name_or_id.to_owned()))
    }

    /// Renames an app, and with it its tools.
    ///
    /// # Errors
    /// [`DeviceError::Invalid`], [`DeviceError::Conflict`] if the name is used,
    /// [`DeviceError::UnknownApp`], [`DeviceError::Row`].
    pub async fn rename(&self, app: &str, to: &str, by: &str) -> Result<App, DeviceError> {
        check_name(to).map_err(DeviceError::Invalid)?;
        let app = self.find(app).await?;
        if app.name == to {
            return Ok(app);
        }
        let rows = &self.0.rows;
        let gone = || DeviceError::UnknownApp(app.name.clone());
        let row = rows.get(OWNER, &app.name).await?.ok_or_else(gone)?;
        if rows.get(OWNER, to).await?.is_some() || self.is_claimed(to).await? {
            return Err(name_taken(to));
        }
        let renamed = App { name: to.to_owned(), ..row.body };
        let steps = vec![
            Step { key: row.key, expected: Some(row.revision), body: None },
            Step { key: to.to_owned(), expected: None, body: Some(renamed.clone()) },
        ];
        if !rows.write(&writer(by), "renamed", steps).await? {
            return Err(DeviceError::Conflict(
                "the app was changed at the same time; try again".to_owned(),
            ));
        }
        Ok(renamed)
    }

    /// Ends a pairing: the tools of the app are gone, and its key opens nothing.
    ///
    /// # Errors
    /// [`DeviceError::UnknownApp`], [`DeviceError::Row`], [`DeviceError::Vault`].
    pub async fn revoke(&self, app: &str, by: &str) -> Result<App, DeviceError> {
        let app = self.find(app).await?;
        // The row first: without it, neither a call nor a request is accepted.
        self.0
            .rows
            .change::<_, DeviceError>(&writer(by), &app.name, |row| match row {
                Some(row) if row.id != app.id => Err(DeviceError::UnknownApp(app.id.clone())),
                _ => Ok((None, "revoked".to_owned(), ())),
            })
            .await?;
        self.0.signals.forget(&app.id);
        KeyPair::remove(&self.0.vault, &app.id).await?;
        Ok(app)
    }

    /// Takes the definitions with this digest ([`App::review_digest`]) as reviewed, with these
    /// risks. Definitions that changed since the owner read them stay held.
    ///
    /// # Errors
    /// [`DeviceError::UnknownApp`], [`DeviceError::Conflict`] if they changed,
    /// [`DeviceError::Invalid`] for a risk of a tool that does not exist, [`DeviceError::Row`].
    pub async fn accept_review(
        &self,
        app: &str,
        digest: &str,
        risks: &BTreeMap<String, Risk>,
        by: &str,
    ) -> Result<App, DeviceError> {
        let found = self.find(app).await?;
        self.0
            .rows
            .change(&writer(by), &found.name, |row| {
                let row = row.ok_or_else(|| DeviceError::UnknownApp(app.to_owned()))?;
                if row.review_digest() != digest {
                    return Err(DeviceError::Conflict(
                        "the definitions changed again; review them once more".to_owned(),
                    ));
                }
                let reviewed = row.seen.clone().unwrap_or_else(|| row.reviewed.clone());
                let held = row.held();
                let is_held = |tool: &str| held.iter().any(|held| held.tool == tool);
                let mut chosen = BTreeMap::new();
                for (tool, definition) in &reviewed.tools {
                    let kept = row.risks.get(tool).filter(|_| !is_held(tool)).copied();
                    let risk = risks.get(tool).copied().or(kept);
                    chosen.insert(tool.clone(), risk.unwrap_or_else(|| default_risk(definition)));
                }
                check_risks(risks, &chosen)?;
                let next = App { reviewed, risks: chosen, seen: None, ..row };
                Ok((Some(next.clone()), "reviewed".to_owned(), next))
            })
            .await
    }

    /// Returns whether an app that waits for the owner has this name.
    pub(super) async fn is_claimed(&self, name: &str) -> Result<bool, DeviceError> {
        let now = self.0.pairings.now();
        let all = self.0.pairings.all().await?;
        Ok(all.iter().any(|pairing| {
            pairing.state(now) == crate::pairing::PairingState::Claimed
                && pairing.claim.as_ref().is_some_and(|claim| claim.name == name)
        }))
    }
}

/// Fails if a risk is for a tool that does not exist.
pub(super) fn check_risks(
    given: &BTreeMap<String, Risk>,
    tools: &BTreeMap<String, Risk>,
) -> Result<(), DeviceError> {
    match given.keys().find(|tool| !tools.contains_key(*tool)) {
        None => Ok(()),
        Some(tool) => {
            let all: Vec<&str> = tools.keys().map(String::as_str).collect();
            let shown = toolcrib_core::display_text::escape_to_line(tool);
            Err(DeviceError::Invalid(format!(
                "the app has no tool {shown}; it has {}",
                all.join(", ")
            )))
        }
    }
}

pub(super) fn name_taken(name: &str) -> DeviceError {
    DeviceError::Conflict(format!(
        "an app with the name {name} is paired or waits for the owner; choose another name, or revoke that app first"
    ))
}

pub(super) fn writer(by: &str) -> Writer {
    Writer { owner: OWNER.to_owned(), author: Author::person(by), untrusted: None }
}
