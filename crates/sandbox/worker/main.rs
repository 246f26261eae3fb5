//! Test executable: sandbox helper, and a program that is killed while it runs a sandbox.
#![expect(
    clippy::expect_used,
    clippy::print_stdout,
    reason = "a program of the tests, which stops at the first surprise"
)]

use std::ffi::OsString;

use toolcrib_sandbox::{
    Backend as _, Egress, Job, Level, Local, Policy, SandboxError, helper_entry, run_in_process,
};

fn main() {
    let args: Vec<OsString> = std::env::args_os().skip(1).collect();
    if let Some(code) = helper_entry(args.iter().cloned()) {
        std::process::exit(code.into());
    }
    let words: Vec<&str> = args.iter().filter_map(|word| word.to_str()).collect();
    match words.as_slice() {
        ["hold", level, marker] => hold(level.parse().expect("a level"), marker),
        ["hold-here", level, marker] => {
            let level = level.parse().expect("a level");
            drop(run_in_process(&daemon(marker), level, &Egress::default()).expect("a sandbox"));
        }
        #[cfg(target_os = "linux")]
        ["program", script] => program(script),
        #[cfg(target_os = "linux")]
        ["locked", marker] => locked(marker),
        _ => std::process::exit(2),
    }
}

/// Creates a program with a daemon that would outlive it.
fn daemon(marker: &str) -> Job {
    let script = format!("setsid sleep {marker} & exec sleep {marker}");
    Job::new("sh", Policy::default()).args(["-c", &script])
}

fn runtime() -> tokio::runtime::Runtime {
    tokio::runtime::Builder::new_current_thread().enable_all().build().expect("a runtime")
}

/// Runs a script as a program without isolation, and prints its exit status and output.
#[cfg(target_os = "linux")]
fn program(script: &str) {
    runtime().block_on(async {
        let program = toolcrib_sandbox::process::Program::new("sh", "/tmp").args(["-c", script]);
        let report = program.run(std::future::pending()).await.expect("a program");
        println!("{:?} {}", report.end, report.stdout.text());
    });
}

fn hold(level: Level, marker: &str) {
    runtime().block_on(async {
        let local = Local::new().max_level(level);
        let mut process = local.start(&daemon(marker)).await.expect("a sandbox");
        drop(process.wait().await);
    });
}

/// Tests a host that forbids user namespaces, as containers do: what still works there, and what is
/// rejected.
#[cfg(target_os = "linux")]
fn locked(marker: &str) {
    forbid_namespaces();
    runtime().block_on(async {
        let local = Local::new();
        println!("strongest {}", local.probe().await.strongest);
        let mut job = daemon(marker);
        let mut process = local.start(&job).await.expect("a weaker sandbox");
        println!("runs at {}", process.level);
        process.kill();
        drop(process.wait().await);
        job.policy.minimum = Level::Namespace;
        // The same result without an earlier attempt.
        for local in [local, Local::new()] {
            match local.start(&job).await {
                Err(SandboxError::BelowMinimum {
                    minimum: Level::Namespace,
                    strongest: Level::Reduced,
                    ..
                }) => {}
                other => println!("{other:?}"),
            }
        }
        println!("refused below namespace");
    });
}

#[cfg(target_os = "linux")]
fn forbid_namespaces() {
    use seccompiler::{
        BpfProgram, SeccompAction, SeccompCmpArgLen, SeccompCmpOp, SeccompCondition, SeccompFilter,
        SeccompRule, apply_filter,
    };
    let user = u64::from(libc::CLONE_NEWUSER.unsigned_abs());
    let condition = || {
        let op = SeccompCmpOp::MaskedEq(user);
        SeccompCondition::new(0, SeccompCmpArgLen::Dword, op, user).expect("a condition")
    };
    let rule = || vec![SeccompRule::new(vec![condition()]).expect("a rule")];
    let apply = |rules: Vec<(i64, Vec<SeccompRule>)>, errno: i32| {
        let refuse = SeccompAction::Errno(errno.unsigned_abs());
        let arch = std::env::consts::ARCH.try_into().expect("a known machine");
        let filter =
            SeccompFilter::new(rules.into_iter().collect(), SeccompAction::Allow, refuse, arch);
        let program: BpfProgram = filter.expect("a filter").try_into().expect("a program");
        apply_filter(&program).expect("a filter applied");
    };
    apply(vec![(libc::SYS_clone, rule()), (libc::SYS_unshare, rule())], libc::EPERM);
    apply(vec![(libc::SYS_clone3, vec![])], libc::ENOSYS);
}
