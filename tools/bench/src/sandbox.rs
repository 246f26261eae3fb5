//! Cost of a sandbox: one command in it compared with the same command in bubblewrap with the same
//! folders, and probing the host. In addition, this sandbox uses Landlock, a filter for system
//! calls, and supervision of its limits.

use std::path::Path;
use std::process::{Command, Stdio};
use std::time::Instant;

use tokio::runtime::Runtime;
use toolcrib_sandbox::{Backend as _, Job, Level, Local, Policy, process::Limits, run};

use crate::results::Results;

/// Rounds; in each everything is measured once, so that a busy neighbour slows all down.
const ROUNDS: usize = 151;

pub(crate) fn run_all(table: &mut Results) {
    let runtime =
        tokio::runtime::Builder::new_current_thread().enable_all().build().expect("a runtime");
    let local = Local::new();
    let probe = runtime.block_on(local.probe());
    if probe.strongest < Level::Namespace {
        table.figure("sandbox: this host gives no namespaces", f64::NAN, "");
        return;
    }
    let tries = (0..11).map(|_| ms(|| drop(runtime.block_on(Local::new().probe())))).collect();
    table.at_most("sandbox: probe(), its helper started anew", median(tries), "ms", 50.0);
    let folder = tempfile::tempdir().expect("a folder");
    commands(table, &runtime, &local, folder.path());
}

fn commands(table: &mut Results, runtime: &Runtime, local: &Local, folder: &Path) {
    let binary = std::env::current_exe().ok().map(|path| path.with_file_name("toolcrib"));
    let binary = binary.filter(|path| path.exists());
    let has_bwrap = succeeds(&mut bwrap(folder));
    let policy = Policy { writable: vec![folder.to_owned()], ..Policy::default() };
    let job = Job::new("true", policy);
    let reduced = Local::new().max_level(Level::Reduced);
    let mut took: [Vec<f64>; 5] = Default::default();
    for _ in 0..ROUNDS {
        let [plain, other, own, weaker, cli] = &mut took;
        plain.push(ms(|| assert!(succeeds(&mut Command::new("true")))));
        own.push(ms(|| in_sandbox(runtime, local, &job)));
        weaker.push(ms(|| in_sandbox(runtime, &reduced, &job)));
        if has_bwrap {
            other.push(ms(|| assert!(succeeds(&mut bwrap(folder)))));
        }
        if let Some(binary) = &binary {
            cli.push(ms(|| assert!(succeeds(&mut exec(binary, folder)))));
        }
    }
    let [plain, other, own, weaker, cli] = took.map(median);
    table.figure("sandbox: floor, `true` without any", plain, "ms");
    table.figure("sandbox: `true` at the reduced level", weaker, "ms");
    table.figure("sandbox: `true` in namespaces", own, "ms");
    if !has_bwrap {
        table.figure("sandbox: bubblewrap is not installed", f64::NAN, "");
        return;
    }
    table.figure("sandbox: `true` in bubblewrap", other, "ms");
    table.at_most("sandbox: from a running process, against bubblewrap", own / other, "x", 1.0);
    if binary.is_some() {
        table.figure("sandbox: `toolcrib sandbox exec -- true`", cli, "ms");
        table.at_most("sandbox: from the command line, against bubblewrap", cli / other, "x", 1.6);
    }
}

fn in_sandbox(runtime: &Runtime, local: &Local, job: &Job) {
    let forever = std::future::pending();
    let ran = runtime.block_on(run(local, job, b"", Limits::default(), forever));
    assert_eq!(ran.expect("a sandbox").1.status.code(), 0);
}

/// The same folders as in a sandbox of ours.
fn bwrap(folder: &Path) -> Command {
    let mut command = Command::new("bwrap");
    command.args(["--unshare-all", "--die-with-parent", "--new-session"]);
    for path in ["/usr", "/etc", "/opt"] {
        command.args(["--ro-bind-try", path, path]);
    }
    for path in ["/bin", "/sbin", "/lib", "/lib64"] {
        match std::fs::read_link(path) {
            Ok(target) => command.arg("--symlink").arg(target).arg(path),
            Err(_) => command.args(["--ro-bind-try", path, path]),
        };
    }
    command.args(["--proc", "/proc", "--dev", "/dev", "--tmpfs", "/tmp", "--bind"]);
    command.arg(folder).arg(folder).args(["--chdir", "/", "--", "true"]);
    command
}

fn exec(binary: &Path, folder: &Path) -> Command {
    let mut command = Command::new(binary);
    command.args(["sandbox", "exec", "--write"]).arg(folder).args(["--", "true"]);
    command
}

fn succeeds(command: &mut Command) -> bool {
    let quiet = command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
    quiet.status().is_ok_and(|status| status.success())
}

fn ms(work: impl FnOnce()) -> f64 {
    let begun = Instant::now();
    work();
    begun.elapsed().as_secs_f64() * 1000.0
}

fn median(mut took: Vec<f64>) -> f64 {
    took.sort_by(f64::total_cmp);
    took.get(took.len() / 2).copied().unwrap_or(f64::NAN)
}
