//! A guard that is a program: exit code 0 = go on, 2 = denied, everything else = broken, which denies too.

use std::sync::Arc;

use serde::Deserialize;
use serde_json::{Map, Value};
use toolcrib_core::hook::Guarded;
use toolcrib_core::{BoxFuture, Guard, GuardVerdict};
use toolcrib_sandbox::process::End;

use super::{CommandHook, Surroundings, context, program};

/// The exit code that denies.
const DENIES: i32 = 2;

/// What the author of a guard reads that printed something else.
const MAY_PRINT: &str = "its answer is no object with `decision`, `reason` and `rewrite`; a guard may print nothing, or one JSON object; write remarks to standard error";

pub(super) struct CommandGuard {
    hook: CommandHook,
    label: String,
    surroundings: Arc<Surroundings>,
}

/// What a guard may print, as one JSON object.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Answer {
    decision: Option<Decision>,
    reason: Option<String>,
    rewrite: Option<Map<String, Value>>,
}

#[derive(Deserialize, PartialEq)]
#[serde(rename_all = "snake_case")]
enum Decision {
    Allow,
    Deny,
}

impl CommandGuard {
    pub(super) fn new(hook: CommandHook, surroundings: &Arc<Surroundings>) -> Self {
        Self { label: hook.label(), hook, surroundings: Arc::clone(surroundings) }
    }

    async fn ask(&self, call: &Guarded<'_>) -> Result<GuardVerdict, String> {
        if !self.surroundings.is_about(&self.hook.matcher, call.tool) {
            return Ok(GuardVerdict::Continue);
        }
        let context = context::of_guarded(call, &self.surroundings.folder);
        let report = program::run(&self.hook, &self.surroundings, &context).await?;
        match report.end {
            End::Exited(0) => verdict(&report.stdout.text(), report.stdout.is_cut()),
            End::Exited(DENIES) => {
                let reason = program::words(&report);
                Ok(GuardVerdict::Deny(reason.unwrap_or_else(|| "it gives no reason".to_owned())))
            }
            _ => Err(program::fault(&report, self.hook.time)),
        }
    }
}

/// What a guard that exits with 0 says by what it prints: nothing, or one object. Everything else may be a "no" that we do not understand.
fn verdict(said: &str, is_cut: bool) -> Result<GuardVerdict, String> {
    if is_cut {
        return Err("its answer is longer than 1 MB".to_owned());
    }
    let said = said.trim();
    let said = said.strip_prefix('\u{feff}').unwrap_or(said).trim();
    if said.is_empty() {
        return Ok(GuardVerdict::Continue);
    }
    // A list of three values would be read as the object.
    let answer = said.starts_with('{').then(|| serde_json::from_str(said).ok()).flatten();
    let Some(Answer { decision, reason, rewrite }) = answer else {
        return Err(MAY_PRINT.to_owned());
    };
    match (decision, rewrite) {
        (Some(Decision::Deny), _) => {
            Ok(GuardVerdict::Deny(reason.unwrap_or_else(|| "it gives no reason".to_owned())))
        }
        (_, Some(args)) => Ok(GuardVerdict::Rewrite(Value::Object(args))),
        // A reason for nothing: the decision was forgotten.
        (None, None) if reason.is_some() => Err(MAY_PRINT.to_owned()),
        (_, None) => Ok(GuardVerdict::Continue),
    }
}

impl Guard for CommandGuard {
    fn name(&self) -> &str {
        &self.label
    }

    fn check<'a>(&'a self, call: &'a Guarded<'a>) -> BoxFuture<'a, Result<GuardVerdict, String>> {
        Box::pin(self.ask(call))
    }
}
