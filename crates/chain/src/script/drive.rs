//! Runs a script: takes its calls from the worker, has them made, and gives the worker what became of them, each as soon as it is there.

use std::collections::BTreeSet;
use std::sync::Arc;
use std::time::{Duration, Instant};

use futures_util::stream::{FuturesUnordered, StreamExt as _};
use tokio::io::AsyncReadExt as _;
use tokio::time::{sleep, timeout};
use toolcrib_core::{
    Answer, ApprovalRequest, ArtifactRef, BoxFuture, Call, CallCtx, CallId, Children, RawArgs,
    Trust, Turn, View, canonical,
};
use toolcrib_sandbox::{Input, Output};

use super::book::{Book, Status};
use super::kept::Suspended;
use super::policy::{self, APPROVAL_TIME, CALL_TIME, MOST_ASKED, MOST_CALLS, MOST_LINES};
use super::search::{self, FOUND, ToolSearch};
use super::{stub, told};
use crate::expression::{Death, Marked, SLACK, Worker};
use crate::frame;
use crate::kernel::UpToMark;
use crate::printed::Printed;
use crate::protocol::{Asks, Done, Kind, Order, PROTOCOL, Reply, Said, Script, Thaw, Wanted};

/// Bytes of output of a kernel that are read at once.
const PIECE: usize = 16 << 10;

/// Bytes of memory of a script.
const MEMORY: u64 = 256 << 20;

/// How a script ended, in this process.
pub(super) enum End {
    Done(Box<Done>),
    TimedOut,
    Died(Death),
    AskedTooOften,
    /// It waits for this decision; what is needed to go on is there, unless the worker could not give it.
    Waits {
        request: Box<ApprovalRequest>,
        snapshot: Option<String>,
    },
    /// What was kept of it cannot be used; nothing has happened.
    Unreadable,
}

/// A call that waits for a person.
struct Open {
    wanted: Wanted,
    place: usize,
    request: Box<ApprovalRequest>,
}

/// What becomes of a call.
struct Ended {
    wanted: Wanted,
    place: usize,
    answer: Answer,
}

type Going<'a> = FuturesUnordered<BoxFuture<'a, Ended>>;

/// One script on its way.
pub(super) struct Chain<'a> {
    pub(super) ctx: &'a CallCtx,
    pub(super) children: &'a dyn Children,
    pub(super) search: &'a dyn ToolSearch,
    pub(super) view: Arc<View>,
    pub(super) code: &'a str,
    /// Its time, waiting for people excluded.
    pub(super) limit: Duration,
    pub(super) book: Book,
    pub(super) printed: Printed<'a>,
    /// Whose words it was given.
    pub(super) trust: Trust,
    references: BTreeSet<String>,
    begun: Instant,
    /// Time that it took in other processes.
    before: Duration,
    open: Vec<Open>,
    /// What it was called with.
    args: Option<serde_json::Value>,
    /// Calls that it waited for when it was put aside.
    left: Vec<(Wanted, usize)>,
    /// Whether it stays where it is while people are waited for: nobody can put a process of CPython aside.
    stays: bool,
    /// Calls and questions so far.
    asked: usize,
    /// What may help where it failed.
    pub(super) advice: Option<&'static str>,
}

