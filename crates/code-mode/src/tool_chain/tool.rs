//! The tool `tool_chain`: the model writes a script in which each of its tools is an async
//! function.

use std::sync::Arc;
use std::time::{Duration, Instant};

use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::{Value, json};
use tokio::sync::Semaphore;
use toolcrib_core::{
    Assessment, BoxFuture, CallCtx, ChildInvoker, Effect, ErrorType, Example, Handler,
    ParentHandler, ParentOutcome, Permission, Risk, ToolError, ToolName, ToolOutput, ToolSpec,
    Trust, remote_name, schema,
};

use super::execute::{ScriptEnd, ScriptRun};
use super::render_result;
use super::script_limits::TOTAL_TIME;
use super::suspended::SuspendedScripts;
use super::tool_lookup::ToolSearch;
use crate::cpython_level::kernel_launcher::KernelLauncher;
use crate::expression_level::worker_pool::{SharedWorkerPool, WorkerPool};
use crate::setup::Setup;

/// The name of the tool.
pub(super) const NAME: &str = "tool_chain";

/// Further needs for the tool search.
const NEEDS: [&str; 4] = [
    "script that calls tools",
    "several tool calls in one step",
    "repeat for each file",
    "combine results of calls",
];

/// Longest code, in characters.
const CODE_CHARS: u32 = 200_000;

/// Maximum number of scripts that run at the same time in the interpreter. Most of them wait for
/// their calls.
const AT_ONCE: usize = 16;

/// Maximum number of scripts that run at the same time in CPython. They keep their process while
/// they wait for people, so they have separate slots.
const FULL_AT_ONCE: usize = 4;

/// Time reserved at the end of a call for reporting how it ended.
const LAST: Duration = Duration::from_millis(500);

/// Additional time of a call besides its script: starting a worker, suspending the script.
const AROUND: Duration = Duration::from_secs(30);

/// Hint after a script that needs a feature missing in the interpreter.
const FULL_LEVEL_HINT: &str =
    "(Write it without that, or call again with level \"full\", which is all of Python.)";

/// Runs scripts.
pub(super) struct ScriptRunner {
    pythons: Option<Arc<KernelLauncher>>,
    pool: Arc<WorkerPool>,
    places: Semaphore,
    full_places: Semaphore,
    shelf: SuspendedScripts,
    search: Arc<dyn ToolSearch>,
}

/// The tool.
pub(crate) struct ToolChain {
    spec: Arc<ToolSpec>,
    runner: ScriptRunner,
}

#[derive(Debug, Deserialize, JsonSchema)]
struct Args {
    /// The script. The value of its last expression, or what it returns, is the result.
    #[schemars(length(min = 1, max = CODE_CHARS))]
    code: String,
    /// Time limit in seconds, at most 300, without waiting for people. Default: 300.
    #[schemars(range(min = 1, max = 300))]
    timeout: Option<u32>,
    // The text that models read, as an attribute: a doc comment keeps its line breaks.
    #[schemars(description = "Where it runs. \"expression\" (default): a part of Python, \
        milliseconds. \"full\": all of CPython in a sandbox without network, its files in a folder \
        of its own. \"auto\":\nexpression, and full where that lacks something and the script has \
        called nothing yet.")]
    level: Option<ChainLevel>,
}

/// See [`Args::level`].
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub(super) enum ChainLevel {
    #[default]
    Expression,
    Auto,
    Full,
}

impl ChainLevel {
    /// Raises the assessment of a script at this level to that of `code_exec` at the level `full`,
    /// the worst case.
    pub(super) fn raise_risk(self, mut assessment: Assessment, tool: &str) -> Assessment {
        if self != Self::Expression {
            assessment.operation = Some(format!("{tool}.full"));
            assessment.permissions = vec![Permission::Exec];
            assessment.risk = assessment.risk.max(Risk::High);
        }
        assessment
    }
}

/// One script to run.
pub(super) struct ScriptJob<'a> {
    pub(super) code: &'a str,
    /// Its arguments, if it takes any.
    pub(super) args: Option<&'a Value>,
    /// Time limit in seconds.
    pub(super) timeout: Option<u32>,
    pub(super) wants: ChainLevel,
    /// Whether the caller may choose another level.
    pub(super) may_be_full: bool,
}

