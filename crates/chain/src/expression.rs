//! The level `expression`: a worker that waits, given one piece of code, watched until it ends, and never used again.

use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use tokio::io::AsyncReadExt as _;
use tokio::sync::Semaphore;
use tokio::time::{sleep, timeout};
use toolcrib_core::{CancellationToken, ToolError};
use toolcrib_sandbox::{
    Backend, Ended, Input, Job, Level, Network, Output, Policy, Process, Resources, Stdin, Stop,
};

use crate::frame;
use crate::printed::Printed;
use crate::protocol::{Done, Order, PROTOCOL, Run, Said};
use crate::refusal::{not_ready, refusal};
use crate::worker::ROLE;

/// Bytes of memory that code may use (the hostile scripts are stopped there; a list of a million numbers takes 40 MB).
const MEMORY: u64 = 256 << 20;

/// Workers at work at one time, so that a batch of many calls stays within 2 GiB.
pub(crate) const AT_ONCE: usize = 8;

/// How long after its time a worker is waited for that bounds itself: it is killed by then (issue: limit + 100 ms).
const SLACK: Duration = Duration::from_millis(50);

/// How long a start may take, on a machine that is very busy.
const START: Duration = Duration::from_secs(10);

/// Bytes of what a worker says when it breaks.
const LAST_WORDS: u64 = 4096;

/// Runs code in workers.
pub(crate) struct Expressions {
    backend: Arc<dyn Backend>,
    /// The executable whose other role the worker is.
    program: PathBuf,
    minimum: Level,
    idle: Mutex<Option<Worker>>,
    filling: AtomicBool,
    places: Semaphore,
}

/// How code ended.
#[derive(Debug)]
pub(crate) enum End {
    /// By itself.
    Done(Done),
    /// Its time was over; whether its variables are still there.
    TimedOut { kept: bool },
    /// The call was stopped.
    Cancelled,
    /// The process that ran it ended.
    Died(Death),
}

/// Why a process ended that ran code.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Death {
    /// It wanted more memory than it may have.
    Memory,
    /// The code is nested too deeply for the stack of the interpreter.
    Stack,
    /// It went over another limit.
    Limit(Stop),
    /// It ended by itself, or said nonsense; the words are for the operator.
    Other(String),
}

/// What became of code.
#[derive(Debug)]
pub(crate) struct Ran {
    pub(crate) end: End,
    pub(crate) level: Level,
    pub(crate) engine: String,
}

/// A process that waits for code.
pub(crate) struct Worker {
    pub(crate) process: Process,
    pub(crate) to: Input,
    pub(crate) from: Output,
    pub(crate) engine: String,
}

impl Expressions {
    /// Workers of this executable, at most so many at work at one time.
    pub(crate) fn new(
        backend: Arc<dyn Backend>,
        program: PathBuf,
        minimum: Level,
        at_once: usize,
    ) -> Self {
        Self {
            backend,
            program,
            minimum,
            idle: Mutex::default(),
            filling: AtomicBool::new(false),
            places: Semaphore::new(at_once),
        }
    }

    /// Runs code for so long. What it prints is gathered in `printed`.
    ///
    /// # Errors
    /// A [`ToolError`] when there is no worker: nothing has run.
    pub(crate) async fn run(
        self: &Arc<Self>,
        code: &str,
        limit: Duration,
        cancel: &CancellationToken,
        printed: &mut Printed<'_>,
    ) -> Result<Ran, ToolError> {
        // Never closed, so this only waits.
        let _place = self.places.acquire().await;
        let mut worker = self.take().await?;
        let end = worker.run(code, limit, cancel, printed).await;
        self.refill();
        Ok(Ran { end, level: worker.process.level, engine: worker.engine })
    }

