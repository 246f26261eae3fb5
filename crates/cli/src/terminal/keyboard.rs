//! Reads keys only while there is a listener: the newest listener gets them. Dropping a listener
//! releases the terminal; no blocking read remains.

use std::fs::File;
use std::io::{self, IsTerminal as _};
use std::os::fd::{AsFd as _, OwnedFd};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread::{self, JoinHandle};

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::process::{Signal, getpid, kill_process};
use rustix::termios::{
    LocalModes, OptionalActions, SpecialCodeIndex, Termios, tcgetattr, tcsetattr,
};
use tokio::sync::mpsc::{UnboundedReceiver, UnboundedSender, unbounded_channel};

use super::key_decoder::{Key, KeyDecoder};

/// Timeout for the rest of an escape sequence: terminals send it at once.
const SEQUENCE_TIME: Timespec = Timespec { tv_sec: 0, tv_nsec: 50_000_000 };

/// The keyboard of this process. Clones share their state.
#[derive(Clone, Default)]
pub(crate) struct Keyboard {
    state: Arc<Mutex<State>>,
}

#[derive(Default)]
struct State {
    listeners: Vec<(u64, UnboundedSender<Key>)>,
    next: u64,
    reader: Option<Reader>,
}

/// The reading thread.
struct Reader {
    /// Closing it ends the thread.
    wake: OwnedFd,
    thread: JoinHandle<()>,
}

/// The keys for one listener.
pub(crate) struct Keys {
    id: u64,
    keyboard: Keyboard,
    received: UnboundedReceiver<Key>,
}

impl Keys {
    /// Returns the next key; `None` if the terminal has been closed.
    pub(crate) async fn next(&mut self) -> Option<Key> {
        self.received.recv().await
    }

    /// Ends listening; returns the keys that were pressed and not yet taken.
    pub(crate) fn take_pending(mut self) -> Vec<Key> {
        self.leave();
        std::iter::from_fn(|| self.received.try_recv().ok()).collect()
    }

    fn leave(&self) {
        let mut state = self.keyboard.lock();
        state.listeners.retain(|(id, _)| *id != self.id);
        let is_last = state.listeners.is_empty();
        drop(state);
        if is_last {
            self.keyboard.stop();
        }
    }

    /// Releases the terminal to another program, such as an editor, until this returns.
    pub(crate) async fn suspend_during<T>(&self, work: impl Future<Output = T>) -> T {
        self.keyboard.stop();
        let result = work.await;
        // If the terminal has been closed by now, listening ends at the next key.
        let _ = self.keyboard.lock().start(&self.keyboard);
        result
    }
}

impl Drop for Keys {
    fn drop(&mut self) {
        self.leave();
    }
}

