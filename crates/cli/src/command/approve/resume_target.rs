//! Determines where a call waits, and rebuilds its environment so that another process can continue
//! it.

use serde_json::Value;
use toolcrib_app::{Stores, Toolcrib};
use toolcrib_argument_decoder::{Decoded, Limits, Schema, decode_value};
use toolcrib_core::store::PendingApproval;
use toolcrib_ops::approvals::{self, Continuation};

use crate::bootstrap;
use crate::config::{self, Env};
use crate::output::{self, Failure};
use crate::session::RunSetup;

/// What continues the call of this question.
///
/// # Errors
/// Exit code 1 when the store cannot be read.
pub(crate) async fn find(
    stores: &Stores,
    waiting: &PendingApproval,
) -> Result<Continuation, Failure> {
    Ok(approvals::continuation(stores, waiting, None).await?)
}

/// Returns the environment of the process that asked.
pub(super) fn stored_setup(waiting: &PendingApproval) -> Result<RunSetup, Failure> {
    RunSetup::from_value(&waiting.setup).map_err(|_| {
        Failure::run(format!(
            "nothing is stored of the surroundings of {}, so it cannot be carried out here",
            waiting.request.id
        ))
    })
}

/// Builds a Toolcrib with the folders, tools and policy of the process that asked.
///
/// # Errors
/// Exit code 3 if they no longer exist.
pub(super) async fn build_toolcrib(
    stores: &Stores,
    waiting: &PendingApproval,
) -> Result<Toolcrib, Failure> {
    let setup = stored_setup(waiting)?;
    let env = Env::from_process();
    let config = bootstrap::load_config(&setup.workspace_args())?;
    let settings = bootstrap::settings(&setup.workspace_args(), &config)?;
    let builder = Toolcrib::builder(settings)
        .stores(stores.clone())
        .run_setup(waiting.setup.clone())
        .environment(setup.tool_environment())
        .secrets(config::known_keys(&config, &env));
    let toolcrib = builder.build().await?;
    output::set_secrets(&toolcrib.engine().sealing().secrets);
    Ok(toolcrib)
}

/// Returns the reason why the engine would refuse these arguments; `None` if they are valid, or if
/// this process cannot determine that.
pub(super) async fn validation_error(waiting: &PendingApproval, args: &Value) -> Option<String> {
    let setup = stored_setup(waiting).ok()?;
    let config = bootstrap::load_config(&setup.workspace_args()).ok()?;
    let settings = bootstrap::settings(&setup.workspace_args(), &config).ok()?;
    let toolcrib = Toolcrib::builder(settings).for_agents().build().await.ok()?;
    let spec = toolcrib.spec(waiting.request.tool.as_str())?;
    let schema = Schema::check_shared(spec.input_schema.clone()).ok()?;
    match decode_value(args.clone(), &schema, &Limits::DEFAULT) {
        Decoded::Ok { .. } | Decoded::Repaired { .. } => None,
        Decoded::ValidationError { message } | Decoded::ParseError { message } => Some(message),
    }
}
