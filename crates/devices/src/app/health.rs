//! Health checks: `/health` and `/capabilities` of an app, and what follows from their answers.

use std::sync::PoisonError;
use std::time::{Duration, Instant};

use serde::{Deserialize, Serialize};
use toolcrib_mcp::client::{PendingReview, Pin, ReviewedTools};

use super::apps::{Apps, writer};
use super::capability::{Capability, as_reviewed};
use super::model::{App, Offline};
use crate::error::DeviceError;

/// Failed checks in a row after which an app is offline.
const MISSES: u32 = 3;
/// Time limit of one request of a check.
const CHECK_TIME: Duration = Duration::from_secs(5);
/// Characters of a version and of a reason.
const LINE_CHARS: usize = 200;
/// Author of changes by checks.
const BY: &str = "health check";

/// The answer of `/health`.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct AppHealth {
    /// `ok`.
    pub status: String,
    /// The name that the app reports.
    #[serde(default)]
    pub name: String,
    /// The version that the app reports.
    #[serde(default)]
    pub version: String,
}

/// The result of a test by a person.
#[derive(Debug, Clone, PartialEq)]
pub struct TestedApp {
    /// The app after the test.
    pub app: App,
    /// The answer of `/health`.
    pub health: AppHealth,
    /// Time of `/health` and `/capabilities` together.
    pub took: Duration,
    /// Tools whose definitions differ from the reviewed ones.
    pub held: Vec<PendingReview>,
}

impl Apps {
    /// Asks an app for its health and its tools, and changes nothing.
    pub(super) async fn look(&self, app: &App) -> Result<(AppHealth, ReviewedTools), String> {
        let health = self.exchange(app, "/health", None, CHECK_TIME).await;
        let health = health.map_err(|error| error.to_string())?;
        let health: AppHealth = serde_json::from_value(health)
            .map_err(|error| format!("its answer to /health is not valid: {error}"))?;
        if health.status != "ok" {
            return Err("its answer to /health is not `ok`".to_owned());
        }
        let list = self.exchange(app, "/capabilities", None, CHECK_TIME).await;
        let list = list.map_err(|error| error.to_string())?;
        let tools = Capability::parse_all(&list)?;
        let definitions: Vec<_> = tools.into_iter().map(|tool| tool.definition).collect();
        let cut = |text: String| text.chars().take(LINE_CHARS).collect();
        let health = AppHealth { name: cut(health.name), version: cut(health.version), ..health };
        Ok((health, as_reviewed(&app.address, &app.fingerprint, &definitions)))
    }

    /// Checks an app: after three failures in a row it is offline, and with the next success it is
    /// connected. Definitions that differ from the reviewed ones are held.
    ///
    /// # Errors
    /// [`DeviceError::Row`].
    pub async fn check(&self, app: &App) -> Result<(), DeviceError> {
        match self.look(app).await {
            Ok((_, now)) => self.found(app, now).await.map(drop),
            Err(why) => self.missed(app, &why).await,
        }
    }

    /// Checks an app for a person, who gets the reason of a failure.
    ///
    /// # Errors
    /// [`DeviceError::UnknownApp`], [`DeviceError::Unreachable`], [`DeviceError::Row`].
    pub async fn test(&self, app: &str) -> Result<TestedApp, DeviceError> {
        let app = self.find(app).await?;
        let began = Instant::now();
        let (health, now) = self.look(&app).await.map_err(|why| {
            DeviceError::Unreachable(format!(
                "the app {} at {} does not work: {why}",
                app.name, app.address
            ))
        })?;
        let took = began.elapsed();
        let app = self.found(&app, now).await?;
        Ok(TestedApp { held: app.held(), app, health, took })
    }

    async fn found(&self, app: &App, now: ReviewedTools) -> Result<App, DeviceError> {
        self.count_misses(&app.id, false);
        let change = |row: Option<App>| {
            let row = row.filter(|row| row.id == app.id);
            let row = row.ok_or_else(|| DeviceError::UnknownApp(app.name.clone()))?;
            let seen = row.reviewed.differs(&now, Pin::Definition).then(|| now.clone());
            let next = App { seen, offline: None, ..row };
            Ok((Some(next.clone()), "found".to_owned(), next))
        };
        match self.0.rows.change(&writer(BY), &app.name, change).await {
            // It was renamed or revoked during the check.
            Err(DeviceError::UnknownApp(_)) => Ok(app.clone()),
            changed => changed,
        }
    }

    async fn missed(&self, app: &App, why: &str) -> Result<(), DeviceError> {
        if self.count_misses(&app.id, true) < MISSES {
            return Ok(());
        }
        let reason: String = why.chars().take(LINE_CHARS).collect();
        let since = self.now();
        self.0
            .rows
            .change(&writer(BY), &app.name, |row| {
                let next = row.map(|row| match row.offline {
                    None if row.id == app.id => {
                        App { offline: Some(Offline { since, reason: reason.clone() }), ..row }
                    }
                    _ => row,
                });
                Ok((next, "offline".to_owned(), ()))
            })
            .await
    }

    fn count_misses(&self, id: &str, is_miss: bool) -> u32 {
        let mut misses = self.0.misses.lock().unwrap_or_else(PoisonError::into_inner);
        if !is_miss {
            misses.remove(id);
            return 0;
        }
        let count = misses.entry(id.to_owned()).or_default();
        *count = count.saturating_add(1);
        *count
    }
}