    /// A place among those at work, to be held while a worker is.
    pub(crate) async fn place(&self) -> Option<tokio::sync::SemaphorePermit<'_>> {
        // Never closed.
        self.places.acquire().await.ok()
    }

    /// Has a worker wait for the next call.
    pub(crate) fn refill(self: &Arc<Self>) {
        if self.waits().is_some() || self.filling.swap(true, Ordering::AcqRel) {
            return;
        }
        let own = Arc::clone(self);
        tokio::spawn(async move {
            // Without one the next call starts its own, and says what is wrong.
            let fresh = own.start().await.ok();
            *own.waits() = fresh;
            own.filling.store(false, Ordering::Release);
        });
    }

    fn waits(&self) -> std::sync::MutexGuard<'_, Option<Worker>> {
        self.idle.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The worker that waits, or a new one.
    ///
    /// # Errors
    /// A [`ToolError`] when there is none: nothing has run.
    pub(crate) async fn take(&self) -> Result<Worker, ToolError> {
        let waiting = self.waits().take();
        if let Some(mut worker) = waiting
            && worker.is_alive().await
        {
            return Ok(worker);
        }
        self.start().await
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
        let mut worker = Worker { process, to, from, engine: String::new() };
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

    /// Its own executable to be read, and nothing else. Memory is bounded by the worker itself, before it sees the code, and time by us, so
    /// that nothing has to be looked at while a worker waits.
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

impl Worker {
    async fn is_alive(&mut self) -> bool {
        timeout(Duration::ZERO, self.process.wait()).await.is_err()
    }

    async fn run(
        &mut self,
        code: &str,
        limit: Duration,
        cancel: &CancellationToken,
        printed: &mut Printed<'_>,
    ) -> End {
        let run = Run {
            id: 1,
            code: code.to_owned(),
            time_ms: u64::try_from(limit.as_millis()).unwrap_or(u64::MAX),
            memory: MEMORY,
            mark: String::new(),
        };
        let talking = async {
            frame::send(&mut self.to, &Order::Run(run)).await?;
            loop {
                match frame::receive(&mut self.from).await? {
                    Some(Said::Printed { text }) => printed.push(text.as_bytes()),
                    said => return Ok::<_, std::io::Error>(said),
                }
            }
        };
        let said = tokio::select! {
            biased;
            () = cancel.cancelled() => return self.kill(End::Cancelled).await,
            () = sleep(limit + SLACK) => return self.kill(End::TimedOut { kept: false }).await,
            said = talking => said,
        };
        match said {
            Ok(Some(Said::Done(done))) if done.id == 1 => match &done.raised {
                Some(raised) if raised.is_out_of_time() => End::TimedOut { kept: false },
                _ => End::Done(done),
            },
            Ok(None) => End::Died(self.death().await),
            Ok(Some(_)) => self.kill(End::Died(Death::Other("it broke the protocol".into()))).await,
            Err(error) => self.kill(End::Died(Death::Other(error.to_string()))).await,
        }
    }

    async fn kill(&mut self, end: End) -> End {
        self.stop().await;
        end
    }

    /// Ends it.
    pub(crate) async fn stop(&mut self) {
        self.process.kill();
        // How it ended is known: by us.
        let _ = self.process.wait().await;
    }

    /// Why it has ended.
    pub(crate) async fn death(&mut self) -> Death {
        let words = self.last_words().await;
        let ended = self.process.wait().await.ok();
        match ended {
            Some(Ended { stopped: Some(Stop::Memory), .. }) => Death::Memory,
            _ if words.contains("memory allocation of ") => Death::Memory,
            _ if words.contains("has overflowed its stack") => Death::Stack,
            Some(Ended { stopped: Some(stop), .. }) => Death::Limit(stop),
            Some(Ended { status, .. }) => Death::Other(format!("{status:?} {words}")),
            None => Death::Other(words),
        }
    }

    async fn last_words(&mut self) -> String {
        let mut words = Vec::new();
        let mut stderr = (&mut self.process.stderr).take(LAST_WORDS);
        // A worker that has closed its answers is about to end.
        let _ = timeout(START, stderr.read_to_end(&mut words)).await;
        String::from_utf8_lossy(&words).trim().to_owned()
    }
}
