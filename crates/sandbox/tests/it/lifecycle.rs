//! Lifecycle tests: streams, exit statuses, and that no process is left, regardless of which side
//! ends first.

use std::process::{Command, Stdio};
use std::time::Duration;

use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use toolcrib_sandbox::process::{End, Limits};
use toolcrib_sandbox::{
    Backend, Bubblewrap, Job, Level, LimitHit, SandboxError, Status, Stdin, run,
};

use crate::test_host::{LEVELS, WORKER, World, is_here, local, until};

#[tokio::test]
async fn statuses_and_streams_pass_through() {
    for level in LEVELS {
        if !is_here(level).await {
            continue;
        }
        let world = World::new();
        let check = async |script: &str, end: End| {
            let done = world.sh(level, world.policy(), script).await;
            assert_eq!(done.report.end, end, "{level}: {script}: {}", done.err());
            done
        };
        check("exit 0", End::Exited(0)).await;
        check("exit 255", End::Exited(255)).await;
        check("kill -9 $$", End::Signalled(9)).await;
        check("kill -TERM $$", End::Signalled(15)).await;
        let done = check("echo out; echo err >&2; cat", End::Exited(0)).await;
        assert_eq!((done.out().as_str(), done.err().as_str()), ("out\n", "err\n"));
        let done = check("pwd; echo x > src/made; cat src/main", End::Exited(0)).await;
        assert_eq!(done.out(), format!("{}\nmain", world.path("ws").display()));
        assert!(world.path("ws/src/made").exists());
    }
}

#[tokio::test]
async fn input_is_given_and_ends_and_a_bridge_goes_both_ways() {
    for level in LEVELS {
        if !is_here(level).await {
            continue;
        }
        let world = World::new();
        let mut job = world.script(world.policy(), "cat; read line <&3; echo \"answer $line\" >&3");
        job.stdin = Stdin::Piped;
        job.bridge = true;
        let local = local(level);
        let mut process = local.start(&job).await.unwrap();
        let mut stdin = process.stdin.take().unwrap();
        stdin.write_all(b"typed").await.unwrap();
        drop(stdin);
        let mut bridge = process.bridge.take().unwrap();
        bridge.write_all(b"question\n").await.unwrap();
        let mut said = String::new();
        bridge.read_to_string(&mut said).await.unwrap();
        assert_eq!(said, "answer question\n");
        let mut out = String::new();
        process.stdout.read_to_string(&mut out).await.unwrap();
        assert_eq!(out, "typed");
        let ended = process.wait().await.unwrap();
        assert_eq!((ended.status, ended.stopped), (Status::Exited(0), None));
        assert_eq!(process.wait().await.unwrap(), ended, "asked twice, answered twice");
    }
}

#[tokio::test]
async fn a_program_that_is_not_there_is_an_error_and_not_a_status() {
    for level in LEVELS {
        if !is_here(level).await {
            continue;
        }
        let world = World::new();
        let local = local(level);
        let start = async |program: &str| local.start(&Job::new(program, world.policy())).await;
        let error = start("no-such-program").await.unwrap_err();
        assert!(matches!(error, SandboxError::NoProgram(_)), "{level}: {error}");
        let error = start(world.path("ws/src/main").to_str().unwrap()).await.unwrap_err();
        assert!(matches!(error, SandboxError::NotRun { .. }), "{level}: {error}");
        let error = start(world.path("out/secret").to_str().unwrap()).await.unwrap_err();
        let hidden = matches!(error, SandboxError::NoProgram(_) | SandboxError::NotRun { .. });
        assert!(hidden, "{level}: {error}");
    }
}

#[tokio::test]
async fn what_is_dropped_or_stopped_leaves_nothing() {
    for level in LEVELS {
        if !is_here(level).await {
            continue;
        }
        let world = World::new();
        let script = "trap '' TERM; setsid sleep $MARK & sleep $MARK & echo ready; sleep $MARK";
        let job = world.script(world.policy(), script);
        let local = local(level);
        let ready = async || {
            let mut process = local.start(&job).await.unwrap();
            let mut word = [0; 6];
            process.stdout.read_exact(&mut word).await.unwrap();
            until("all three run", || world.left().len() >= 3).await;
            process
        };
        drop(ready().await);
        until("nothing is left of what was dropped", || world.left().is_empty()).await;
        let mut process = ready().await;
        process.kill();
        let ended = process.wait().await.unwrap();
        assert_eq!(ended.stopped, Some(LimitHit::Killed), "{level}");
        assert!(world.left().is_empty(), "{level}: {:?}", world.left());
        let mut process = ready().await;
        process.end();
        let ended = process.wait().await.unwrap();
        assert_eq!(ended.stopped, Some(LimitHit::Killed), "{level}");
        assert!(world.left().is_empty(), "{level}: {:?}", world.left());
        let stop = tokio::time::sleep(Duration::from_millis(50));
        let (report, _) = run(&local, &job, b"", Limits::default(), stop).await.unwrap();
        assert_eq!(report.end, End::Stopped, "{level}");
        assert!(world.left().is_empty(), "{level}: {:?}", world.left());
    }
}

