//! The terminals of a daemon.

use std::path::PathBuf;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{SystemTime, UNIX_EPOCH};

use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::sync::{mpsc, watch};
use toolcrib_core::{CallId, CancellationToken, ErrorType, ToolError};
use toolcrib_sandbox::{Level, Process};

use super::command_marks::{CommandMarks, PS0};
use super::frame::{Frame, TerminalSize};
use super::role::role_args;
use super::screen::{OutputPart, Screen};
use crate::program_runner::{Needs, Program, ProgramRunner};

/// Maximum terminals at the same time: each is a sandbox with a shell.
const MOST: usize = 16;
/// Maximum messages queued for a shell that does not read.
const WAITING: usize = 256;
const BUFFER: usize = 16 * 1024;

/// All terminals.
#[derive(Default)]
pub struct Terminals {
    all: Mutex<Vec<Arc<Terminal>>>,
}

/// A shell in a pseudoterminal.
pub struct Terminal {
    /// Its id.
    pub id: String,
    /// The owner.
    pub owner: String,
    /// Isolation level.
    pub level: Level,
    /// Milliseconds since 1970.
    pub started_at: i64,
    screen: Mutex<Screen>,
    /// Counts the output, for readers that wait for more.
    grown: watch::Sender<u64>,
    input: mpsc::Sender<Frame>,
    stop: CancellationToken,
}

impl std::fmt::Debug for Terminals {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Terminals").field("count", &self.lock().len()).finish()
    }
}

impl std::fmt::Debug for Terminal {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Terminal").field("id", &self.id).finish_non_exhaustive()
    }
}

/// The pipes of a shell, and the channel for its commands.
struct Pump {
    terminal: Arc<Terminal>,
    process: Process,
    frames: mpsc::Receiver<Frame>,
    commands: mpsc::UnboundedSender<String>,
}

impl Terminals {
    fn lock(&self) -> MutexGuard<'_, Vec<Arc<Terminal>>> {
        self.all.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Starts a shell in the sandbox of programs, in the workspace, with the network that programs
    /// may use. `host` is this executable, for its [role](super::worker_entry). The receiver gets
    /// the typed commands.
    ///
    /// # Errors
    /// There are too many terminals, or the sandbox cannot be created.
    pub async fn open(
        &self,
        bench: &ProgramRunner,
        host: PathBuf,
        owner: &str,
        size: TerminalSize,
    ) -> Result<(Arc<Terminal>, mpsc::UnboundedReceiver<String>), ToolError> {
        if self.lock().iter().filter(|one| one.ended().is_none()).count() >= MOST {
            let words = format!("There are {MOST} terminals already; close one first.");
            return Err(ToolError::new(ErrorType::RateLimited, words));
        }
        let masks = bench.path_masks(&bench.shared_denials()).await?;
        let process = bench.start(&program(host), &masks).await?;
        let (input, frames) = mpsc::channel(WAITING);
        let (sender, commands) = mpsc::unbounded_channel();
        let id = CallId::fresh().to_string();
        let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
        let terminal = Arc::new(Terminal {
            id: format!("term_{}", id.rsplit('_').next().unwrap_or_default()),
            owner: owner.to_owned(),
            level: process.level,
            started_at: i64::try_from(now.as_millis()).unwrap_or_default(),
            screen: Mutex::default(),
            grown: watch::Sender::new(0),
            input,
            stop: CancellationToken::new(),
        });
        terminal.send(Frame::Size(size));
        self.lock().push(Arc::clone(&terminal));
        let pump = Pump { terminal: Arc::clone(&terminal), process, frames, commands: sender };
        tokio::spawn(pump.run());
        Ok((terminal, commands))
    }

    /// Lists the terminals of an owner, the oldest first.
    #[must_use]
    pub fn list(&self, owner: &str) -> Vec<Arc<Terminal>> {
        self.lock().iter().filter(|one| one.owner == owner).cloned().collect()
    }

