//! `toolcrib sandbox shell`: a shell for the person, in the sandbox of tools' programs.

use std::io::{self, IsTerminal as _, Read as _, Write as _};
use std::os::fd::AsFd as _;

use rustix::termios::{self, OptionalActions, Termios};
use tokio::signal::unix::{SignalKind, signal};
use tokio::sync::mpsc;
use toolcrib_app::Toolcrib;
use toolcrib_builtins::terminal::{Frame, Terminal, TerminalSize, Terminals};
use toolcrib_ops::administration::{self, Act};

use crate::clap_args::WorkspaceArgs;
use crate::output::{self, Failure};
use crate::{bootstrap, op_context};

/// Maximum number of bytes of one input: typed or pasted text.
const BUFFER: usize = 4 * 1024;

pub(super) fn run(world: &WorkspaceArgs) -> Result<u8, Failure> {
    if !io::stdin().is_terminal() || !io::stdout().is_terminal() {
        return Err(Failure::usage(
            "a shell needs a terminal; `toolcrib sandbox exec` runs a program without one",
        ));
    }
    let mut world = world.clone();
    world.root = bootstrap::root_args(&world);
    if world.root.is_empty() {
        world.root.push(".".into());
    }
    bootstrap::block_on(shell(&world))
}

async fn shell(world: &WorkspaceArgs) -> Result<u8, Failure> {
    let toolcrib = bootstrap::build_with_stores(world).await?;
    if !toolcrib.engine().tools_enabled() {
        return Err(Failure {
            code: 5,
            message: "all tools are off, and the shell with them".into(),
        });
    }
    let nowhere = || Failure::run("no programs run here, so there is no shell");
    let bench = toolcrib.workbench().ok_or_else(nowhere)?;
    let host = std::env::current_exe()?;
    let terminals = Terminals::default();
    let opened = terminals.open(bench, host, op_context::LOCAL_OWNER, size()).await;
    let (terminal, commands) = opened.map_err(|error| Failure::run(error.message))?;
    output::eprint_line(&format!(
        "toolcrib: a shell in the sandbox of programs (level {}); `exit` leaves it",
        terminal.level
    ));
    let raw = RawMode::enter()?;
    let code = relay(&toolcrib, &terminal, commands).await;
    drop(raw);
    Ok(u8::try_from(code?).unwrap_or(1))
}

/// Returns the size of this window.
fn size() -> TerminalSize {
    let known = termios::tcgetwinsize(io::stdout()).ok().filter(|size| size.ws_col > 0);
    known.map_or(TerminalSize { columns: 80, rows: 24 }, |size| TerminalSize {
        columns: size.ws_col,
        rows: size.ws_row,
    })
}

/// Relays input and output until the shell ends; returns its exit code.
async fn relay(
    toolcrib: &Toolcrib,
    terminal: &Terminal,
    mut commands: mpsc::UnboundedReceiver<String>,
) -> Result<i32, Failure> {
    let mut typed = read_input();
    let mut resized = signal(SignalKind::window_change())?;
    let (mut growth, mut seen) = (terminal.growth(), 0);
    loop {
        while let Some(shown) = terminal.after(seen) {
            seen = shown.end;
            let mut out = io::stdout().lock();
            out.write_all(&shown.bytes)?;
            out.flush()?;
            if let Some(code) = shown.ended {
                while let Ok(command) = commands.try_recv() {
                    record(toolcrib, &command).await?;
                }
                return Ok(code);
            }
        }
        tokio::select! {
            Some(bytes) = typed.recv() => { terminal.send(Frame::Input(bytes)); }
            Some(()) = resized.recv() => { terminal.send(Frame::Size(size())); }
            Some(command) = commands.recv() => record(toolcrib, &command).await?,
            changed = growth.changed() => if changed.is_err() { return Ok(1) },
        }
    }
}

/// Records a command of the person in the audit.
async fn record(toolcrib: &Toolcrib, command: &str) -> Result<(), Failure> {
    let secrets = &toolcrib.engine().sealing().secrets;
    let act = Act::new("terminal.command", command);
    let ctx = op_context::for_stores(toolcrib.stores());
    Ok(administration::record(&ctx, secrets, act).await?)
}

/// Reads typed input. The thread ends with the process: a read from a terminal cannot be cancelled.
fn read_input() -> mpsc::Receiver<Vec<u8>> {
    let (sender, typed) = mpsc::channel(64);
    std::thread::spawn(move || {
        let mut buffer = [0; BUFFER];
        while let Ok(count @ 1..) = io::stdin().lock().read(&mut buffer) {
            let bytes = buffer.get(..count).unwrap_or_default().to_vec();
            if sender.blocking_send(bytes).is_err() {
                return;
            }
        }
    });
    typed
}

/// Raw mode of the terminal, which passes every key on, until this is dropped.
struct RawMode(Termios);

impl RawMode {
    fn enter() -> Result<Self, Failure> {
        let before = termios::tcgetattr(io::stdin().as_fd()).map_err(io::Error::from)?;
        let mut raw = before.clone();
        raw.make_raw();
        termios::tcsetattr(io::stdin().as_fd(), OptionalActions::Now, &raw)
            .map_err(io::Error::from)?;
        Ok(Self(before))
    }
}

impl Drop for RawMode {
    fn drop(&mut self) {
        let _ = termios::tcsetattr(io::stdin().as_fd(), OptionalActions::Now, &self.0);
    }
}
