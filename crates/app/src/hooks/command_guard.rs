//! Guard hooks that are programs: exit code 0 lets the call continue, 2 denies it, anything else is
//! a failure and denies it too.

use std::sync::Arc;

use serde::Deserialize;
use serde_json::{Map, Value};
use toolcrib_core::hook::GuardInput;
use toolcrib_core::{BoxFuture, Guard, GuardVerdict};
use toolcrib_sandbox::process::End;

use super::{CommandHook, HookContext, hook_input, run_program};

/// The exit code that denies a call.
const EXIT_DENY: i32 = 2;

/// The error for the author of a guard that printed something else.
const INVALID_ANSWER: &str = "its answer is not an object with `decision`, `reason` and `rewrite`; a guard may print nothing, or one JSON object; write remarks to standard error";

pub(super) struct CommandGuard {
    hook: CommandHook,
    label: String,
    surroundings: Arc<HookContext>,
}

/// The JSON object that a guard may print.
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
    pub(super) fn new(hook: CommandHook, surroundings: &Arc<HookContext>) -> Self {
        Self { label: hook.label(), hook, surroundings: Arc::clone(surroundings) }
    }

    async fn ask(&self, call: &GuardInput<'_>) -> Result<GuardVerdict, String> {
        if !self.surroundings.matches_tool(&self.hook.matcher, call.tool) {
            return Ok(GuardVerdict::Continue);
        }
        let context = hook_input::guard_input(call, &self.surroundings.folder);
        let report =
            run_program::run_hook_program(&self.hook, &self.surroundings, &context).await?;
        match report.end {
            End::Exited(0) => verdict(&report.stdout.text(), report.stdout.is_cut()),
            End::Exited(EXIT_DENY) => {
                let reason = run_program::stderr_text(&report);
                Ok(GuardVerdict::Deny(reason.unwrap_or_else(|| "it gives no reason".to_owned())))
            }
            _ => Err(run_program::failure_text(&report, self.hook.time)),
        }
    }
}

/// Returns the verdict of a guard that exited with 0: no output, or one object. Any other output is
/// a failure, because it could be a refusal in an unknown form.
fn verdict(said: &str, is_cut: bool) -> Result<GuardVerdict, String> {
    if is_cut {
        return Err("its answer is longer than 1 MB".to_owned());
    }
    let said = said.trim();
    let said = said.strip_prefix('\u{feff}').unwrap_or(said).trim();
    if said.is_empty() {
        return Ok(GuardVerdict::Continue);
    }
    // Serde would also accept an array of three values as the struct.
    let answer = said.starts_with('{').then(|| serde_json::from_str(said).ok()).flatten();
    let Some(Answer { decision, reason, rewrite }) = answer else {
        return Err(INVALID_ANSWER.to_owned());
    };
    match (decision, rewrite) {
        (Some(Decision::Deny), _) => {
            Ok(GuardVerdict::Deny(reason.unwrap_or_else(|| "it gives no reason".to_owned())))
        }
        (_, Some(args)) => Ok(GuardVerdict::Rewrite(Value::Object(args))),
        // A reason without a decision is not an answer.
        (None, None) if reason.is_some() => Err(INVALID_ANSWER.to_owned()),
        (_, None) => Ok(GuardVerdict::Continue),
    }
}

impl Guard for CommandGuard {
    fn name(&self) -> &str {
        &self.label
    }

    fn check<'a>(
        &'a self,
        call: &'a GuardInput<'a>,
    ) -> BoxFuture<'a, Result<GuardVerdict, String>> {
        Box::pin(self.ask(call))
    }
}
