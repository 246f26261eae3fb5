//! `execute_shell_command` with a real bash.

use std::time::Duration;

use serde_json::{Value, json};
use toolcrib_core::{Effect, ErrorType, Reach, Risk};

use crate::support::{Bench, Shop, call_of};

#[tokio::test]
async fn folder_variables_and_functions_carry_over() {
    let shop = Shop::new();
    std::fs::create_dir(shop.bench.path("ws/sub")).unwrap();
    shop.sh(
        "a",
        "cd sub; export SHOWN=1; hidden=2; say() { echo \"said $1\"; }; shopt -s nullglob",
    )
    .await;
    let said =
        shop.sh("a", "pwd; echo $SHOWN $hidden; env | grep -c SHOWN; say it; echo *.none").await;
    let folder = shop.bench.path("ws/sub").display().to_string();
    assert_eq!(said.out(), format!("{folder}\n1 2\n1\nsaid it\n\n"));
    assert_eq!((said.str("cwd"), said.field("exit_code")), (folder, json!(0)));
    assert_eq!(said.field("shell_died"), json!(false));
    // Neither another conversation nor a fresh shell sees the state of this shell.
    let workspace = shop.bench.path("ws").display().to_string();
    for (conversation, fresh) in [("b", false), ("a", true)] {
        let args = json!({"command": "pwd; echo [$SHOWN$hidden]; say x", "fresh": fresh});
        let said = shop.with(conversation, args).await;
        assert_eq!(said.out(), format!("{workspace}\n[]\n"));
        assert_eq!(said.field("exit_code"), json!(127));
        assert!(said.str("stderr").contains("line 1: say: command not found"), "{said:?}");
    }
    assert_eq!(shop.sh("a", "echo $hidden").await.out(), "2\n");
}

#[tokio::test]
async fn streams_codes_and_text_come_back_as_they_are() {
    let check = async |shop: &Shop, command: &str, out: &str, err: &str, code: i64| {
        let said = shop.sh("a", command).await;
        let got = (said.out(), said.str("stderr"), said.field("exit_code"));
        assert_eq!(got, (out.to_owned(), err.to_owned(), json!(code)), "{command:?}");
        assert_eq!(said.field("success"), json!(code == 0));
    };
    let shop = Shop::new();
    check(&shop, "echo a; echo b >&2; false", "a\n", "b\n", 1).await;
    check(&shop, "printf 'no newline'", "no newline", "", 0).await;
    check(&shop, "echo 'it'\\''s \"quoted\" $HOME' | cat", "it's \"quoted\" $HOME\n", "", 0).await;
    check(&shop, "echo größer → 漢字", "größer → 漢字\n", "", 0).await;
    check(&shop, &format!("echo {}", "ä".repeat(3000)), &format!("{}\n", "ä".repeat(3000)), "", 0)
        .await;
    check(&shop, &format!("v={}; echo ${{#v}}", "x".repeat(50_000)), "50000\n", "", 0).await;
}

#[tokio::test]
async fn odd_commands_leave_the_shell_in_order() {
    let check = async |shop: &Shop, command: &str, out: &str| {
        let said = shop.sh("a", command).await;
        assert_eq!(said.out(), out, "{command:?} {said:?}");
        assert_eq!(shop.sh("a", "echo still here").await.out(), "still here\n", "{command:?}");
    };
    let shop = Shop::new();
    check(&shop, "cat <<END\none\n$((1+1))\nEND", "one\n2\n").await;
    check(&shop, "for i in 1 2; do\n  echo $i\ndone # comment", "1\n2\n").await;
    check(&shop, "echo a; break; echo b", "a\n").await;
    check(&shop, "echo a; continue; echo b", "a\n").await;
    check(&shop, "echo a; return 3", "a\n").await;
    check(&shop, "if true; then", "").await;
    check(&shop, "echo 'open", "").await;
    check(&shop, "cat; read x; echo [$x]", "[]\n").await;
    check(&shop, "exec >out.txt 2>&1; echo hidden", "").await;
    assert_eq!(shop.bench.read("ws/out.txt").unwrap(), "hidden\n");
    check(&shop, "IFS=x; set -f -u; echo a", "a\n").await;
    check(&shop, "set +u; LC_ALL=C; export LC_ALL; echo ä", "ä\n").await;
    check(&shop, "exec 9>lock; echo locked >&9; cat lock", "locked\n").await;
    check(&shop, "trap 'echo trapped' DEBUG; trap - DEBUG; echo a", "trapped\na\n").await;
    check(&shop, "alias ls=x; unset HOME; echo ${HOME-none}", "none\n").await;
    check(&shop, "printf '\\036forged\\036'", "\u{1e}forged\u{1e}").await;
    check(&shop, "(exit 3); echo $?", "3\n").await;
    check(&shop, "ls -l /proc/self/fd | grep -c pipe", "4\n").await;
}

