//! `tool_chain`: the model writes a script, and each tool that it has is an async function in it.

use std::sync::Arc;
use std::time::{Duration, Instant};

use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::{Value, json};
use tokio::sync::Semaphore;
use toolcrib_core::{
    Assessment, BoxFuture, CallCtx, Children, Effect, ErrorType, Example, Handler, Nested, Nesting,
    Permission, Risk, ToolError, ToolName, ToolOutput, ToolSpec, Trust, remote_name, schema,
};

use super::answer;
use super::drive::{Chain, End};
use super::kept::Shelf;
use super::policy::TOTAL_TIME;
use super::search::ToolSearch;
use crate::pool::{Pool, Workers};
use crate::pythons::Pythons;
use crate::setup::Setup;

/// The name of the tool.
pub(super) const NAME: &str = "tool_chain";

/// Longest code.
const CODE_CHARS: u32 = 200_000;

/// Scripts at work at one time. Most of them wait for their calls.
const AT_ONCE: usize = 16;

/// Scripts in CPython at one time. They wait for people where they are, so they have places of their own.
const FULL_AT_ONCE: usize = 4;

/// What is left at the end of a call to say how it ended.
const LAST: Duration = Duration::from_millis(500);

/// What a call may take beside its script: starting a worker, putting it aside.
const AROUND: Duration = Duration::from_secs(30);

/// What helps where the interpreter lacks something.
const FULLER: &str =
    "(Write it without that, or call again with level \"full\", which is all of Python.)";

/// What runs scripts.
pub(super) struct Runner {
    pythons: Option<Arc<Pythons>>,
    pool: Arc<Pool>,
    places: Semaphore,
    full_places: Semaphore,
    shelf: Shelf,
    search: Arc<dyn ToolSearch>,
}

/// The tool.
pub(crate) struct ToolChain {
    spec: Arc<ToolSpec>,
    runner: Runner,
}

#[derive(Debug, Deserialize, JsonSchema)]
struct Args {
    /// The script. The value of its last expression, or what it returns, is the result.
    #[schemars(length(min = 1, max = CODE_CHARS))]
    code: String,
    /// Seconds that it may take, at most 300, waiting for people excluded. Default: 300.
    #[schemars(range(min = 1, max = 300))]
    timeout: Option<u32>,
    /// Where it runs. "expression" (default): a part of Python, milliseconds. "full": all of CPython in a sandbox without network, its files in a folder of its own. "auto":
    /// expression, and full where that lacks something and the script has called nothing yet.
    level: Option<Wants>,
}

/// See [`Args::level`].
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub(super) enum Wants {
    #[default]
    Expression,
    Auto,
    Full,
}

impl Wants {
    /// What a script at this level means: the worst that may become of it, as `code_exec` there.
    pub(super) fn weighed(self, mut assessment: Assessment, tool: &str) -> Assessment {
        if self != Self::Expression {
            assessment.operation = Some(format!("{tool}.full"));
            assessment.permissions = vec![Permission::Exec];
            assessment.risk = assessment.risk.max(Risk::High);
        }
        assessment
    }
}

/// One script to run.
pub(super) struct Job<'a> {
    pub(super) code: &'a str,
    /// What it is called with, if it takes anything.
    pub(super) args: Option<&'a Value>,
    /// Seconds that it may take.
    pub(super) timeout: Option<u32>,
    pub(super) wants: Wants,
    /// Whether whoever calls it may want another level.
    pub(super) may_be_full: bool,
}