impl Keyboard {
    /// Listens, replacing the current listener, until the keys are dropped.
    pub(crate) fn listen(&self) -> io::Result<Keys> {
        let mut state = self.lock();
        state.start(self)?;
        let (sender, received) = unbounded_channel();
        let id = state.next;
        state.next += 1;
        state.listeners.push((id, sender));
        Ok(Keys { id, keyboard: self.clone(), received })
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Ends reading after the input that was already typed, and waits for its end, so that no key
    /// is taken from the next reader.
    fn stop(&self) {
        let reader = self.lock().reader.take();
        if let Some(Reader { wake, thread }) = reader {
            drop(wake);
            let _ = thread.join();
        }
    }

    fn deliver(&self, key: Key) {
        if let Some((_, sender)) = self.lock().listeners.last() {
            let _ = sender.send(key);
        }
    }

    /// Ends the keys of every listener.
    fn close(&self) {
        self.lock().listeners.clear();
    }
}

impl State {
    fn start(&mut self, keyboard: &Keyboard) -> io::Result<()> {
        if self.reader.is_some() {
            return Ok(());
        }
        let tty = device()?;
        let raw = RawMode::enter(&tty)?;
        let (ended, wake) = rustix::pipe::pipe()?;
        let keyboard = keyboard.clone();
        let thread = thread::Builder::new().name("keyboard".to_owned()).spawn(move || {
            if read(&tty, &ended, &keyboard).is_err() {
                keyboard.close();
            }
            drop(raw);
        })?;
        self.reader = Some(Reader { wake, thread });
        Ok(())
    }
}

/// Returns the source of keys: standard input if it is the terminal, else the terminal of this
/// session. (`poll` does not support `/dev/tty` on macOS.)
fn device() -> io::Result<File> {
    if io::stdin().is_terminal() {
        return Ok(File::from(io::stdin().as_fd().try_clone_to_owned()?));
    }
    File::open("/dev/tty")
}

/// Reads until the other end of `ended` is closed.
fn read(tty: &File, ended: &OwnedFd, keyboard: &Keyboard) -> io::Result<()> {
    let mut decoder = KeyDecoder::default();
    let mut bytes = [0; 1024];
    loop {
        let mut both = [PollFd::new(tty, PollFlags::IN), PollFd::new(ended, PollFlags::IN)];
        let patience = decoder.has_partial().then_some(&SEQUENCE_TIME);
        let ready = match poll(&mut both, patience) {
            Err(rustix::io::Errno::INTR) => continue,
            ready => ready?,
        };
        let [keys, end] = both.map(|fd| fd.revents());
        if !end.is_empty() {
            return Ok(());
        }
        if ready == 0 {
            decoder.flush().into_iter().for_each(|key| keyboard.deliver(key));
            continue;
        }
        if !keys.is_empty() {
            let read = match rustix::io::read(tty, &mut bytes) {
                Err(rustix::io::Errno::INTR) => continue,
                read => read?,
            };
            if read == 0 {
                return Err(io::ErrorKind::UnexpectedEof.into());
            }
            for key in decoder.feed(bytes.get(..read).unwrap_or_default()) {
                match key {
                    Key::Interrupt => interrupt(tty)?,
                    key => keyboard.deliver(key),
                }
            }
        }
    }
}

/// Handles Ctrl-C, which remains a signal; without a handler, the process ends with the terminal
/// restored.
fn interrupt(tty: &File) -> io::Result<()> {
    restore();
    kill_process(getpid(), Signal::INT)?;
    RawMode::enter_again(tty)
}

/// The mode of the terminal before the first listener.
static SAVED_MODES: Mutex<SavedModes> = Mutex::new(SavedModes { modes: None, is_leaving: false });

struct SavedModes {
    modes: Option<(Arc<File>, Termios)>,
    /// Set when the process ends: the mode of the terminal then no longer changes.
    is_leaving: bool,
}

fn saved_modes() -> MutexGuard<'static, SavedModes> {
    SAVED_MODES.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Restores the mode of the terminal.
fn restore() {
    if let Some((tty, modes)) = &saved_modes().modes {
        let _ = tcsetattr(&**tty, OptionalActions::Now, modes);
    }
}

/// Restores the mode of the terminal before the process ends.
pub(crate) fn restore_terminal() {
    saved_modes().is_leaving = true;
    restore();
}

/// Raw mode: the terminal passes keys one by one, without echo.
struct RawMode;

impl RawMode {
    fn enter(tty: &File) -> io::Result<Self> {
        let modes = tcgetattr(tty)?;
        saved_modes().modes = Some((Arc::new(tty.try_clone()?), modes));
        Self::enter_again(tty)?;
        Ok(Self)
    }

    fn enter_again(tty: &File) -> io::Result<()> {
        let before = saved_modes();
        let Some((_, modes)) = before.modes.as_ref().filter(|_| !before.is_leaving) else {
            return Ok(());
        };
        let mut modes = modes.clone();
        modes.local_modes -=
            LocalModes::ICANON | LocalModes::ECHO | LocalModes::ISIG | LocalModes::IEXTEN;
        modes.special_codes[SpecialCodeIndex::VMIN] = 1;
        modes.special_codes[SpecialCodeIndex::VTIME] = 0;
        Ok(tcsetattr(tty, OptionalActions::Now, &modes)?)
    }
}

impl Drop for RawMode {
    fn drop(&mut self) {
        restore();
        saved_modes().modes = None;
    }
}