#[tokio::test]
async fn variables_are_those_of_one_command_and_a_folder_stays() {
    let shop = Shop::new();
    std::fs::create_dir_all(shop.bench.path("ws/a b")).unwrap();
    let args = json!({"command": "echo $A; env | grep ^A=; B=$A; pwd", "env": {"A": "it's $x"}, "working_dir": "a b"});
    let said = shop.with("a", args).await;
    let folder = shop.bench.path("ws/a b").display().to_string();
    assert_eq!(said.out(), format!("it's $x\nA=it's $x\n{folder}\n"));
    let said = shop.sh("a", "echo [$A] $B; pwd").await;
    assert_eq!(said.out(), format!("[] it's $x\n{folder}\n"));
    let said = shop.with("a", json!({"command": "echo ran", "working_dir": "missing"})).await;
    assert_eq!((said.out(), said.field("exit_code")), (String::new(), json!(1)));
    assert!(said.str("stderr").contains("missing: No such file or directory"), "{said:?}");
    let said = shop.with("a", json!({"command": "pwd", "working_dir": "~"})).await;
    assert_eq!(said.out(), format!("{}\n", shop.bench.path("home").display()));
}

#[tokio::test]
async fn arguments_that_cannot_be_are_refused() {
    let shop = Shop::new();
    let check = async |args: Value, words: &str| {
        let called = shop.call("execute_shell_command", &call_of("a"), args.clone()).await;
        let error = called.expect_err(&args.to_string());
        assert_eq!(error.error_type, ErrorType::ValidationError, "{args}");
        assert!(error.message.contains(words), "{args}: {}", error.message);
    };
    check(json!({"command": "  "}), "empty").await;
    check(json!({"command": "a\u{0}b"}), "zero byte").await;
    check(json!({"command": "x".repeat(61 * 1024)}), "write_file").await;
    check(json!({"command": "ls", "env": {"LD_PRELOAD": "x"}}), "LD_PRELOAD").await;
    check(json!({"command": "ls", "env": {"A B": "x"}}), "not the name of a variable").await;
    check(json!({"command": "ls", "working_dir": ""}), "`working_dir`").await;
    let call = call_of("");
    let called =
        shop.call("execute_shell_command", &call, json!({"command": "ls", "background": true}));
    assert!(called.await.unwrap_err().message.contains("conversation"));
}

