//! One shell at work: it takes a command at a time, reads what is written whatever happens, and ends with everything that it started.

use std::time::{Duration, Instant};

use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::sync::{mpsc, oneshot};
use toolcrib_core::CallCtx;
use toolcrib_sandbox::process::Capture;
use toolcrib_sandbox::{Ended, Input, Level, Output, Process, Refused, Status, Stop, Swept};

use super::collect::{Collector, Stream};
use super::driver;
use super::place::Place;
use super::scan::Scanner;

/// How long a shell without work is kept.
const IDLE: Duration = Duration::from_secs(30 * 60);

/// How long everything may go on after it was interrupted, before it is asked to end and then killed (SPEC 1.10: steps of 500 ms).
const STEP: Duration = Duration::from_millis(500);

/// How long a command runs before its limits are looked at: most are over by then, and what they used is little.
const SHORT: Duration = Duration::from_millis(2);

/// How long the streams are read on after everything was killed. Only a process stuck in the kernel needs it.
const LAST: Duration = Duration::from_secs(5);

/// SIGINT.
const INTERRUPT: i32 = 2;

/// A command to run.
pub(super) struct Ask {
    pub(super) command: String,
    /// How long it may run, from the moment when the shell is free.
    pub(super) time: Duration,
    pub(super) call: CallCtx,
    pub(super) answer: oneshot::Sender<Answer>,
}

/// What became of a command.
#[derive(Debug, Clone)]
pub(crate) struct Answer {
    pub(crate) how: How,
    pub(crate) stdout: Stream,
    pub(crate) stderr: Stream,
    /// Where the shell is now; `None` = it is over.
    pub(crate) folder: Option<String>,
    /// Processes that it left behind, which were ended.
    pub(crate) ended: u32,
    /// Hosts that were asked for and not reached since the last command.
    pub(crate) refused: Vec<Refused>,
    pub(crate) level: Level,
    /// Time that it ran.
    pub(crate) duration: Duration,
}

/// How a command ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum How {
    /// With this status, and the shell goes on.
    Ended(i32),
    /// With the shell, which it ended itself or which was ended.
    WithShell {
        /// The status of the shell.
        status: Status,
        /// Why it was stopped, if a limit did it.
        stopped: Option<Stop>,
    },
    /// Its time was over, and the shell was ended with it.
    TimedOut,
    /// Somebody stopped it, and the shell was ended with it.
    Stopped,
}

/// A shell with its streams.
pub(super) struct Session {
    place: Place,
    process: Process,
    stdin: Input,
    stdout: Output,
    stderr: Output,
    /// What was written while no command ran.
    pending: [Capture; 2],
    /// The last process that a command left to itself, as the shell names it.
    left: Vec<u8>,
    /// How many refusals were told.
    told: usize,
    /// Whether the limits of the shell are looked at seldom, as after each sweep.
    rests: bool,
}

/// What goes on while a command runs.
struct Running {
    out: Collector,
    err: Collector,
    scans: [Scanner; 2],
    open: [bool; 2],
    after: [Vec<u8>; 2],
}

/// Why reading stopped.
enum Over {
    Marked,
    Closed,
    Late,
    Stopped,
}

impl Session {
    /// A shell that runs the [driver](driver::Language::driver) of its language; `None` = it has no input.
    pub(super) fn new(mut process: Process, place: Place) -> Option<Self> {
        let stdin = process.stdin.take()?;
        let stdout = std::mem::replace(&mut process.stdout, Box::new(tokio::io::empty()));
        let stderr = std::mem::replace(&mut process.stderr, Box::new(tokio::io::empty()));
        let pending = [Capture::new(place.kept()), Capture::new(place.kept())];
        let left = Vec::new();
        Some(Self { place, process, stdin, stdout, stderr, pending, left, told: 0, rests: false })
    }

    /// Takes commands until nobody asks any more, or the shell is over.
    pub(super) async fn serve(mut self, mut asks: mpsc::Receiver<Ask>) {
        while let Some(ask) = self.next(&mut asks).await {
            // Whoever has gone away while it waited wants nothing any more.
            if ask.answer.is_closed() || ask.call.cancel.is_cancelled() {
                continue;
            }
            if !self.run(ask).await {
                asks.close();
                return;
            }
        }
        // What still asks finds the door closed, and asks another shell.
        asks.close();
        self.process.kill();
        let _ = tokio::time::timeout(LAST, self.process.wait()).await;
    }

    /// Runs one command alone, and ends.
    pub(super) async fn run_once(mut self, ask: Ask) {
        if self.run(ask).await {
            self.process.kill();
            let _ = tokio::time::timeout(LAST, self.process.wait()).await;
        }
    }

