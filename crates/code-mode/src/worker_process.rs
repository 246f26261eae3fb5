//! A worker: a process that waits for one piece of code; and the outcomes of running it.

use std::time::{Duration, Instant};

use futures_util::poll;
use tokio::io::AsyncReadExt as _;
use tokio::time::{sleep, timeout};
use toolcrib_core::CancellationToken;
use toolcrib_sandbox::{Input, JobResult, Level, LimitHit, Output, Process, SandboxError};

use crate::captured_output::CapturedOutput;
use crate::framing;
use crate::worker_protocol::{Run, RunResult, WorkerCommand, WorkerMessage};

/// Memory limit of the code, in bytes (a list of a million numbers takes 40 MB).
const MEMORY: u64 = 256 << 20;

/// Time after the limit until a worker is killed. It stops itself in two ways before that; in total
/// the call ends within its limit + 100 ms.
pub(crate) const SLACK: Duration = Duration::from_millis(25);

/// Maximum time to wait for the end of a worker that has closed its output.
const LAST: Duration = Duration::from_secs(5);

/// Maximum number of bytes read from the standard error of a worker that failed.
const LAST_WORDS: u64 = 4096;

/// The end of running code.
#[derive(Debug)]
pub(crate) enum WorkerEnd {
    /// The code ended by itself.
    Done(RunResult),
    /// It reached its time limit; `kept` is true if its variables still exist.
    TimedOut { kept: bool },
    /// The call was cancelled.
    Cancelled,
    /// Its process ended.
    Died(Death),
}

/// The reason why the process of the code ended.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Death {
    /// It exceeded its memory limit.
    Memory,
    /// The code is nested too deeply for the interpreter's stack.
    Stack,
    /// It exceeded another limit.
    Limit(LimitHit),
    /// It ended by itself or sent an invalid message; the text is for the operator.
    Other(String),
}

/// Result of running code.
#[derive(Debug)]
pub(crate) struct WorkerRun {
    pub(crate) end: WorkerEnd,
    pub(crate) level: Level,
    pub(crate) engine: String,
}

/// A process that waits for code.
pub(crate) struct Worker {
    pub(crate) process: Process,
    pub(crate) to: Input,
    pub(crate) from: Output,
    pub(crate) engine: String,
    /// Its output stream, if it is separate from the messages.
    pub(crate) output: Option<MarkedOutput>,
}

/// Output that ends with a mark.
pub(crate) struct MarkedOutput {
    pub(crate) from: Output,
    pub(crate) mark: String,
}

impl Worker {
    /// Returns whether it can accept code.
    pub(crate) async fn is_alive(&mut self) -> bool {
        // Polled once: any timer would take a millisecond.
        poll!(std::pin::pin!(self.process.wait())).is_pending()
    }

    /// Runs code with a time limit, and collects its output in `printed`.
    pub(crate) async fn run(
        &mut self,
        code: &str,
        limit: Duration,
        cancel: &CancellationToken,
        printed: &mut CapturedOutput<'_>,
    ) -> WorkerEnd {
        let run = Run {
            id: 1,
            code: code.to_owned(),
            time_ms: u64::try_from(limit.as_millis()).unwrap_or(u64::MAX),
            memory: MEMORY,
            mark: String::new(),
        };
        let talking = async {
            framing::send(&mut self.to, &WorkerCommand::Run(run)).await?;
            loop {
                match framing::receive(&mut self.from).await? {
                    Some(WorkerMessage::Printed { text }) => printed.push(text.as_bytes()),
                    said => return Ok::<_, std::io::Error>(said),
                }
            }
        };
        let begun = Instant::now();
        let said = tokio::select! {
            biased;
            () = cancel.cancelled() => return self.kill(WorkerEnd::Cancelled),
            () = sleep(limit + SLACK) => return self.kill(WorkerEnd::TimedOut { kept: false }),
            said = talking => said,
        };
        match said {
            Ok(Some(WorkerMessage::Done(done))) if done.id == 1 => match &done.raised {
                Some(raised) if raised.is_out_of_time() => WorkerEnd::TimedOut { kept: false },
                _ => WorkerEnd::Done(done),
            },
            // The worker ended itself because the time limit was reached.
            Ok(None) | Err(_) if begun.elapsed() >= limit => {
                self.kill(WorkerEnd::TimedOut { kept: false })
            }
            Ok(None) => WorkerEnd::Died(self.death().await),
            Ok(Some(_)) => self.kill(WorkerEnd::Died(Death::Other("it broke the protocol".into()))),
            Err(error) => self.kill(WorkerEnd::Died(Death::Other(error.to_string()))),
        }
    }

    fn kill(&mut self, end: WorkerEnd) -> WorkerEnd {
        self.stop();
        end
    }

    /// Kills the process, without waiting for its end.
    pub(crate) fn stop(&mut self) {
        self.process.kill();
    }

    /// Returns the reason why it has ended.
    pub(crate) async fn death(&mut self) -> Death {
        let Some(ended) = wait_end(&mut self.process, LAST).await else {
            return Death::Other("it closed its answers and went on".to_owned());
        };
        let words = self.last_stderr().await;
        match ended.ok() {
            Some(JobResult { stopped: Some(LimitHit::Memory), .. }) => Death::Memory,
            _ if words.contains("memory allocation of ") => Death::Memory,
            _ if words.contains("has overflowed its stack") => Death::Stack,
            Some(JobResult { stopped: Some(stop), .. }) => Death::Limit(stop),
            Some(JobResult { status, .. }) => Death::Other(format!("{status:?} {words}")),
            None => Death::Other(words),
        }
    }

    /// Returns its standard error output.
    pub(crate) async fn last_stderr(&mut self) -> String {
        let mut words = Vec::new();
        let mut stderr = (&mut self.process.stderr).take(LAST_WORDS);
        let _ = timeout(LAST, stderr.read_to_end(&mut words)).await;
        String::from_utf8_lossy(&words).trim().to_owned()
    }
}

/// Returns how an ending process ended, with a limited wait; `None` if it did not end and was
/// killed.
pub(crate) async fn wait_end(
    process: &mut Process,
    within: Duration,
) -> Option<Result<JobResult, SandboxError>> {
    if let Ok(ended) = timeout(within, process.wait()).await {
        return Some(ended);
    }
    process.kill();
    let _ = process.wait().await;
    None
}
