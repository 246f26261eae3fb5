//! CPU time and wake-ups of a daemon that has nothing to do: on a laptop both cost battery.

use std::fs;
use std::net::TcpListener;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::thread;
use std::time::Duration;

use crate::results::Results;

/// Time after the start until the daemon has nothing left to do, and its loops have gone to sleep.
const SETTLE: Duration = Duration::from_secs(15);
/// Time of the measurement: longer than every interval of the daemon's loops.
const MEASURED: Duration = Duration::from_secs(30);

pub(crate) fn run(table: &mut Results) {
    let Some(binary) = std::env::current_exe().ok().map(|path| path.with_file_name("toolcrib"))
    else {
        return;
    };
    if !binary.exists() || !cfg!(target_os = "linux") {
        table.figure("idle daemon: not measured", f64::NAN, "");
        return;
    }
    let folder = tempfile::tempdir().expect("a folder");
    let daemon = IdleDaemon::start(&binary, folder.path());
    thread::sleep(SETTLE);
    let before = Usage::of(daemon.0.id());
    thread::sleep(MEASURED);
    let after = Usage::of(daemon.0.id());
    let seconds = MEASURED.as_secs_f64();
    let cpu = (after.cpu_ms - before.cpu_ms) / seconds;
    let wakes = (after.wake_ups - before.wake_ups) / seconds;
    table.at_most("idle daemon: CPU in a second", cpu, "ms", 0.2);
    table.at_most("idle daemon: wake-ups of its threads in a second", wakes, "", 2.0);
}

struct IdleDaemon(Child);

impl IdleDaemon {
    fn start(binary: &Path, folder: &Path) -> Self {
        let free = TcpListener::bind("127.0.0.1:0").expect("a free port");
        let address = free.local_addr().expect("its address").to_string();
        drop(free);
        let started = Command::new(binary)
            .args(["serve", "--log-level", "error", "--listen", &address])
            .current_dir(folder)
            .env("TOOLCRIB_HOME", folder.join("home"))
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn();
        Self(started.expect("a daemon"))
    }
}

impl Drop for IdleDaemon {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// Figures of a process since its start.
#[derive(Default)]
struct Usage {
    cpu_ms: f64,
    /// Voluntary context switches of all threads: each time one of them slept.
    wake_ups: f64,
}

impl Usage {
    /// Reads the figures of all threads from `/proc` (`proc(5)`): `schedstat` counts nanoseconds,
    /// where the ticks of `stat` are 10 ms long.
    fn of(process: u32) -> Self {
        let mut usage = Self::default();
        let threads = fs::read_dir(format!("/proc/{process}/task")).expect("a running daemon");
        for thread in threads.flatten() {
            let read = |file| fs::read_to_string(thread.path().join(file)).unwrap_or_default();
            let number = |text: Option<&str>| text.and_then(|text| text.trim().parse().ok());
            let run_time: Option<f64> = number(read("schedstat").split(' ').next());
            usage.cpu_ms += run_time.unwrap_or_default() / 1e6;
            let status = read("status");
            let switches =
                status.lines().find_map(|line| line.strip_prefix("voluntary_ctxt_switches:"));
            usage.wake_ups += number(switches).unwrap_or(0.0);
        }
        usage
    }
}
