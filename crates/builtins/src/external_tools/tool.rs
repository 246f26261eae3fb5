//! Handler of an external tool: one process per call.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, Instant};

use std::collections::HashMap;

use jiff::Timestamp;
use jiff::tz::TimeZone;
use serde_json::{Value, json};
use toolcrib_core::{
    Assessment, BoxFuture, CallCtx, Effect, ErrorType, Handler, Surroundings, ToolError,
    ToolOutput, ToolSpec,
};
use toolcrib_sandbox::Level;
use toolcrib_sandbox::process::{End, Limits, Program, Report};

use super::manifest::{Manifest, Surrounding};
use super::parse_output::{self, OutputKind, ProgramAnswer};
use super::program_digest::ProgramDigest;
use super::{DefinitionError, resolve_command};

/// The environment variable with the context of a call: JSON with the keys `run`, `call`,
/// `conversation`, `topic`, `workspace`, `locale` and `agent`, each a string or null. A definition
/// can request `time_zone`, `local_time`, `place` and `device` too.
pub const CONTEXT: &str = "TOOLCRIB_CONTEXT";

/// Sandbox level of external tools.
pub const LEVEL: Level = Level::None;

/// Capture limit of standard output, in bytes: enough for the largest image that models accept (5
/// MB, a third more in base64). Beyond it, the beginning and the end of the output are captured.
const ANSWER_BYTES: usize = 8 * 1024 * 1024;

/// Capture limit of standard error, in bytes, and the characters of it that a model reads.
const ERROR_BYTES: usize = 64 * 1024;
const ERROR_CHARS: usize = 2_000;

/// Exit code of a temporary failure: `EX_TEMPFAIL` of `sysexits.h`.
const TRANSIENT_EXIT: i32 = 75;

/// A program with its definition.
#[derive(Debug)]
pub(super) struct ExternalTool {
    spec: Arc<ToolSpec>,
    folder: PathBuf,
    program: String,
    args: Vec<String>,
    kind: OutputKind,
    /// Configured values, by variable.
    values: Vec<(String, String)>,
    /// Required keys without a value.
    missing: Vec<String>,
    /// Whether the definition declares configuration that is withheld.
    is_withheld: bool,
    locale: Option<Arc<str>>,
    /// Requested information about the person.
    surroundings: Vec<Surrounding>,
    /// The digest of the files that the command ran when the tool was loaded.
    runs: ProgramDigest,
}

/// Configured values of a tool.
pub(super) enum ToolConfig<'a> {
    /// Values that the owner set for the tool's name.
    Of(Option<&'a HashMap<String, String>>),
    /// No values, even if the owner set some: an untrusted tool could obtain another tool's values
    /// by using its name.
    Withheld,
}

impl ExternalTool {
    pub(super) fn new(
        manifest: Manifest,
        folder: &Path,
        configured: ToolConfig<'_>,
        locale: Option<Arc<str>>,
    ) -> Result<Self, DefinitionError> {
        let Manifest { mut spec, command, kind, defaults, surroundings } = manifest;
        let runs = ProgramDigest::new(folder, &command);
        spec.runs = Some(runs.digest(folder, &command, &defaults));
        let (configured, is_withheld) = match configured {
            ToolConfig::Of(values) => (values, false),
            ToolConfig::Withheld => (None, true),
        };
        let mut values = Vec::new();
        let mut missing = Vec::new();
        for key in &spec.config {
            // An empty value counts as missing, as in the registry.
            let own = configured.and_then(|values| values.get(&key.key)).filter(|v| !v.is_empty());
            let default = || defaults.iter().find(|(name, _)| *name == key.key).map(|(_, v)| v);
            match own.or_else(default) {
                Some(value) => values.push((key.key.clone(), value.clone())),
                None if key.required => missing.push(key.key.clone()),
                None => {}
            }
        }
        let mut command = command.into_iter();
        let program = command.next().ok_or_else(|| DefinitionError::new("it has no command"))?;
        Ok(Self {
            spec: Arc::new(spec),
            folder: folder.to_owned(),
            program,
            args: command.collect(),
            kind,
            values,
            missing,
            is_withheld,
            locale,
            surroundings,
            runs,
        })
    }

    async fn run(&self, ctx: &CallCtx, args: &Value) -> Result<ToolOutput, ToolError> {
        let name = &self.spec.name;
        if !self.missing.is_empty() {
            let keys = self.missing.join(", ");
            let why = if self.is_withheld {
                " Tools of a workspace that the user has not declared trusted get no configured values."
            } else {
                ""
            };
            let text = format!(
                "Tool {name} is not configured: {keys} has no value.{why} Tell the user; do not call it again until then."
            );
            return Err(ToolError::new(ErrorType::NotConfigured, text));
        }
        if !self.runs.is_unchanged() {
            let text = format!(
                "The program of tool {name} has changed since it was loaded, so it was not run. Call it again in your next answer, with the program as it is now."
            );
            return Err(ToolError::new(ErrorType::ToolNotAvailable, text));
        }
        let time = ctx.deadline.saturating_duration_since(Instant::now());
        let started = self.start(ctx, args, time).run(ctx.cancel.cancelled()).await;
        let report = started.map_err(|error| {
            let what = resolve_command::start_error_message(&self.program, &self.folder, &error);
            ToolError::execution(format!(
                "Tool {name} could not be started: {what}. Tell the user."
            ))
            .with_detail(error.to_string())
        })?;
        self.result(&report, time)
    }

