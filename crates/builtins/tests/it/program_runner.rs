//! Program runner: programs, limits and policies.

use std::time::Duration;

use tokio::io::{AsyncBufReadExt as _, AsyncWriteExt as _, BufReader};
use toolcrib_builtins::program_runner::{
    Needs, PathMasks, Program, ProgramPolicy, WorkspaceAccess,
};
use toolcrib_core::ErrorType;
use toolcrib_sandbox::process::End;
use toolcrib_sandbox::userland::{ShellTarget, Userland};
use toolcrib_sandbox::{HostRules, Level, Network};

use crate::support::{Bench, call_of, is_here, processes_with};

fn sh(script: &str) -> Program {
    Program::new("sh").args(["-c", script])
}

async fn said(bench: &Bench, program: Program) -> String {
    let done = bench.workbench.run(&call_of("a"), program).await.unwrap();
    format!("{}{}", done.stdout.text(), done.stderr.text())
}

#[tokio::test]
async fn a_program_works_in_the_workspace_and_nowhere_else() {
    for level in [Level::Namespace, Level::Reduced] {
        if !is_here(level).await {
            continue;
        }
        let bench = Bench::at_most(level, |confines| confines);
        let script = "cat; echo made > sub/file && cat sub/file; echo x > ~/note; cat ../out/secret ../state/key 2>/dev/null; echo x > .toolcrib/x; echo \"$HOME|$SECRET|$MINE\"";
        std::fs::create_dir(bench.path("ws/sub")).unwrap();
        let program = sh(script).stdin("given\n").env("MINE", "mine");
        let done = bench.workbench.run(&call_of("a"), program).await.unwrap();
        let home = bench.path("home").display().to_string();
        assert_eq!(done.stdout.text(), format!("given\nmade\n{home}||mine\n"), "{level}");
        assert_eq!((done.level, done.succeeded()), (level, true));
        assert_eq!(bench.read("ws/sub/file").unwrap(), "made\n");
        assert_eq!(bench.read("home/note").unwrap(), "x\n");
        assert_eq!(bench.read("ws/.toolcrib/x"), None);
    }
}

#[tokio::test]
async fn what_git_would_run_later_is_kept() {
    if !is_here(Level::Namespace).await {
        return;
    }
    let bench = Bench::new();
    let script = "echo evil > .git/hooks/pre-commit; echo evil >> .git/config; mv .git git; echo x > .git/index && cat .git/index";
    assert!(said(&bench, sh(script)).await.starts_with("x\n"));
    assert_eq!(bench.read("ws/.git/hooks/pre-commit"), None);
    assert_eq!(bench.read("ws/.git/config").unwrap(), "[core]\n");
}

#[tokio::test]
async fn own_folders_are_made_before_a_program_could() {
    let bench = Bench::with(|confines| {
        let own = confines.roots.iter().map(|root| root.join("deep/own")).collect();
        ProgramPolicy { state_folders: own, ..confines }
    });
    let heard = said(&bench, sh("echo x > deep/own/config; echo end")).await;
    assert!(heard.starts_with("end\n"), "{heard}");
    assert_eq!(bench.read("ws/deep/own/config"), None);
    assert!(bench.path("ws/deep/own").is_dir());
}

#[tokio::test]
async fn needs_only_ever_take_away_but_for_what_the_tool_names() {
    let bench = Bench::new();
    let read = Needs { workspace: WorkspaceAccess::Read, ..Needs::default() };
    let heard = said(&bench, sh("cat .git/config; echo x > file || echo no").needs(read)).await;
    assert!(heard.starts_with("[core]\nno\n"), "{heard}");
    let scratch = Needs {
        workspace: WorkspaceAccess::Hidden,
        writable: vec![bench.path("out")],
        ..Needs::default()
    };
    let script =
        format!("cat {}; pwd; echo x > made && echo made", bench.path("ws/.git/config").display());
    let heard = said(&bench, sh(&script).needs(scratch)).await;
    let out = bench.path("out").display().to_string();
    assert!(heard.starts_with(&format!("{out}\nmade\n")), "{heard}");
}

