//! The shell through the pipeline: disabled by default, assessed by its command line, sandboxed,
//! one per conversation.

use std::time::{Duration, Instant};

use serde_json::{Value, json};

use crate::support::{self, DaemonProcess, TestEnv, eventually};

fn enabled() -> TestEnv {
    let env = TestEnv::new();
    for tool in ["execute_shell_command", "manage_process"] {
        env.run(&["tool", "enable", tool]).code(0);
    }
    env
}

fn sh(env: &TestEnv, name: &str, command: &str) -> (Value, i32) {
    env.call(name, &json!({"command": command}), &["--policy", "auto"])
}

#[test]
fn it_is_off_until_it_is_switched_on() {
    let env = TestEnv::new();
    let (reply, code) = sh(&env, "execute_shell_command", "echo hello");
    assert_eq!((reply["error_type"].as_str(), code), (Some("tool_disabled"), 5), "{reply}");
    env.run(&["tool", "enable", "execute_shell_command"]).code(0);
    for name in ["execute_shell_command", "bash_manager", "bash"] {
        let (reply, code) = sh(&env, name, "echo hello; pwd; ls ~");
        assert_eq!((reply["outcome"].as_str(), code), (Some("succeeded"), 0), "{reply}");
        let text = reply["result"].as_str().unwrap();
        assert!(text.contains("exit code 0") && text.contains("hello"), "{text}");
        assert!(text.contains(env.root().to_str().unwrap()), "{text}");
    }
    // Tools that belong to the shell are enabled together with it, unless they are disabled
    // themselves.
    for tool in ["manage_process", "ssh_configure_host"] {
        let why = || env.run(&["tool", "why", tool]).code(0).stdout;
        assert!(why().starts_with(&format!("{tool} is offered")), "{}", why());
        env.run(&["tool", "disable", tool]).code(0);
        assert!(why().starts_with(&format!("{tool} is not offered")), "{}", why());
    }
    // By default, a person is asked, and no approver exists.
    let (reply, code) = env.call("execute_shell_command", &json!({"command": "echo hello"}), &[]);
    assert_eq!((reply["outcome"].as_str(), code), (Some("denied"), 5), "{reply}");
}

#[test]
fn rules_judge_every_part_of_a_command_under_every_name() {
    let env = enabled();
    env.own(
        "rules.toml",
        "[[rules]]\neffect = \"deny\"\nrule = \"Bash(rm:*)\"\n[[rules]]\neffect = \"allow\"\nrule = \"Bash(echo:*)\"\n",
    );
    for name in ["execute_shell_command", "bash_manager", "bash", "shell"] {
        let (reply, code) = sh(&env, name, "echo a && rm -rf notes.md");
        assert_eq!((reply["error_type"].as_str(), code), (Some("policy_denied"), 5), "{reply}");
    }
    assert!(env.read("notes.md").is_some());
    // A call that a rule allows needs no approver.
    let args = json!({"command": "echo allowed"});
    let (reply, code) = env.call("execute_shell_command", &args, &[]);
    assert_eq!(code, 0, "{reply}");
}

#[test]
fn our_own_folders_and_the_network_are_out_of_reach() {
    let env = enabled();
    env.own("config.toml", "");
    let home = env.outside().join("home");
    let command = format!(
        "ls {0}/config.toml; echo x > {0}/state/x; echo evil > .toolcrib/config.toml; mkdir .toolcrib; (exec 3<>/dev/tcp/192.0.2.1/80) && echo REACHED; echo end",
        home.display()
    );
    let (reply, code) = sh(&env, "execute_shell_command", &command);
    assert_eq!(code, 0, "{reply}");
    let text = reply["result"].as_str().unwrap();
    assert!(text.contains("end") && !text.contains("REACHED"), "{text}");
    assert!(text.contains("No such file") || text.contains("Permission denied"), "{text}");
    assert!(!home.join("state/x").exists());
}

