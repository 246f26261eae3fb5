//! The apps of the local owner: access, changes that take effect at once, and errors.

use toolcrib_app::Toolcrib;
use toolcrib_devices::{Apps, DeviceError};

use crate::administration::{Act, record};
use crate::context::OpContext;
use crate::error::{OpError, Resource};

/// Returns the apps, which belong to the local owner.
pub(super) fn apps<'a>(ctx: &OpContext<'a>) -> Result<&'a Apps, OpError> {
    if !ctx.store.owner.is_empty() {
        return Err(OpError::Absent("this owner has no apps and no pairings".to_owned()));
    }
    Ok(ctx.toolcrib.apps())
}

/// Puts a change of the apps in force in this process, and records it.
pub(super) async fn changed(
    ctx: &OpContext<'_>,
    act: &'static str,
    about: String,
) -> Result<(), OpError> {
    attach(ctx.toolcrib).await?;
    let secrets = &ctx.toolcrib.engine().sealing().secrets;
    record(&ctx.store, secrets, Act::new(act, about)).await
}

pub(super) async fn attach(toolcrib: &Toolcrib) -> Result<(), OpError> {
    toolcrib.apps().refresh(toolcrib.catalog()).await?;
    Ok(())
}

impl From<DeviceError> for OpError {
    fn from(error: DeviceError) -> Self {
        match error {
            DeviceError::Row(error) => error.into(),
            DeviceError::UnknownApp(name) => Self::not_found(Resource::App, name),
            DeviceError::UnknownPairing(id) => Self::not_found(Resource::Pairing, id),
            DeviceError::Invalid(text) => Self::Invalid(text),
            DeviceError::Unauthorized(text) => Self::Unauthorized(text),
            DeviceError::Denied(text) => Self::Denied(text),
            DeviceError::Conflict(text) => Self::Conflict(text),
            DeviceError::Gone(text) => Self::Gone(text),
            DeviceError::Unreachable(text) => Self::Unavailable(text),
            DeviceError::Vault(_) => Self::Vault(error.to_string()),
        }
    }
}