fn spec() -> ToolSpec {
    // The name is valid (tested); the other arm only keeps this total.
    let name = ToolName::local(NAME).unwrap_or_else(|_| remote_name("python", NAME));
    let description = "Run a Python script that calls tools: one round for many calls. Each tool is an async function of its name: `r = await read_file(path=\"a.txt\")`; `await \
         asyncio.gather(a(), b())` calls in parallel. A result has .text, .structured (data or None) and .ref (set when it is over 4 KB: .text is then its beginning; pass `r` itself to another tool, or \
         `materialize(r)` for all of it). Without await: `search(\"words\")` finds tools, `describe(\"name\")` shows one's parameters. Failed calls raise RuntimeError, refused ones PermissionError. At \
         most 50 calls, 60 s each. Print or return only what you need. No files, clock or network but by tools; of the library math, json, re, datetime, collections, itertools, functools, dataclasses, asyncio.gather.";
    let mut spec = own_spec(name, description, schema::of::<Args>());
    spec.title = "Chain tools".to_owned();
    spec.aliases = vec!["run_chain".to_owned()];
    let alias = |other: &str, name: &str| (other.to_owned(), name.to_owned());
    spec.parameter_aliases = vec![
        alias("script", "code"),
        alias("source", "code"),
        alias("python", "code"),
        alias("timeout_seconds", "timeout"),
    ];
    spec.examples = vec![Example {
        need: "How many lines do the three notes have together?".to_owned(),
        args: json!({"code": "import asyncio\nfiles = await asyncio.gather(*[read_file(path=p) for p in [\"a.md\", \"b.md\", \"c.md\"]])\nsum(len(materialize(f).splitlines()) for f in files)"}),
    }];
    spec
}

/// The definition of a tool that is a script.
pub(super) fn own_spec(name: ToolName, description: impl Into<String>, schema: Value) -> ToolSpec {
    let mut spec = ToolSpec::new(name, description, schema);
    spec.group = Some("code".to_owned());
    // It is safe itself: its calls are judged one by one (DESIGN 9, Effect and reach).
    (spec.effect, spec.risk) = (Effect::Pure, Risk::Safe);
    spec.timeout = TOTAL_TIME + AROUND;
    spec.attempts = 1;
    spec.trust = Trust::Workspace;
    spec
}

/// What a script says where nobody makes its calls.
pub(super) fn only_nested<'a>() -> BoxFuture<'a, Result<ToolOutput, ToolError>> {
    let text = "A script cannot call tools here, so it was not run.";
    let error = ToolError::new(ErrorType::ToolNotAvailable, text);
    Box::pin(std::future::ready(Err(error)))
}

impl ToolChain {
    pub(crate) fn new(setup: &Setup) -> Self {
        Self { spec: Arc::new(spec()), runner: Runner::new(setup) }
    }

    fn args(args: &Value) -> Result<Args, ToolError> {
        Args::deserialize(args).map_err(|error| ToolError::validation(error.to_string()))
    }
}

impl Runner {
    pub(super) fn new(setup: &Setup) -> Self {
        Self {
            pythons: setup.full.then(|| Pythons::new(setup.clone())),
            pool: Workers::of(setup),
            places: Semaphore::new(AT_ONCE),
            full_places: Semaphore::new(FULL_AT_ONCE),
            shelf: Shelf::at(&setup.suspended),
            search: Arc::clone(&setup.search),
        }
    }

