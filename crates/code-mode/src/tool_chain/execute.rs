//! Executes a script: takes its calls from the worker, runs them, and sends each reply as soon as
//! it is available.

use std::collections::BTreeSet;
use std::sync::Arc;
use std::time::{Duration, Instant};

use futures_util::stream::{FuturesUnordered, StreamExt as _};
use tokio::io::AsyncReadExt as _;
use tokio::time::{sleep, timeout};
use toolcrib_core::{
    Answer, ApprovalRequest, ArtifactRef, BoxFuture, Call, CallCtx, CallId, ChildCallSpec,
    ChildInvoker, RawArgs, Trust, View, canonical_json,
};
use toolcrib_sandbox::{Input, Output};

use super::call_log::{CallLog, CallStatus};
use super::script_limits::{
    self, APPROVAL_TIME, CALL_TIME, MAX_CALLS, MAX_LOG_ENTRIES, MAX_QUERIES,
};
use super::suspended::SuspendedScript;
use super::tool_lookup::{self, DEFAULT_LIMIT, ToolSearch};
use super::{call_reply, python_stubs};
use crate::captured_output::CapturedOutput;
use crate::cpython_level::kernel::MarkScanner;
use crate::framing;
use crate::worker_process::{Death, MarkedOutput, SLACK, Worker};
use crate::worker_protocol::{
    ErrorKind, PROTOCOL, Reply, RequestedCall, ResumeScript, RunResult, Script, ToolQuery,
    WorkerCommand, WorkerMessage,
};

/// Read buffer for the output of a kernel, in bytes.
const PIECE: usize = 16 << 10;

/// Memory limit of a script, in bytes.
const MEMORY: u64 = 256 << 20;

/// The end of a script, in this process.
pub(super) enum ScriptEnd {
    Done(Box<RunResult>),
    TimedOut,
    Died(Death),
    AskedTooOften,
    /// The script waits for this decision. `snapshot` contains its state, unless the worker could
    /// not write it.
    Waits {
        request: Box<ApprovalRequest>,
        snapshot: Option<String>,
    },
    /// The saved state cannot be used; the script has not run.
    Unreadable,
}

/// A call that waits for a person.
struct PendingCall {
    wanted: RequestedCall,
    place: usize,
    request: Box<ApprovalRequest>,
}

/// A completed call.
struct FinishedCall {
    wanted: RequestedCall,
    place: usize,
    answer: Answer,
}

type RunningCalls<'a> = FuturesUnordered<BoxFuture<'a, FinishedCall>>;

/// A running script.
pub(super) struct ScriptRun<'a> {
    pub(super) ctx: &'a CallCtx,
    pub(super) children: &'a dyn ChildInvoker,
    pub(super) search: &'a dyn ToolSearch,
    pub(super) view: Arc<View>,
    pub(super) code: &'a str,
    /// Its time limit, without waiting for people.
    pub(super) limit: Duration,
    pub(super) book: CallLog,
    pub(super) printed: CapturedOutput<'a>,
    /// The lowest trust of the results that it received.
    pub(super) trust: Trust,
    references: BTreeSet<String>,
    begun: Instant,
    /// Time that it spent in other processes.
    before: Duration,
    open: Vec<PendingCall>,
    /// Its arguments.
    args: Option<serde_json::Value>,
    /// Calls that it waited for when it was suspended.
    left: Vec<(RequestedCall, usize)>,
    /// Whether its process continues while people decide: a CPython process cannot be suspended.
    stays: bool,
    /// Number of calls and queries so far.
    asked: usize,
    /// Advice after a failure.
    pub(super) advice: Option<&'static str>,
}

impl<'a> ScriptRun<'a> {
    pub(super) fn new(
        ctx: &'a CallCtx,
        children: &'a dyn ChildInvoker,
        search: &'a dyn ToolSearch,
        code: &'a str,
        limit: Duration,
    ) -> Self {
        Self {
            ctx,
            children,
            search,
            view: children.view(),
            code,
            limit,
            book: CallLog::default(),
            printed: CapturedOutput::new(ctx),
            trust: Trust::Workspace,
            references: BTreeSet::new(),
            begun: Instant::now(),
            before: Duration::ZERO,
            open: Vec::new(),
            args: None,
            left: Vec::new(),
            stays: false,
            asked: 0,
            advice: None,
        }
    }