#[tokio::test]
async fn time_and_stop_end_everything() {
    let bench = Bench::new();
    let mark = format!("86397.{}", std::process::id());
    let script = format!("setsid sleep {mark} & sleep {mark}");
    let program = sh(&script).time(Duration::from_millis(200));
    let done = bench.workbench.run(&call_of("a"), program).await.unwrap();
    assert_eq!(done.end, End::TimedOut);
    assert_eq!(done.stop_error("It").unwrap().error_type, ErrorType::Timeout);
    let call = call_of("a");
    call.cancel.cancel();
    let done = bench.workbench.run(&call, sh(&script)).await.unwrap();
    assert_eq!(done.stop_error("It").unwrap().error_type, ErrorType::Cancelled);
    assert_eq!(processes_with(&mark), Vec::<String>::new());
}

#[tokio::test]
async fn a_program_that_lives_is_talked_to_and_ends_when_it_is_dropped() {
    let bench = Bench::new();
    let mark = format!("86398.{}", std::process::id());
    let mut process = bench
        .workbench
        .start(&sh("sed -u s/a/b/; exec sleep $1").args(["sh", &mark]), &PathMasks::default())
        .await
        .unwrap();
    let mut stdin = process.stdin.take().unwrap();
    stdin.write_all(b"bar\n").await.unwrap();
    let mut line = String::new();
    BufReader::new(&mut process.stdout).read_line(&mut line).await.unwrap();
    assert_eq!(line, "bbr\n");
    drop(stdin);
    process.kill();
    process.wait().await.unwrap();
    assert_eq!(processes_with(&mark), Vec::<String>::new());
}

#[tokio::test]
async fn what_cannot_run_says_what_to_do() {
    let check = async |bench: &Bench, program: Program, kind: ErrorType, words: &str| {
        let error = bench.workbench.run(&call_of("a"), program).await.unwrap_err();
        assert_eq!(error.error_type, kind, "{error}");
        assert!(error.message.contains(words), "{}", error.message);
    };
    let bench = Bench::new();
    let missing = Program::new("no-such-program");
    check(&bench, missing, ErrorType::ExecutionError, "no-such-program is not there").await;
    let outside = sh("true").folder(bench.path("out"));
    check(&bench, outside, ErrorType::PathNotAllowed, "a folder of the workspace").await;
    check(&bench, sh("true").folder("gone"), ErrorType::FileNotFound, "does not exist").await;
    let strict = Bench::with(|confines| ProgramPolicy { minimum: Level::External, ..confines });
    check(&strict, sh("true"), ErrorType::SandboxError, "toolcrib sandbox status").await;
    let weak = Bench::at_most(Level::None, |confines| confines);
    check(&weak, sh("true"), ErrorType::SandboxError, "toolcrib sandbox status").await;
}

#[tokio::test]
async fn hosts_that_are_not_allowed_are_said() {
    if !is_here(Level::Namespace).await {
        return;
    }
    let hosts = Network::Hosts(HostRules::parse(["example.com"]).unwrap());
    let bench = Bench::with(|confines| ProgramPolicy { network: hosts.clone(), ..confines });
    assert!(!bench.workbench.program_policy().is_closed());
    let ask = "exec 3<>/dev/tcp/127.0.0.1/3128; printf 'CONNECT other.example:443 HTTP/1.1\\r\\nHost: other.example:443\\r\\n\\r\\n' >&3; head -n 1 <&3";
    let program = Program::new("bash").args(["-c", ask]);
    let needs = Needs { network: true, ..Needs::default() };
    let done = bench.workbench.run(&call_of("a"), program.clone().needs(needs)).await.unwrap();
    assert!(done.blocked_hosts_note().unwrap().contains("other.example:443"), "{done:?}");
    // A program that does not need the network gets none.
    let done = bench.workbench.run(&call_of("a"), program).await.unwrap();
    assert_eq!((done.blocked_hosts_note(), done.succeeded()), (None, false));
}

