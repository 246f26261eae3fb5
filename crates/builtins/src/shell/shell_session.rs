//! Session of one running shell: takes one command at a time, always drains its streams, and ends
//! with all its child processes.

use std::time::{Duration, Instant};

use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::sync::{mpsc, oneshot};
use toolcrib_core::CallCtx;
use toolcrib_sandbox::process::Capture;
use toolcrib_sandbox::{
    Input, JobResult, KillChildrenResult, Level, LimitHit, Output, Process, RefusedHost, Status,
};

use super::command_framing;
use super::end_marker::EndMarkerScanner;
use super::execution_target::ExecutionTarget;
use super::output_collector::{CollectedStream, Collector};
use crate::program_runner::ProgramWatch;

/// How long an unused shell is kept.
const IDLE: Duration = Duration::from_secs(30 * 60);

/// Grace period between the three steps that end a command: interrupt, terminate, kill.
const STEP: Duration = Duration::from_millis(500);

/// How long a command runs before its resource limits are monitored. Most commands end earlier and
/// use little.
const SHORT: Duration = Duration::from_millis(2);

/// How long the streams are read after all processes were killed. Only a process stuck in the
/// kernel takes this long.
const LAST: Duration = Duration::from_secs(5);

/// Name of a command in the undo journal. The command itself may contain a secret.
const SHELL_COMMAND: &str = "shell command";

/// SIGINT.
const INTERRUPT: i32 = 2;

/// A command to run.
pub(super) struct CommandRequest {
    pub(super) command: String,
    /// Time limit, counted from when the shell is free.
    pub(super) time: Duration,
    pub(super) call: CallCtx,
    pub(super) answer: oneshot::Sender<CommandOutput>,
}

/// The result of a command.
#[derive(Debug, Clone)]
pub(crate) struct CommandOutput {
    pub(crate) how: CommandEnd,
    pub(crate) stdout: CollectedStream,
    pub(crate) stderr: CollectedStream,
    /// The shell's current folder; `None` if the shell has ended.
    pub(crate) folder: Option<String>,
    /// Number of processes that were ended after the command.
    pub(crate) ended: u32,
    /// Hosts refused since the last command.
    pub(crate) refused: Vec<RefusedHost>,
    /// Sentences on files that it left and that other programs execute.
    pub(crate) executed_files_note: Option<String>,
    pub(crate) level: Level,
    /// Run time.
    pub(crate) duration: Duration,
}

/// How a command ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum CommandEnd {
    /// With this exit status; the shell continues.
    Ended(i32),
    /// Together with the shell, which exited or was ended.
    WithShell {
        /// Exit status of the shell.
        status: Status,
        /// The limit that stopped it, if any.
        stopped: Option<LimitHit>,
    },
    /// At its time limit; the shell was ended with it.
    TimedOut,
    /// By cancellation; the shell was ended with it.
    Stopped,
}

/// A shell with its streams.
pub(super) struct Session {
    place: ExecutionTarget,
    process: Process,
    stdin: Input,
    stdout: Output,
    stderr: Output,
    /// Output that arrived between commands.
    pending: [Capture; 2],
    /// Number of refused hosts already reported.
    told: usize,
    /// Whether resource limits are checked at the low idle rate.
    rests: bool,
    watch: ProgramWatch,
}

/// State of the running command.
struct RunningCommand {
    out: Collector,
    err: Collector,
    scans: [EndMarkerScanner; 2],
    open: [bool; 2],
    after: [Vec<u8>; 2],
}

/// Why reading ended.
enum ReadEnd {
    Marked,
    Closed,
    Late,
    Stopped,
}

impl Session {
    /// Creates a session for a shell that runs the
    /// [driver](super::command_framing::Language::driver) of its language; `None` if the shell has
    /// no input.
    pub(super) fn new(
        mut process: Process,
        place: ExecutionTarget,
        watch: ProgramWatch,
    ) -> Option<Self> {
        let stdin = process.stdin.take()?;
        let stdout = std::mem::replace(&mut process.stdout, Box::new(tokio::io::empty()));
        let stderr = std::mem::replace(&mut process.stderr, Box::new(tokio::io::empty()));
        let pending = [0, 1].map(|_| Capture::of_chars(place.output_limit()));
        Some(Self { place, process, stdin, stdout, stderr, pending, told: 0, rests: false, watch })
    }

    /// Serves commands until all senders are gone or the shell ends.
    pub(super) async fn serve(mut self, mut asks: mpsc::Receiver<CommandRequest>) {
        while let Some(ask) = self.next(&mut asks).await {
            // The caller cancelled the request while it waited.
            if ask.answer.is_closed() || ask.call.cancel.is_cancelled() {
                continue;
            }
            if !self.run(ask).await {
                asks.close();
                return;
            }
        }
        // Requests that are still queued fail, and their callers retry with another shell.
        asks.close();
        self.process.kill();
        let _ = tokio::time::timeout(LAST, self.process.wait()).await;
    }