impl<'a> Chain<'a> {
    pub(super) fn new(
        ctx: &'a CallCtx,
        children: &'a dyn Children,
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
            book: Book::default(),
            printed: Printed::new(ctx),
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

    /// The same for a worker that cannot be put aside.
    pub(super) fn staying(mut self) -> Self {
        self.stays = true;
        self
    }

    /// The same called with these arguments.
    pub(super) fn taking(mut self, args: Option<serde_json::Value>) -> Self {
        self.args = args;
        self
    }

    /// The same as it was when it was put aside: the order that the worker gets for it.
    pub(super) fn resumed(&mut self, suspended: Suspended) -> Order {
        self.book = suspended.book;
        self.printed.push(suspended.printed.as_bytes());
        self.trust = suspended.trust;
        self.references = suspended.references;
        self.before = suspended.spent;
        self.left = suspended.open;
        let names = policy::names(&self.view);
        let left = self.limit.saturating_sub(suspended.spent);
        let time_ms = u64::try_from(left.as_millis()).unwrap_or(u64::MAX);
        Order::Thaw(Thaw { snapshot: suspended.snapshot, time_ms, memory: MEMORY, names })
    }

    /// The order for a script that begins in this worker.
    pub(super) fn fresh(&self, worker: &Worker) -> Order {
        Order::Script(Script {
            code: self.code.to_owned(),
            time_ms: u64::try_from(self.limit.as_millis()).unwrap_or(u64::MAX),
            memory: MEMORY,
            names: policy::names(&self.view),
            args: self.args.clone(),
            mark: worker.output.as_ref().map(|output| output.mark.clone()).unwrap_or_default(),
            check: false,
        })
    }

    /// Time that it took so far, waiting for people excluded.
    pub(super) fn spent(&self) -> Duration {
        self.before + self.begun.elapsed().saturating_sub(self.children.waited())
    }

    /// What has to be kept of it while it waits.
    pub(super) fn suspended(self, snapshot: String, engine: String) -> Suspended {
        Suspended {
            spent: self.spent(),
            engine,
            protocol: PROTOCOL,
            code: canonical::sha256_text(self.code),
            snapshot,
            open: self.open.into_iter().map(|open| (open.wanted, open.place)).collect(),
            book: self.book,
            printed: self.printed.so_far(),
            trust: self.trust,
            references: self.references,
        }
    }

    /// Runs it in a worker until it ends or waits for a person.
    pub(super) async fn run(&mut self, worker: &mut Worker, order: Order) -> End {
        let mut marked =
            worker.output.take().map(|Marked { from, mark }| (from, UpToMark::new(&mark)));
        let ended = self.talk(worker, &mut marked, order).await;
        if matches!(ended, Ok(End::TimedOut | End::AskedTooOften) | Err(_)) {
            // Now, so that its output has an end.
            worker.stop();
        }
        if let Some((mut from, output)) = marked {
            output.rest(&mut from, &mut self.printed).await;
        }
        let end = match ended {
            Ok(end) => end,
            // It ended itself because its time was over.
            Err(_) if self.left_of(Duration::ZERO).is_none() => End::TimedOut,
            Err(error) => End::Died(Death::Other(error.to_string())),
        };
        match end {
            End::Died(Death::Other(words)) if words.is_empty() => End::Died(worker.death().await),
            End::Done(done) => End::Done(done),
            other => {
                worker.stop();
                other
            }
        }
    }

    async fn talk(
        &mut self,
        worker: &mut Worker,
        marked: &mut Option<(Output, UpToMark)>,
        order: Order,
    ) -> std::io::Result<End> {
        let thaws = matches!(order, Order::Thaw(_));
        let Worker { to, from, .. } = worker;
        frame::send(to, &order).await?;
        let mut going: Going<'a> = FuturesUnordered::new();
        let mut replies: Vec<(u32, Reply)> = Vec::new();
        loop {
            let Some(said) = self.listen(from, marked, &mut going, &mut replies).await? else {
                return Ok(End::TimedOut);
            };
            match said {
                Some(Said::Printed { text }) => self.printed.push(text.as_bytes()),
                Some(Said::Asks(asks)) => {
                    if self.asks_too_often(1) {
                        return Ok(End::AskedTooOften);
                    }
                    let left = self.left_of(SLACK).unwrap_or_default();
                    let told = timeout(left, self.told(asks)).await?;
                    let left = self.left_of(SLACK).unwrap_or_default();
                    tell(to, &Order::Told(told), left).await?;
                }
                Some(Said::Waits { calls }) => {
                    if self.asks_too_often(calls.len()) {
                        return Ok(End::AskedTooOften);
                    }
                    for (wanted, place) in std::mem::take(&mut self.left) {
                        self.again(wanted, place, &going);
                    }
                    for wanted in calls {
                        self.begin(wanted, &going, &mut replies);
                    }
                    if !self.gather(&mut going, &mut replies).await {
                        return Ok(End::TimedOut);
                    }
                    if !replies.is_empty() {
                        let replies = std::mem::take(&mut replies);
                        let left = self.left_of(SLACK).unwrap_or_default();
                        tell(to, &Order::Replies { replies }, left).await?;
                        continue;
                    }
                    let Some(first) = self.open.first() else {
                        let words = "the script waits for nothing that comes".to_owned();
                        return Ok(End::Died(Death::Other(words)));
                    };
                    let request = first.request.clone();
                    frame::send(to, &Order::Freeze).await?;
                    let snapshot = match frame::receive(from).await {
                        Ok(Some(Said::Frozen { snapshot })) => Some(snapshot),
                        _ => None,
                    };
                    return Ok(End::Waits { request, snapshot });
                }
                Some(Said::Done(done)) => {
                    let is_late =
                        done.raised.as_ref().is_some_and(|raised| raised.is_out_of_time());
                    return Ok(if is_late { End::TimedOut } else { End::Done(Box::new(done)) });
                }
                // It says that it waits before anything else.
                None if thaws && !self.left.is_empty() => return Ok(End::Unreadable),
                // It ended itself because its time was over.
                None if self.left_of(Duration::ZERO).is_none() => return Ok(End::TimedOut),
                None => return Ok(End::Died(Death::Other(String::new()))),
                Some(_) => {
                    return Ok(End::Died(Death::Other("it broke the protocol".to_owned())));
                }
            }
        }
    }

    /// Counts what it asks for, and says whether that is too much.
    fn asks_too_often(&mut self, more: usize) -> bool {
        self.asked += more;
        self.asked > MOST_ASKED
    }

    /// The next message; what becomes of calls meanwhile is gathered. `None` = its time is over.
    async fn listen(
        &mut self,
        from: &mut Output,
        marked: &mut Option<(Output, UpToMark)>,
        going: &mut Going<'a>,
        replies: &mut Vec<(u32, Reply)>,
    ) -> std::io::Result<Option<Option<Said>>> {
        let mut message = std::pin::pin!(frame::receive(from));
        let mut piece = vec![0; if marked.is_some() { PIECE } else { 0 }];
        loop {
            let Some(left) = self.left_of(SLACK) else { return Ok(None) };
            tokio::select! {
                biased;
                said = &mut message => return said.map(Some),
                Some(ended) = going.next() => self.ended(ended, replies),
                read = read_of(marked, &mut piece) => match (read, &mut *marked) {
                    (Ok(count @ 1..), Some((_, output))) => {
                        output.push(piece.get(..count).unwrap_or_default(), &mut self.printed);
                    }
                    // It has closed its output.
                    _ => *marked = None,
                },
                () = sleep(left) => {}
            }
        }
    }

    /// Waits until there is a reply, or nothing is at work any more; `false` = its time is over.
    async fn gather(&mut self, going: &mut Going<'a>, replies: &mut Vec<(u32, Reply)>) -> bool {
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

    /// What is left of its time and so much more; `None` = nothing.
    fn left_of(&self, more: Duration) -> Option<Duration> {
        let left = (self.limit + more).saturating_sub(self.spent());
        (!left.is_zero()).then_some(left)
    }

    fn begin(&mut self, wanted: Wanted, going: &Going<'a>, replies: &mut Vec<(u32, Reply)>) {
        let id = wanted.id;
        let (place, name, args) = match self.admitted(&wanted) {
            Ok(admitted) => admitted,
            Err(refused) => return replies.push((id, *refused)),
        };
        let call = self.book.id(place, self.ctx.call);
        self.make(wanted, place, Call { id: call, name, args: RawArgs::Value(args) }, going);
    }

    /// The place, the tool and the arguments of a call that may be made.
    fn admitted(
        &mut self,
        wanted: &Wanted,
    ) -> Result<(usize, String, serde_json::Value), Box<Reply>> {
        let raise = |kind, text| Box::new(Reply::Raise { kind, text });
        let Some(entry) = policy::find(&self.view, &wanted.name) else {
            return Err(raise(Kind::Unknown, format!("Unknown tool: '{}'", wanted.name)));
        };
        let spec = entry.spec();
        let args = stub::arguments(spec, wanted.args.clone(), wanted.named.clone())
            .map_err(|text| raise(Kind::Arguments, text))?;
        let name = spec.name.as_str().to_owned();
        let exhausted = || {
            let text = format!("Chain budget exhausted: max_tool_calls={MOST_CALLS}");
            Err(Box::new(Reply::End { text }))
        };
        if self.book.lines.len() >= MOST_LINES {
            return exhausted();
        }
        let place = self.book.enter(&name, &args);
        if let Some(text) = policy::refusal(entry) {
            self.book.ended(place, Status::Denied, 0.0);
            return Err(raise(Kind::Error, text));
        }
        if self.book.made() >= MOST_CALLS {
            self.book.ended(place, Status::Denied, 0.0);
            return exhausted();
        }
        Ok((place, name, args))
    }

    /// A call that was made before the script was put aside.
    fn again(&mut self, wanted: Wanted, place: usize, going: &Going<'a>) {
        let line = self.book.lines.get(place);
        let id = line.and_then(|line| line.call).unwrap_or_else(CallId::fresh);
        let name = line.map_or_else(|| wanted.name.clone(), |line| line.tool.clone());
        let entry = policy::find(&self.view, &wanted.name);
        let args = entry
            .map(|entry| stub::arguments(entry.spec(), wanted.args.clone(), wanted.named.clone()));
        let args = match args {
            Some(Ok(args)) => RawArgs::Value(args),
            // The tool is gone, or another one. The door knows what became of the call, or says what is wrong.
            _ => RawArgs::Value(serde_json::Value::Object(wanted.named.clone())),
        };
        self.make(wanted, place, Call { id, name, args }, going);
    }

    fn make(&self, wanted: Wanted, place: usize, call: Call, going: &Going<'a>) {
        let number = u32::try_from(place).unwrap_or(u32::MAX).saturating_add(1);
        let turn = Turn { limit: CALL_TIME, number, most: MOST_CALLS };
        let (children, stays) = (self.children, self.stays);
        going.push(Box::pin(async move {
            let again = stays.then(|| call.clone());
            let mut answer = children.invoke(call, turn).await;
            if let (Answer::Suspended(request), Some(call)) = (&answer, again)
                && let Some(decided) = children.decided(call, turn, request, APPROVAL_TIME).await
            {
                answer = decided;
            }
            Ended { wanted, place, answer }
        }));
    }

    fn ended(&mut self, ended: Ended, replies: &mut Vec<(u32, Reply)>) {
        let Ended { wanted, place, answer } = ended;
        let outcome = match answer {
            Answer::Suspended(request) if self.stays => {
                self.book.ended(place, Status::Denied, 0.0);
                let (tool, seconds) = (&request.tool, APPROVAL_TIME.as_secs());
                let text = format!(
                    "Approval for '{tool}' timed out after {seconds}s. Call this tool directly outside the chain for interactive approval."
                );
                return replies.push((wanted.id, Reply::Raise { kind: Kind::Denied, text }));
            }
            Answer::Suspended(request) => return self.open.push(Open { wanted, place, request }),
            Answer::Done(outcome) => *outcome,
        };
        let millis = outcome.report.run_nanos as f64 / 1e6;
        self.book.ended(place, Status::of(&outcome), (millis * 1e3).round() / 1e3);
        if let Ok(result) = &outcome.result {
            self.trust = self.trust.max(result.trust);
        } else if outcome.report.attempts > 0 {
            // What failed may say anybody's words.
            let entry = policy::find(&self.view, &wanted.name);
            self.trust = self.trust.max(entry.map_or(Trust::External, |entry| entry.spec().trust));
        }
        let tool = self.book.lines.get(place).map_or("", |line| &line.tool).to_owned();
        let reply = told::reply(self.ctx, &tool, outcome);
        if let Reply::Result { reference, media, .. } = &reply {
            self.references.extend(reference.iter().chain(media).cloned());
        }
        replies.push((wanted.id, reply));
    }

    /// The answer to a question that is no call.
    async fn told(&mut self, asks: Asks) -> Reply {
        let text = asks.args.first().and_then(|arg| arg.as_str().map(str::to_owned));
        match (&*asks.what, text) {
            ("search", Some(words)) => {
                match self.search.search(Arc::clone(&self.view), &words, FOUND).await {
                    Ok(found) => Reply::Value { value: search::told(&found, FOUND) },
                    Err(error) => Reply::Raise { kind: Kind::Error, text: error.message },
                }
            }
            ("describe", Some(name)) => match policy::find(&self.view, &name) {
                Some(entry) => Reply::Value { value: stub::of(entry.spec()).into() },
                None => {
                    let near = toolcrib_core::near::nearest(&name, self.view.names());
                    let near = match near.is_empty() {
                        true => String::new(),
                        false => format!(". Did you mean {}?", near.join(", ")),
                    };
                    let text = format!("Unknown tool: '{name}'{near}");
                    Reply::Raise { kind: Kind::Unknown, text }
                }
            },
            ("materialize", _) => self.materialize(asks.args.first()),
            (what, _) => {
                let text = format!("{what}() takes one text");
                Reply::Raise { kind: Kind::Arguments, text }
            }
        }
    }

    /// The whole text of a result that this script was told of.
    fn materialize(&self, arg: Option<&serde_json::Value>) -> Reply {
        let wrong = |text: String| Reply::Raise { kind: Kind::Arguments, text };
        let reference = match arg {
            Some(serde_json::Value::String(text)) => text.as_str(),
            Some(value) => value.get("$artifact").and_then(|r| r.as_str()).unwrap_or_default(),
            None => "",
        };
        if !reference.starts_with("art_") {
            // A short result is whole already.
            return match arg {
                Some(serde_json::Value::String(text)) => {
                    Reply::Value { value: text.as_str().into() }
                }
                _ => wrong("materialize() takes the result of a tool, or its ref".to_owned()),
            };
        }
        if !self.references.contains(reference) {
            return wrong(format!(
                "'{reference}' is no ref of a result of this script; read_artifact reads others"
            ));
        }
        match self.children.stored(&ArtifactRef(reference.to_owned())) {
            Ok(text) if text.len() <= frame::FRAME_BYTES / 2 => Reply::Value { value: text.into() },
            Ok(text) => wrong(format!(
                "the result has {} bytes, too many for a script; read_artifact reads it page by page",
                text.len()
            )),
            Err(error) => wrong(error.message),
        }
    }
}

/// Gives a script an answer, which it may refuse to read until its time is over.
async fn tell(to: &mut Input, order: &Order, left: Duration) -> std::io::Result<()> {
    timeout(left, frame::send(to, order)).await?
}

/// Reads what is printed, where that does not come with the messages.
async fn read_of(
    marked: &mut Option<(Output, UpToMark)>,
    piece: &mut [u8],
) -> std::io::Result<usize> {
    match marked {
        Some((from, _)) => from.read(piece).await,
        None => std::future::pending().await,
    }
}