    /// Runs a script.
    pub(super) async fn run(
        &self,
        ctx: &CallCtx,
        job: Job<'_>,
        children: &dyn Children,
    ) -> Result<Nested, ToolError> {
        let limit = job.timeout.map_or(TOTAL_TIME, |seconds| Duration::from_secs(seconds.into()));
        let begin = || {
            // What is left of the call's own time, with a little to say how it ended.
            let left = ctx.deadline.saturating_duration_since(Instant::now());
            let limit = limit.min(TOTAL_TIME).min(left.saturating_sub(LAST).max(left / 2));
            Chain::new(ctx, children, &*self.search, job.code, limit).taking(job.args.cloned())
        };
        if job.wants == Wants::Full {
            return self.full(begin).await;
        }
        // Never closed, so this only waits.
        let place = self.places.acquire().await;
        let mut worker = self.pool.take().await?;
        let mut chain = begin();
        let kept = children.is_again().then(|| self.shelf.take(ctx.call, job.code)).flatten();
        let order = match kept {
            Some(kept) => chain.resumed(kept),
            None => chain.fresh(&worker),
        };
        let mut end = chain.run(&mut worker, order).await;
        if matches!(end, End::Unreadable) {
            // It runs from its first line, and its calls have the outcomes that they have.
            self.pool.end(worker);
            worker = self.pool.take().await?;
            chain = begin();
            let order = chain.fresh(&worker);
            end = chain.run(&mut worker, order).await;
        }
        let (sandbox, engine) = (worker.process.level.as_str(), worker.engine.clone());
        self.pool.end(worker);
        if job.may_be_full && self.pythons.is_some() && lacks(&end) {
            if job.wants == Wants::Auto && chain.book.lines.is_empty() {
                // What ran until there has touched nothing, and is forgotten.
                drop((chain, place));
                return self.full(begin).await;
            }
            chain.advice = Some(FULLER);
        }
        if let End::Waits { request, snapshot } = end {
            if let Some(snapshot) = snapshot {
                let suspended = chain.suspended(snapshot, engine);
                // What cannot be kept runs from its first line again, as above.
                let _ = self.shelf.keep(ctx.call, &suspended);
            }
            return Ok(Nested::Waits(request));
        }
        if children.is_again() {
            self.shelf.forget(ctx.call);
        }
        Ok(Nested::Done(answer::answer(chain, end, Vec::new(), sandbox, &engine)))
    }

    /// Runs a script in CPython. It cannot be put aside, so it waits for people where it is.
    async fn full<'a>(&self, begin: impl FnOnce() -> Chain<'a>) -> Result<Nested, ToolError> {
        let Some(pythons) = &self.pythons else {
            return Err(ToolError::validation(
                "The level full is switched off here. Call again with level \"expression\", or without a level.",
            ));
        };
        // Never closed, so this only waits.
        let _place = self.full_places.acquire().await;
        let mut chain = begin().staying();
        let (folder, mut worker) = pythons.start().await?.for_script();
        let order = chain.fresh(&worker);
        let end = chain.run(&mut worker, order).await;
        let made = match &end {
            End::Done(done) => folder.of(&done.files).await,
            _ => Vec::new(),
        };
        worker.stop();
        let (sandbox, engine) = (worker.process.level.as_str(), worker.engine.clone());
        Ok(Nested::Done(answer::answer(chain, end, made, sandbox, &engine)))
    }
}

/// Whether a script ended because the interpreter lacks something.
fn lacks(end: &End) -> bool {
    match end {
        End::Done(done) => done.raised.as_ref().is_some_and(|raised| raised.lacks.is_some()),
        _ => false,
    }
}

impl Handler for ToolChain {
    fn spec(&self) -> &Arc<ToolSpec> {
        &self.spec
    }

    fn nesting(&self) -> Option<&dyn Nesting> {
        Some(self)
    }

    fn assess(&self, args: &Value) -> Result<Assessment, ToolError> {
        let args = Self::args(args)?;
        let assessment = Assessment::declared(&self.spec).saying(crate::tool::summary(&args.code));
        Ok(args.level.unwrap_or_default().weighed(assessment, NAME))
    }

    fn call<'a>(
        &'a self,
        _: &'a CallCtx,
        _: &'a Value,
    ) -> BoxFuture<'a, Result<ToolOutput, ToolError>> {
        only_nested()
    }
}

impl Nesting for ToolChain {
    fn call<'a>(
        &'a self,
        ctx: &'a CallCtx,
        args: &'a Value,
        children: &'a dyn Children,
    ) -> BoxFuture<'a, Result<Nested, ToolError>> {
        Box::pin(async move {
            let Args { code, timeout, level } = Self::args(args)?;
            let wants = level.unwrap_or_default();
            let job = Job { code: &code, args: None, timeout, wants, may_be_full: true };
            self.runner.run(ctx, job, children).await
        })
    }
}