    /// Runs a single command, and ends.
    pub(super) async fn run_once(mut self, ask: CommandRequest) {
        if self.run(ask).await {
            self.process.kill();
            let _ = tokio::time::timeout(LAST, self.process.wait()).await;
        }
    }

    /// Waits for the next command; `None` if there will be none, or the shell has ended.
    async fn next(&mut self, asks: &mut mpsc::Receiver<CommandRequest>) -> Option<CommandRequest> {
        let (mut one, mut two) = ([0; 4096], [0; 4096]);
        let idle = tokio::time::sleep(IDLE);
        tokio::pin!(idle);
        loop {
            tokio::select! {
                ask = asks.recv() => return ask,
                read = self.stdout.read(&mut one) => match read {
                    Ok(read @ 1..) => self.pending[0].push(&one[..read]),
                    _ => return None,
                },
                read = self.stderr.read(&mut two) => match read {
                    Ok(read @ 1..) => self.pending[1].push(&two[..read]),
                    _ => return None,
                },
                () = &mut idle => return None,
            }
        }
    }

    /// Runs a command and sends its result; returns whether the shell continues.
    async fn run(&mut self, ask: CommandRequest) -> bool {
        self.watch.begin_call(&ask.call).await;
        let begun = Instant::now();
        let CommandRequest { command, time, call, mut answer } = ask;
        let nonce = command_framing::nonce();
        let frame = command_framing::frame(self.place.language, &command, &nonce);
        let mut running = RunningCommand::new(&call, &nonce, self.place.output_limit());
        for (pending, collector) in
            self.pending.iter_mut().zip([&mut running.out, &mut running.err])
        {
            let before =
                std::mem::replace(pending, Capture::of_chars(self.place.output_limit())).finish();
            collector.push(before.text().as_bytes());
        }
        let deadline = tokio::time::Instant::now() + time;
        let over = {
            let stop = async {
                tokio::select! {
                    () = call.cancel.cancelled() => {}
                    () = answer.closed() => {}
                }
            };
            let streams = (&mut self.stdout, &mut self.stderr);
            let reading = running.read(streams, Some((&mut self.stdin, &frame)), deadline, stop);
            tokio::pin!(reading);
            // Short commands do not start the monitor.
            match tokio::time::timeout(SHORT, &mut reading).await {
                Ok(over) => over,
                Err(_) => {
                    self.process.wake();
                    self.rests = false;
                    reading.await
                }
            }
        };
        let how = match over {
            ReadEnd::Marked => {
                let (status, folder) = running.fields();
                return self.answer(running, (&call, answer), (begun, status, folder)).await;
            }
            ReadEnd::Closed => None,
            ReadEnd::Late => Some(CommandEnd::TimedOut),
            ReadEnd::Stopped => Some(CommandEnd::Stopped),
        };
        let ended = self.end(&mut running, how.is_some()).await;
        let how =
            how.unwrap_or(CommandEnd::WithShell { status: ended.status, stopped: ended.stopped });
        let RunningCommand { out, err, .. } = running.closed();
        let refused = ended.refused.get(self.told..).unwrap_or_default().to_vec();
        let executed_files_note = self.watch.end(&call, SHELL_COMMAND).await;
        // The caller may have disconnected.
        let _ = answer.send(CommandOutput {
            how,
            stdout: out.finish(),
            stderr: err.finish(),
            folder: None,
            ended: 0,
            refused,
            executed_files_note,
            level: ended.level,
            duration: begun.elapsed(),
        });
        false
    }

    /// Ends the leftover processes of a command that ended by itself, and sends its result; returns
    /// whether the shell continues.
    async fn answer(
        &mut self,
        running: RunningCommand,
        (call, answer): (&CallCtx, oneshot::Sender<CommandOutput>),
        (begun, status, folder): (Instant, i32, String),
    ) -> bool {
        let RunningCommand { out, err, after, .. } = running;
        for (pending, after) in self.pending.iter_mut().zip(&after) {
            pending.push(after);
        }
        let all = self.process.refused();
        let refused = all.get(self.told..).unwrap_or_default().to_vec();
        self.told = all.len();
        let mut said = CommandOutput {
            how: CommandEnd::Ended(status),
            stdout: out.finish(),
            stderr: err.finish(),
            folder: Some(folder),
            ended: 0,
            refused,
            executed_files_note: None,
            level: self.process.level,
            duration: begun.elapsed(),
        };
        let swept = match self.rests && self.process.is_alone() {
            true => Ok(KillChildrenResult::Killed(0)),
            false => self.process.kill_children().await,
        };
        let goes_on = matches!(swept, Ok(KillChildrenResult::Killed(_)));
        self.rests = goes_on;
        if let Ok(KillChildrenResult::Killed(killed)) = swept {
            said.ended = killed;
        }
        if !goes_on {
            said.folder = None;
            self.process.kill();
            let _ = tokio::time::timeout(LAST, self.process.wait()).await;
        }
        // From now on, no process of the command can change a file.
        said.executed_files_note = self.watch.end(call, SHELL_COMMAND).await;
        let _ = answer.send(said);
        goes_on
    }

