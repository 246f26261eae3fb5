//! Reviews an app: shows the differences from the accepted definitions, and accepts them.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use toolcrib_app::mcp::client::PendingReview;

use super::owner::{apps, changed};
use super::row::{AppReply, RiskName};
use crate::context::OpContext;
use crate::error::OpError;
use crate::mcp_servers::McpHeldChange;

/// The differences of an app from its reviewed definitions.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct AppReview {
    /// Its name.
    pub app: String,
    /// Digest of the definitions that are shown; accepting them names it.
    pub digest: String,
    /// Tools that differ and are therefore held.
    pub held: Vec<HeldAppTool>,
}

/// A tool that differs from its reviewed definition.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct HeldAppTool {
    /// Its name at the app.
    pub tool: String,
    /// The kind of the difference.
    pub change: McpHeldChange,
    /// The definitions, line by line: `-` as reviewed, `+` as they are now.
    pub diff: String,
    /// Parts of the definition that look like an attempt to steer the model.
    pub findings: Vec<String>,
}

/// The review to accept.
#[derive(Debug, Clone)]
pub struct AcceptAppReviewRequest {
    /// Name or id of the app.
    pub app: String,
    /// The digest that the owner has read.
    pub digest: String,
    /// The risk of tools, by their names at the app. New and changed tools are otherwise high, or
    /// critical if the app says so; the others keep theirs.
    pub risks: BTreeMap<String, RiskName>,
}

/// Shows the differences that the last health check has found.
///
/// # Errors
/// [`OpError::NotFound`], [`OpError::Store`].
pub async fn review(ctx: &OpContext<'_>, app: &str) -> Result<AppReview, OpError> {
    let app = apps(ctx)?.find(app).await?;
    let held = app.held().into_iter().map(Into::into).collect();
    Ok(AppReview { digest: app.review_digest(), app: app.name, held })
}

/// Marks definitions as reviewed. The caller must have asked the owner.
///
/// # Errors
/// [`OpError::NotFound`], [`OpError::Conflict`] if they changed since they were read,
/// [`OpError::Invalid`] for a tool that does not exist, [`OpError::Store`],
/// [`OpError::Unrecorded`].
pub async fn accept_review(
    ctx: &OpContext<'_>,
    request: AcceptAppReviewRequest,
) -> Result<AppReply, OpError> {
    let AcceptAppReviewRequest { app, digest, risks } = request;
    let risks = risks.into_iter().map(|(tool, risk)| (tool, risk.into())).collect();
    let app = apps(ctx)?.accept_review(&app, &digest, &risks, ctx.store.actor).await?;
    changed(ctx, "app.review", format!("{}: {digest}", app.name)).await?;
    Ok(app.into())
}

impl From<PendingReview> for HeldAppTool {
    fn from(held: PendingReview) -> Self {
        let finding = |one: toolcrib_app::mcp::client::Finding| {
            format!("{} in {}: {}", one.kind.text(), one.place, one.excerpt)
        };
        Self {
            tool: held.tool,
            change: held.change.into(),
            diff: held.diff,
            findings: held.findings.into_iter().map(finding).collect(),
        }
    }
}
