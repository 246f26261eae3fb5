//! Starting a worker, killing it, and hearing all that it says.

use std::io::BufReader;
use std::os::unix::process::CommandExt as _;
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::time::{Duration, Instant};

use rustix::process::{Pid, Signal, kill_process_group, test_kill_process_group};

use crate::error::Result;
use crate::protocol::{Orders, WorkerMessage};

/// How long a worker may take: it waits 35 s for a locked database, and no more.
const PATIENCE: Duration = Duration::from_secs(90);

/// When a worker is killed.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Kill {
    /// Not from outside.
    Never,
    /// So long after it was started.
    AfterStart(Duration),
    /// So long after it has its claim.
    AfterReady(Duration),
}

/// How a worker ended.
pub(crate) struct WorkerEnd {
    pub(crate) said: Vec<WorkerMessage>,
    /// Whether it ended by itself, and well.
    pub(crate) well: bool,
    /// It was still there after [`PATIENCE`].
    pub(crate) stuck: bool,
    /// It left a process behind.
    pub(crate) orphan: bool,
}

/// How long the system may take to reap a killed process.
const REAP_TIME: Duration = Duration::from_secs(5);

impl WorkerEnd {
    pub(crate) fn has_message(&self, what: fn(&WorkerMessage) -> bool) -> bool {
        self.said.iter().any(what)
    }
}

/// A program with its variables, that can be started as a worker.
#[derive(Debug, Clone)]
pub(crate) struct WorkerProgram {
    path: PathBuf,
    variables: Vec<(String, String)>,
}

impl WorkerProgram {
    /// This very program.
    pub(crate) fn current() -> Result<Self> {
        Ok(Self { path: std::env::current_exe()?, variables: Vec::new() })
    }

    /// The same with variables.
    pub(crate) fn with(&self, variables: Vec<(String, String)>) -> Self {
        Self { variables, ..self.clone() }
    }

    /// Runs a worker until it is dead.
    pub(crate) fn run(&self, orders: &Orders, kill: Kill) -> Result<WorkerEnd> {
        let start = Instant::now();
        let mut child = Command::new(&self.path)
            .arg("worker")
            .arg(serde_json::to_string(orders)?)
            .envs(self.variables.iter().map(|(name, value)| (name, value)))
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .process_group(0)
            .spawn()?;
        let group = i32::try_from(child.id()).ok().and_then(Pid::from_raw).ok_or("no process")?;
        let out = child.stdout.take().ok_or("no pipe")?;
        let (tell, heard) = channel();
        let reader = std::thread::spawn(move || listen(BufReader::new(out), &tell));
        let stuck = wait(&heard, kill, start, group);
        let well = end(&mut child, stuck)?;
        let said = reader.join().map_err(|_| "the reader broke")??;
        let orphan = has_orphan(group);
        if orphan {
            let _ = kill_process_group(group, Signal::KILL);
        }
        Ok(WorkerEnd { said, well, stuck, orphan })
    }
}

/// Whether a process of the group outlives its worker. A killed child counts until its new parent
/// has reaped it, which takes a moment on a busy machine.
fn has_orphan(group: Pid) -> bool {
    let until = Instant::now() + REAP_TIME;
    while test_kill_process_group(group).is_ok() {
        if Instant::now() >= until {
            return true;
        }
        std::thread::sleep(Duration::from_millis(5));
    }
    false
}

/// Waits for the end of what is said, and kills in between; `true` = in vain.
fn wait(heard: &Receiver<()>, kill: Kill, start: Instant, group: Pid) -> bool {
    let kill_after = match kill {
        Kill::Never => None,
        Kill::AfterStart(time) => Some(start + time),
        Kill::AfterReady(time) => match heard.recv_timeout(PATIENCE) {
            Ok(()) => Some(Instant::now() + time),
            // It ended before.
            Err(RecvTimeoutError::Disconnected) => return false,
            Err(RecvTimeoutError::Timeout) => None,
        },
    };
    if let Some(at) = kill_after {
        if until(heard, at) {
            return false;
        }
        let _ = kill_process_group(group, Signal::KILL);
    }
    !until(heard, start + PATIENCE)
}

/// Waits until all is said; `false` = it is not by then.
fn until(heard: &Receiver<()>, at: Instant) -> bool {
    loop {
        match heard.recv_timeout(at.saturating_duration_since(Instant::now())) {
            Ok(()) => {}
            Err(RecvTimeoutError::Disconnected) => return true,
            Err(RecvTimeoutError::Timeout) => return false,
        }
    }
}

fn end(child: &mut Child, stuck: bool) -> Result<bool> {
    if stuck {
        child.kill()?;
    }
    Ok(child.wait()?.success())
}

/// Reads all lines, and tells when it is ready.
fn listen(lines: impl std::io::BufRead, tell: &Sender<()>) -> Result<Vec<WorkerMessage>> {
    let mut said = Vec::new();
    for line in lines.split(b'\n') {
        let Ok(one) = serde_json::from_slice(&line?) else {
            return Err("a worker said what nobody understands".into());
        };
        if matches!(one, WorkerMessage::Ready) {
            let _ = tell.send(());
        }
        said.push(one);
    }
    Ok(said)
}
