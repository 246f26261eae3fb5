//! What would become of a call that is not made: it passes the stages up to policy, the very same ones, and nothing of it is recorded, asked,
//! paid for or told to observers.

use std::sync::Arc;

use serde_json::Value;
use toolcrib_core::{AskReason, Batch, Report, ToolError, ToolName};

use crate::batch;
use crate::engine::Inner;
use crate::flight::{InFlight, Stop};
use crate::pipeline;
use crate::stage::approve::{self, Way};

/// What would become of a call.
#[derive(Debug, Clone, PartialEq)]
pub struct Forecast {
    /// The name as it was asked for.
    pub asked: String,
    /// The tool, when there is one.
    pub tool: Option<ToolName>,
    /// The arguments that it would run with, secrets masked; null when they could not be read.
    pub args: Value,
    /// The stages it passed, with operation, risk, effect, reach, and what policy says.
    pub report: Report,
    /// Why it would not run.
    pub refused: Option<ToolError>,
    /// Why a person would be asked.
    pub asks: Vec<AskReason>,
    /// What asking means here; `None` = nobody would be asked.
    pub asking: Option<Asking>,
}

/// What asking means for a call.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Asking {
    /// What was approved before answers it.
    Granted,
    /// Somebody is asked, and the call waits for the answer.
    Asked,
    /// Nobody is there to be asked, so it is denied.
    Nobody,
    /// It waits in the inbox.
    Inbox,
    /// It is denied, and the inbox gets a question about a new call like it.
    Background,
    /// It is denied: callers from outside are not asked.
    Outside,
}

impl Asking {
    /// In words for people.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Granted => "a grant answers",
            Self::Asked => "a person is asked",
            Self::Nobody => "nobody can be asked here, so it is denied",
            Self::Inbox => "it waits in the inbox",
            Self::Background => "it is denied, and its question is kept in the inbox",
            Self::Outside => "callers from outside are not asked, so it is denied",
        }
    }
}

pub(crate) async fn run(engine: Arc<Inner>, batch: Batch) -> Vec<Forecast> {
    let run = batch.run.and_then(|id| engine.runs.get(id));
    let Batch { origin, context, view, calls, .. } = batch;
    let of = batch::Of { origin, context, view, run };
    let scope = batch::scope(&engine, of, calls.len(), batch::More::default());
    let mut forecasts = Vec::with_capacity(calls.len());
    for call in calls {
        let mut flight = Box::new(InFlight::new(Arc::clone(&scope), call, None));
        // Nothing was begun, so there is no outcome to be recorded.
        flight.answered = true;
        flight.dry = true;
        flight.seat = None;
        let end = pipeline::foresee(&mut flight).await;
        forecasts.push(forecast(&mut flight, end).await);
    }
    forecasts
}

async fn forecast(flight: &mut InFlight, end: Result<(), Stop>) -> Forecast {
    let mut refused = match end {
        Ok(()) => None,
        Err(Stop::Fail(error)) => Some(error),
        Err(_) => Some(ToolError::execution("stage order broken: a call that is not made stopped")),
    };
    let mut asking = None;
    if refused.is_none() && !flight.asks.is_empty() {
        match approve::unanswered(flight).await {
            Ok(open) => asking = Some(meaning(flight, &open)),
            Err(Stop::Fail(error)) => refused = Some(error),
            Err(_) => {}
        }
    }
    let secrets = &flight.engine().secrets;
    Forecast {
        asked: secrets.mask(flight.asked.clone()),
        tool: flight.tool.as_ref().map(|tool| tool.spec().name.clone()),
        args: secrets.mask_data(flight.shown_args()),
        asks: flight
            .asks
            .iter()
            .map(|ask| approve::without_secrets(secrets, ask.clone()))
            .collect(),
        report: flight.report(),
        refused,
        asking,
    }
}

fn meaning(flight: &InFlight, open: &[AskReason]) -> Asking {
    if open.is_empty() {
        return Asking::Granted;
    }
    match approve::way(flight) {
        Way::Ask if flight.engine().approver.is_some() => Asking::Asked,
        Way::Ask => Asking::Nobody,
        Way::Wait => Asking::Inbox,
        Way::Keep => Asking::Background,
        Way::Deny => Asking::Outside,
    }
}
