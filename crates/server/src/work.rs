//! Calls that this daemon was given: how they come to the door, and where they are until they have ended.
//!
//! A call that was let through the turnstile goes on whoever goes away; its result is looked up by its id. One that may be answered before it
//! has ended, or has a key, is stored before it begins.

use std::collections::HashMap;
use std::pin::pin;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use axum::http::HeaderMap;
use tokio::sync::{Notify, oneshot};
use toolcrib_app::core::store::KEY_CHARS;
use toolcrib_app::core::{
    Answer, Batch, Call, CallId, CancellationToken, Context, Invoker as _, Origin, ViewRequest,
};
use toolcrib_app::{SubmitError, Submitted};

use crate::daemon::Daemon;
use crate::goes_on::GoesOn;
use crate::problem::{Code, Problem};
use crate::role::{Principal, Role};
use crate::turnstile::Turn;
use crate::{listen, observe};

/// Header that names what is sent, so that sending it twice does it once.
pub(crate) const KEY: &str = "idempotency-key";
/// What it means, for documents.
pub(crate) const ABOUT_KEY: &str = "Your own word for this request, 1 to 200 characters. Sent again with the same content, nothing runs twice and the answer is that of the first time; with other content it is a `conflict`.";
/// Calls of one batch.
pub(crate) const MOST_CALLS: usize = 100;
/// Time after which what is at work has begun: it either ends before, or waits for something.
const BEGINS: Duration = Duration::from_millis(2);
/// Time for calls that were stopped to write down how they ended.
const LAST_WORDS: Duration = Duration::from_secs(5);

/// Calls that were given to this daemon and have not ended.
#[derive(Default)]
pub(crate) struct Work {
    desk: Mutex<Desk>,
    /// There is nothing at work any more.
    done: Notify,
}

#[derive(Default)]
struct Desk {
    /// Requests whose calls have not all ended.
    requests: usize,
    /// Calls whose ids are known.
    given: HashMap<CallId, Given>,
}

/// A call that has not ended.
#[derive(Debug, Clone)]
pub(crate) struct Given {
    /// Whose it is.
    pub(crate) owner: String,
    /// Who asked for it.
    pub(crate) by: String,
    /// The tool, as it was asked for.
    pub(crate) tool: String,
    /// Cancelled when it has ended, or waits for a person.
    pub(crate) over: CancellationToken,
}

/// A request at work: off the desk when dropped.
struct AtWork {
    daemon: Daemon,
    calls: Vec<CallId>,
    _turn: Arc<Turn>,
}

/// What became of calls within the time that they were waited for.
pub(crate) enum Awaited {
    /// All have their answer.
    Answers(Vec<Answer>),
    /// They go on under these ids.
    GoOn(Vec<CallId>),
}

impl Work {
    fn lock(&self) -> MutexGuard<'_, Desk> {
        self.desk.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// A call that has not ended.
    pub(crate) fn given(&self, call: CallId) -> Option<Given> {
        self.lock().given.get(&call).cloned()
    }

    /// Waits until none is left.
    async fn is_done(&self) {
        loop {
            let done = self.done.notified();
            if self.lock().requests == 0 {
                return;
            }
            done.await;
        }
    }
}

impl Drop for AtWork {
    fn drop(&mut self) {
        let work = self.daemon.work();
        let mut desk = work.lock();
        desk.requests -= 1;
        let over: Vec<Given> =
            self.calls.iter().filter_map(|call| desk.given.remove(call)).collect();
        let is_done = desk.requests == 0;
        drop(desk);
        over.iter().for_each(|given| given.over.cancel());
        if is_done {
            work.done.notify_waiters();
        }
    }
}

impl Daemon {
    /// Calls of this principal: what it may call, and on whose behalf.
    pub(crate) fn batch_of(&self, principal: &Principal, calls: Vec<Call>) -> Batch {
        self.observe().asked_here(calls.iter().map(|call| call.id));
        let batch = self.toolcrib().batch_of(calls, Origin::Rest);
        let context = Context { owner: principal.owner.clone(), ..Context::clone(&batch.context) };
        // Who asked stands in every row: it may have to be somebody else who decides.
        let device = principal.name.clone();
        let context = Context { channel: channel_of(principal).to_owned(), device, ..context };
        Batch { context: Arc::new(context), view: Arc::new(view_of(principal)), ..batch }
    }

    /// Waits for the turn of this principal; so many calls count as that many.
    ///
    /// # Errors
    /// `rate_limited` when too many wait, `unavailable` when the daemon stops.
    pub(crate) async fn turn(&self, principal: &Principal, calls: usize) -> Result<Turn, Problem> {
        let stopping = || {
            Problem::new(Code::Unavailable, "the daemon is stopping; nothing was run")
                .retry_after(5)
        };
        if self.stopping().is_cancelled() {
            return Err(stopping());
        }
        listen::leave_reception();
        let weight = calls.min(self.toolcrib().engine().settings().batch_concurrency);
        let waiter = self.turnstile().enter(&principal.client, weight).map_err(|_| {
            let words =
                "too many calls wait for their turn; this one was not taken, send it again later";
            Problem::new(Code::RateLimited, words).retry_after(1)
        })?;
        tokio::select! {
            turn = waiter => Ok(turn),
            () = self.stopping().cancelled() => Err(stopping()),
        }
    }