    /// Adapts the run to a worker that cannot be suspended.
    pub(super) fn without_suspend(mut self) -> Self {
        self.stays = true;
        self
    }

    /// Sets the arguments of the script.
    pub(super) fn with_args(mut self, args: Option<serde_json::Value>) -> Self {
        self.args = args;
        self
    }

    /// Restores a suspended script; returns the command for the worker.
    pub(super) fn resume_command(&mut self, suspended: SuspendedScript) -> WorkerCommand {
        self.book = suspended.book;
        self.printed.push(suspended.printed.as_bytes());
        self.trust = suspended.trust;
        self.references = suspended.references;
        self.before = suspended.spent;
        self.left = suspended.open;
        let names = script_limits::tool_names(&self.view);
        let left = self.limit.saturating_sub(suspended.spent);
        let time_ms = u64::try_from(left.as_millis()).unwrap_or(u64::MAX);
        WorkerCommand::Resume(ResumeScript {
            snapshot: suspended.snapshot,
            time_ms,
            memory: MEMORY,
            names,
        })
    }

    /// Returns the command that starts the script in this worker.
    pub(super) fn start_command(&self, worker: &Worker) -> WorkerCommand {
        WorkerCommand::Script(Script {
            code: self.code.to_owned(),
            time_ms: u64::try_from(self.limit.as_millis()).unwrap_or(u64::MAX),
            memory: MEMORY,
            names: script_limits::tool_names(&self.view),
            args: self.args.clone(),
            mark: worker.output.as_ref().map(|output| output.mark.clone()).unwrap_or_default(),
            check: false,
        })
    }

    /// Returns the run time so far, without waiting for people.
    pub(super) fn spent(&self) -> Duration {
        self.before + self.begun.elapsed().saturating_sub(self.children.approval_wait())
    }

    /// Returns the data to save while the script waits.
    pub(super) fn suspended(self, snapshot: String, engine: String) -> SuspendedScript {
        SuspendedScript {
            spent: self.spent(),
            engine,
            protocol: PROTOCOL,
            code: canonical_json::sha256_text(self.code),
            snapshot,
            open: self.open.into_iter().map(|open| (open.wanted, open.place)).collect(),
            book: self.book,
            printed: self.printed.into_text(),
            trust: self.trust,
            references: self.references,
        }
    }

    /// Runs the script in a worker until it ends or waits for a person.
    pub(super) async fn run(&mut self, worker: &mut Worker, order: WorkerCommand) -> ScriptEnd {
        let mut marked =
            worker.output.take().map(|MarkedOutput { from, mark }| (from, MarkScanner::new(&mark)));
        let ended = self.exchange(worker, &mut marked, order).await;
        if matches!(ended, Ok(ScriptEnd::TimedOut | ScriptEnd::AskedTooOften) | Err(_)) {
            // Stop it now, so that its output ends.
            worker.stop();
        }
        if let Some((mut from, output)) = marked {
            output.rest(&mut from, &mut self.printed).await;
        }
        let end = match ended {
            Ok(end) => end,
            // The worker ended itself because the time limit was reached.
            Err(_) if self.left_of(Duration::ZERO).is_none() => ScriptEnd::TimedOut,
            Err(error) => ScriptEnd::Died(Death::Other(error.to_string())),
        };
        match end {
            ScriptEnd::Died(Death::Other(words)) if words.is_empty() => {
                ScriptEnd::Died(worker.death().await)
            }
            ScriptEnd::Done(done) => ScriptEnd::Done(done),
            other => {
                worker.stop();
                other
            }
        }
    }

