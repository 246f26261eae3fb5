//! Hostile shell commands: attempts to outlive, escape or confuse the shell.

use serde_json::json;
use toolcrib_builtins::program_runner::ProgramPolicy;
use toolcrib_sandbox::{Level, Resources};

use crate::support::{Bench, Shop, call_of, is_here, processes_with, until};

/// Runs a command in a separate conversation, then another one: the first must not affect it and
/// must leave no processes.
async fn check(
    shop: &Shop,
    name: &str,
    command: &str,
    is_right: impl Fn(&crate::support::Said) -> bool,
) {
    let mark = format!("8638{}.{}", name.len(), std::process::id());
    let command = command.replace("MARK", &mark);
    let said = shop.with(name, json!({"command": command, "timeout": 2})).await;
    assert!(is_right(&said), "{name}: {said:?}");
    let next = shop.sh(name, "echo next").await;
    assert_eq!(next.out(), "next\n", "{name}: {next:?}");
    assert_eq!(next.field("exit_code"), json!(0), "{name}");
    until("nothing is left", || processes_with(&format!("sleep {mark}")).is_empty()).await;
}

#[tokio::test]
async fn whatever_a_command_leaves_behind_is_ended() {
    for level in [Level::Namespace, Level::Reduced] {
        if !is_here(level).await {
            continue;
        }
        let shop = Shop::on(Bench::at_most(level, |confines| confines));
        let fine = |said: &crate::support::Said| said.field("exit_code") == json!(0);
        check(&shop, "job", "sleep MARK & echo started", |said| {
            fine(said) && said.text().contains("left running (1) was ended")
        })
        .await;
        check(&shop, "session", "setsid sleep MARK & echo started", fine).await;
        check(&shop, "double", "(setsid sh -c 'sleep MARK & sleep MARK &' &); true", fine).await;
        check(&shop, "nohup", "nohup sleep MARK >/dev/null 2>&1 & disown", fine).await;
        check(&shop, "deaf", "(trap '' INT TERM HUP; sleep MARK; sleep MARK) & true", fine).await;
        check(&shop, "fork!", "setsid -f sleep MARK", fine).await;
        let late = |said: &crate::support::Said| said.field("timed_out") == json!(true);
        check(&shop, "waiting", "trap '' INT TERM; while true; do sleep MARK; done", late).await;
    }
}

#[tokio::test]
async fn whatever_ends_the_shell_is_said_and_a_new_one_comes() {
    let shop = Shop::new();
    let died = |code: i64| {
        move |said: &crate::support::Said| {
            said.field("shell_died") == json!(true) && said.field("exit_code") == json!(code)
        }
    };
    check(&shop, "exit", "echo bye; exit 3", died(3)).await;
    check(&shop, "exec", "exec sh -c 'exit 4'", died(4)).await;
    check(&shop, "errexit", "set -e; false; echo never", |said| {
        died(1)(said) && said.out().is_empty()
    })
    .await;
    check(&shop, "killed", "kill -9 $$", died(137)).await;
    check(&shop, "nounset", "set -u; echo $missing", |said| said.field("exit_code") != json!(0))
        .await;
    check(&shop, "at exit", "trap 'echo last words' EXIT; exit 5", |said| {
        died(5)(said) && said.out() == "last words\n"
    })
    .await;
    check(&shop, "everyone", "kill -9 -1; echo survived", |said| said.out() == "survived\n").await;
    check(
        &shop,
        "descriptors",
        "for fd in {0..255}; do eval \"exec $fd>&-\"; done 2>/dev/null",
        |said| said.field("timed_out") == json!(true) || said.field("shell_died") == json!(true),
    )
    .await;
    check(&shop, "functions", "eval() { :; }; printf() { :; }; read() { :; }; echo mine", |said| {
        said.out() == "mine\n"
    })
    .await;
    check(&shop, "builtin gone", "enable -n read printf eval", |said| {
        said.field("timed_out") == json!(true) || said.field("shell_died") == json!(true)
    })
    .await;
    check(&shop, "noexec", "set -n", |said| said.field("timed_out") == json!(true)).await;
    check(&shop, "stopped itself", "kill -STOP $$", |said| said.field("timed_out") == json!(true))
        .await;
}

#[tokio::test]
async fn a_shell_that_dies_between_two_commands_says_so_once() {
    let shop = Shop::new();
    shop.sh("a", "x=1").await;
    // Leftover processes are ended after the answer; this one kills the shell earlier.
    let said = shop.sh("a", "(sleep 0.05; kill -9 $$) & echo begun").await;
    assert_eq!(said.out(), "begun\n");
    let next = shop.sh("a", "echo [$x]").await;
    assert!(["[1]\n", "[]\n"].contains(&next.out().as_str()), "{next:?}");
}

