//! `toolcrib sandbox`: a program with limits, from the command line.

use std::fs;

use serde_json::Value;

use crate::support::{self, TestEnv};

/// Returns whether this host supports the level `namespace`; prints a note if it does not.
#[expect(clippy::print_stderr, reason = "what was not tried is said, whatever the test says")]
fn has_namespaces(env: &TestEnv) -> bool {
    let status = support::json(&env.run(&["sandbox", "status", "--json"]).stdout);
    let strongest = status[0]["strongest"].as_str().unwrap_or_default().to_owned();
    if strongest != "namespace" {
        eprintln!("NOT TRIED: this host gives no namespaces: {}", status[0]["features"]);
    }
    strongest == "namespace"
}

#[test]
fn status_says_case_by_case_what_was_tried() {
    let env = TestEnv::new();
    let status = support::json(&env.run(&["sandbox", "status", "--json"]).code(0).stdout);
    let local = &status[0];
    assert!(["namespace", "reduced"].contains(&local["strongest"].as_str().unwrap()), "{local}");
    let cases = local["cases"].as_array().unwrap();
    let strongest = &local["strongest"];
    let held = |case: &&Value| case["held_at"].as_array().unwrap().contains(strongest);
    assert!(cases.iter().filter(held).count() > 20, "{local}");
    let text = env.run(&["sandbox", "status"]).code(0).stdout;
    assert!(text.starts_with(&format!("local: {}", strongest.as_str().unwrap())), "{text}");
    assert!(text.contains("reading files that were not named"), "{text}");
}

#[test]
fn streams_and_statuses_pass_through_and_nothing_else_is_there() {
    let env = TestEnv::new();
    let sh = |script: &str| env.run(&["sandbox", "exec", "--write", ".", "--", "sh", "-c", script]);
    let ended = sh("cat notes.md; echo err >&2; exit 7").code(7);
    assert_eq!((ended.stdout.as_str(), ended.stderr.as_str()), ("buy oats\n", "err\n"));
    sh("kill -9 $$").code(137);
    let ended =
        sh("env | grep -v '^PATH=\\|^HOME=\\|^TMPDIR=\\|^PWD=\\|^OLDPWD=\\|^SHLVL=\\|^_='").code(1);
    assert_eq!(ended.stdout, "");
    sh("mkdir made && echo x > made/file").code(0);
    assert_eq!(env.read("made/file").as_deref(), Some("x\n"));
    env.run(&["sandbox", "exec", "--", "no-such-program"]).code(127);
    env.run(&["sandbox", "exec", "--read", "missing", "--", "true"]).code(2);
    env.run(&["sandbox", "exec", "--level", "external", "--", "true"]).code(5);
    env.run(&["sandbox", "exec", "--cwd", ".", "--", "true"]).code(2);
    env.run(&["sandbox", "exec", "--allow-host", "example.com", "--", "true"]).code(2);
}

#[test]
fn our_own_folders_are_not_there_whatever_is_named() {
    let env = TestEnv::new();
    let home = env.outside().join("home");
    fs::create_dir_all(&home).unwrap();
    fs::write(home.join("config.toml"), "# SECRET\n").unwrap();
    let path = env.outside().to_str().unwrap();
    let script = "cat $0/work/notes.md $0/home/config.toml; echo x > $0/home/new; echo x >> $0/home/config.toml; rm -rf $0/home; exit 0";
    let ended =
        env.run(&["sandbox", "exec", "--write", path, "--", "sh", "-c", script, path]).code(0);
    assert_eq!(ended.stdout, "buy oats\n");
    assert_eq!(fs::read_to_string(home.join("config.toml")).unwrap(), "# SECRET\n");
    assert!(!home.join("new").exists());
}

#[test]
fn what_is_not_there_yet_cannot_be_made_for_us() {
    let env = TestEnv::new();
    let path = env.outside().to_str().unwrap();
    let script = "mkdir -p $0/home; echo 'policy = \"auto\"' > $0/home/config.toml; exit 0";
    env.run(&["sandbox", "exec", "--write", path, "--", "sh", "-c", script, path]).code(0);
    assert!(!env.outside().join("home/config.toml").exists());
}

#[test]
fn time_and_limits_end_it_and_say_so() {
    let env = TestEnv::new();
    env.run(&[
        "sandbox",
        "exec",
        "--timeout",
        "0.3",
        "--",
        "sh",
        "-c",
        "trap '' TERM; sleep 60 & sleep 60; sleep 60",
    ])
    .code(124)
    .says(&["its time was over"]);
    env.run(&["sandbox", "exec", "--memory", "64", "--", "sh", "-c", "tail /dev/zero; exit 3"])
        .code(137)
        .says(&["more memory"]);
    if has_namespaces(&env) {
        let script =
            "dd if=/dev/zero of=/tmp/a bs=1M count=12 && dd if=/dev/zero of=/tmp/b bs=1M count=12";
        let ended = env.run(&["sandbox", "exec", "--disk", "16", "--", "sh", "-c", script]).code(1);
        assert!(ended.stderr.contains("No space left"), "{}", ended.stderr);
    }
}