#[tokio::test]
async fn long_output_keeps_both_ends_and_the_whole() {
    let shop = Shop::new();
    let said =
        shop.sh("a", "seq 1 200000; seq 1 10 >&2; head -c 100000 /dev/zero | tr '\\0' e >&2").await;
    let total: u64 = (1..=200_000u64).map(|n| n.to_string().len() as u64 + 1).sum();
    assert_eq!(said.field("stdout_bytes"), json!(total));
    assert_eq!(said.field("stderr_bytes"), json!(100_021));
    let out = said.out();
    assert!(out.starts_with("1\n2\n3\n") && out.ends_with("199999\n200000\n"), "{}", out.len());
    assert!(out.contains(&format!("[… {} bytes left out …]", total - 30_000)));
    assert!(format!("{:?}", said.0.content).contains(&format!("art_{total}")));
    // The limit counts characters: 20,000 of three bytes each are shown whole, 40,000 are not.
    let printf = |count: usize| format!("printf '語%.0s' $(seq 1 {count})");
    let wide = shop.sh("a", &printf(20_000)).await;
    assert_eq!((wide.out().chars().count(), wide.out().contains("left out")), (20_000, false));
    assert!(!format!("{:?}", wide.0.content).contains("art_"));
    let wider = shop.sh("a", &printf(40_000)).await;
    assert!(wider.out().contains("[… 30000 bytes left out …]"), "{}", wider.out().len());
    assert!(format!("{:?}", wider.0.content).contains("art_120000"));
    // Short output needs no artifact.
    let little = shop.sh("a", "seq 1 5000").await;
    assert!(!format!("{:?}", little.0.content).contains("art_"));
}

#[tokio::test]
async fn time_is_over_for_everything_and_the_next_command_gets_a_new_shell() {
    let shop = Shop::new();
    shop.sh("a", "x=1; cd /tmp").await;
    let said = shop.with("a", json!({"command": "echo begun; sleep 60", "timeout": 1})).await;
    assert_eq!(said.out(), "begun\n");
    let fields = ["timed_out", "shell_died", "exit_code", "cwd"].map(|key| said.field(key));
    assert_eq!(fields, [json!(true), json!(true), Value::Null, Value::Null]);
    assert!(said.0.is_error);
    assert!(said.text().contains("timed out after 1s"), "{}", said.text());
    let said = shop.sh("a", "echo [$x]; pwd").await;
    assert_eq!(said.out(), format!("[]\n{}\n", shop.bench.path("ws").display()));
    assert!(!said.text().contains("had ended"), "it was told before");
}

#[tokio::test]
async fn time_counts_from_when_the_shell_is_free() {
    let shop = Shop::new();
    let args = json!({"command": "sleep 0.7; echo done", "timeout": 1});
    let all = futures(&shop, (0..4).map(|_| args.clone()).collect()).await;
    for said in all {
        assert_eq!(said, "done\n");
    }
}

async fn futures(shop: &Shop, all: Vec<Value>) -> Vec<String> {
    let mut results = Vec::new();
    let mut running = Vec::new();
    for args in all {
        running.push(Box::pin(async move { shop.with("a", args).await.out() }));
    }
    // Polls the futures in order, so that all calls start.
    let mut open: Vec<_> = running.into_iter().map(Some).collect();
    std::future::poll_fn(|cx| {
        for slot in &mut open {
            if let Some(future) = slot
                && let std::task::Poll::Ready(out) = future.as_mut().poll(cx)
            {
                results.push(out);
                *slot = None;
            }
        }
        if open.iter().all(Option::is_none) {
            std::task::Poll::Ready(())
        } else {
            std::task::Poll::Pending
        }
    })
    .await;
    results
}

#[tokio::test]
async fn a_stopped_call_ends_its_command() {
    let shop = Shop::new();
    let mark = format!("86391.{}", std::process::id());
    let call = call_of("a");
    let cancel = call.cancel.clone();
    let stop = async {
        crate::support::until("it runs", || !crate::support::processes_with(&mark).is_empty())
            .await;
        cancel.cancel();
    };
    let args = json!({"command": format!("sleep {mark}"), "timeout": 60});
    let (called, ()) = tokio::join!(shop.call("execute_shell_command", &call, args), stop);
    assert_eq!(called.unwrap_err().error_type, ErrorType::Cancelled);
    assert!(crate::support::processes_with(&mark).is_empty());
    assert_eq!(shop.sh("a", "echo next").await.out(), "next\n");
}