    /// Returns the terminal of an owner with this id.
    #[must_use]
    pub fn find(&self, owner: &str, id: &str) -> Option<Arc<Terminal>> {
        self.lock().iter().find(|one| one.owner == owner && one.id == id).cloned()
    }

    /// Ends and removes a terminal; `false` if it does not exist.
    pub fn close(&self, owner: &str, id: &str) -> bool {
        let mut all = self.lock();
        let Some(at) = all.iter().position(|one| one.owner == owner && one.id == id) else {
            return false;
        };
        all.remove(at).stop.cancel();
        true
    }
}

impl Drop for Terminals {
    fn drop(&mut self) {
        for one in self.lock().iter() {
            one.stop.cancel();
        }
    }
}

fn program(host: PathBuf) -> Program {
    let needs = Needs { network: true, readable: vec![host.clone()], ..Needs::default() };
    Program::new(host)
        .args(role_args(&["bash", "--noprofile", "-i"]))
        .env("PS0", PS0)
        .env("PS1", r"\w\$ ")
        .env("HISTFILE", "")
        .env("TERM", "xterm-256color")
        .needs(needs)
}

impl Terminal {
    fn screen(&self) -> MutexGuard<'_, Screen> {
        self.screen.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Returns the exit code of the shell; `None` while it runs.
    #[must_use]
    pub fn ended(&self) -> Option<i32> {
        self.screen().ended
    }

    /// Sends input or a size; `false` if the shell has ended or does not read.
    pub fn send(&self, frame: Frame) -> bool {
        self.input.try_send(frame).is_ok()
    }

    /// Returns the output after the first `seen` bytes; `None` if there is nothing new.
    #[must_use]
    pub fn after(&self, seen: u64) -> Option<OutputPart> {
        self.screen().after(seen)
    }

    /// Returns a receiver that changes with new output.
    #[must_use]
    pub fn growth(&self) -> watch::Receiver<u64> {
        self.grown.subscribe()
    }

    fn show(&self, bytes: &[u8]) {
        self.screen().add(bytes);
        self.grown.send_modify(|count| *count += 1);
    }
}

impl Pump {
    /// Runs until the shell ends or the terminal is closed.
    async fn run(mut self) {
        let mut marks = CommandMarks::default();
        let mut stdin = self.process.stdin.take();
        let mut stdout = std::mem::replace(&mut self.process.stdout, Box::new(tokio::io::empty()));
        let mut stderr = std::mem::replace(&mut self.process.stderr, Box::new(tokio::io::empty()));
        let (mut out, mut err) = (vec![0; BUFFER], vec![0; BUFFER]);
        let mut err_open = true;
        loop {
            tokio::select! {
                read = stdout.read(&mut out) => match read {
                    Ok(count @ 1..) => {
                        let (shown, commands) = marks.take(out.get(..count).unwrap_or_default());
                        self.terminal.show(&shown);
                        commands.into_iter().for_each(|one| drop(self.commands.send(one)));
                    }
                    _ => break,
                },
                read = stderr.read(&mut err), if err_open => match read {
                    Ok(count @ 1..) => self.terminal.show(err.get(..count).unwrap_or_default()),
                    _ => err_open = false,
                },
                frame = self.frames.recv(), if stdin.is_some() => {
                    let sent = match (frame, &mut stdin) {
                        (Some(frame), Some(pipe)) => {
                            pipe.write_all(&frame.encode()).await.and(pipe.flush().await).is_ok()
                        }
                        _ => false,
                    };
                    if !sent {
                        stdin = None;
                    }
                }
                () = self.terminal.stop.cancelled() => break,
            }
        }
        drop(stdin);
        let code = if self.terminal.stop.is_cancelled() {
            None
        } else {
            self.process.wait().await.ok().map(|ended| ended.status.code())
        };
        drop(self.process);
        self.terminal.screen().ended = Some(code.unwrap_or(-1));
        self.terminal.grown.send_modify(|count| *count += 1);
    }
}
