//! Attaches the tools of apps to the catalog of a process, and follows changes of other processes.

use std::collections::BTreeMap;
use std::sync::{Arc, PoisonError};

use toolcrib_core::entry::FixedSource;
use toolcrib_core::{Catalog, Entry};

use super::apps::{Apps, OWNER};
use super::model::{App, source_id};
use super::signals_tool::{SIGNALS_SOURCE, SignalsTool};
use super::source::AppSource;
use crate::error::DeviceError;

impl Apps {
    /// Attaches the tools of new and changed apps, and detaches those of apps that are gone.
    /// Returns all apps. A source that cannot be attached does not affect the others.
    ///
    /// # Errors
    /// [`DeviceError::Row`].
    pub async fn refresh(&self, catalog: &dyn Catalog) -> Result<Vec<App>, DeviceError> {
        let rows = self.0.rows.all(OWNER).await?;
        let now: BTreeMap<String, i64> =
            rows.iter().map(|row| (row.key.clone(), row.revision)).collect();
        let before = {
            let mut attached = self.0.attached.lock().unwrap_or_else(PoisonError::into_inner);
            std::mem::replace(&mut *attached, now.clone())
        };
        for gone in before.keys().filter(|name| !now.contains_key(*name)) {
            catalog.detach(&source_id(gone));
        }
        for row in rows.iter().filter(|row| before.get(&row.key) != Some(&row.revision)) {
            let _ = catalog.attach(&AppSource::new(self.clone(), row.body.clone())).await;
        }
        if before != now {
            let sends_signals = rows.iter().any(|row| !row.body.signals.is_empty());
            if sends_signals {
                let tool = Entry::Local(Arc::new(SignalsTool::new(self.clone())));
                let source = FixedSource::new(SIGNALS_SOURCE, vec![tool]);
                let _ = catalog.attach(&source).await;
            } else {
                catalog.detach(SIGNALS_SOURCE);
            }
        }
        Ok(rows.into_iter().map(|row| row.body).collect())
    }
}