#[tokio::test]
async fn other_confines_hold_from_the_next_program_on() {
    let bench = Bench::new();
    let before = (*bench.workbench.program_policy()).clone();
    let out = bench.path("out");
    let script = format!("cat {}/secret || echo no", out.display());
    assert!(said(&bench, sh(&script)).await.starts_with("no\n"));
    bench.workbench.set_program_policy(ProgramPolicy { readable: vec![out], ..before });
    assert_eq!(said(&bench, sh(&script)).await, "SECRET");
}

/// Returns an installed userland, made from busybox if this host has it.
fn userland(bench: &Bench) -> Option<Userland> {
    let path = std::env::var_os("PATH").unwrap_or_default();
    let busybox = std::env::split_paths(&path).map(|folder| folder.join("busybox"));
    let Some(busybox) = busybox.into_iter().find(|path| path.is_file()) else {
        eprintln!("NOT TRIED: there is no busybox on this host (package busybox-static)");
        return None;
    };
    let folder = bench.path("userland");
    for name in ["bin", "etc", "lib", "root"] {
        std::fs::create_dir_all(folder.join("root").join(name)).unwrap();
    }
    std::fs::copy(busybox, folder.join("root/bin/busybox")).unwrap();
    for name in ["sh", "cat", "id", "wget"] {
        std::os::unix::fs::symlink("/bin/busybox", folder.join("root/bin").join(name)).unwrap();
    }
    std::fs::write(folder.join("root/etc/alpine-release"), "3.24.2\n").unwrap();
    let state = r#"{"state":"ready","name":"Alpine Linux","version":"3.24.2","sha256":"","signed_by":null,"branch":"v3.24","mirror":"http://127.0.0.1:1/alpine","mirrors":["http://127.0.0.1:1/alpine"],"repositories":null}"#;
    std::fs::write(folder.join("state.json"), state).unwrap();
    Some(Userland::new(folder, bench.path("home")))
}

#[tokio::test]
async fn a_program_runs_in_the_userland_with_the_workspace_at_its_place() {
    if !is_here(Level::Namespace).await {
        return;
    }
    let bench = Bench::new();
    let before = (*bench.workbench.program_policy()).clone();
    let program = sh("cat /etc/alpine-release; id -u; pwd; echo $HOME $PATH; echo made > file; echo x > ~/note; cat ../out/secret ../state/key; echo x > .git/config").in_userland();
    assert_eq!(before.shell_target(), ShellTarget::HostSandbox);
    let refused = bench.workbench.run(&call_of("a"), program.clone()).await.unwrap_err();
    assert_eq!(refused.error_type, ErrorType::SandboxError);

    let Some(userland) = userland(&bench) else { return };
    let path = vec![bench.path("ws")];
    bench.workbench.set_program_policy(ProgramPolicy {
        userland: Some(userland.clone()),
        path,
        ..before.clone()
    });
    assert_eq!(bench.workbench.program_policy().shell_target(), ShellTarget::Userland);
    let done = bench.workbench.run(&call_of("a"), program.clone()).await.unwrap();
    let ws = bench.path("ws").display().to_string();
    let expected = format!(
        "3.24.2\n0\n{ws}\n/root /usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin\n"
    );
    assert_eq!(done.stdout.text(), expected, "{}", done.stderr.text());
    assert_eq!(bench.read("ws/file").unwrap(), "made\n");
    assert_eq!(bench.read("home/note").unwrap(), "x\n");
    assert_eq!(bench.read("ws/.git/config").unwrap(), "[core]\n");

    let shell = Some(ShellTarget::Native);
    bench.workbench.set_program_policy(ProgramPolicy {
        userland: Some(userland.clone()),
        shell,
        ..before
    });
    assert_eq!(bench.workbench.program_policy().shell_target(), ShellTarget::Native);
    std::fs::remove_dir_all(bench.path("userland/root")).unwrap();
    let refused = bench.workbench.run(&call_of("a"), program).await.unwrap_err();
    assert!(refused.message.contains("toolcrib sandbox install"), "{}", refused.message);
}