fn spec() -> ToolSpec {
    // The name is valid (tested); the fallback only avoids a panic.
    let name = ToolName::local(NAME).unwrap_or_else(|_| remote_name("python", NAME));
    let description = "Run a Python script that calls tools: one round for many calls. Each tool is an async function of its name: `r = await read_file(path=\"a.txt\")`; `await \
         asyncio.gather(a(), b())` calls in parallel. A result has .text, .structured (data or None) and .ref (set when it is over 4 KB: .text is then its beginning; pass `r` itself to another tool, or \
         `materialize(r)` for all of it). Without await: `search(\"words\")` finds tools, `describe(\"name\")` shows one's parameters. Failed calls raise RuntimeError, refused ones PermissionError. At \
         most 50 calls, 60 s each. Print or return only what you need. No files, clock or network but by tools; of the library math, json, re, datetime, collections, itertools, functools, dataclasses, asyncio.gather.";
    let mut spec = chain_spec(name, description, schema::for_type::<Args>());
    spec.title = "Chain tools".to_owned();
    spec.aliases = vec!["run_chain".to_owned()];
    spec.parameter_aliases = crate::code_exec::parameter_aliases();
    spec.examples = vec![Example {
        need: "How many lines do the three notes have together?".to_owned(),
        args: json!({"code": "import asyncio\nfiles = await asyncio.gather(*[read_file(path=p) for p in [\"a.md\", \"b.md\", \"c.md\"]])\nsum(len(materialize(f).splitlines()) for f in files)"}),
    }];
    spec.needs = NEEDS.map(str::to_owned).to_vec();
    spec
}

/// Returns the definition of a tool that is a script.
pub(super) fn chain_spec(
    name: ToolName,
    description: impl Into<String>,
    schema: Value,
) -> ToolSpec {
    let mut spec = ToolSpec::new(name, description, schema);
    spec.group = Some("code".to_owned());
    // The script itself is safe and pure: each of its calls is checked on its own.
    (spec.effect, spec.risk) = (Effect::Pure, Risk::Safe);
    spec.timeout = TOTAL_TIME + AROUND;
    spec.attempts = 1;
    spec.trust = Trust::Workspace;
    spec
}

/// Returns the error if nested calls are not possible.
pub(super) fn not_nested_error<'a>() -> BoxFuture<'a, Result<ToolOutput, ToolError>> {
    let text = "A script cannot call tools here, so it was not run.";
    let error = ToolError::new(ErrorType::ToolNotAvailable, text);
    Box::pin(std::future::ready(Err(error)))
}

impl ToolChain {
    pub(crate) fn new(setup: &Setup) -> Self {
        Self { spec: Arc::new(spec()), runner: ScriptRunner::new(setup) }
    }

    fn args(args: &Value) -> Result<Args, ToolError> {
        Args::deserialize(args).map_err(|error| ToolError::validation(error.to_string()))
    }
}

impl ScriptRunner {
    pub(super) fn new(setup: &Setup) -> Self {
        Self {
            pythons: setup.full.then(|| KernelLauncher::new(setup.clone())),
            pool: SharedWorkerPool::get_or_start(setup),
            places: Semaphore::new(AT_ONCE),
            full_places: Semaphore::new(FULL_AT_ONCE),
            shelf: SuspendedScripts::open(&setup.suspended),
            search: Arc::clone(&setup.search),
        }
    }

