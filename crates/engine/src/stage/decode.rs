//! Stage 3: arguments become one checked object; every repair is reported to the model.

use std::sync::Arc;

use serde_json::Value;
use toolcrib_core::{ErrorType, RawArgs, SealError, ToolError};

use super::repeat;
use crate::args::{self, Decoded, Limits};
use crate::flight::{InFlight, Passed, Step, Stop, fail};
use crate::references;

pub(crate) fn run(flight: &mut InFlight) -> Step {
    let tool = Arc::clone(flight.tool()?);
    let raw = std::mem::replace(&mut flight.raw, RawArgs::Text(String::new()));
    let raw = match flight.engine().sealing().open_args(raw) {
        Ok(raw) => raw,
        Err(error) => return fail(ErrorType::ExecutionError, not_opened(&error)),
    };
    let step = match raw {
        RawArgs::Sealed(_) => fail(ErrorType::ExecutionError, NOT_ARGUMENTS),
        RawArgs::Text(text) => match referring(&text) {
            Some(value) => by_reference(flight, value),
            None => {
                let step = accept(flight, args::decode(&text, &tool.schema, &Limits::DEFAULT));
                flight.raw = RawArgs::Text(text);
                step
            }
        },
        RawArgs::Broken(how) => {
            flight.raw = RawArgs::Text(how.clone());
            fail(ErrorType::ValidationError, how)
        }
        RawArgs::Value(value) if references::holds(&value) => by_reference(flight, value),
        RawArgs::Value(value) => {
            flight.unread = flight.scope.run.is_some().then(|| repeat::value_hash(&value));
            accept(flight, args::decode_value(value, &tool.schema, &Limits::DEFAULT))
        }
    };
    if step.is_ok() {
        flight.unread = None;
    }
    step
}

/// What is sealed twice was not sealed by us.
const NOT_ARGUMENTS: &str =
    "What was kept of this call holds no arguments, so it was not run. Call it again.";

fn not_opened(error: &SealError) -> String {
    format!(
        "The arguments of this call were kept sealed, because they hold a secret, and cannot be opened ({error}), so it was not run. Call it again."
    )
}

/// The text as a value, when it holds references. Text that has to be repaired cannot hold any: it is then read without.
fn referring(text: &str) -> Option<Value> {
    references::may_hold(text)
        .then(|| args::parse_strict(text, Limits::DEFAULT.max_depth))
        .flatten()
        .filter(references::holds)
}

fn by_reference(flight: &mut InFlight, value: Value) -> Step {
    flight.unread = Some(repeat::value_hash(&value));
    let owner = &flight.scope.context.owner;
    let resolved = references::resolve(value.clone(), &*flight.engine().artifacts, owner)?;
    again(flight, resolved)?;
    flight.referring = Some(value);
    Ok(Passed::changed("stored results put in for their references"))
}

/// Validates arguments that were decoded before and rewritten since.
pub(crate) fn again(flight: &mut InFlight, rewritten: Value) -> Step {
    let tool = Arc::clone(flight.tool()?);
    flight.referring = None;
    let decoded = args::decode_value(rewritten, &tool.schema, &Limits::DEFAULT);
    accept(flight, decoded)
}

fn accept(flight: &mut InFlight, decoded: Decoded) -> Step {
    match decoded {
        Decoded::Ok { value, warnings } => {
            flight.args = Arc::new(value);
            flight.notes.extend(warnings);
            Ok(Passed::PLAIN)
        }
        Decoded::Repaired { value, changes, warnings } => {
            flight.args = Arc::new(value);
            let texts: Vec<String> = changes.into_iter().map(|change| change.note).collect();
            let note = texts.join("; ");
            flight.notes.extend(texts);
            flight.notes.extend(warnings);
            Ok(Passed::changed(note))
        }
        Decoded::ValidationError { message } | Decoded::ParseError { message } => {
            Err(Stop::Fail(ToolError::new(ErrorType::ValidationError, message)))
        }
    }
}