#[tokio::test]
async fn when_the_process_that_started_it_is_killed_nothing_is_left() {
    for level in LEVELS {
        if !is_here(level).await {
            continue;
        }
        for role in ["hold", "hold-here"] {
            let world = World::new();
            let mut holder = Command::new(WORKER)
                .args([role, level.as_str(), &world.marker])
                .stdin(Stdio::null())
                .stdout(Stdio::null())
                .spawn()
                .unwrap();
            // The holder has the marker too; with the program and its daemon there are three.
            until("it runs", || world.left().len() >= 3).await;
            holder.kill().unwrap();
            holder.wait().unwrap();
            until(&format!("{level}: nothing is left of {role}"), || world.left().is_empty()).await;
        }
    }
}

#[tokio::test]
async fn many_at_once_hostile_ones_among_them() {
    for level in LEVELS {
        if !is_here(level).await {
            continue;
        }
        let world = World::new();
        let local = std::sync::Arc::new(local(level));
        let mut runs = tokio::task::JoinSet::new();
        for number in 0..40 {
            let script = match number % 4 {
                0 => format!("echo {number}"),
                1 => format!("setsid sleep $MARK & (sleep $MARK &) ; echo {number}"),
                2 => format!("kill -9 -1; kill -9 $PPID; cat $OUT/secret; echo {number}"),
                _ => format!("sleep $MARK & kill -STOP $!; echo {number}; kill -9 $$"),
            };
            let (job, local) = (world.script(world.policy(), &script), local.clone());
            runs.spawn(async move {
                let forever = std::future::pending();
                (number, run(&*local, &job, b"", Limits::default(), forever).await.unwrap())
            });
        }
        let done = runs.join_all().await;
        assert_eq!(done.len(), 40);
        for (number, (report, _)) in done {
            assert_eq!(
                report.stdout.text().trim(),
                number.to_string(),
                "{level}: {}",
                report.stderr.text()
            );
        }
        assert!(world.left().is_empty(), "{level}: {:?}", world.left());
    }
}

#[tokio::test]
async fn bubblewrap_holds_what_namespaces_and_the_filter_hold() {
    let backend = Bubblewrap::with_helper(WORKER);
    let probe = backend.probe().await;
    if probe.strongest == Level::None {
        eprintln!("NOT TRIED: bubblewrap, which does not work here: {:?}", probe.features);
        return;
    }
    let world = World::new();
    let check = async |script: &str, out: &str| {
        let job = world.script(world.policy(), script);
        let ran = run(&backend, &job, b"", Limits::default(), std::future::pending()).await;
        let (report, ended) = ran.unwrap();
        assert_eq!(ended.level, Level::Namespace);
        assert_eq!(report.stdout.text(), out, "{script}: {}", report.stderr.text());
    };
    check("cat $OUT/secret .denied/key .env; ls .denied; echo x > made; cat src/main", "main")
        .await;
    check("unshare -Ur true && echo DONE; mount -t tmpfs none /tmp && echo DONE; chmod 4755 src/main && echo DONE", "").await;
    check("kill -0 $HOSTPID && echo DONE; echo x > .toolcrib/x && echo DONE; echo x > /x && echo DONE", "").await;
    check("setsid sleep $MARK & (sleep $MARK &); echo out", "out\n").await;
    // The filter is passed on despite the file size limit, and variables of the loader reach only
    // the program.
    let mut narrow = world.script(world.policy(), "echo $LD_LIBRARY_PATH");
    narrow.policy.resources.file_size = Some(0);
    let narrow = narrow.env("LD_LIBRARY_PATH", world.path("ws")).env("LD_PRELOAD", "/no/such.so");
    let ran = run(&backend, &narrow, b"", Limits::default(), std::future::pending()).await;
    let (report, _) = ran.unwrap();
    assert_eq!(report.stdout.text(), format!("{}\n", world.path("ws").display()));
    let complaints = report.stderr.text().matches("/no/such.so").count();
    assert_eq!(complaints, 1, "bwrap loads nothing of the program's: {}", report.stderr.text());
    assert!(world.left().is_empty(), "{:?}", world.left());
    assert!(world.path("ws/made").exists() && !world.path("ws/.toolcrib/x").exists());
}

#[tokio::test]
async fn where_user_namespaces_are_forbidden_the_weaker_level_is_given_and_no_other_by_mistake() {
    let world = World::new();
    let output = Command::new(WORKER).args(["locked", &world.marker]).output().unwrap();
    let said = String::from_utf8_lossy(&output.stdout);
    let lines: Vec<&str> = said.lines().collect();
    assert_eq!(
        lines,
        ["strongest reduced", "runs at reduced", "refused below namespace"],
        "{output:?}"
    );
}

