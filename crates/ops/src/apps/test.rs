//! Tests an app: asks for its health and its tools.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::owner::{apps, attach};
use super::review::HeldAppTool;
use super::row::AppReply;
use crate::context::OpContext;
use crate::error::OpError;

/// An app that answers.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[schemars(rename = "TestedApp")]
pub struct TestedAppReply {
    /// The app after the test.
    #[serde(flatten)]
    pub app: AppReply,
    /// The version that it reports.
    pub version: String,
    /// Milliseconds until both answers were there.
    pub took_ms: u64,
    /// Tools whose definitions differ from the reviewed ones.
    pub held: Vec<HeldAppTool>,
}

/// Tests an app now. A success ends its state `offline`.
///
/// # Errors
/// [`OpError::NotFound`], [`OpError::Unavailable`] with the reason if it does not work,
/// [`OpError::Store`].
pub async fn test(ctx: &OpContext<'_>, app: &str) -> Result<TestedAppReply, OpError> {
    let tested = apps(ctx)?.test(app).await?;
    attach(ctx.toolcrib).await?;
    Ok(TestedAppReply {
        app: tested.app.into(),
        version: tested.health.version,
        took_ms: u64::try_from(tested.took.as_millis()).unwrap_or(u64::MAX),
        held: tested.held.into_iter().map(Into::into).collect(),
    })
}
