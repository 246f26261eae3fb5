//! The ordered list of stages. No logic of its own: each stage is a file of its name in `stage/`.

use toolcrib_core::{Answer, ModelResult, OutcomeKind, Stage, ToolError};

use crate::flight::{InFlight, Stop};
use crate::stage;
use crate::stage::repeat::BatchVerdict;

/// Stages 0 to 3: what is asked for.
pub(crate) fn read(flight: &mut InFlight) -> Result<(), Stop> {
    let step = stage::receive::run(flight);
    flight.record(Stage::Receive, step)?;
    let step = stage::switch::run(flight);
    flight.record(Stage::Switch, step)?;
    let step = stage::resolve::run(flight);
    flight.record(Stage::Resolve, step)?;
    let step = stage::decode::run(flight);
    flight.record(Stage::Decode, step)
}

/// Stage 4 alone, for a call that was refused before it: it counts in its batch, and repeats like any other.
pub(crate) fn refuse_repeated(flight: &mut InFlight, batch: &BatchVerdict) -> Result<(), Stop> {
    let step = stage::repeat::run(flight, batch);
    flight.record(Stage::Repeat, step)
}

/// Stages 4 to 8: whether it may run.
pub(crate) async fn judge(flight: &mut InFlight, batch: &BatchVerdict) -> Result<(), Stop> {
    let step = stage::repeat::run(flight, batch);
    flight.record(Stage::Repeat, step)?;
    let step = stage::guard::run(flight).await;
    flight.record(Stage::Guard, step)?;
    let step = stage::assess::run(flight);
    flight.record(Stage::Assess, step)?;
    let step = stage::gates::run(flight);
    flight.record(Stage::Gates, step)?;
    let step = stage::budget::run(flight);
    flight.record(Stage::Budget, step)
}

/// Stages 0 to 7 of a call that is not made: it repeats nothing and uses nothing up.
pub(crate) async fn foresee(flight: &mut InFlight) -> Result<(), Stop> {
    read(flight)?;
    let step = stage::guard::run(flight).await;
    flight.record(Stage::Guard, step)?;
    let step = stage::assess::run(flight);
    flight.record(Stage::Assess, step)?;
    let step = stage::gates::run(flight);
    flight.record(Stage::Gates, step)
}

/// Stages 9 to 13: asking, waiting for its turn, running, and making the result fit for a model.
pub(crate) async fn carry_out(flight: &mut InFlight) -> Result<(), Stop> {
    let step = stage::approve::run(flight).await;
    flight.record(Stage::Approve, step)?;
    let step = stage::admit::run(flight).await;
    flight.record(Stage::Admit, step)?;
    let step = stage::intent::run(flight).await;
    flight.record(Stage::Intent, step)?;
    let step = stage::run::run(flight).await;
    flight.record(Stage::Run, step)?;
    let step = stage::shape::run(flight);
    flight.record(Stage::Shape, step)
}

/// Stage 14: the one outcome; or the answer that the call waits for a person.
pub(crate) async fn finish(mut flight: Box<InFlight>, end: Result<(), Stop>) -> Answer {
    let result = match end {
        Ok(()) => flight
            .shaped
            .take()
            .ok_or_else(|| ToolError::execution("stage order broken: no result")),
        Err(Stop::Fail(error)) => Err(stage::shape::error(&flight, error)),
        Err(Stop::Suspend(request)) => {
            // Nothing ran: dropping the flight gives its budget back, and the store has the question.
            flight.answered = true;
            if let (Some(_), Some(epoch)) = (flight.started_at, flight.epoch) {
                // One of its own calls waits. Where that cannot be written now, it may begin again all the same once this process is gone.
                let _ = flight.engine().calls.put_aside(flight.call, epoch).await;
            }
            return Answer::Suspended(request);
        }
        Err(Stop::Known(answer)) => {
            // Nothing ran here, and the record of the call is somebody else's.
            flight.answered = true;
            return *answer;
        }
        Err(Stop::Again(_)) => {
            Err(ToolError::execution("the arguments were edited more than once for one approval"))
        }
    };
    Answer::Done(Box::new(stage::settle::run(&mut flight, result).await))
}

/// The outcome of a call, from its result.
pub(crate) fn kind_of(result: &Result<ModelResult, ToolError>) -> OutcomeKind {
    match result {
        Ok(result) if result.is_error => OutcomeKind::Failed,
        Ok(_) => OutcomeKind::Succeeded,
        Err(error) => error.error_type.outcome(),
    }
}