    /// Ends all processes, and reads their remaining output.
    async fn end(&mut self, running: &mut RunningCommand, is_stopped: bool) -> JobResult {
        let never = std::future::pending::<()>;
        if is_stopped {
            self.process.signal(INTERRUPT);
            let step = tokio::time::Instant::now() + STEP;
            running.read((&mut self.stdout, &mut self.stderr), None, step, never()).await;
            self.process.end();
        }
        let last = tokio::time::Instant::now() + STEP + LAST;
        let (_, ended) = tokio::join!(
            running.drain((&mut self.stdout, &mut self.stderr), last),
            tokio::time::timeout_at(last, self.process.wait()),
        );
        let unknown = JobResult {
            status: Status::Signalled(9),
            stopped: None,
            level: self.process.level,
            cpu: Duration::ZERO,
            refused: Vec::new(),
        };
        ended.ok().and_then(Result::ok).unwrap_or(unknown)
    }
}

impl RunningCommand {
    fn new(call: &CallCtx, nonce: &str, kept: usize) -> Self {
        Self {
            out: Collector::new(call.clone(), kept),
            err: Collector::new(call.clone(), kept),
            scans: [EndMarkerScanner::new(nonce), EndMarkerScanner::new(nonce)],
            open: [true; 2],
            after: [Vec::new(), Vec::new()],
        }
    }

    /// Reads until both marks are seen, the streams close, the time is over or the call is
    /// cancelled. Writes the input meanwhile.
    async fn read(
        &mut self,
        (stdout, stderr): (&mut Output, &mut Output),
        input: Option<(&mut Input, &[u8])>,
        deadline: tokio::time::Instant,
        stop: impl Future<Output = ()>,
    ) -> ReadEnd {
        let writing = async {
            if let Some((stdin, bytes)) = input {
                // A shell that has ended does not read; its closed streams reveal that.
                let _ = stdin.write_all(bytes).await;
            }
            std::future::pending::<()>().await;
        };
        tokio::pin!(writing, stop);
        let late = tokio::time::sleep_until(deadline);
        tokio::pin!(late);
        let (mut one, mut two) = (vec![0; 32 * 1024], vec![0; 32 * 1024]);
        loop {
            tokio::select! {
                // Biased: a flood of output must not delay cancellation.
                biased;
                () = &mut stop => return ReadEnd::Stopped,
                () = &mut late => return ReadEnd::Late,
                () = &mut writing => {}
                read = stdout.read(&mut one), if self.open[0] => self.take(0, read.ok().and_then(|n| one.get(..n))),
                read = stderr.read(&mut two), if self.open[1] => self.take(1, read.ok().and_then(|n| two.get(..n))),
            }
            if self.scans.iter().all(EndMarkerScanner::is_done) {
                return ReadEnd::Marked;
            }
            if self.open == [false; 2] {
                return ReadEnd::Closed;
            }
        }
    }

    /// Reads both streams to their ends.
    async fn drain(
        &mut self,
        (stdout, stderr): (&mut Output, &mut Output),
        deadline: tokio::time::Instant,
    ) {
        let late = tokio::time::sleep_until(deadline);
        tokio::pin!(late);
        let (mut one, mut two) = (vec![0; 32 * 1024], vec![0; 32 * 1024]);
        while self.open != [false; 2] {
            tokio::select! {
                biased;
                () = &mut late => return,
                read = stdout.read(&mut one), if self.open[0] => self.take(0, read.ok().and_then(|n| one.get(..n))),
                read = stderr.read(&mut two), if self.open[1] => self.take(1, read.ok().and_then(|n| two.get(..n))),
            }
        }
    }

    /// Handles a chunk of one stream; `None` means that it closed.
    fn take(&mut self, which: usize, piece: Option<&[u8]>) {
        let Some(piece) = piece.filter(|piece| !piece.is_empty()) else {
            self.open[which] = false;
            return;
        };
        let collector = if which == 0 { &mut self.out } else { &mut self.err };
        self.scans[which].feed(piece, &mut |bytes| collector.push(bytes), &mut self.after[which]);
    }

    /// Returns the exit status and the folder.
    fn fields(&self) -> (i32, String) {
        let mut fields = self.scans[1].fields().skip(1);
        let mut text = || String::from_utf8_lossy(fields.next().unwrap_or_default()).into_owned();
        let (status, folder) = (text(), text());
        (status.parse().unwrap_or(1), folder)
    }

    /// Adds the bytes that were held back for a mark that never arrived.
    fn closed(mut self) -> Self {
        self.out.push(&self.scans[0].rest());
        self.err.push(&self.scans[1].rest());
        self
    }
}
