//! Ends this process when its code has computed for too long, however busy the interpreter is: it looks at the time between its steps, and one step may
//! take as long as it likes.

use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::thread::Thread;
use std::time::{Duration, Instant};

use rustix::process::{Signal, getpid, kill_process};

/// How long after its time the interpreter is left to say so itself.
const SLACK: Duration = Duration::from_millis(15);

/// The shortest sleep between two looks.
const SHORTEST: Duration = Duration::from_millis(2);

/// A thread that looks at the time.
pub(super) struct Watchdog {
    state: Arc<State>,
    thread: Thread,
}

/// Times in microseconds since the start.
struct State {
    start: Instant,
    /// What the code may compute; 0 = nothing is watched yet.
    limit: AtomicU64,
    /// What it has computed before.
    spent: AtomicU64,
    /// Since when it computes now; 0 = it waits.
    since: AtomicU64,
}

impl State {
    fn now(&self) -> u64 {
        u64::try_from(self.start.elapsed().as_micros()).unwrap_or(u64::MAX).max(1)
    }

    /// What is left at least before the process has to end; `None` = nothing is watched.
    fn left(&self) -> Option<Duration> {
        let limit = self.limit.load(Ordering::Acquire);
        if limit == 0 {
            return None;
        }
        let current = match self.since.load(Ordering::Acquire) {
            0 => 0,
            since => self.now().saturating_sub(since),
        };
        let spent = self.spent.load(Ordering::Acquire).saturating_add(current);
        Some(Duration::from_micros(limit.saturating_sub(spent)))
    }
}

impl Watchdog {
    /// Starts the thread, which sleeps until there is something to watch.
    pub(super) fn start() -> io::Result<Self> {
        let state = Arc::new(State {
            start: Instant::now(),
            limit: AtomicU64::new(0),
            spent: AtomicU64::new(0),
            since: AtomicU64::new(0),
        });
        let own = Arc::clone(&state);
        let thread = std::thread::Builder::new().stack_size(64 << 10).spawn(move || look(&own))?;
        Ok(Self { state, thread: thread.thread().clone() })
    }

    /// From now on code computes, which may take so many milliseconds.
    pub(super) fn watch(&self, time_ms: u64) {
        let slack = u64::try_from(SLACK.as_micros()).unwrap_or(0);
        self.state.since.store(self.state.now(), Ordering::Release);
        let limit = time_ms.saturating_mul(1000).saturating_add(slack);
        self.state.limit.store(limit, Ordering::Release);
        self.thread.unpark();
    }

    /// The code waits for something outside.
    pub(super) fn rest(&self) {
        let since = self.state.since.swap(0, Ordering::AcqRel);
        if since != 0 {
            let took = self.state.now().saturating_sub(since);
            self.state.spent.fetch_add(took, Ordering::AcqRel);
        }
    }

    /// It computes again.
    pub(super) fn go_on(&self) {
        self.state.since.store(self.state.now(), Ordering::Release);
    }
}

fn look(state: &State) {
    loop {
        match state.left() {
            None => std::thread::park(),
            Some(left) if left.is_zero() => break,
            // As long as the code waits this is more than it needs to be, and never less.
            Some(left) => std::thread::sleep(left.max(SHORTEST)),
        }
    }
    let _ = kill_process(getpid(), Signal::KILL);
    // In a namespace of its own where this were the first process, nobody could send it that.
    std::process::abort();
}