    async fn exchange(
        &mut self,
        worker: &mut Worker,
        marked: &mut Option<(Output, MarkScanner)>,
        order: WorkerCommand,
    ) -> std::io::Result<ScriptEnd> {
        let thaws = matches!(order, WorkerCommand::Resume(_));
        let Worker { to, from, .. } = worker;
        framing::send(to, &order).await?;
        let mut going: RunningCalls<'a> = FuturesUnordered::new();
        let mut replies: Vec<(u32, Reply)> = Vec::new();
        loop {
            let Some(said) = self.listen(from, marked, &mut going, &mut replies).await? else {
                return Ok(ScriptEnd::TimedOut);
            };
            match said {
                Some(WorkerMessage::Printed { text }) => self.printed.push(text.as_bytes()),
                Some(WorkerMessage::Asks(asks)) => {
                    if self.exceeds_query_limit(1) {
                        return Ok(ScriptEnd::AskedTooOften);
                    }
                    let left = self.left_of(SLACK).unwrap_or_default();
                    let told = timeout(left, self.answer_query(asks)).await?;
                    let left = self.left_of(SLACK).unwrap_or_default();
                    send_command(to, &WorkerCommand::QueryReply(told), left).await?;
                }
                Some(WorkerMessage::Waits { calls }) => {
                    if self.exceeds_query_limit(calls.len()) {
                        return Ok(ScriptEnd::AskedTooOften);
                    }
                    for (wanted, place) in std::mem::take(&mut self.left) {
                        self.resume_call(wanted, place, &going);
                    }
                    for wanted in calls {
                        self.start_call(wanted, &going, &mut replies);
                    }
                    if !self.gather(&mut going, &mut replies).await {
                        return Ok(ScriptEnd::TimedOut);
                    }
                    if !replies.is_empty() {
                        let replies = std::mem::take(&mut replies);
                        let left = self.left_of(SLACK).unwrap_or_default();
                        send_command(to, &WorkerCommand::Replies { replies }, left).await?;
                        continue;
                    }
                    let Some(first) = self.open.first() else {
                        let words = "the script waits for a reply that cannot come".to_owned();
                        return Ok(ScriptEnd::Died(Death::Other(words)));
                    };
                    let request = first.request.clone();
                    framing::send(to, &WorkerCommand::Suspend).await?;
                    let snapshot = match framing::receive(from).await {
                        Ok(Some(WorkerMessage::Suspended { snapshot })) => Some(snapshot),
                        _ => None,
                    };
                    return Ok(ScriptEnd::Waits { request, snapshot });
                }
                Some(WorkerMessage::Done(done)) => {
                    let is_late =
                        done.raised.as_ref().is_some_and(|raised| raised.is_out_of_time());
                    return Ok(if is_late {
                        ScriptEnd::TimedOut
                    } else {
                        ScriptEnd::Done(Box::new(done))
                    });
                }
                // A resumed script first reports that it waits.
                None if thaws && !self.left.is_empty() => return Ok(ScriptEnd::Unreadable),
                // The worker ended itself because the time limit was reached.
                None if self.left_of(Duration::ZERO).is_none() => return Ok(ScriptEnd::TimedOut),
                None => return Ok(ScriptEnd::Died(Death::Other(String::new()))),
                Some(_) => {
                    return Ok(ScriptEnd::Died(Death::Other("it broke the protocol".to_owned())));
                }
            }
        }
    }

    /// Counts calls and queries; returns whether they exceed the limit.
    fn exceeds_query_limit(&mut self, more: usize) -> bool {
        self.asked += more;
        self.asked > MAX_QUERIES
    }

    /// Waits for the next message; collects completed calls meanwhile. `None` if the time limit is
    /// reached.
    async fn listen(
        &mut self,
        from: &mut Output,
        marked: &mut Option<(Output, MarkScanner)>,
        going: &mut RunningCalls<'a>,
        replies: &mut Vec<(u32, Reply)>,
    ) -> std::io::Result<Option<Option<WorkerMessage>>> {
        let mut message = std::pin::pin!(framing::receive(from));
        let mut piece = vec![0; if marked.is_some() { PIECE } else { 0 }];
        loop {
            let Some(left) = self.left_of(SLACK) else { return Ok(None) };
            tokio::select! {
                biased;
                said = &mut message => return said.map(Some),
                Some(ended) = going.next() => self.ended(ended, replies),
                read = read_message(marked, &mut piece) => match (read, &mut *marked) {
                    (Ok(count @ 1..), Some((_, output))) => {
                        output.push(piece.get(..count).unwrap_or_default(), &mut self.printed);
                    }
                    // The script has closed its output.
                    _ => *marked = None,
                },
                () = sleep(left) => {}
            }
        }
    }

    /// Waits for a reply, or until no call is running; `false` if the time limit is reached.
    async fn gather(
        &mut self,
        going: &mut RunningCalls<'a>,
        replies: &mut Vec<(u32, Reply)>,
    ) -> bool {
        while replies.is_empty() && !going.is_empty() {
            let Some(left) = self.left_of(Duration::ZERO) else { return false };
            tokio::select! {
                biased;
                Some(ended) = going.next() => self.ended(ended, replies),
                () = sleep(left) => {}
            }
        }
        true
    }

