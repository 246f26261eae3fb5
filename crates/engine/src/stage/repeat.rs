//! Stage 4: refuses calls that a run keeps repeating. The repeat guard compares whole batches of a
//! run, and within a batch the calls that may change something; calls of a script are exempt.

use std::collections::{HashMap, HashSet};
use std::hash::{BuildHasher as _, Hash as _, Hasher as _};
use std::sync::OnceLock;

use foldhash::fast::FixedState;
use serde_json::Value;
use toolcrib_core::defaults::REPEAT_LIMIT;
use toolcrib_core::{CallId, Effect, ErrorType, Origin, RawArgs, canonical_json};

use super::phase::{Decoded, Unrepeated};
use super::step::{StagePass, StageResult, fail};
use crate::batch_scope::BatchScope;
use crate::call_state::CallState;
use crate::registered_tool::RegisteredTool;
use crate::repeat_guard::Repeat;

/// The repeat guard's verdict on a batch.
#[derive(Debug, Default)]
pub(crate) struct RepeatVerdict {
    repeat: Option<Repeat>,
    /// Repeated calls beyond the limit within the batch.
    surplus: HashSet<CallId>,
}

impl RepeatVerdict {
    /// Returns whether the batch is refused.
    pub(crate) fn repeats(&self) -> bool {
        self.repeat.is_some()
    }
}

/// Returns the hash function of this process; its values are never stored.
fn hasher() -> &'static FixedState {
    static STATE: OnceLock<FixedState> = OnceLock::new();
    STATE.get_or_init(|| FixedState::with_seed(fastrand::u64(..)))
}

/// Checks a batch with the repeat guard of its run.
pub(crate) fn check_batch<'a>(
    scope: &BatchScope,
    calls: impl Iterator<Item = &'a CallState>,
) -> RepeatVerdict {
    let Some(run) = scope.run.as_ref().filter(|_| scope.origin != Origin::Chain) else {
        return RepeatVerdict::default();
    };
    let mut signature = hasher().build_hasher();
    let (mut tools, mut surplus) = (Vec::new(), HashSet::new());
    let mut times: HashMap<(u64, u64), usize> = HashMap::new();
    for call in calls.filter(|call| !polls(call)) {
        let name = name_hash(call);
        tools.push(name);
        name.hash(&mut signature);
        // Arguments that could not be decoded have no canonical form; their text is hashed instead.
        let arguments = match (call.args.unreadable_hash, &call.args.decoded) {
            (Some(hash), _) => hash,
            (None, None) => raw_hash(&call.args.raw),
            (None, Some(args)) => value_hash(&args.value),
        };
        arguments.hash(&mut signature);
        if changes_something(call) {
            let times = times.entry((name, arguments)).or_default();
            *times += 1;
            if *times >= REPEAT_LIMIT {
                surplus.insert(call.id);
            }
        }
    }
    if tools.is_empty() {
        return RepeatVerdict::default();
    }
    RepeatVerdict { repeat: run.repeats().check(signature.finish(), &tools), surplus }
}

/// Returns whether a call of this tool may change something. Repeated reads are harmless.
fn changes_something(call: &CallState) -> bool {
    call.facts.tool.as_ref().is_some_and(|tool| tool.spec().effect > Effect::Read)
}

/// Returns whether a call may repeat: its tool polls something, or it waited for a person and now
/// resumes.
fn polls(call: &CallState) -> bool {
    let goes_on = |tool: &RegisteredTool| {
        call.scope.is_replay
            && tool.entry.handler().is_some_and(|handler| handler.parent_handler().is_some())
    };
    call.facts.tool.as_ref().is_some_and(|tool| tool.spec().polling || goes_on(tool))
}

fn name_hash(call: &CallState) -> u64 {
    hasher().hash_one(call.tool_name())
}

pub(crate) fn run(
    call: &CallState,
    Decoded(request): Decoded,
    batch: &RepeatVerdict,
) -> StageResult<Unrepeated> {
    Ok(check(call, batch)?.map(|()| Unrepeated(request)))
}

/// Checks whether the call is refused as part of a repeated batch.
pub(crate) fn check(call: &CallState, batch: &RepeatVerdict) -> StageResult<()> {
    let Some(repeat) = &batch.repeat else {
        if batch.surplus.contains(&call.id) {
            return fail(
                ErrorType::RepeatedCall,
                format!(
                    "Your answer has this call {REPEAT_LIMIT} times or more; the first {} run, and this one was not run. Look at their results before you call it again.",
                    REPEAT_LIMIT - 1
                ),
            );
        }
        let watched = call.scope.run.is_some();
        return Ok(if watched { StagePass::plain(()) } else { StagePass::skipped(()) });
    };
    if polls(call) {
        return Ok(StagePass::with_note((), "polls, so it may repeat"));
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

/// Records the end of a call in the repeat guard.
pub(crate) fn record_end(call: &CallState, failure: Option<&(ErrorType, String)>) {
    let Some(run) = call.scope.run.as_ref().filter(|_| call.scope.origin != Origin::Chain) else {
        return;
    };
    let refused = failure.is_some_and(|(error_type, _)| *error_type == ErrorType::RepeatedCall);
    if polls(call) || refused {
        return;
    }
    run.repeats().record_end(name_hash(call), failure.map(|failure| hasher().hash_one(failure)));
}

/// Returns a hash of the received arguments, for calls whose arguments could not be decoded.
fn raw_hash(raw: &RawArgs) -> u64 {
    match raw {
        RawArgs::Text(text) | RawArgs::Broken(text) | RawArgs::Sealed(text) => {
            hasher().hash_one(text)
        }
        RawArgs::Value(value) => value_hash(value),
    }
}

/// Returns a hash of a value.
pub(crate) fn value_hash(value: &Value) -> u64 {
    canonical_json::fast_hash(value, hasher())
}
