//! Tests with real programs run by `/bin/sh`.

use std::future::pending;
use std::os::unix::fs::PermissionsExt as _;
use std::path::Path;
use std::time::{Duration, Instant};

use super::*;

const LONG: Duration = Duration::from_secs(20);

fn sh(script: &str) -> Program {
    let limits = Limits { time: LONG, ..Limits::default() };
    Program::new("/bin/sh", "/").args(["-c", script]).limits(limits)
}

async fn run(program: Program) -> Report {
    program.run(pending()).await.unwrap()
}

/// Returns whether a process runs; a zombie does not count.
fn is_alive(pid: i32) -> bool {
    let pid = rustix::process::Pid::from_raw(pid).unwrap();
    if rustix::process::test_kill_process(pid).is_err() {
        return false;
    }
    let stat = std::fs::read_to_string(format!("/proc/{}/stat", pid.as_raw_nonzero()));
    !stat.is_ok_and(|stat| stat.rsplit(')').next().unwrap().trim_start().starts_with(['Z', 'X']))
}

/// Waits for a condition, or fails.
async fn until(what: &str, so: impl Fn() -> bool) {
    let begun = Instant::now();
    while !so() {
        assert!(begun.elapsed() < LONG, "never: {what}");
        tokio::time::sleep(Duration::from_millis(2)).await;
    }
}

fn number_in(path: &Path) -> Option<i32> {
    std::fs::read_to_string(path).ok()?.strip_suffix('\n')?.parse().ok()
}

#[tokio::test]
async fn a_program_reads_its_input_and_its_report_says_everything() {
    let report = run(sh("read line; echo \"got $line\"; echo no >&2; exit 3").stdin("a b\n")).await;
    assert_eq!(report.end, End::Exited(3));
    assert_eq!((&*report.stdout.text(), &*report.stderr.text()), ("got a b\n", "no\n"));
    assert_eq!((report.stdout.total, report.level), (8, Level::None));
    assert!(report.duration < LONG);
}

#[tokio::test]
async fn it_sees_only_what_it_is_given_and_the_usual_path() {
    let only = |report: Report| report.stdout.text().into_owned();
    let bare = run(Program::new("env", "/")).await;
    assert_eq!(only(bare), format!("PATH={DEFAULT_PATH}\n"));
    let given = Program::new("env", "/").env("A", "1").env("PATH", "/bin:/usr/bin").env("A", "2 =");
    let text = only(run(given).await);
    let mut lines: Vec<&str> = text.lines().collect();
    lines.sort_unstable();
    assert_eq!(lines, ["A=2 =", "PATH=/bin:/usr/bin"]);
}

#[tokio::test]
async fn it_runs_in_its_folder_and_a_relative_program_starts_there() {
    let dir = tempfile::tempdir().unwrap();
    let real = dir.path().canonicalize().unwrap();
    script(&real.join("here"), "#!/bin/sh\npwd");
    let report = run(Program::new("./here", &real)).await;
    assert_eq!(report.stdout.text().trim(), real.to_str().unwrap());
}

fn script(path: &Path, text: &str) {
    std::fs::write(path, text).unwrap();
    std::fs::set_permissions(path, std::fs::Permissions::from_mode(0o755)).unwrap();
}

#[tokio::test]
async fn a_flood_on_both_streams_is_counted_and_bounded() {
    const MIB: u64 = 1024 * 1024;
    let flood =
        "echo first; head -c 52428800 /dev/zero & head -c 52428800 /dev/zero >&2; wait; echo last";
    let report = run(sh(flood)).await;
    assert_eq!(report.end, End::Exited(0));
    assert_eq!((report.stdout.total, report.stderr.total), (50 * MIB + 11, 50 * MIB));
    let kept = |stream: &Captured| stream.head.len() + stream.tail.len();
    assert_eq!((kept(&report.stdout), kept(&report.stderr)), (256 * 1024, 64 * 1024));
    assert!(report.stdout.head.starts_with(b"first\n") && report.stdout.tail.ends_with(b"last\n"));
}

