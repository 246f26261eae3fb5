//! Shows the state of the kill switch.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use toolcrib_app::SwitchTarget;
use toolcrib_core::{SwitchState, SwitchStore};

use super::context::{KillSwitchContext, OWNER};
use crate::error::OpError;

/// The state of the kill switch.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[schemars(rename = "KillSwitchDocument")]
pub struct KillSwitchStatus {
    /// Whether it is engaged: no tool runs.
    pub engaged: bool,
    /// Whether its file exists: then no process of this machine runs a tool.
    pub file: bool,
    /// Whether its row is set: no daemon on this database runs a tool.
    pub row: bool,
    /// The person or token that engaged it.
    pub by: Option<String>,
    /// Time of engaging, in milliseconds since 1970.
    pub at: Option<i64>,
    /// The reason.
    pub reason: Option<String>,
}

/// Reads the file and the row.
///
/// # Errors
/// [`OpError::Store`].
pub async fn show(ctx: &KillSwitchContext<'_>) -> Result<KillSwitchStatus, OpError> {
    status(ctx, &*(ctx.open_store)()?).await
}

pub(super) async fn status(
    ctx: &KillSwitchContext<'_>,
    store: &dyn SwitchStore,
) -> Result<KillSwitchStatus, OpError> {
    let stop = ctx.file.read();
    let everything = SwitchTarget::Everything.name();
    let rows = store.switches(OWNER).await?;
    let row = rows.into_iter().find(|row| row.name == everything && row.state == SwitchState::Off);
    let is_off = ctx.process.is_some_and(|process| !process.toolcrib.engine().tools_enabled());
    let some = |text: &str| Some(text.to_owned()).filter(|text| !text.is_empty());
    let by_file = stop.as_ref().and_then(|stop| some(&stop.by));
    let at_file = stop.as_ref().map(|stop| stop.at).filter(|at| *at > 0);
    Ok(KillSwitchStatus {
        engaged: is_off || stop.is_some() || row.is_some(),
        file: stop.is_some(),
        row: row.is_some(),
        by: by_file.or_else(|| row.as_ref().map(|row| row.by.clone())),
        at: at_file.or_else(|| row.as_ref().map(|row| row.at)),
        reason: stop.and_then(|stop| some(&stop.why)),
    })
}
