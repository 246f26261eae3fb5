//! Stage 4: the same calls again and again are not run. The guard looks at whole batches of a run; calls of a chain are exempt (DESIGN 9).

use std::hash::{BuildHasher as _, Hash as _, Hasher as _};
use std::sync::OnceLock;

use foldhash::fast::FixedState;
use serde_json::Value;
use toolcrib_core::{ErrorType, Origin, RawArgs, canonical};

use crate::flight::{InFlight, Passed, Scope, Step, fail};
use crate::registry::Registered;
use crate::repeat::Repeat;

/// What the guard says of a batch.
#[derive(Debug, Default)]
pub(crate) struct BatchVerdict {
    repeat: Option<Repeat>,
}

impl BatchVerdict {
    /// Whether the batch is refused.
    pub(crate) fn repeats(&self) -> bool {
        self.repeat.is_some()
    }
}

/// One hash function for the life of the process; its values are never stored.
fn hasher() -> &'static FixedState {
    static STATE: OnceLock<FixedState> = OnceLock::new();
    STATE.get_or_init(|| FixedState::with_seed(fastrand::u64(..)))
}

/// Shows a batch to its run's guard.
pub(crate) fn judge<'a>(
    scope: &Scope,
    flights: impl Iterator<Item = &'a InFlight>,
) -> BatchVerdict {
    let Some(run) = scope.run.as_ref().filter(|_| scope.origin != Origin::Chain) else {
        return BatchVerdict::default();
    };
    let mut signature = hasher().build_hasher();
    let mut tools = Vec::new();
    for flight in flights.filter(|flight| !polls(flight)) {
        let name = name_hash(flight);
        tools.push(name);
        name.hash(&mut signature);
        // Arguments that could not be read have no canonical form; then the text itself counts.
        let arguments = match flight.unread {
            Some(raw) => raw,
            None if flight.args.is_null() => raw_hash(&flight.raw),
            None => value_hash(&flight.args),
        };
        arguments.hash(&mut signature);
    }
    if tools.is_empty() {
        return BatchVerdict::default();
    }
    BatchVerdict { repeat: run.repeats().check(signature.finish(), &tools) }
}

/// Whether a call may repeat: its tool polls something, or it waited for a person and now goes on.
fn polls(flight: &InFlight) -> bool {
    let goes_on = |tool: &Registered| {
        flight.scope.again
            && tool.entry.handler().is_some_and(|handler| handler.nesting().is_some())
    };
    flight.tool.as_ref().is_some_and(|tool| tool.spec().polling || goes_on(tool))
}

fn name_hash(flight: &InFlight) -> u64 {
    let name = flight.tool.as_ref().map_or(&*flight.asked, |tool| tool.spec().name.as_str());
    hasher().hash_one(name)
}

pub(crate) fn run(flight: &InFlight, batch: &BatchVerdict) -> Step {
    let Some(repeat) = &batch.repeat else {
        let watched = flight.scope.run.is_some();
        return Ok(if watched { Passed::PLAIN } else { Passed::SKIPPED });
    };
    if polls(flight) {
        return Ok(Passed::noting("polls, so it may repeat"));
    }
    let what = match repeat {
        Repeat::Same => "You have made the same calls three times in a row".to_owned(),
        Repeat::Cycle(n) => format!("You are going round in a circle of {n} steps"),
        Repeat::Error => {
            "A tool of this batch has failed three times with the same error".to_owned()
        }
    };
    fail(
        ErrorType::RepeatedCall,
        format!("{what}; the call was not run. Answer with what you have, or do something else."),
    )
}

/// Tells the guard how a call ended.
pub(crate) fn ended(flight: &InFlight, failure: Option<&(ErrorType, String)>) {
    let Some(run) = flight.scope.run.as_ref().filter(|_| flight.scope.origin != Origin::Chain)
    else {
        return;
    };
    let refused = failure.is_some_and(|(error_type, _)| *error_type == ErrorType::RepeatedCall);
    if polls(flight) || refused {
        return;
    }
    run.repeats().ended(name_hash(flight), failure.map(|failure| hasher().hash_one(failure)));
}

/// A hash of arguments as they arrived, for calls whose arguments could not be read.
fn raw_hash(raw: &RawArgs) -> u64 {
    match raw {
        RawArgs::Text(text) | RawArgs::Broken(text) | RawArgs::Sealed(text) => {
            hasher().hash_one(text)
        }
        RawArgs::Value(value) => value_hash(value),
    }
}

/// The same for a value.
pub(crate) fn value_hash(value: &Value) -> u64 {
    canonical::fast_hash(value, hasher())
}