#[tokio::test]
async fn input_that_the_program_does_not_read_is_no_error() {
    let much = vec![b'x'; 4 * 1024 * 1024];
    let closed = run(sh("exec <&-; echo closed").stdin(much.clone())).await;
    assert_eq!((closed.end, &*closed.stdout.text()), (End::Exited(0), "closed\n"));
    let ignored = run(sh("echo ignored").stdin(much.clone())).await;
    assert_eq!((ignored.end, &*ignored.stdout.text()), (End::Exited(0), "ignored\n"));
    // Output during input must not deadlock.
    let echoed = run(sh("cat").stdin(much.clone())).await;
    assert_eq!((echoed.end, echoed.stdout.total), (End::Exited(0), much.len() as u64));
}

#[tokio::test]
async fn a_signal_is_reported_and_bytes_that_are_no_text_survive() {
    assert_eq!(run(sh("kill -SEGV $$")).await.end, End::Signalled(11));
    let odd = run(sh(r"printf 'a\377\376b'")).await;
    assert_eq!(odd.stdout.head, b"a\xFF\xFEb");
    assert_eq!(odd.stdout.text(), "a\u{FFFD}\u{FFFD}b");
}

#[tokio::test]
async fn what_a_program_leaves_behind_neither_holds_us_nor_lives_on() {
    let begun = Instant::now();
    let report = run(sh("sleep 600 & echo $!")).await;
    assert_eq!(report.end, End::Exited(0));
    assert!(begun.elapsed() < Duration::from_secs(5), "{:?}", begun.elapsed());
    let left: i32 = report.stdout.text().trim().parse().unwrap();
    until("the one that holds the stream is dead", || !is_alive(left)).await;

    let quiet = run(sh("sleep 600 >/dev/null 2>&1 </dev/null & echo $!")).await;
    let left: i32 = quiet.stdout.text().trim().parse().unwrap();
    until("the one that holds nothing is dead", || !is_alive(left)).await;
}

#[tokio::test]
async fn a_time_limit_ends_the_whole_group_even_if_it_does_not_listen() {
    let short = Limits { time: Duration::from_millis(300), ..Limits::default() };
    let deaf = "trap '' TERM; (trap '' TERM; sleep 600) & echo $!; sleep 600";
    let begun = Instant::now();
    let report = run(sh(deaf).limits(short)).await;
    assert_eq!(report.end, End::TimedOut);
    assert!(begun.elapsed() < Duration::from_secs(5), "{:?}", begun.elapsed());
    let left: i32 = report.stdout.text().trim().parse().unwrap();
    until("the grandchild is dead", || !is_alive(left)).await;
}

#[tokio::test]
async fn a_program_that_listens_may_clean_up() {
    let dir = tempfile::tempdir().unwrap();
    let (ready, cleaned) = (dir.path().join("ready"), dir.path().join("cleaned"));
    let polite = format!(
        "trap 'echo bye; : >{}; exit 0' TERM; : >{}; while :; do sleep 0.01; done",
        cleaned.display(),
        ready.display()
    );
    let report = sh(&polite).run(until("it is ready", || ready.exists())).await.unwrap();
    assert_eq!((report.end, &*report.stdout.text()), (End::Stopped, "bye\n"));
    assert!(cleaned.exists());
}

#[tokio::test]
async fn dropping_the_future_kills_the_group() {
    let dir = tempfile::tempdir().unwrap();
    let (leader, child) = (dir.path().join("leader"), dir.path().join("child"));
    let deaf = format!(
        "trap '' TERM; (trap '' TERM; sleep 600) & echo $! >{}; echo $$ >{}; sleep 600",
        child.display(),
        leader.display()
    );
    let started = until("it runs", || number_in(&leader).is_some());
    tokio::select! {
        _ = sh(&deaf).run(pending()) => panic!("it ended"),
        () = started => {}
    }
    let pids = [&leader, &child].map(|path| number_in(path).unwrap());
    until("both are dead", || pids.iter().all(|pid| !is_alive(*pid))).await;
}

#[test]
fn nothing_lives_on_when_the_runtime_ends() {
    let dir = tempfile::tempdir().unwrap();
    let leader = dir.path().join("leader");
    let deaf = format!("trap '' TERM; echo $$ >{}; sleep 600", leader.display());
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    runtime.block_on(async {
        tokio::spawn(sh(&deaf).run(pending()));
        until("it runs", || number_in(&leader).is_some()).await;
    });
    drop(runtime);
    let pid = number_in(&leader).unwrap();
    let begun = Instant::now();
    while is_alive(pid) {
        assert!(begun.elapsed() < Duration::from_secs(5));
        std::thread::yield_now();
    }
}