#[test]
fn a_conversation_has_one_shell() {
    let env = enabled();
    let turns = r#"
  - calls: [{tool: execute_shell_command, args: {command: "mkdir sub; cd sub; X=kept"}}]
  - expect: {results: [{tool: execute_shell_command, outcome: succeeded, contains: exit code 0}]}
    calls: [{tool: bash, args: {command: "pwd; echo $X"}}]
  - expect: {results: [{tool: execute_shell_command, outcome: succeeded, contains: kept}]}
    calls: [{tool: execute_shell_command, args: {command: "echo served; exec sleep 86399", background: true}}]
  - expect: {results: [{tool: execute_shell_command, outcome: succeeded, contains: served}]}
    calls: [{tool: manage_process, args: {action: list}}]
  - expect: {results: [{tool: manage_process, outcome: succeeded, contains: running}]}
    say: Done.
"#;
    let ended = env.play(turns, &["--policy", "auto"]).code(0);
    assert_eq!(ended.stdout, "Done.\n", "{}", ended.stderr);
}

#[test]
fn an_ssh_host_is_configured_in_the_home_folder_of_programs() {
    let env = TestEnv::new();
    env.run(&["tool", "enable", "ssh_configure_host"]).code(0);
    env.own("rules.toml", "[[rules]]\neffect = \"allow\"\nrule = \"ssh_configure_host\"\n");
    let args = json!({"alias": "build", "hostname": "build.example.com", "known_hosts_line": "build.example.com ssh-ed25519 AAAA"});
    for _ in 0..2 {
        let (reply, code) = env.call("ssh_configure_host", &args, &[]);
        assert_eq!(code, 0, "{reply}");
        assert!(reply["result"].as_str().unwrap().contains("sandbox.allow_hosts"), "{reply}");
    }
    let ssh = env.outside().join("home/home/.ssh");
    let config = std::fs::read_to_string(ssh.join("config")).unwrap();
    assert_eq!(config.matches("Host build\n").count(), 1, "{config}");
    let known = std::fs::read_to_string(ssh.join("known_hosts")).unwrap();
    assert_eq!(known, "build.example.com ssh-ed25519 AAAA\n");
}

#[test]
fn a_file_is_opened_where_there_is_a_desktop() {
    use std::os::unix::fs::PermissionsExt;
    let env = TestEnv::new();
    let bin = env.outside().join("bin");
    std::fs::create_dir(&bin).unwrap();
    let opened = env.outside().join("opened");
    let script = format!("#!/bin/sh\nprintf %s \"$1\" > {}\n", opened.display());
    std::fs::write(bin.join("xdg-open"), script).unwrap();
    std::fs::set_permissions(bin.join("xdg-open"), PermissionsExt::from_mode(0o755)).unwrap();
    env.write("page.html", "<p>hello</p>");
    let call = |args: Value| {
        let args = args.to_string();
        let mut command =
            env.command(&["tool", "call", "open_file", "--policy", "auto", "--args", &args]);
        command.env("DISPLAY", ":9").env("PATH", &bin);
        crate::support::end(command, b"")
    };
    call(json!({"path": "page.html"})).code(0);
    let seen = std::fs::read_to_string(&opened).unwrap();
    assert_eq!(seen, env.root().join("page.html").canonicalize().unwrap().to_str().unwrap());
    call(json!({"path": "../page.html"})).code(1);
    call(json!({"path": "/etc/hosts"})).code(1);
    // Without a desktop, the tool does not exist.
    env.run(&["tool", "show", "open_file"]).code(4);
}

/// Regression: stopping the tools must also stop the programs of other processes, even without a
/// daemon.
#[test]
fn stopped_tools_stop_what_another_process_runs() {
    let env = enabled();
    std::thread::scope(|scope| {
        let call = scope.spawn(|| sh(&env, "execute_shell_command", "touch began; sleep 30"));
        let until = Instant::now() + Duration::from_secs(20);
        while env.read("began").is_none() {
            assert!(Instant::now() < until && !call.is_finished(), "it never began");
            std::thread::sleep(Duration::from_millis(10));
        }
        env.run(&["stop-tools"]).code(0);
        let (reply, _) = call.join().unwrap();
        assert_eq!(reply["outcome"], "cancelled", "{reply}");
    });
}

