//! The tool `code_exec`: runs Python at one of two levels.

use std::sync::Arc;
use std::time::{Duration, Instant};

use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::json;
use toolcrib_core::{
    Assessment, CallCtx, Effect, ErrorType, Example, Permission, Reach, Risk, Tool, ToolError,
    ToolName, ToolOutput, ToolSpec, Trust, remote_name, schema,
};
use toolcrib_sandbox::Level as SandboxLevel;

use crate::captured_output::CapturedOutput;
use crate::cpython_level::kernel::Kernel;
use crate::cpython_level::kernel_launcher::KernelLauncher;
use crate::cpython_level::kernel_pool::KernelPool;
use crate::expression_level::runner::{AT_ONCE, ExpressionRunner};
use crate::expression_level::worker_pool::SharedWorkerPool;
use crate::render_result::{self, Level, RunDetails};
use crate::setup::Setup;
use crate::worker_process::{WorkerEnd, WorkerRun};
use crate::worker_protocol::{PythonException, RunResult};

/// The name of the tool.
const NAME: &str = "code_exec";

/// Further needs for the tool search: people name the task, not the language.
const NEEDS: [&str; 8] = [
    "calculate",
    "percent of a number",
    "sum and average of numbers",
    "draw a chart",
    "solve an equation",
    "convert celsius",
    "run Python code",
    "standard deviation and other statistics",
];

/// Longest code, in characters.
const CODE_CHARS: u32 = 200_000;

/// Default time limit at the level `expression`.
const EXPRESSION_TIME: Duration = Duration::from_secs(10);

/// Default time limit at the level `full`: the first import of pandas may take seconds on a busy
/// machine.
const FULL_TIME: Duration = Duration::from_secs(30);

/// The longest time limit that a model may request, the same as for the shell.
const LONGEST: Duration = Duration::from_secs(120);

/// Additional time of a call besides its code: starting a kernel, reading created files, waiting
/// for another call of its run.
const AROUND: Duration = Duration::from_secs(60);

/// Time reserved at the end of a call for reporting how it ended.
const LAST: Duration = Duration::from_millis(500);

/// The tool.
pub(crate) struct CodeExec {
    setup: Setup,
    expressions: ExpressionRunner,
    kernels: Arc<KernelPool>,
    pythons: Arc<KernelLauncher>,
}

#[derive(Debug, Deserialize, JsonSchema)]
pub(crate) struct Args {
    /// Python code. The value of its last expression is shown, as in a notebook.
    #[schemars(length(min = 1, max = CODE_CHARS))]
    code: String,
    // The text that models read, as an attribute: a doc comment keeps its line breaks.
    #[schemars(
        description = "Where it runs. \"expression\": an interpreter of a part of Python, no \
        files, each call starts empty, milliseconds. \"full\": CPython, files in a folder of its own, \
        variables\nstay during the run. \"auto\" (default): expression, and full where that lacks \
        something."
    )]
    level: Option<CodeExecLevel>,
    /// Time limit in seconds, at most 120. Default: 10 at the level expression, 30 at full.
    #[schemars(range(min = 1, max = 120))]
    timeout: Option<u32>,
    /// Forget the variables and files of earlier calls of this run first. Default: false.
    reset: Option<bool>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
enum CodeExecLevel {
    #[default]
    Auto,
    Expression,
    Full,
}

/// Returns the aliases of the parameters of a tool that runs code.
pub(crate) fn parameter_aliases() -> Vec<(String, String)> {
    [("script", "code"), ("source", "code"), ("python", "code"), ("timeout_seconds", "timeout")]
        .map(|(other, name)| (other.to_owned(), name.to_owned()))
        .to_vec()
}