#[tokio::test]
async fn floods_are_read_and_bounded() {
    let shop = Shop::new();
    let said =
        shop.with("flood", json!({"command": "yes both | tee /dev/stderr", "timeout": 1})).await;
    assert_eq!(said.field("timed_out"), json!(true));
    assert!(said.out().len() < 31_000 && said.str("stderr").len() < 31_000);
    assert!(
        said.field("stdout_bytes").as_u64().unwrap() > 1_000_000,
        "{}",
        said.field("stdout_bytes")
    );
    let said = shop.sh("flood", "head -c 50000000 /dev/zero | tr '\\0' x; echo end").await;
    assert_eq!(
        (said.field("stdout_bytes"), said.field("exit_code")),
        (json!(50_000_004), json!(0))
    );
    assert!(said.out().ends_with("xxend\n"));
    // The shell does not block, although its output is not read between commands.
    let odd = "printf '\\036%.0s' {1..5000}; printf '\\037x\\036y'";
    assert_eq!(shop.sh("flood", odd).await.field("stdout_bytes"), json!(5004));
}

#[tokio::test]
async fn limits_end_the_shell_and_say_which() {
    let shop = Shop::on(Bench::with(|confines| ProgramPolicy {
        resources: Resources {
            memory: Some(64 << 20),
            processes: Some(50),
            ..Resources::default()
        },
        ..confines
    }));
    let said = shop.sh("a", "x=$(head -c 200000000 /dev/zero | tr '\\0' x); echo ${#x}").await;
    assert!(
        said.text().contains("more memory than it may") || said.field("exit_code") != json!(0),
        "{said:?}"
    );
    assert_eq!(shop.sh("a", "echo next").await.out(), "next\n");
    let bomb = "b() { b | b & }; b; sleep 5";
    let said = shop.with("bomb", json!({"command": bomb, "timeout": 5})).await;
    assert!(
        said.text().contains("more processes") || said.str("stderr").contains("fork"),
        "{said:?}"
    );
    assert_eq!(shop.sh("bomb", "echo next").await.out(), "next\n");
}

/// Runs 200 calls in parallel from 20 conversations, 100 of them hostile.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn two_hundred_calls_of_twenty_conversations() {
    let shop = std::sync::Arc::new(Shop::on(Bench::with(|confines| ProgramPolicy {
        resources: Resources {
            memory: Some(256 << 20),
            processes: Some(64),
            ..Resources::default()
        },
        ..confines
    })));
    let mark = format!("86371.{}", std::process::id());
    let hostile = [
        "exit 1".to_owned(),
        format!("setsid sleep {mark} & true"),
        "yes | head -c 3000000".to_owned(),
        "kill -9 $$".to_owned(),
        format!("(trap '' TERM INT; sleep {mark}) & disown; true"),
        "exec 242>&- 243>&-; exit".to_owned(),
        "cat /dev/zero | head -c 2000000 >&2".to_owned(),
        "set -e; false".to_owned(),
        format!("nohup setsid sh -c 'sleep {mark}' & echo x"),
        "trap '' INT TERM; printf '\\036x\\036'; exec true".to_owned(),
    ];
    let mut calls = tokio::task::JoinSet::new();
    for conversation in 0..20 {
        for turn in 0..10 {
            let shop = shop.clone();
            let is_hostile = turn % 2 == 1;
            let word = format!("word-{conversation}-{turn}");
            let command = if is_hostile {
                hostile[(conversation + turn) % hostile.len()].clone()
            } else {
                format!("echo {word}; echo {word} >&2")
            };
            calls.spawn(async move {
                let mut call = call_of(&format!("c{conversation}"));
                call.deadline += std::time::Duration::from_secs(120);
                let args = json!({"command": command, "timeout": 30});
                let said = shop.call("execute_shell_command", &call, args).await;
                (is_hostile, word, said)
            });
        }
    }
    while let Some(done) = calls.join_next().await {
        let (is_hostile, word, said) = done.unwrap();
        let said = crate::support::Said(said.unwrap_or_else(|error| panic!("{word}: {error:?}")));
        if !is_hostile {
            // Late output of an earlier command of the same shell may precede the word; output of
            // other shells never does.
            assert!(said.out().ends_with(&format!("{word}\n")), "{word}: {said:?}");
            assert!(said.str("stderr").contains(&word), "{word}: {said:?}");
            let own = word.rsplit_once('-').unwrap().0;
            let others = said.out().matches("word-").count()
                - said.out().matches(&format!("{own}-")).count();
            assert_eq!(others, 0, "{word}: {said:?}");
        }
    }
    until("nothing is left", || processes_with(&mark).is_empty()).await;
}
