//! The level `expression`: a worker that waits, given one piece of code, watched until it ends, and never used again.

use std::sync::Arc;
use std::time::{Duration, Instant};

use futures_util::poll;
use tokio::io::AsyncReadExt as _;
use tokio::sync::Semaphore;
use tokio::time::{sleep, timeout};
use toolcrib_core::{CancellationToken, ToolError};
use toolcrib_sandbox::{Ended, Input, Level, Output, Process, SandboxError, Stop};

use crate::frame;
use crate::pool::Pool;
use crate::printed::Printed;
use crate::protocol::{Done, Order, Run, Said};

/// Bytes of memory that code may use (the hostile scripts are stopped there; a list of a million numbers takes 40 MB).
const MEMORY: u64 = 256 << 20;

/// Workers at work at one time, so that a batch of many calls stays within 2 GiB.
pub(crate) const AT_ONCE: usize = 8;

/// How long after its time a worker is waited for: it bounds itself twice before that, and is killed then (issue 7: limit + 100 ms).
pub(crate) const SLACK: Duration = Duration::from_millis(25);

/// How long one is waited for that has closed its answers: it is about to end.
const LAST: Duration = Duration::from_secs(5);

/// Bytes of what a worker says when it breaks.
const LAST_WORDS: u64 = 4096;

/// Runs code in workers.
pub(crate) struct Expressions {
    pool: Arc<Pool>,
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
    /// What it prints, where that does not come with its messages.
    pub(crate) output: Option<Marked>,
}

/// Output that ends with a mark.
pub(crate) struct Marked {
    pub(crate) from: Output,
    pub(crate) mark: String,
}

impl Expressions {
    /// Workers of this pool, at most so many at work at one time.
    pub(crate) fn new(pool: Arc<Pool>, at_once: usize) -> Self {
        Self { pool, places: Semaphore::new(at_once) }
    }

    /// Runs code for so long. What it prints is gathered in `printed`.
    ///
    /// # Errors
    /// A [`ToolError`] when there is no worker: nothing has run.
    pub(crate) async fn run(
        &self,
        code: &str,
        limit: Duration,
        cancel: &CancellationToken,
        printed: &mut Printed<'_>,
    ) -> Result<Ran, ToolError> {
        // Never closed, so this only waits.
        let _place = self.places.acquire().await;
        let mut worker = self.pool.take().await?;
        let end = worker.run(code, limit, cancel, printed).await;
        let ran = Ran { end, level: worker.process.level, engine: worker.engine.clone() };
        self.pool.end(worker);
        Ok(ran)
    }
}

impl Worker {
    /// Whether it can be given code.
    pub(crate) async fn is_alive(&mut self) -> bool {
        // Looked at once: any timer would take a millisecond.
        poll!(std::pin::pin!(self.process.wait())).is_pending()
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
        let begun = Instant::now();
        let said = tokio::select! {
            biased;
            () = cancel.cancelled() => return self.kill(End::Cancelled),
            () = sleep(limit + SLACK) => return self.kill(End::TimedOut { kept: false }),
            said = talking => said,
        };
        match said {
            Ok(Some(Said::Done(done))) if done.id == 1 => match &done.raised {
                Some(raised) if raised.is_out_of_time() => End::TimedOut { kept: false },
                _ => End::Done(done),
            },
            // It ended itself because its time was over.
            Ok(None) | Err(_) if begun.elapsed() >= limit => {
                self.kill(End::TimedOut { kept: false })
            }
            Ok(None) => End::Died(self.death().await),
            Ok(Some(_)) => self.kill(End::Died(Death::Other("it broke the protocol".into()))),
            Err(error) => self.kill(End::Died(Death::Other(error.to_string()))),
        }
    }

    fn kill(&mut self, end: End) -> End {
        self.stop();
        end
    }

    /// Ends it. Nobody waits until it is gone.
    pub(crate) fn stop(&mut self) {
        self.process.kill();
    }

    /// Why it has ended.
    pub(crate) async fn death(&mut self) -> Death {
        let Some(ended) = ended(&mut self.process, LAST).await else {
            return Death::Other("it closed its answers and went on".to_owned());
        };
        let words = self.last_words().await;
        match ended.ok() {
            Some(Ended { stopped: Some(Stop::Memory), .. }) => Death::Memory,
            _ if words.contains("memory allocation of ") => Death::Memory,
            _ if words.contains("has overflowed its stack") => Death::Stack,
            Some(Ended { stopped: Some(stop), .. }) => Death::Limit(stop),
            Some(Ended { status, .. }) => Death::Other(format!("{status:?} {words}")),
            None => Death::Other(words),
        }
    }

    /// What it said before it ended.
    pub(crate) async fn last_words(&mut self) -> String {
        let mut words = Vec::new();
        let mut stderr = (&mut self.process.stderr).take(LAST_WORDS);
        let _ = timeout(LAST, stderr.read_to_end(&mut words)).await;
        String::from_utf8_lossy(&words).trim().to_owned()
    }
}

/// How a process ended that is about to, which is waited for so long; `None` = it went on, and was stopped.
pub(crate) async fn ended(
    process: &mut Process,
    within: Duration,
) -> Option<Result<Ended, SandboxError>> {
    if let Ok(ended) = timeout(within, process.wait()).await {
        return Some(ended);
    }
    process.kill();
    let _ = process.wait().await;
    None
}
