//! Where a call waits, and the surroundings that another process can go on with it in.

use serde_json::Value;
use toolcrib_app::args::{Decoded, Limits, Schema, decode_value};
use toolcrib_app::core::store::Waiting;
use toolcrib_app::core::{RunStatus, StoredRun, WorkerState};
use toolcrib_app::{Stores, Toolcrib};

use super::store;
use crate::config::{self, Env};
use crate::output::{self, Failure};
use crate::session::{self, Setup};
use crate::world;

/// Who goes on with a call after the decision.
pub(crate) enum Place {
    /// Another process waits for it; the words say which.
    Live(String),
    /// Its run is put aside, or was left by a process that died.
    Aside(Box<StoredRun>),
    /// Nobody: it belongs to no run that is kept, and whoever asked waits no more.
    Nobody,
    /// Nobody ever: its run is over.
    Over,
}

impl Place {
    /// Where this question waits.
    ///
    /// # Errors
    /// Exit code 1 when the store cannot be read.
    pub(crate) async fn of(stores: &Stores, waiting: &Waiting) -> Result<Self, Failure> {
        let run = match waiting.request.run {
            Some(id) => stores.runs.run(id).await.map_err(store)?,
            None => None,
        };
        match run {
            Some(run) if run.status == RunStatus::Ended => Ok(Self::Over),
            Some(run)
                if run.status == RunStatus::Running
                    && session::is_worked_on(&run, stores).await? =>
            {
                Ok(Self::Live(format!("the process that works on {}", run.id)))
            }
            Some(run) => Ok(Self::Aside(Box::new(run))),
            None => of_call(stores, waiting).await,
        }
    }
}

/// A call that belongs to no run that is kept.
async fn of_call(stores: &Stores, waiting: &Waiting) -> Result<Place, Failure> {
    let setup = Setup::of_value(&waiting.setup).unwrap_or_default();
    let Some(worker) = setup.worker.filter(|_| setup.waits) else { return Ok(Place::Nobody) };
    match stores.calls.worker(worker).await.map_err(store)? {
        WorkerState::Alive(words) => Ok(Place::Live(words)),
        WorkerState::Gone | WorkerState::Unknown => Ok(Place::Nobody),
    }
}

/// The surroundings of whoever asked.
pub(super) fn setup(waiting: &Waiting) -> Result<Setup, Failure> {
    Setup::of_value(&waiting.setup).map_err(|_| {
        Failure::run(format!(
            "nothing is stored of the surroundings of {}, so it cannot be carried out here",
            waiting.request.id
        ))
    })
}

/// What the call can run on here: the folders, tools and policy that it was asked in.
///
/// # Errors
/// Exit code 3 when they are not there any more.
pub(super) async fn build(stores: &Stores, waiting: &Waiting) -> Result<Toolcrib, Failure> {
    let setup = setup(waiting)?;
    let env = Env::of_process();
    let config = world::configured(&setup.world())?;
    let settings = world::settings(&setup.world(), &config)?;
    let builder = Toolcrib::builder(settings)
        .stores(stores.clone())
        .setup(waiting.setup.clone())
        .secrets(config::known_keys(&config, &env));
    let toolcrib = builder.build().await?;
    output::hide(&toolcrib.engine().sealing().secrets);
    Ok(toolcrib)
}

/// Why these arguments would be refused, as the door would say it; `None` = nothing is wrong with them, or nobody can tell here.
pub(super) async fn wrong_args(waiting: &Waiting, args: &Value) -> Option<String> {
    let setup = setup(waiting).ok()?;
    let config = world::configured(&setup.world()).ok()?;
    let settings = world::settings(&setup.world(), &config).ok()?;
    let toolcrib = Toolcrib::builder(settings).for_agents().build().await.ok()?;
    let spec = toolcrib.spec(waiting.request.tool.as_str())?;
    let schema = Schema::check_shared(spec.input_schema.clone()).ok()?;
    match decode_value(args.clone(), &schema, &Limits::DEFAULT) {
        Decoded::Ok { .. } | Decoded::Repaired { .. } => None,
        Decoded::ValidationError { message } | Decoded::ParseError { message } => Some(message),
    }
}