fn spec(full: bool) -> ToolSpec {
    // The name is valid (tested); the fallback only avoids a panic.
    let name = ToolName::local(NAME).unwrap_or_else(|_| remote_name("python", NAME));
    let second = if full {
        "The level full is CPython without network, with files in a folder of its own; numpy, pandas and matplotlib where they are installed. Plots come back as pictures."
    } else {
        "Only the level expression can be used here."
    };
    let description = format!(
        "Run Python for mathematics, data and small logic, in a sandbox; what is printed and the value of the last expression come back. The level expression has no files, clock, network, classes with bases, \
         generators, match, del and dunder methods, and of the library only math, json, re, datetime, collections, itertools, functools, dataclasses, typing, asyncio.gather, base64, binascii and \
         unicodedata. {second} Not for the files of the workspace."
    );
    let mut spec = ToolSpec::new(name, description, schema::for_type::<Args>());
    spec.title = "Run Python".to_owned();
    spec.group = Some("code".to_owned());
    spec.aliases = vec!["code_eval".to_owned()];
    spec.parameter_aliases = parameter_aliases();
    // Code execution always has at least high risk.
    (spec.effect, spec.risk) = (Effect::SideEffect, Risk::High);
    spec.reach = Reach { exec: true, ..Reach::default() };
    spec.timeout = LONGEST + AROUND;
    spec.attempts = 1;
    spec.default_enabled = false;
    spec.trust = Trust::Workspace;
    let example = |need: &str, args| Example { need: need.to_owned(), args };
    spec.examples = vec![
        example(
            "What is 17 % of 2,349?",
            json!({"code": "2349 * 17 / 100", "level": "expression"}),
        ),
        example(
            "Plot the sine",
            json!({"code": "import numpy as np, matplotlib.pyplot as plt\nx = np.linspace(0, 6.3)\nplt.plot(x, np.sin(x))", "level": "full"}),
        ),
    ];
    spec.needs = NEEDS.map(str::to_owned).to_vec();
    spec
}

impl Tool for CodeExec {
    type Args = Args;

    fn spec(&self) -> ToolSpec {
        spec(self.setup.full)
    }

    fn assess(&self, spec: &ToolSpec, args: &Args) -> Result<Assessment, ToolError> {
        let wanted = self.requested_level(args)?;
        let mut assessment = Assessment::from_spec(spec).with_summary(summary(&args.code));
        // Both levels are isolated: no network, and nothing in the workspace can be changed.
        assessment.reach.exec = false;
        assessment.operation = Some(match wanted {
            CodeExecLevel::Expression => {
                assessment.effect = Effect::Pure;
                format!("{NAME}.{}", Level::Expression.as_str())
            }
            // Assessed as the worst case.
            CodeExecLevel::Auto | CodeExecLevel::Full => {
                assessment.permissions = vec![Permission::Exec];
                format!("{NAME}.{}", Level::Full.as_str())
            }
        });
        Ok(assessment)
    }

    async fn call(&self, ctx: &CallCtx, args: Args) -> Result<ToolOutput, ToolError> {
        let wanted = self.requested_level(&args)?;
        if wanted == CodeExecLevel::Full {
            return self.full(ctx, &args, CapturedOutput::new(ctx)).await;
        }
        let mut printed = CapturedOutput::new(ctx);
        let limit = limit(ctx, &args, EXPRESSION_TIME);
        let ran = self.expressions.run(&args.code, limit, &ctx.cancel, &mut printed).await?;
        let lacks = match &ran.end {
            WorkerEnd::Done(RunResult {
                raised: Some(PythonException { lacks: Some(_), kind, .. }),
                ..
            }) => Some(kind),
            _ => None,
        };
        if let (CodeExecLevel::Auto, Some(_)) = (wanted, lacks) {
            // Code at the level `expression` has no side effects, so it can run again from its
            // first line.
            printed.clear();
            return self.full(ctx, &args, printed).await;
        }
        let advice = if self.setup.full { render_result::advice_of_expression } else { no_advice };
        let (level, notes, files) = (Level::Expression, Vec::new(), Vec::new());
        render_result::render(ctx, ran, printed, RunDetails { level, limit, notes, files, advice })
    }
}

impl CodeExec {
    pub(crate) fn new(mut setup: Setup, kernels: Arc<KernelPool>) -> Self {
        setup.minimum = setup.minimum.max(SandboxLevel::Reduced);
        let expressions = ExpressionRunner::new(SharedWorkerPool::get_or_start(&setup), AT_ONCE);
        let pythons = KernelLauncher::new(setup.clone());
        Self { setup, expressions, kernels, pythons }
    }