    /// Runs a script.
    pub(super) async fn run(
        &self,
        ctx: &CallCtx,
        job: ScriptJob<'_>,
        children: &dyn ChildInvoker,
    ) -> Result<ParentOutcome, ToolError> {
        let limit = job.timeout.map_or(TOTAL_TIME, |seconds| Duration::from_secs(seconds.into()));
        let begin = || {
            // Limited by the remaining time of the call, with a reserve for reporting how it ended.
            let left = ctx.deadline.saturating_duration_since(Instant::now());
            let limit = limit.min(TOTAL_TIME).min(left.saturating_sub(LAST).max(left / 2));
            ScriptRun::new(ctx, children, &*self.search, job.code, limit)
                .with_args(job.args.cloned())
        };
        if job.wants == ChainLevel::Full {
            return self.full(ctx, begin).await;
        }
        // The semaphore is never closed, so this only waits.
        let place = self.places.acquire().await;
        let mut worker = self.pool.take().await?;
        let mut chain = begin();
        let kept = children.is_replay().then(|| self.shelf.take(ctx.call, job.code)).flatten();
        let order = match kept {
            Some(kept) => chain.resume_command(kept),
            None => chain.start_command(&worker),
        };
        let mut end = chain.run(&mut worker, order).await;
        if matches!(end, ScriptEnd::Unreadable) {
            // The script runs again from its first line, and its calls receive their recorded
            // outcomes.
            self.pool.end(worker);
            worker = self.pool.take().await?;
            chain = begin();
            let order = chain.start_command(&worker);
            end = chain.run(&mut worker, order).await;
        }
        let (sandbox, engine) = (worker.process.level.as_str(), worker.engine.clone());
        self.pool.end(worker);
        if job.may_be_full && self.pythons.is_some() && needs_full_level(&end) {
            if job.wants == ChainLevel::Auto && chain.book.lines.is_empty() {
                // The script has made no call yet, so its state can be discarded.
                drop((chain, place));
                return self.full(ctx, begin).await;
            }
            chain.advice = Some(FULL_LEVEL_HINT);
        }
        if let ScriptEnd::Waits { request, snapshot } = end {
            if let Some(snapshot) = snapshot {
                let suspended = chain.suspended(snapshot, engine);
                // If saving fails, the script runs again from its first line, as above.
                let _ = self.shelf.save(ctx.call, &suspended);
            }
            return Ok(ParentOutcome::Suspended(request));
        }
        if children.is_replay() {
            self.shelf.forget(ctx.call);
        }
        Ok(ParentOutcome::Done(render_result::render(chain, end, Vec::new(), sandbox, &engine)))
    }

    /// Runs a script in CPython. It cannot be suspended, so it waits for people while it runs.
    async fn full<'a>(
        &self,
        ctx: &CallCtx,
        begin: impl FnOnce() -> ScriptRun<'a>,
    ) -> Result<ParentOutcome, ToolError> {
        let Some(pythons) = &self.pythons else {
            return Err(ToolError::validation(
                "The level full is switched off here. Call again with level \"expression\", or without a level.",
            ));
        };
        // The semaphore is never closed, so this only waits.
        let _place = self.full_places.acquire().await;
        let mut chain = begin().without_suspend();
        let (folder, mut worker) = pythons.start(&ctx.path_denials).await?.into_script_worker();
        let order = chain.start_command(&worker);
        let end = chain.run(&mut worker, order).await;
        let made = match &end {
            ScriptEnd::Done(done) => folder.read_created(&done.files).await,
            _ => Vec::new(),
        };
        worker.stop();
        let (sandbox, engine) = (worker.process.level.as_str(), worker.engine.clone());
        Ok(ParentOutcome::Done(render_result::render(chain, end, made, sandbox, &engine)))
    }
}

/// Returns whether a script ended because it needs a feature missing in the interpreter.
fn needs_full_level(end: &ScriptEnd) -> bool {
    match end {
        ScriptEnd::Done(done) => done.raised.as_ref().is_some_and(|raised| raised.lacks.is_some()),
        _ => false,
    }
}

impl Handler for ToolChain {
    fn spec(&self) -> &Arc<ToolSpec> {
        &self.spec
    }

    fn parent_handler(&self) -> Option<&dyn ParentHandler> {
        Some(self)
    }

    fn assess(&self, args: &Value) -> Result<Assessment, ToolError> {
        let args = Self::args(args)?;
        let assessment =
            Assessment::from_spec(&self.spec).with_summary(crate::code_exec::summary(&args.code));
        Ok(args.level.unwrap_or_default().raise_risk(assessment, NAME))
    }

    fn call<'a>(
        &'a self,
        _: &'a CallCtx,
        _: &'a Value,
    ) -> BoxFuture<'a, Result<ToolOutput, ToolError>> {
        not_nested_error()
    }
}

impl ParentHandler for ToolChain {
    fn call<'a>(
        &'a self,
        ctx: &'a CallCtx,
        args: &'a Value,
        children: &'a dyn ChildInvoker,
    ) -> BoxFuture<'a, Result<ParentOutcome, ToolError>> {
        Box::pin(async move {
            let Args { code, timeout, level } = Self::args(args)?;
            let wants = level.unwrap_or_default();
            let job = ScriptJob { code: &code, args: None, timeout, wants, may_be_full: true };
            self.runner.run(ctx, job, children).await
        })
    }
}