#[tokio::test]
async fn a_sweep_ends_all_but_the_program() {
    for level in LEVELS {
        if is_here(level).await {
            sweeps(&local(level), &level).await;
        }
    }
    let bubblewrap = Bubblewrap::with_helper(WORKER);
    if bubblewrap.probe().await.strongest > Level::None {
        sweeps(&bubblewrap, &"bubblewrap").await;
    }
}

async fn sweeps(backend: &dyn Backend, level: &dyn std::fmt::Display) {
    use tokio::io::{AsyncBufReadExt as _, BufReader};
    use toolcrib_sandbox::KillChildrenResult;
    let world = World::new();
    let script = "read a; sleep $MARK & setsid sleep $MARK & (setsid sh -c 'trap \"\" TERM INT; echo ready; sleep $MARK; sleep $MARK' &) & read b; echo still $b; read c";
    let mut job = world.script(world.policy(), script);
    job.stdin = Stdin::Piped;
    let mut process = backend.start(&job).await.unwrap();
    let mut stdin = process.stdin.take().unwrap();
    assert_eq!(process.kill_children().await.unwrap(), KillChildrenResult::Killed(0), "{level}");
    process.wake();
    stdin.write_all(b"go\n").await.unwrap();
    let mut stdout =
        BufReader::new(std::mem::replace(&mut process.stdout, Box::new(tokio::io::empty())));
    let mut line = String::new();
    stdout.read_line(&mut line).await.unwrap();
    assert_eq!(line, "ready\n");
    let swept = process.kill_children().await.unwrap();
    assert!(matches!(swept, KillChildrenResult::Killed(3..)), "{level}: {swept:?}");
    assert_eq!(world.left().iter().filter(|line| line.contains("sleep")).count(), 0);
    stdin.write_all(b"alive\n").await.unwrap();
    drop(stdin);
    line.clear();
    stdout.read_to_string(&mut line).await.unwrap();
    assert_eq!(line, "still alive\n", "{level}");
    process.wait().await.unwrap();
    assert_eq!(process.kill_children().await.unwrap(), KillChildrenResult::Gone);
}

/// Creates a program without isolation, run by another process.
fn program(script: &str) -> Command {
    let mut command = Command::new(WORKER);
    command.args(["program", script]).stdin(Stdio::null());
    command
}

#[tokio::test]
async fn what_left_the_session_of_a_program_without_isolation_ends_with_it() {
    let world = World::new();
    let mark = &world.marker;
    for script in [
        format!("setsid sleep {mark} & echo fine"),
        format!("(setsid setsid sleep {mark} >/dev/null 2>&1 &) ; echo fine"),
        format!("sleep {mark} & kill -STOP $!; echo fine"),
        // The program kills its supervisor, and then the helper kills the rest.
        format!("setsid sleep {mark} & echo fine; kill -9 $PPID; sleep {mark}"),
    ] {
        let output = program(&script).output().unwrap();
        let said = String::from_utf8_lossy(&output.stdout);
        assert!(said.ends_with(" fine\n\n"), "{script}: {said} {output:?}");
        until(&format!("nothing is left of {script}"), || world.left().is_empty()).await;
    }
}

#[tokio::test]
async fn what_a_program_without_isolation_started_ends_with_a_killed_caller() {
    let world = World::new();
    let mark = &world.marker;
    let script = format!("(setsid setsid sleep {mark} &) ; sleep {mark} & exec sleep {mark}");
    let mut caller = program(&script).stdout(Stdio::null()).spawn().unwrap();
    // The caller has the marker too.
    until("all run", || world.left().len() >= 4).await;
    caller.kill().unwrap();
    caller.wait().unwrap();
    until("nothing is left", || world.left().is_empty()).await;
}

#[tokio::test]
async fn a_program_without_isolation_leads_a_session_has_only_its_variables_and_is_marked() {
    let script = "set -- $(cat /proc/self/stat); echo session $6 of $$; \
        grep -c -e HOME -e TMPDIR /proc/$$/environ; (exec 9<>/dev/tty) 2>&1; \
        setsid grep realtime.timeout /proc/self/limits";
    let output = program(script).output().unwrap();
    let said = String::from_utf8_lossy(&output.stdout).into_owned();
    let session = said.split("session ").nth(1).unwrap().lines().next().unwrap();
    let (session, own) = session.split_once(" of ").unwrap();
    assert_eq!(session, own, "{said}");
    assert!(said.contains("\n0\n"), "{said}");
    assert!(said.contains("/dev/tty"), "{said}");
    let limit: Vec<&str> =
        said.lines().find(|line| line.starts_with("Max")).unwrap().split_whitespace().collect();
    assert!(limit[4].parse::<u64>().is_ok(), "{said}");
}
