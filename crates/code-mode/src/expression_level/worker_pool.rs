//! Pool of interpreter workers: started in their sandbox before they are needed, each used once,
//! ended when they stay idle.

use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};
use std::time::Duration;

use tokio::time::{sleep, timeout};
use toolcrib_core::ToolError;
use toolcrib_sandbox::{Backend, Job, Level, Network, Output, Policy, Resources, Stdin};

use crate::expression_level::worker::ROLE;
use crate::framing;
use crate::setup::Setup;
use crate::start_error::{not_ready, start_error};
use crate::worker_process::Worker;
use crate::worker_protocol::{PROTOCOL, WorkerMessage};

/// Number of idle workers: while one is used, the other is ready for a concurrent call.
/// docs/code-mode.md states the cost of a worker.
const WAITING: usize = 2;

/// Delay after a call before the pool ends the used worker and starts the next one, so that this
/// work does not slow the call: nearly all calls have ended by then.
const AFTER: Duration = Duration::from_millis(20);

/// Idle time after which workers end.
const IDLE: Duration = Duration::from_secs(300);

/// Timeout of a start, for a very busy machine.
const START: Duration = Duration::from_secs(10);

/// The workers that all tools of this crate share; started at first use.
#[derive(Clone, Default)]
pub struct SharedWorkerPool(Arc<OnceLock<Arc<WorkerPool>>>);

impl SharedWorkerPool {
    /// Returns the pool for this setup.
    pub(crate) fn get_or_start(setup: &Setup) -> Arc<WorkerPool> {
        let make = || {
            let minimum = setup.minimum.max(Level::Reduced);
            Arc::new(WorkerPool::new(Arc::clone(&setup.backend), setup.worker.clone(), minimum))
        };
        Arc::clone(setup.workers.0.get_or_init(make))
    }
}

/// Idle workers.
pub(crate) struct WorkerPool {
    backend: Arc<dyn Backend>,
    /// The executable that has the worker role.
    program: PathBuf,
    minimum: Level,
    waiting: Mutex<Vec<Worker>>,
    filling: AtomicBool,
    /// Whether the idle check is running.
    watched: AtomicBool,
    /// Number of workers taken so far.
    taken: AtomicU64,
}

impl WorkerPool {
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

    /// Takes an idle worker, or starts one. A replacement is started a moment later.
    ///
    /// # Errors
    /// A [`ToolError`] if there is none: no code has run.
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

    /// Ends a used worker in the background.
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
            // Without an idle worker the next call starts one and reports the error.
            let Ok(fresh) = self.start().await else { break };
            self.waiting().push(fresh);
        }
        self.filling.store(false, Ordering::Release);
        if !self.watched.swap(true, Ordering::AcqRel) {
            let own = Arc::downgrade(self);
            tokio::spawn(async move {
                let mut seen = None;
                loop {
                    // The task has no reference meanwhile, so that the pool can be dropped.
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

    /// Ends the idle workers if none was taken since this count; else returns the current count.
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
        let mut process = self.backend.start(&job).await.map_err(|error| start_error(&error))?;
        let to = process.stdin.take();
        let from = std::mem::replace(&mut process.stdout, Box::new(tokio::io::empty()));
        // Buffered, so that header and body of a message take one read.
        let from: Output = Box::new(tokio::io::BufReader::new(from));
        let Some(to) = to else { return Err(not_ready("The interpreter", "no input")) };
        let mut worker = Worker { process, to, from, engine: String::new(), output: None };
        match timeout(START, framing::receive(&mut worker.from)).await {
            Ok(Ok(Some(WorkerMessage::Ready { protocol: PROTOCOL, engine }))) => {
                worker.engine = engine;
                Ok(worker)
            }
            Ok(Ok(Some(said))) => Err(not_ready("The interpreter", format!("it said {said:?}"))),
            Ok(Ok(None)) => Err(not_ready("The interpreter", worker.last_stderr().await)),
            Ok(Err(error)) => Err(not_ready("The interpreter", error.to_string())),
            Err(_) => Err(not_ready("The interpreter", "it said nothing")),
        }
    }

    /// Allows reading its own executable and nothing else. The worker limits its memory and time
    /// itself before it receives the code, and the parent enforces the time again, so nothing has
    /// to be monitored while a worker is idle.
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