    fn start(&self, ctx: &CallCtx, args: &Value, time: Duration) -> Program {
        let mut program = Program::new(&self.program, &self.folder)
            .args(&self.args)
            .env(CONTEXT, self.context(ctx).to_string())
            .stdin(format!("{args}\n"))
            .limits(Limits { time, stdout: ANSWER_BYTES, stderr: ERROR_BYTES });
        for (name, value) in &self.values {
            program = program.env(name, value);
        }
        program
    }

    fn context(&self, ctx: &CallCtx) -> Value {
        let known = |text: &str| (!text.is_empty()).then(|| text.to_owned());
        let person = &ctx.context.surroundings;
        let mut context = json!({
            "run": ctx.run.map(|run| run.to_string()),
            "call": ctx.call.to_string(),
            "conversation": known(&ctx.context.conversation),
            "topic": known(&ctx.context.topic),
            "workspace": known(&ctx.context.workspace),
            "locale": known(&person.locale).as_deref().or(self.locale.as_deref()),
            "agent": known(&ctx.context.agent),
        });
        for wish in &self.surroundings {
            let value = match wish {
                Surrounding::TimeZone => zone(person).iana_name().map(str::to_owned),
                Surrounding::LocalTime => {
                    let now = Timestamp::now().to_zoned(zone(person));
                    Some(now.strftime("%Y-%m-%dT%H:%M:%S%:z").to_string())
                }
                Surrounding::Place => known(&person.place),
                Surrounding::Device => known(&person.device),
            };
            context[wish.as_str()] = json!(value);
        }
        context
    }

    fn result(&self, report: &Report, time: Duration) -> Result<ToolOutput, ToolError> {
        let name = &self.spec.name;
        match report.end {
            End::Exited(0) => match parse_output::parse(&self.kind, &report.stdout) {
                Ok(ProgramAnswer::Output(output)) => Ok(output.with_sandbox(LEVEL.as_str())),
                Ok(ProgramAnswer::Transient(error)) => {
                    Err(ToolError::execution(error).transient(true))
                }
                Err(what) => Err(ToolError::execution(format!(
                    "Tool {name} ran, but its answer cannot be used: {what}. This is a fault of the tool: tell the user."
                ))),
            },
            End::Exited(TRANSIENT_EXIT) => Err(ToolError::execution(format!(
                "Tool {name} could not do it now (exit code {TRANSIENT_EXIT}: a temporary failure). {} Try it again later, or tell the user.",
                last_words(report)
            ))
            .transient(true)),
            End::Exited(code) => Err(ToolError::execution(format!(
                "Tool {name} failed with exit code {code}. {} If the arguments are the cause, correct them and call again; otherwise tell the user.",
                last_words(report)
            ))),
            End::Signalled(signal) => Err(ToolError::new(
                ErrorType::Crashed,
                format!(
                    "Tool {name} crashed: it was ended by signal {signal}. {} This is a fault of the tool: tell the user.",
                    last_words(report)
                ),
            )),
            End::TimedOut => {
                let text = format!("Tool execution timed out after {}s", time.as_secs_f64());
                Err(ToolError::new(ErrorType::Timeout, with_unknown_outcome(text, self.spec.effect)))
            }
            End::Stopped => {
                let text = with_unknown_outcome("The call was stopped".to_owned(), self.spec.effect);
                Err(ToolError::new(ErrorType::Cancelled, text))
            }
        }
    }
}

/// Returns the time zone of the person, or else of this machine.
fn zone(person: &Surroundings) -> TimeZone {
    let own = person.zone().and_then(|name| TimeZone::get(name).ok());
    own.unwrap_or_else(TimeZone::system)
}

/// Returns the end of standard error.
fn last_words(report: &Report) -> String {
    let said = [&report.stderr, &report.stdout]
        .into_iter()
        .map(|stream| stream.last(ERROR_CHARS))
        .find(|words| !words.is_empty());
    said.map_or_else(|| "It says nothing more.".to_owned(), |words| format!("It says:\n{words}\n"))
}

fn with_unknown_outcome(text: String, effect: Effect) -> String {
    if effect.is_repeatable() {
        return format!("{text}.");
    }
    format!("{text}. Whether it took effect is unknown: check before you call it again.")
}

impl Handler for ExternalTool {
    fn spec(&self) -> &Arc<ToolSpec> {
        &self.spec
    }

    fn assess(&self, _: &Value) -> Result<Assessment, ToolError> {
        let summary =
            format!("run {} of the tool {}, isolation {LEVEL}", self.program, self.spec.name);
        Ok(Assessment::from_spec(&self.spec).with_summary(summary))
    }

    fn call<'a>(
        &'a self,
        ctx: &'a CallCtx,
        args: &'a Value,
    ) -> BoxFuture<'a, Result<ToolOutput, ToolError>> {
        Box::pin(self.run(ctx, args))
    }
}
