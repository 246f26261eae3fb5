//! Stage 3: decodes the arguments to one validated object; every repair is reported to the model.

use std::sync::Arc;

use serde_json::Value;
use toolcrib_argument_decoder::{self as args, Limits, parse_strict};
use toolcrib_core::{ErrorType, RawArgs, SealError, ToolError};

use super::phase::{Decoded, Request, Resolved};
use super::repeat;
use super::step::{StageExit, StagePass, StageResult, fail};
use crate::artifact_references;
use crate::call_state::{CallState, DecodedArgs};
use crate::registered_tool::RegisteredTool;

pub(crate) fn run(call: &mut CallState, resolved: Resolved) -> StageResult<Decoded> {
    let Resolved { tool, handler } = resolved;
    let pass = decode(call, &tool)?;
    call.args.unreadable_hash = None;
    Ok(pass.map(|args| Decoded(Request { tool, handler, args })))
}

fn decode(call: &mut CallState, tool: &RegisteredTool) -> StageResult<DecodedArgs> {
    let raw = std::mem::replace(&mut call.args.raw, RawArgs::Text(String::new()));
    let raw = match call.engine().sealing().open_args(raw) {
        Ok(raw) => raw,
        Err(error) => return fail(ErrorType::ExecutionError, not_opened(&error)),
    };
    match raw {
        RawArgs::Sealed(_) => fail(ErrorType::ExecutionError, NOT_ARGUMENTS),
        RawArgs::Text(text) => match with_references(&text) {
            Some(value) => by_reference(call, tool, value),
            None => {
                let step = accept(call, args::decode(&text, &tool.schema, &Limits::DEFAULT));
                call.args.raw = RawArgs::Text(text);
                step
            }
        },
        RawArgs::Broken(how) => {
            call.args.raw = RawArgs::Text(how.clone());
            fail(ErrorType::ValidationError, how)
        }
        RawArgs::Value(value) if artifact_references::contains(&value) => {
            by_reference(call, tool, value)
        }
        RawArgs::Value(value) => {
            call.args.unreadable_hash =
                call.scope.run.is_some().then(|| repeat::value_hash(&value));
            accept(call, args::decode_value(value, &tool.schema, &Limits::DEFAULT))
        }
    }
}

/// The decoder is also used outside this workspace, so its default is a copy of the table's limit.
const _: () = assert!(Limits::DEFAULT.max_bytes == toolcrib_core::defaults::ARGUMENT_BYTES);

/// Message for arguments that are still sealed after opening; Toolcrib never seals twice.
const NOT_ARGUMENTS: &str =
    "What was kept of this call holds no arguments, so it was not run. Call it again.";

fn not_opened(error: &SealError) -> String {
    format!(
        "The arguments of this call were kept sealed, because they hold a secret, and cannot be opened ({error}), so it was not run. Call it again."
    )
}

/// Returns the text as a value, if it contains references. Text that needs a repair is decoded
/// without references.
fn with_references(text: &str) -> Option<Value> {
    artifact_references::may_contain(text)
        .then(|| parse_strict(text, Limits::DEFAULT.max_depth))
        .flatten()
        .filter(artifact_references::contains)
}

fn by_reference(
    call: &mut CallState,
    tool: &RegisteredTool,
    value: Value,
) -> StageResult<DecodedArgs> {
    call.args.unreadable_hash = Some(repeat::value_hash(&value));
    let owner = &call.scope.context.owner;
    let resolved = artifact_references::resolve(value.clone(), &*call.engine().artifacts, owner)?;
    let mut args = decode_rewritten(call, tool, resolved)?.next;
    args.with_references = Some(Arc::new(value));
    call.args.decoded = Some(args.clone());
    Ok(StagePass::changed(args, "stored results put in for their references"))
}

/// Validates arguments that were rewritten after decoding.
pub(super) fn decode_rewritten(
    call: &mut CallState,
    tool: &RegisteredTool,
    rewritten: Value,
) -> StageResult<DecodedArgs> {
    if let Some(before) = &mut call.args.decoded {
        before.with_references = None;
    }
    accept(call, args::decode_value(rewritten, &tool.schema, &Limits::DEFAULT))
}

fn accept(call: &mut CallState, decoded: args::Decoded) -> StageResult<DecodedArgs> {
    let mut set = |value| {
        let args = DecodedArgs { value: Arc::new(value), with_references: None };
        call.args.decoded = Some(args.clone());
        args
    };
    match decoded {
        args::Decoded::Ok { value, warnings } => {
            let args = set(value);
            call.notes.extend(warnings);
            Ok(StagePass::plain(args))
        }
        args::Decoded::Repaired { value, changes, warnings } => {
            let args = set(value);
            let texts: Vec<String> = changes.into_iter().map(|change| change.note).collect();
            let note = texts.join("; ");
            call.notes.extend(texts);
            call.notes.extend(warnings);
            Ok(StagePass::changed(args, note))
        }
        args::Decoded::ValidationError { message } | args::Decoded::ParseError { message } => {
            Err(StageExit::Fail(invalid(&message)))
        }
    }
}

fn invalid(message: &str) -> ToolError {
    match message.strip_suffix(args::CORRECT_AND_RETRY) {
        Some(facts) => ToolError::new(ErrorType::ValidationError, facts.trim_end())
            .with_instruction(args::CORRECT_AND_RETRY),
        None => ToolError::new(ErrorType::ValidationError, message),
    }
}