    /// Returns the level of a call, considering whether `full` is available.
    fn requested_level(&self, args: &Args) -> Result<CodeExecLevel, ToolError> {
        match args.level.unwrap_or_default() {
            CodeExecLevel::Full if !self.setup.full => Err(ToolError::validation(
                "The level full is switched off here. Call again with level \"expression\", or without a level.",
            )),
            CodeExecLevel::Auto if !self.setup.full => Ok(CodeExecLevel::Expression),
            wanted => Ok(wanted),
        }
    }

    async fn full(
        &self,
        ctx: &CallCtx,
        args: &Args,
        printed: CapturedOutput<'_>,
    ) -> Result<ToolOutput, ToolError> {
        let Some(run) = ctx.run else {
            // Outside of a run no later call can use the variables.
            let mut kernel = self.pythons.start(&ctx.path_denials).await?;
            return self.run(ctx, args, &mut kernel, printed, Vec::new()).await;
        };
        let place = self.kernels.slot(&run.to_string());
        let mut seat = tokio::select! {
            seat = place.seat.lock() => seat,
            () = ctx.cancel.cancelled() => {
                return Err(ToolError::new(ErrorType::Cancelled, "The call was stopped."));
            }
        };
        let reset = args.reset.unwrap_or(false);
        let (mut kernel, gone) = seat.kernel(reset, self.pythons.start(&ctx.path_denials)).await?;
        let gone = gone.map(|why| {
            format!("(This is a new start: the variables of before are gone because {why}.)")
        });
        let notes = gone.into_iter().collect();
        let result = self.run(ctx, args, &mut kernel, printed, notes).await;
        seat.put(kernel);
        drop(seat);
        self.kernels.mark_used(&place);
        result
    }

    async fn run(
        &self,
        ctx: &CallCtx,
        args: &Args,
        kernel: &mut Kernel,
        mut printed: CapturedOutput<'_>,
        notes: Vec<String>,
    ) -> Result<ToolOutput, ToolError> {
        let limit = limit(ctx, args, FULL_TIME);
        let ran: WorkerRun = kernel.run(&args.code, limit, &ctx.cancel, &mut printed).await;
        let files = match &ran.end {
            WorkerEnd::Done(done) => kernel.files(&done.files).await,
            _ => Vec::new(),
        };
        let advice = if kernel.has_packages() { no_advice } else { offer_packages };
        render_result::render(
            ctx,
            ran,
            printed,
            RunDetails { level: Level::Full, limit, notes, files, advice },
        )
    }
}

/// Returns the time limit of the code: the requested one, within the remaining time of the call.
fn limit(ctx: &CallCtx, args: &Args, usual: Duration) -> Duration {
    let asked = args.timeout.map_or(usual, |seconds| Duration::from_secs(seconds.into()));
    let left = ctx.deadline.saturating_duration_since(Instant::now());
    asked.min(LONGEST).min(left.saturating_sub(LAST).max(left / 2))
}

/// Returns one line for the approval prompt.
pub(crate) fn summary(code: &str) -> String {
    let mut lines = code.lines().map(str::trim).filter(|line| !line.is_empty());
    let first: String = lines.next().unwrap_or_default().chars().take(80).collect();
    match lines.count() {
        0 => format!("run Python: {first}"),
        more => format!("run Python: {first} … ({more} more lines)"),
    }
}

fn no_advice(_: &PythonException) -> Option<String> {
    None
}

/// Offers the managed environment if one of its packages is missing.
fn offer_packages(raised: &PythonException) -> Option<String> {
    let missing = raised.message.strip_prefix("No module named '")?;
    let name = missing.split(['.', '\'']).next()?;
    ["numpy", "pandas", "matplotlib"].contains(&name).then(|| {
        "(numpy, pandas and matplotlib are not installed. Do without them, or ask the user to run `toolcrib python install`.)".to_owned()
    })
}