#[test]
fn who_looks_on_sees_how_far_a_command_is() {
    let env = enabled();
    let turns = "  - calls: [{tool: execute_shell_command, args: {command: 'for i in 1 2 3; do echo step $i; printf half; sleep 0.2; echo; done'}}]\n  - say: Done.\n";
    let ended = env.play(turns, &["--policy", "auto", "--json"]).code(0);
    let events: Vec<Value> = ended.stdout.lines().map(support::json).collect();
    let is_progress = |event: &&Value| event["state"] == "progress";
    let told: Vec<&Value> = events.iter().filter(is_progress).collect();
    assert_eq!(told[0]["message"], "step 1\n", "{told:?}");
    // Complete lines, and several of them; timing determines which ones.
    let texts: Vec<&str> = told.iter().filter_map(|event| event["message"].as_str()).collect();
    assert!(texts.len() > 1 && texts.iter().all(|text| text.ends_with('\n')), "{texts:?}");
    assert!(texts.iter().all(|text| text.starts_with("step 1\n")), "{texts:?}");
    assert!(told.iter().all(|event| event["call"].is_string()));
    // The result contains the output completely, and once.
    let done = events.iter().find(|event| event["state"] == "output-available").unwrap();
    assert!(done["output"].to_string().contains("half"), "{done}");
}

/// Starts a daemon that runs every command, with a model that starts `long` in the background and
/// then continues with `then`.
fn in_the_background(env: &TestEnv, long: &str, then: &str) -> DaemonProcess {
    env.own("rules.toml", "[[rules]]\neffect = \"allow\"\nrule = \"Bash\"\nunsafe = true\n");
    let turns = format!(
        "  - calls: [{{tool: execute_shell_command, args: {{command: '{long}', background: true}}}}]\n{then}"
    );
    let model = env.script("script", &turns);
    DaemonProcess::start(env, &["--model", &model])
}

#[test]
fn a_run_that_is_stopped_takes_its_background_and_its_shell_along() {
    let env = enabled();
    // No other command line of this machine contains these numbers.
    let (long, front) =
        (format!("sleep 77{}", std::process::id()), format!("sleep 78{}", std::process::id()));
    let second = format!(
        "  - calls: [{{tool: execute_shell_command, args: {{command: 'touch waits; {front}', timeout: 90}}}}]\n  - say: Done.\n"
    );
    let daemon = in_the_background(&env, &long, &second);
    let (status, run) = daemon.rest(&env, "POST runs", &json!({"text": "go"}));
    assert_eq!(status, 202, "{run}");
    eventually("the second command", || env.read("waits").is_some() && is_running(&front));
    assert!(is_running(&long), "the program in the background");
    let stop = format!("POST runs/{}/stop", run["run"].as_str().unwrap());
    let (status, answer) = daemon.rest(&env, &stop, &Value::Null);
    assert!(matches!(status, 200 | 202), "{status} {answer}");
    eventually("the end of what nobody can use any more", || {
        !is_running(&long) && !is_running(&front)
    });
    daemon.stop(&env).0.code(0);
}

#[test]
fn a_conversation_that_is_deleted_takes_its_background_along() {
    let env = enabled();
    let long = format!("sleep 79{}", std::process::id());
    let daemon = in_the_background(&env, &long, "  - say: It is up.\n");
    let body = json!({"text": "Start it", "wait": true});
    let (status, run) = daemon.rest(&env, "POST runs", &body);
    assert_eq!((status, run["text"].as_str()), (200, Some("It is up.")), "{run}");
    assert!(is_running(&long), "it goes on after its run");
    let id = run["conversation"].as_str().unwrap();
    env.run(&["conversation", "delete", id]).code(0);
    eventually("its end", || !is_running(&long));
    let gone = daemon.rest(&env, &format!("GET conversations/{id}"), &Value::Null);
    assert_eq!(gone.0, 404, "{}", gone.1);
    let history = env.run(&["history"]).code(0).stdout;
    assert!(history.contains("execute_shell_command"), "calls stay: {history}");
    daemon.stop(&env).0.code(0);
}

/// Returns whether a process has this command line.
fn is_running(line: &str) -> bool {
    let all = std::fs::read_dir("/proc").unwrap().flatten();
    let mut lines = all.filter_map(|entry| std::fs::read(entry.path().join("cmdline")).ok());
    lines.any(|found| String::from_utf8_lossy(&found).replace('\0', " ").trim() == line)
}
