//! An app as a registry source: its reviewed tools, and those that are held.

use std::sync::Arc;

use serde_json::Value;
use toolcrib_core::{BoxFuture, Entry, Source, ToolError, remote_name};
use toolcrib_mcp::client::{PendingReview, Pin, ToolChange};

use super::apps::Apps;
use super::capability::{default_risk, spec};
use super::model::{App, source_id, tool_prefix};
use super::tool::AppTool;

/// The tools of one app.
pub struct AppSource {
    id: String,
    apps: Apps,
    app: Arc<App>,
}

impl AppSource {
    pub(super) fn new(apps: Apps, app: App) -> Self {
        Self { id: source_id(&app.name), apps, app: Arc::new(app) }
    }

    fn entry(&self, tool: &str, definition: &Value) -> Option<Entry> {
        let app = &self.app;
        let risk = app.risks.get(tool).copied().unwrap_or_else(|| default_risk(definition));
        let pinned = app.reviewed.hash(tool, Pin::Definition)?;
        Some(match spec(&app.name, definition, risk) {
            Ok(mut spec) => {
                // An approval becomes invalid when the definition or the app changes.
                spec.runs = Some(format!("{} {pinned}", app.id));
                Entry::Local(Arc::new(AppTool {
                    spec: Arc::new(spec),
                    apps: self.apps.clone(),
                    app: Arc::clone(app),
                    own_name: tool.to_owned(),
                    pinned,
                }))
            }
            Err(why) => Entry::broken(remote_name(&tool_prefix(&app.name), tool), why),
        })
    }

    fn held(&self, held: &PendingReview) -> Option<Entry> {
        let why = match held.change {
            ToolChange::New => "it was not reviewed yet",
            ToolChange::Changed => "its definition is another than was reviewed",
            ToolChange::Gone => "the app does not have it any more",
        };
        let name = remote_name(&tool_prefix(&self.app.name), &held.tool);
        Some(Entry::broken(name, format!("{why}; see `toolcrib app review {}`", self.app.name)))
    }
}

impl Source for AppSource {
    fn id(&self) -> &str {
        &self.id
    }

    fn load(&self) -> BoxFuture<'_, Result<Vec<Entry>, ToolError>> {
        let held = self.app.held();
        let is_held = |tool: &str| held.iter().any(|held| held.tool == tool);
        let good = self.app.reviewed.tools.iter().filter(|(tool, _)| !is_held(tool));
        let good = good.filter_map(|(tool, definition)| self.entry(tool, definition));
        let all = good.chain(held.iter().filter_map(|held| self.held(held))).collect();
        Box::pin(std::future::ready(Ok(all)))
    }
}