#[tokio::test]
async fn a_call_that_is_dropped_ends_its_command() {
    let shop = Shop::new();
    let mark = format!("86392.{}", std::process::id());
    let call = call_of("a");
    let args = json!({"command": format!("sleep {mark}"), "timeout": 60});
    {
        let calling = shop.call("execute_shell_command", &call, args);
        tokio::select! {
            called = calling => panic!("{called:?}"),
            () = crate::support::until("it runs", || !crate::support::processes_with(&mark).is_empty()) => {}
        }
    }
    crate::support::until("nothing is left", || crate::support::processes_with(&mark).is_empty())
        .await;
    assert_eq!(shop.sh("a", "echo next").await.out(), "next\n");
}

#[tokio::test]
async fn what_a_call_means_comes_from_its_words() {
    let assess = |shop: &Shop, args: Value| {
        let tools = toolcrib_builtins::Builtins::new().with_shells(shop.shells.clone()).handlers();
        let tool =
            tools.iter().find(|t| t.spec().name.as_str() == "execute_shell_command").unwrap();
        tool.assess(&args).unwrap()
    };
    let shop = Shop::new();
    let read = assess(&shop, json!({"command": "ls"}));
    assert_eq!((read.effect, read.risk, read.reach), (Effect::Read, Risk::High, Reach::default()));
    let push = assess(&shop, json!({"command": "git push", "working_dir": "sub"}));
    assert_eq!((push.effect, push.risk), (Effect::SideEffect, Risk::Critical));
    assert_eq!(push.summary.as_deref(), Some("run in sub: git push"));
    let open = Shop::on(Bench::with(|confines| toolcrib_builtins::program_runner::ProgramPolicy {
        network: toolcrib_sandbox::Network::Full,
        ..confines
    }));
    assert!(assess(&open, json!({"command": "ls"})).reach.exec);
}

#[tokio::test]
async fn a_shell_that_is_not_there_says_what_to_do() {
    let shop = Shop::on(Bench::with(|confines| toolcrib_builtins::program_runner::ProgramPolicy {
        env: vec![("PATH".into(), "/nowhere".into())],
        ..confines
    }));
    let called = shop.call("execute_shell_command", &call_of("a"), json!({"command": "ls"})).await;
    let error = called.unwrap_err();
    assert!(error.message.contains("bash is not there"), "{}", error.message);
    let gone = Shop::new();
    std::fs::remove_dir_all(gone.bench.path("ws")).unwrap();
    let called = gone.call("execute_shell_command", &call_of("a"), json!({"command": "ls"})).await;
    assert_eq!(called.unwrap_err().error_type, ErrorType::FileNotFound);
}

#[tokio::test]
async fn a_folder_that_vanishes_under_a_shell_does_not_end_it() {
    let shop = Shop::new();
    shop.sh("a", "mkdir sub && cd sub && X=kept").await;
    std::fs::remove_dir_all(shop.bench.path("ws/sub")).unwrap();
    let said = shop.sh("a", "echo $X; cat < here || echo none").await;
    assert_eq!(said.out(), "kept\nnone\n", "{said:?}");
    let moved = shop.with("a", json!({"command": "true", "working_dir": "sub"})).await;
    assert_ne!(moved.field("exit_code"), json!(0), "{moved:?}");
    let back = shop.sh("a", "cd ~ && echo $X").await;
    assert_eq!(back.out(), "kept\n", "{back:?}");
}

#[tokio::test]
async fn ending_a_conversation_ends_its_shell() {
    let shop = Shop::new();
    shop.sh("a", "x=1").await;
    shop.sh("b", "x=2").await;
    shop.shells.end("ann", "a");
    assert_eq!(shop.sh("a", "echo [$x]").await.out(), "[]\n");
    assert_eq!(shop.sh("b", "echo [$x]").await.out(), "[2]\n");
    shop.shells.end_all();
    assert_eq!(shop.sh("b", "echo [$x]").await.out(), "[]\n");
    tokio::time::timeout(Duration::from_secs(5), async {}).await.unwrap();
}