#[tokio::test]
async fn what_cannot_be_started_says_why() {
    let dir = tempfile::tempdir().unwrap();
    let at = |name: &str| dir.path().join(name);
    std::fs::write(at("plain"), "#!/bin/sh\n").unwrap();
    script(&at("lost"), "#!/no/such/interpreter\n");
    let fault = async |program: &str, folder: &Path| {
        Program::new(program, folder).run(pending()).await.unwrap_err()
    };
    use StartError::*;
    assert!(matches!(fault("./none", dir.path()).await, NotFound(_)));
    assert!(matches!(fault("no-such-program-anywhere", dir.path()).await, NotFound(_)));
    assert!(matches!(fault("./plain", dir.path()).await, NotExecutable(_)));
    assert!(matches!(fault("./lost", dir.path()).await, NoInterpreter(_)));
    assert!(matches!(fault("/bin/sh", &at("none")).await, NoFolder(_)));
    let huge = Program::new("/bin/sh", "/").args(["x".repeat(16 * 1024 * 1024)]);
    assert!(matches!(huge.run(pending()).await.unwrap_err(), TooLarge(_)));
    let nul = Program::new("/bin/sh", "/").env("A", "a\0b");
    assert!(matches!(nul.run(pending()).await.unwrap_err(), Other(..)));
}

#[tokio::test]
async fn a_program_that_is_being_saved_is_waited_for() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("tool");
    script(&path, "#!/bin/sh\necho saved");
    let writer = std::fs::OpenOptions::new().append(true).open(&path).unwrap();
    let save = async {
        tokio::time::sleep(BUSY_WAIT * 2).await;
        drop(writer);
    };
    let (report, ()) = tokio::join!(run(Program::new(path, "/")), save);
    assert_eq!(report.stdout.text(), "saved\n");
}

/// Variable with the path to which the program of a killed process writes its process id.
#[cfg(target_os = "linux")]
const ROLE: &str = "TOOLCRIB_TEST_LEADER";

/// If the variable is set, this is the process to be killed: it runs a program until then.
#[cfg(target_os = "linux")]
#[tokio::test]
async fn a_program_outlived_its_killed_parent() {
    if let Some(path) = std::env::var_os(ROLE) {
        let path = Path::new(&path).display();
        run(sh(&format!("trap '' TERM HUP; echo $$ >{path}; while :; do sleep 1; done"))).await;
        return;
    }
    let dir = tempfile::tempdir().unwrap();
    let leader = dir.path().join("leader");
    let test = "process::tests::a_program_outlived_its_killed_parent";
    let mut parent = std::process::Command::new(std::env::current_exe().unwrap())
        .args(["--exact", test, "--nocapture"])
        .env(ROLE, &leader)
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn()
        .unwrap();
    until("it runs", || number_in(&leader).is_some()).await;
    let pid = number_in(&leader).unwrap();
    assert!(is_alive(pid));
    parent.kill().unwrap();
    parent.wait().unwrap();
    until("it is dead", || !is_alive(pid)).await;
}

#[test]
fn a_program_does_not_die_with_the_thread_that_asked_for_it() {
    let dir = tempfile::tempdir().unwrap();
    let (ready, go) = (dir.path().join("ready"), dir.path().join("go"));
    let script = format!(
        ": >{}; while [ ! -e {} ]; do sleep 0.01; done; echo fine",
        ready.display(),
        go.display()
    );
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build().unwrap();
    let handle = runtime.handle().clone();
    let asks = std::thread::spawn(move || {
        let mut running = Box::pin(run(sh(&script)));
        handle.block_on(async {
            tokio::select! {
                report = &mut running => panic!("it ended: {report:?}"),
                () = until("it runs", || ready.exists()) => {}
            }
        });
        running
    });
    let running = asks.join().unwrap();
    std::fs::write(go, "").unwrap();
    let report = runtime.block_on(running);
    assert_eq!((report.end, &*report.stdout.text()), (End::Exited(0), "fine\n"));
}
