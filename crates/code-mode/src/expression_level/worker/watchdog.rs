//! Watchdog thread: ends this process when its code exceeds its computing time. The interpreter
//! checks the time only between its steps, and a single step can take arbitrarily long.

use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::thread::Thread;
use std::time::{Duration, Instant};

use rustix::process::{Signal, getpid, kill_process};

/// Time after the limit in which the interpreter can report the timeout itself.
const SLACK: Duration = Duration::from_millis(15);

/// Shortest sleep between two checks.
const SHORTEST: Duration = Duration::from_millis(2);

/// The watchdog.
pub(super) struct Watchdog {
    state: Arc<State>,
    thread: Thread,
}

/// Times in microseconds since the start.
struct State {
    start: Instant,
    /// Computing time allowed; 0 if no code is watched yet.
    limit: AtomicU64,
    /// Computing time used before `since`.
    spent: AtomicU64,
    /// Start of the current computation; 0 while the code waits.
    since: AtomicU64,
}

impl State {
    fn now(&self) -> u64 {
        u64::try_from(self.start.elapsed().as_micros()).unwrap_or(u64::MAX).max(1)
    }

    /// Returns the time left before the process must end; `None` if no code is watched.
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
    /// Starts the thread, which sleeps until there is code to watch.
    pub(super) fn start() -> io::Result<Self> {
        let state = Arc::new(State {
            start: Instant::now(),
            limit: AtomicU64::new(0),
            spent: AtomicU64::new(0),
            since: AtomicU64::new(0),
        });
        let own = Arc::clone(&state);
        let thread =
            std::thread::Builder::new().stack_size(64 << 10).spawn(move || watch_loop(&own))?;
        Ok(Self { state, thread: thread.thread().clone() })
    }

    /// Starts to watch code with a computing time limit in milliseconds.
    pub(super) fn watch(&self, time_ms: u64) {
        let slack = u64::try_from(SLACK.as_micros()).unwrap_or(0);
        self.state.since.store(self.state.now(), Ordering::Release);
        let limit = time_ms.saturating_mul(1000).saturating_add(slack);
        self.state.limit.store(limit, Ordering::Release);
        self.thread.unpark();
    }

    /// Stops the clock while the code waits for an external reply.
    pub(super) fn pause(&self) {
        let since = self.state.since.swap(0, Ordering::AcqRel);
        if since != 0 {
            let took = self.state.now().saturating_sub(since);
            self.state.spent.fetch_add(took, Ordering::AcqRel);
        }
    }

    /// Restarts the clock when the code computes again.
    pub(super) fn resume(&self) {
        self.state.since.store(self.state.now(), Ordering::Release);
    }
}

fn watch_loop(state: &State) {
    loop {
        match state.left() {
            None => std::thread::park(),
            Some(left) if left.is_zero() => break,
            // While the code waits this sleeps longer than necessary, never too short.
            Some(left) => std::thread::sleep(left.max(SHORTEST)),
        }
    }
    let _ = kill_process(getpid(), Signal::KILL);
    // `abort`, because a process that is the first of its PID namespace ignores signals it sends to
    // itself.
    std::process::abort();
}