    /// Runs calls to their end, or for as long as they are waited for: `wait` = at most so long; they are stored first then, as they are
    /// under a key. Whoever drops this stops nothing, once it is their turn.
    ///
    /// # Errors
    /// As [`turn`](Self::turn), and what [`SubmitError`] says; then nothing was run.
    pub(crate) async fn run_calls(
        &self,
        principal: &Principal,
        batch: Batch,
        wait: Option<Duration>,
        key: Option<&str>,
    ) -> Result<Awaited, Problem> {
        let since = Instant::now();
        let turn = self.turn_within(principal, batch.calls.len(), wait).await?;
        if wait.is_none() && key.is_none() {
            let calls = given(&batch, batch.calls.iter().map(|call| call.id));
            let engine = self.toolcrib().engine().clone();
            let work = async move { Ok(engine.invoke(batch).await) };
            let answers = self.to_its_end(calls, turn, work).await?;
            return Ok(self.answered(answers));
        }
        // A call that has no key of its caller's is stored under its own name.
        let own = batch.calls.first().map(|call| call.id.to_string()).unwrap_or_default();
        let key = key.map_or(own, str::to_owned);
        let (told, accepted) = oneshot::channel();
        let turn = Arc::new(turn);
        let work = self.clone().accept_and_run(batch, key, Arc::clone(&turn), told);
        let mut answers = tokio::spawn(observe::carry(beginning(turn, work)));
        // Not told, it was not accepted, and the work says why.
        let Ok(calls) = accepted.await else {
            return joined(answers).await.map(|_| Awaited::GoOn(Vec::new()));
        };
        let answers = match wait {
            None => joined(answers).await?,
            Some(wait) => {
                let left = wait.saturating_sub(since.elapsed());
                match tokio::time::timeout(left, joined(&mut answers)).await {
                    Ok(answers) => answers?,
                    Err(_) => None,
                }
            }
        };
        Ok(answers.map_or(Awaited::GoOn(calls), |answers| self.answered(answers)))
    }

    /// Stores calls, says their ids, and runs them. `None` = another process has taken them over: they are looked up by their ids.
    async fn accept_and_run(
        self,
        batch: Batch,
        key: String,
        turn: Arc<Turn>,
        told: oneshot::Sender<Vec<CallId>>,
    ) -> Result<Option<Vec<Answer>>, Problem> {
        let (mut until_it_ends, mut is_known) = (None, false);
        let accepted = |submitted: &Submitted| {
            is_known = submitted.is_known;
            let calls = given(&batch, submitted.calls.iter().copied());
            until_it_ends = Some(self.at_work(calls, turn));
            let _ = told.send(submitted.calls.clone());
        };
        let answers = self.toolcrib().engine().accept_once(batch.clone(), &key, accepted).await;
        match answers {
            Err(SubmitError::AtWork(_)) if !is_known => Ok(None),
            // Sent before, to another daemon: its answers are waited for.
            Err(SubmitError::AtWork(_)) => Ok(Some(self.toolcrib().batch_once(batch, &key).await?)),
            answers => answers.map(Some).map_err(Problem::from),
        }
    }

    /// The same as [`turn`](Self::turn), for at most so long.
    async fn turn_within(
        &self,
        principal: &Principal,
        calls: usize,
        wait: Option<Duration>,
    ) -> Result<Turn, Problem> {
        let turn = self.turn(principal, calls);
        let Some(wait) = wait else { return turn.await };
        tokio::time::timeout(wait, turn).await.unwrap_or_else(|_| {
            let words = "its turn did not come in the time that you wait; nothing was run, send it again later";
            Err(Problem::new(Code::RateLimited, words).retry_after(1))
        })
    }

    /// Whoever looks at questions is told of new ones now.
    fn answered(&self, answers: Vec<Answer>) -> Awaited {
        if answers.iter().any(|answer| answer.outcome().is_none()) {
            self.live().poke();
        }
        Awaited::Answers(answers)
    }