    /// Waits for a command; `None` = there will be none, or the shell is over.
    async fn next(&mut self, asks: &mut mpsc::Receiver<Ask>) -> Option<Ask> {
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

    /// Runs a command and answers. Whether the shell goes on.
    async fn run(&mut self, ask: Ask) -> bool {
        let begun = Instant::now();
        let Ask { command, time, call, mut answer } = ask;
        let nonce = driver::nonce();
        let frame = driver::frame(self.place.language, &command, &nonce);
        let mut running = Running::new(&call, &nonce, self.place.kept());
        for (pending, collector) in
            self.pending.iter_mut().zip([&mut running.out, &mut running.err])
        {
            let before = std::mem::replace(pending, Capture::new(self.place.kept())).finish();
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
            // A command that is over at once wakes nobody.
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
            Over::Marked => {
                let (status, left, folder) = running.fields();
                let leaves = left != self.left;
                self.left = left;
                return self.answer(running, answer, (begun, status, folder, leaves)).await;
            }
            Over::Closed => None,
            Over::Late => Some(How::TimedOut),
            Over::Stopped => Some(How::Stopped),
        };
        let ended = self.end(&mut running, how.is_some()).await;
        let how = how.unwrap_or(How::WithShell { status: ended.status, stopped: ended.stopped });
        let Running { out, err, .. } = running.closed();
        let refused = ended.refused.get(self.told..).unwrap_or_default().to_vec();
        // Whoever asked may have gone.
        let _ = answer.send(Answer {
            how,
            stdout: out.finish(),
            stderr: err.finish(),
            folder: None,
            ended: 0,
            refused,
            level: ended.level,
            duration: begun.elapsed(),
        });
        false
    }

    /// Answers of a command that ended by itself, and ends what it left behind. Whether the shell goes on.
    async fn answer(
        &mut self,
        running: Running,
        answer: oneshot::Sender<Answer>,
        (begun, status, folder, leaves): (Instant, i32, String, bool),
    ) -> bool {
        let Running { out, err, after, .. } = running;
        for (pending, after) in self.pending.iter_mut().zip(&after) {
            pending.push(after);
        }
        let all = self.process.refused();
        let refused = all.get(self.told..).unwrap_or_default().to_vec();
        self.told = all.len();
        let mut said = Answer {
            how: How::Ended(status),
            stdout: out.finish(),
            stderr: err.finish(),
            folder: Some(folder),
            ended: 0,
            refused,
            level: self.process.level,
            duration: begun.elapsed(),
        };
        // Where something is known to be left, the answer says how much; else it does not wait.
        let mut answer = Some(answer);
        if !leaves && let Some(answer) = answer.take() {
            let _ = answer.send(said.clone());
        }
        let swept = match self.rests && self.process.is_alone() {
            true => Ok(Swept::Killed(0)),
            false => self.process.sweep().await,
        };
        let goes_on = matches!(swept, Ok(Swept::Killed(_)));
        self.rests = goes_on;
        if let Ok(Swept::Killed(killed)) = swept {
            said.ended = killed;
        }
        if !goes_on {
            said.folder = None;
            self.process.kill();
            let _ = tokio::time::timeout(LAST, self.process.wait()).await;
        }
        if let Some(answer) = answer {
            let _ = answer.send(said);
        }
        goes_on
    }

    /// Brings everything to its end, and reads what it still writes.
    async fn end(&mut self, running: &mut Running, is_stopped: bool) -> Ended {
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
        let unknown = Ended {
            status: Status::Signalled(9),
            stopped: None,
            level: self.process.level,
            cpu: Duration::ZERO,
            refused: Vec::new(),
        };
        ended.ok().and_then(Result::ok).unwrap_or(unknown)
    }
}

impl Running {
    fn new(call: &CallCtx, nonce: &str, kept: usize) -> Self {
        Self {
            out: Collector::new(call.clone(), kept),
            err: Collector::new(call.clone(), kept),
            scans: [Scanner::new(nonce), Scanner::new(nonce)],
            open: [true; 2],
            after: [Vec::new(), Vec::new()],
        }
    }

    /// Reads until both marks are there, the streams are closed, the time is over or it is stopped. What is to be written is written meanwhile.
    async fn read(
        &mut self,
        (stdout, stderr): (&mut Output, &mut Output),
        input: Option<(&mut Input, &[u8])>,
        deadline: tokio::time::Instant,
        stop: impl Future<Output = ()>,
    ) -> Over {
        let writing = async {
            if let Some((stdin, bytes)) = input {
                // A shell that is over reads nothing, and its streams say so.
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
                // In this order: a flood of output must not keep anybody from stopping it.
                biased;
                () = &mut stop => return Over::Stopped,
                () = &mut late => return Over::Late,
                () = &mut writing => {}
                read = stdout.read(&mut one), if self.open[0] => self.take(0, read.ok().and_then(|n| one.get(..n))),
                read = stderr.read(&mut two), if self.open[1] => self.take(1, read.ok().and_then(|n| two.get(..n))),
            }
            if self.scans.iter().all(Scanner::is_done) {
                return Over::Marked;
            }
            if self.open == [false; 2] {
                return Over::Closed;
            }
        }
    }

    /// Reads to the ends of both streams.
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

    /// Takes a piece of one stream; nothing = it is closed.
    fn take(&mut self, which: usize, piece: Option<&[u8]>) {
        let Some(piece) = piece.filter(|piece| !piece.is_empty()) else {
            self.open[which] = false;
            return;
        };
        let collector = if which == 0 { &mut self.out } else { &mut self.err };
        self.scans[which].feed(piece, &mut |bytes| collector.push(bytes), &mut self.after[which]);
    }

    /// The status, the last process left to itself, and the folder.
    fn fields(&self) -> (i32, Vec<u8>, String) {
        let mut fields = self.scans[1].fields().skip(1);
        let mut text = || String::from_utf8_lossy(fields.next().unwrap_or_default()).into_owned();
        let (status, left, folder) = (text(), text(), text());
        (status.parse().unwrap_or(1), left.into_bytes(), folder)
    }

    /// With what was held back for a mark that never came.
    fn closed(mut self) -> Self {
        self.out.push(&self.scans[0].rest());
        self.err.push(&self.scans[1].rest());
        self
    }
}