    /// Returns the remaining time plus `more`; `None` if there is none.
    fn left_of(&self, more: Duration) -> Option<Duration> {
        let left = (self.limit + more).saturating_sub(self.spent());
        (!left.is_zero()).then_some(left)
    }

    fn start_call(
        &mut self,
        wanted: RequestedCall,
        going: &RunningCalls<'a>,
        replies: &mut Vec<(u32, Reply)>,
    ) {
        let id = wanted.id;
        let (place, name, args) = match self.check_call(&wanted) {
            Ok(admitted) => admitted,
            Err(refused) => return replies.push((id, *refused)),
        };
        let call = self.book.assign_call_id(place, self.ctx.call);
        self.make_call(wanted, place, Call { id: call, name, args: RawArgs::Value(args) }, going);
    }

    /// Checks a call; returns index, tool and arguments of a permitted one.
    fn check_call(
        &mut self,
        wanted: &RequestedCall,
    ) -> Result<(usize, String, serde_json::Value), Box<Reply>> {
        let raise = |kind, text| Box::new(Reply::Raise { kind, text });
        let Some(entry) = script_limits::find(&self.view, &wanted.name) else {
            return Err(raise(ErrorKind::Unknown, format!("Unknown tool: '{}'", wanted.name)));
        };
        let spec = entry.spec();
        let args = python_stubs::arguments(spec, wanted.args.clone(), wanted.named.clone())
            .map_err(|text| raise(ErrorKind::Arguments, text))?;
        let name = spec.name.as_str().to_owned();
        let exhausted = || {
            let text = format!("Chain budget exhausted: max_tool_calls={MAX_CALLS}");
            Err(Box::new(Reply::End { text }))
        };
        if self.book.lines.len() >= MAX_LOG_ENTRIES {
            return exhausted();
        }
        let place = self.book.add(&name, &args);
        if let Some(text) = script_limits::why_not_callable(entry) {
            self.book.finish(place, CallStatus::Denied, 0.0);
            return Err(raise(ErrorKind::Error, text));
        }
        if self.book.calls_made() >= MAX_CALLS {
            self.book.finish(place, CallStatus::Denied, 0.0);
            return exhausted();
        }
        Ok((place, name, args))
    }

    /// Continues a call from before the script was suspended.
    fn resume_call(&mut self, wanted: RequestedCall, place: usize, going: &RunningCalls<'a>) {
        let line = self.book.lines.get(place);
        let id = line.and_then(|line| line.call).unwrap_or_else(CallId::fresh);
        let name = line.map_or_else(|| wanted.name.clone(), |line| line.tool.clone());
        let entry = script_limits::find(&self.view, &wanted.name);
        let args = entry.map(|entry| {
            python_stubs::arguments(entry.spec(), wanted.args.clone(), wanted.named.clone())
        });
        let args = match args {
            Some(Ok(args)) => RawArgs::Value(args),
            // The tool was removed or replaced. The invoker knows the outcome of the call, or
            // reports the problem.
            _ => RawArgs::Value(serde_json::Value::Object(wanted.named.clone())),
        };
        self.make_call(wanted, place, Call { id, name, args }, going);
    }

    fn make_call(&self, wanted: RequestedCall, place: usize, call: Call, going: &RunningCalls<'a>) {
        let number = u32::try_from(place).unwrap_or(u32::MAX).saturating_add(1);
        let turn = ChildCallSpec { limit: CALL_TIME, number, max_calls: MAX_CALLS };
        let (children, stays) = (self.children, self.stays);
        going.push(Box::pin(async move {
            let again = stays.then(|| call.clone());
            let mut answer = children.invoke(call, turn).await;
            if let (Answer::Suspended(request), Some(call)) = (&answer, again)
                && let Some(decided) =
                    children.resume_when_decided(call, turn, request, APPROVAL_TIME).await
            {
                answer = decided;
            }
            FinishedCall { wanted, place, answer }
        }));
    }