    /// Runs something that makes calls, with their turn held, to its end: whoever drops this stops nothing.
    ///
    /// # Errors
    /// What it says itself.
    pub(crate) async fn run_on<T: Send + 'static>(
        &self,
        turn: Turn,
        work: impl Future<Output = Result<T, Problem>> + Send + 'static,
    ) -> Result<T, Problem> {
        // Which calls it makes is known only later.
        self.to_its_end(Vec::new(), turn, work).await
    }

    async fn to_its_end<T: Send + 'static>(
        &self,
        calls: Vec<(CallId, Given)>,
        turn: Turn,
        work: impl Future<Output = Result<T, Problem>> + Send + 'static,
    ) -> Result<T, Problem> {
        let turn = Arc::new(turn);
        let at_work = self.at_work(calls, Arc::clone(&turn));
        let work = observe::carry(async move {
            let _until_it_ends = at_work;
            beginning(turn, work).await
        });
        GoesOn::new(work).await.unwrap_or_else(|_| {
            tracing::error!("a call broke the task that it was made in");
            Err(broke())
        })
    }

    fn at_work(&self, calls: Vec<(CallId, Given)>, turn: Arc<Turn>) -> AtWork {
        let ids = calls.iter().map(|(id, _)| *id).collect();
        let mut desk = self.work().lock();
        desk.requests += 1;
        desk.given.extend(calls);
        drop(desk);
        AtWork { daemon: self.clone(), calls: ids, _turn: turn }
    }

    /// Waits until the calls that are at work have ended; those that have not when the drain time is over are stopped.
    pub(crate) async fn drain_calls(&self) {
        if tokio::time::timeout(self.settings().drain, self.work().is_done()).await.is_err() {
            // Those of runs are their runs' business.
            let stopped = self
                .toolcrib()
                .engine()
                .cancel_all(|call| !call.run.is_some_and(|run| self.live().drives(run)));
            tracing::warn!(calls = stopped.len(), "calls were stopped, for the daemon stops");
            let _ = tokio::time::timeout(LAST_WORDS, self.work().is_done()).await;
        }
    }
}

/// The calls of a batch under the ids that count.
fn given(batch: &Batch, ids: impl Iterator<Item = CallId>) -> Vec<(CallId, Given)> {
    let of = |call: &Call| Given {
        owner: batch.context.owner.clone(),
        by: batch.context.device.clone(),
        tool: call.name.clone(),
        over: CancellationToken::new(),
    };
    ids.zip(batch.calls.iter().map(of)).collect()
}

/// Who may decide about calls is asked about its own like anybody in a chat; all others are outside (DESIGN 9, Channels).
pub(crate) fn channel_of(principal: &Principal) -> &'static str {
    if principal.may(Role::Approver) { "chat" } else { "external-agent" }
}

/// What a principal may call: what its token is limited to, and what the flags of its strongest role leave.
pub(crate) fn view_of(principal: &Principal) -> ViewRequest {
    let role = principal.roles.list().last().map(|role| role.as_str().to_owned());
    ViewRequest {
        role: role.unwrap_or_default(),
        agent: principal.tools.clone(),
        ..ViewRequest::default()
    }
}

/// The key of a request.
///
/// # Errors
/// `bad_request` when there are several, or it is no plain text, or too long.
pub(crate) fn key_of(headers: &HeaderMap) -> Result<Option<String>, Problem> {
    let mut keys = headers.get_all(KEY).iter();
    let Some(key) = keys.next() else { return Ok(None) };
    let text = key.to_str().ok().filter(|_| keys.next().is_none());
    let text = text.filter(|text| !text.trim().is_empty() && text.chars().count() <= KEY_CHARS);
    let wrong = || {
        let words = format!("send one Idempotency-Key of 1 to {KEY_CHARS} plain characters");
        Problem::new(Code::BadRequest, words)
    };
    text.map(|text| Some(text.to_owned())).ok_or_else(wrong)
}

impl From<SubmitError> for Problem {
    fn from(error: SubmitError) -> Self {
        match error {
            SubmitError::BadKey | SubmitError::SecretKey => {
                Self::new(Code::BadRequest, error.to_string())
            }
            SubmitError::KeyReused(_) => Self::conflict(error.to_string()),
            SubmitError::AtWork(_) => Self::conflict(error.to_string()).retry_after(1),
            SubmitError::Store(error) => error.into(),
        }
    }
}

/// Does something that begins with its turn, and lets others begin when it has not ended soon.
async fn beginning<T>(turn: Arc<Turn>, work: impl Future<Output = T>) -> T {
    let mut work = pin!(work);
    match tokio::time::timeout(BEGINS, work.as_mut()).await {
        Ok(done) => done,
        Err(_) => {
            turn.has_begun();
            drop(turn);
            work.await
        }
    }
}

async fn joined<T>(
    work: impl Future<Output = Result<Result<T, Problem>, tokio::task::JoinError>>,
) -> Result<T, Problem> {
    work.await.unwrap_or_else(|error| {
        tracing::error!(%error, "a task of the daemon broke");
        Err(broke())
    })
}

fn broke() -> Problem {
    let words =
        "the daemon failed at it; whether it took effect is unknown, look before you send it again";
    Problem::new(Code::Internal, words)
}
