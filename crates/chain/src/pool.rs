//! Interpreters that wait for code: started and put in their sandbox before anybody needs them, each used once, ended when nobody needs them any more.

use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};
use std::time::Duration;

use tokio::time::{sleep, timeout};
use toolcrib_core::ToolError;
use toolcrib_sandbox::{Backend, Job, Level, Network, Output, Policy, Resources, Stdin};

use crate::expression::Worker;
use crate::frame;
use crate::protocol::{PROTOCOL, Said};
use crate::refusal::{not_ready, refusal};
use crate::setup::Setup;
use crate::worker::ROLE;

/// Workers that wait at one time. One is taken while the other is still there for whoever comes meanwhile; what one costs stands in
/// docs/code-mode.md.
const WAITING: usize = 2;

/// What happens around a call, taking apart the worker of before and making the next one, begins so long after it, so that it takes no time from the
/// call: nearly all are answered by then.
const AFTER: Duration = Duration::from_millis(20);

/// How long workers wait that nobody needs.
const IDLE: Duration = Duration::from_secs(300);

/// How long a start may take, on a machine that is very busy.
const START: Duration = Duration::from_secs(10);

/// The interpreters of all tools of this crate: they are made when the first is needed.
#[derive(Clone, Default)]
pub struct Workers(Arc<OnceLock<Arc<Pool>>>);

impl Workers {
    /// Those of this set-up.
    pub(crate) fn of(setup: &Setup) -> Arc<Pool> {
        let make = || {
            let minimum = setup.minimum.max(Level::Reduced);
            Arc::new(Pool::new(Arc::clone(&setup.backend), setup.worker.clone(), minimum))
        };
        Arc::clone(setup.workers.0.get_or_init(make))
    }
}

/// Workers that wait.
pub(crate) struct Pool {
    backend: Arc<dyn Backend>,
    /// The executable whose other role the worker is.
    program: PathBuf,
    minimum: Level,
    waiting: Mutex<Vec<Worker>>,
    filling: AtomicBool,
    /// Whether somebody looks whether they are needed.
    watched: AtomicBool,
    /// Workers that were taken.
    taken: AtomicU64,
}

impl Pool {
    fn new(backend: Arc<dyn Backend>, program: PathBuf, minimum: Level) -> Self {
        Self {
            backend,
            program,
            minimum,
            waiting: Mutex::default(),
            filling: AtomicBool::new(false),
            watched: AtomicBool::new(false),
            taken: AtomicU64::new(0),
        }
    }

    fn waiting(&self) -> MutexGuard<'_, Vec<Worker>> {
        self.waiting.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// A worker that waits, or a new one. Another takes its place, a moment later.
    ///
    /// # Errors
    /// A [`ToolError`] when there is none: nothing has run.
    pub(crate) async fn take(self: &Arc<Self>) -> Result<Worker, ToolError> {
        self.taken.fetch_add(1, Ordering::Relaxed);
        loop {
            let waiting = self.waiting().pop();
            let Some(mut worker) = waiting else { break };
            if worker.is_alive().await {
                self.fill_soon();
                return Ok(worker);
            }
        }
        let worker = self.start().await?;
        self.fill_soon();
        Ok(worker)
    }

    /// Ends a worker that has been used. Nobody waits for that.
    pub(crate) fn end(&self, worker: Worker) {
        tokio::spawn(async move {
            sleep(AFTER).await;
            drop(worker);
        });
    }

    fn fill_soon(self: &Arc<Self>) {
        if self.filling.swap(true, Ordering::AcqRel) {
            return;
        }
        let own = Arc::downgrade(self);
        tokio::spawn(async move {
            sleep(AFTER).await;
            let Some(own) = own.upgrade() else { return };
            own.fill().await;
        });
    }

    async fn fill(self: &Arc<Self>) {
        while self.waiting().len() < WAITING {
            // Without one the next call starts its own, and says what is wrong.
            let Ok(fresh) = self.start().await else { break };
            self.waiting().push(fresh);
        }
        self.filling.store(false, Ordering::Release);
        if !self.watched.swap(true, Ordering::AcqRel) {
            let own = Arc::downgrade(self);
            tokio::spawn(async move {
                let mut seen = None;
                loop {
                    // Nothing is held meanwhile: whoever owns the pool may drop it.
                    let Some(taken) = own.upgrade().map(|own| own.end_idle(seen)) else { return };
                    if taken.is_none() {
                        return;
                    }
                    seen = taken;
                    sleep(IDLE).await;
                }
            });
        }
    }

    /// Ends those that wait if none was taken since this count; else the count of now.
    fn end_idle(&self, seen: Option<u64>) -> Option<u64> {
        let taken = self.taken.load(Ordering::Relaxed);
        if seen != Some(taken) {
            return Some(taken);
        }
        self.watched.store(false, Ordering::Release);
        self.waiting().clear();
        None
    }

    async fn start(&self) -> Result<Worker, ToolError> {
        let mut job = Job::new(&self.program, self.policy()).args([ROLE]);
        job.stdin = Stdin::Piped;
        let mut process = self.backend.start(&job).await.map_err(|error| refusal(&error))?;
        let to = process.stdin.take();
        let from = std::mem::replace(&mut process.stdout, Box::new(tokio::io::empty()));
        // The head and the body of a message are one read.
        let from: Output = Box::new(tokio::io::BufReader::new(from));
        let Some(to) = to else { return Err(not_ready("The interpreter", "no input")) };
        let mut worker = Worker { process, to, from, engine: String::new(), output: None };
        match timeout(START, frame::receive(&mut worker.from)).await {
            Ok(Ok(Some(Said::Ready { protocol: PROTOCOL, engine }))) => {
                worker.engine = engine;
                Ok(worker)
            }
            Ok(Ok(Some(said))) => Err(not_ready("The interpreter", format!("it said {said:?}"))),
            Ok(Ok(None)) => Err(not_ready("The interpreter", worker.last_words().await)),
            Ok(Err(error)) => Err(not_ready("The interpreter", error.to_string())),
            Err(_) => Err(not_ready("The interpreter", "it said nothing")),
        }
    }

    /// Its own executable to be read, and nothing else. Memory and time are bounded by the worker itself, before it sees the code, and time by us
    /// too, so that nothing has to be looked at while a worker waits.
    fn policy(&self) -> Policy {
        Policy {
            readable: vec![self.program.clone()],
            network: Network::None,
            resources: Resources {
                memory: None,
                processes: None,
                cpu: None,
                file_size: Some(0),
                disk: None,
                wall: None,
            },
            minimum: self.minimum,
            ..Policy::default()
        }
    }
}