    fn ended(&mut self, ended: FinishedCall, replies: &mut Vec<(u32, Reply)>) {
        let FinishedCall { wanted, place, answer } = ended;
        let outcome = match answer {
            Answer::Suspended(request) if self.stays => {
                self.book.finish(place, CallStatus::Denied, 0.0);
                let (tool, seconds) = (&request.tool, APPROVAL_TIME.as_secs());
                let text = format!(
                    "Approval for '{tool}' timed out after {seconds}s. Call this tool directly outside the chain for interactive approval."
                );
                return replies.push((wanted.id, Reply::Raise { kind: ErrorKind::Denied, text }));
            }
            Answer::Suspended(request) => {
                return self.open.push(PendingCall { wanted, place, request });
            }
            Answer::Done(outcome) => *outcome,
        };
        let millis = outcome.report.run_nanos as f64 / 1e6;
        self.book.finish(place, CallStatus::from_outcome(&outcome), (millis * 1e3).round() / 1e3);
        if let Ok(result) = &outcome.result {
            self.trust = self.trust.max(result.trust);
        } else if outcome.report.attempts > 0 {
            // An error message may contain untrusted text.
            let entry = script_limits::find(&self.view, &wanted.name);
            self.trust = self.trust.max(entry.map_or(Trust::External, |entry| entry.spec().trust));
        }
        let tool = self.book.lines.get(place).map_or("", |line| &line.tool).to_owned();
        let reply = call_reply::reply(self.ctx, &tool, outcome);
        if let Reply::Result { reference, media, .. } = &reply {
            self.references.extend(reference.iter().chain(media).cloned());
        }
        replies.push((wanted.id, reply));
    }

    /// Answers a query.
    async fn answer_query(&mut self, asks: ToolQuery) -> Reply {
        let text = asks.args.first().and_then(|arg| arg.as_str().map(str::to_owned));
        match (&*asks.what, text) {
            ("search", Some(words)) => {
                match self.search.search(Arc::clone(&self.view), &words, DEFAULT_LIMIT).await {
                    Ok(found) => {
                        Reply::Value { value: tool_lookup::to_json(&found, DEFAULT_LIMIT) }
                    }
                    Err(error) => Reply::Raise { kind: ErrorKind::Error, text: error.message },
                }
            }
            ("describe", Some(name)) => match script_limits::find(&self.view, &name) {
                Some(entry) => Reply::Value { value: python_stubs::stub(entry.spec()).into() },
                None => {
                    let near =
                        toolcrib_core::similar_names::similar_names(&name, self.view.names());
                    let near = match near.is_empty() {
                        true => String::new(),
                        false => format!(". Did you mean {}?", near.join(", ")),
                    };
                    let text = format!("Unknown tool: '{name}'{near}");
                    Reply::Raise { kind: ErrorKind::Unknown, text }
                }
            },
            ("materialize", _) => self.materialize(asks.args.first()),
            (what, _) => {
                let text = format!("{what}() takes one text");
                Reply::Raise { kind: ErrorKind::Arguments, text }
            }
        }
    }

    /// Returns the whole text of a result that this script received.
    fn materialize(&self, arg: Option<&serde_json::Value>) -> Reply {
        let wrong = |text: String| Reply::Raise { kind: ErrorKind::Arguments, text };
        let reference = match arg {
            Some(serde_json::Value::String(text)) => text.as_str(),
            Some(value) => value.get("$artifact").and_then(|r| r.as_str()).unwrap_or_default(),
            None => "",
        };
        if !reference.starts_with("art_") {
            // A short result is complete already.
            return match arg {
                Some(serde_json::Value::String(text)) => {
                    Reply::Value { value: text.as_str().into() }
                }
                _ => wrong("materialize() takes the result of a tool, or its ref".to_owned()),
            };
        }
        if !self.references.contains(reference) {
            return wrong(format!(
                "'{reference}' is not a ref of a result of this script; read_artifact reads others"
            ));
        }
        match self.children.read_artifact(&ArtifactRef(reference.to_owned())) {
            Ok(text) if text.len() <= framing::FRAME_BYTES / 2 => {
                Reply::Value { value: text.into() }
            }
            Ok(text) => wrong(format!(
                "the result has {} bytes, too many for a script; read_artifact reads it page by page",
                text.len()
            )),
            Err(error) => wrong(error.message),
        }
    }
}

/// Sends a reply; the script may not read it before its time limit.
async fn send_command(
    to: &mut Input,
    order: &WorkerCommand,
    left: Duration,
) -> std::io::Result<()> {
    timeout(left, framing::send(to, order)).await?
}

/// Reads a message, and the output if it is separate from the messages.
async fn read_message(
    marked: &mut Option<(Output, MarkScanner)>,
    piece: &mut [u8],
) -> std::io::Result<usize> {
    match marked {
        Some((from, _)) => from.read(piece).await,
        None => std::future::pending().await,
    }
}
