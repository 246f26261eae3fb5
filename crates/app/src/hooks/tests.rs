//! Hook programs on a real engine.

use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::path::Path;
use std::time::{Duration, Instant};

use serde_json::{Value, json};
use tempfile::TempDir;
use toolcrib_core::{ErrorType, EventKind, Origin, RawArgs};

use super::{CommandHook, GUARD_TIME, HookEvent, OBSERVER_TIME, ToolMatcher};
use crate::{Settings, Toolcrib};

/// Creates a workspace with a file, and a state folder.
fn place() -> TempDir {
    let dir = TempDir::new().unwrap();
    fs::create_dir(dir.path().join("work")).unwrap();
    fs::write(dir.path().join("work/a.txt"), "one\n").unwrap();
    dir
}

fn script(dir: &Path, name: &str, text: &str) -> String {
    let path = dir.join(name);
    fs::write(&path, format!("#!/bin/sh\n{text}\n")).unwrap();
    fs::set_permissions(&path, fs::Permissions::from_mode(0o755)).unwrap();
    path.display().to_string()
}

fn hook(event: HookEvent, matcher: &str, command: &[&str]) -> CommandHook {
    CommandHook {
        name: "check".into(),
        origin: "config.toml:7".into(),
        event,
        matcher: matcher.parse().unwrap(),
        command: command.iter().map(|word| (*word).to_owned()).collect(),
        time: if event == HookEvent::Guard { GUARD_TIME } else { OBSERVER_TIME },
        env: vec![("KEPT".into(), "yes".into())],
    }
}

async fn toolcrib(dir: &TempDir, hooks: Vec<CommandHook>) -> Toolcrib {
    let mut settings = Settings::new(dir.path().join("work"), dir.path().join("state"));
    settings.hooks = hooks;
    Toolcrib::builder(settings).build().await.unwrap()
}

/// Reads a file; returns the text of the result, and the error type.
async fn read(toolcrib: &Toolcrib, path: &str) -> (String, Option<ErrorType>) {
    let args = RawArgs::Value(json!({"path": path}));
    let answer = toolcrib.call("read_file", args, Origin::Cli).await.unwrap();
    match &answer.outcome().unwrap().result {
        Ok(result) => (result.result.to_string(), None),
        Err(error) => (error.message.clone(), Some(error.error_type)),
    }
}

/// Returns the result of a call with this guard script.
async fn guarded(script_text: &str) -> (String, Option<ErrorType>) {
    let dir = place();
    let program = script(dir.path(), "check.sh", script_text);
    let toolcrib = toolcrib(&dir, vec![hook(HookEvent::Guard, "read_file", &[&program])]).await;
    read(&toolcrib, "a.txt").await
}

#[tokio::test]
async fn a_guard_that_exits_with_0_lets_a_call_go_on() {
    for text in [
        "exit 0",
        "echo; echo remark >&2",
        "echo '{}'",
        "echo '{\"decision\": \"allow\"}'",
        "printf '\\357\\273\\277{\"decision\": \"allow\"}'",
    ] {
        let (words, error) = guarded(text).await;
        assert!(error.is_none() && words.contains("one"), "{text}: {words}");
    }
}

#[tokio::test]
async fn everything_else_denies_and_names_the_hook_and_its_words() {
    let cases = [
        ("echo 'not on Sundays.' >&2; exit 2", "not on Sundays. "),
        ("exit 2", "it gives no reason"),
        ("echo '{\"decision\": \"deny\", \"reason\": \"no way\"}'", "no way"),
        ("echo broken >&2; exit 1", "it failed with exit code 1: broken"),
        ("kill -9 $$", "it was ended by signal 9"),
        ("echo '{\"decision\": \"maybe\"}'", "its answer is not an object"),
        ("echo '{\"verdict\": \"deny\"}'", "its answer is not an object"),
        ("echo '{\"rewrite\": 5}'", "its answer is not an object"),
    ];
    for (text, reason) in cases {
        let (words, error) = guarded(text).await;
        assert_eq!(error, Some(ErrorType::PolicyDenied), "{text}: {words}");
        assert!(words.contains("guard check (config.toml:7)"), "{text}: {words}");
        assert!(words.contains(reason), "{text}: {words}");
    }
}

#[tokio::test]
async fn output_of_a_guard_that_is_no_object_denies() {
    let cases = [
        "echo fine",
        "echo 'checking policy'; echo '{\"decision\": \"deny\"}'",
        "echo '{\"decision\": \"allow\"}'; echo done",
        "echo '[{\"decision\": \"deny\"}]'",
        "echo '[\"allow\", null, null]'",
        "echo '\"deny\"'",
        "echo null",
        "echo '{\"reason\": \"it holds a key\"}'",
    ];
    for text in cases {
        let (words, error) = guarded(text).await;
        assert_eq!(error, Some(ErrorType::PolicyDenied), "{text}: {words}");
        assert!(words.contains("print nothing, or one JSON object"), "{text}: {words}");
    }
    let marked = "printf '\\357\\273\\277{\"decision\": \"deny\", \"reason\": \"no way\"}'";
    let (words, error) = guarded(marked).await;
    assert_eq!(error, Some(ErrorType::PolicyDenied));
    assert!(words.contains("no way"), "a byte order mark is not text: {words}");
}

#[tokio::test]
async fn a_guard_that_does_not_exist_or_hangs_denies() {
    let dir = place();
    let missing = hook(HookEvent::Guard, "*", &["/nowhere/at/all"]);
    let (words, error) = read(&toolcrib(&dir, vec![missing]).await, "a.txt").await;
    assert_eq!(error, Some(ErrorType::PolicyDenied));
    assert!(words.contains("does not exist"), "{words}");

    let program = script(dir.path(), "check.sh", "sleep 60");
    let mut hangs = hook(HookEvent::Guard, "*", &[&program]);
    hangs.time = Duration::from_millis(200);
    let begun = Instant::now();
    let (words, error) = read(&toolcrib(&dir, vec![hangs]).await, "a.txt").await;
    assert_eq!(error, Some(ErrorType::PolicyDenied));
    assert!(words.contains("it took longer than 0.2 s"), "{words}");
    assert!(begun.elapsed() < Duration::from_secs(30));
}

#[tokio::test]
async fn a_guard_rewrites_arguments_which_are_checked_again() {
    let (words, error) = guarded("echo '{\"rewrite\": {\"path\": \"a.txt\"}}'").await;
    assert!(error.is_none(), "{words}");
    let dir = place();
    fs::write(dir.path().join("work/b.txt"), "two\n").unwrap();
    let program = script(dir.path(), "check.sh", "echo '{\"rewrite\": {\"path\": \"b.txt\"}}'");
    let other = toolcrib(&dir, vec![hook(HookEvent::Guard, "*", &[&program])]).await;
    let (words, _) = read(&other, "a.txt").await;
    assert!(words.contains("two"), "{words}");
    let (words, error) = guarded("echo '{\"rewrite\": {\"limit\": 5}}'").await;
    assert_eq!(error, Some(ErrorType::ValidationError), "{words}");
}

#[tokio::test]
async fn a_hook_is_about_the_tools_that_its_matcher_names() {
    let dir = place();
    let denies = script(dir.path(), "check.sh", "exit 2");
    for (matcher, is_denied) in [
        ("*", true),
        ("read_*", true),
        ("write_file|read_file", true),
        ("write_*", false),
        ("read", false),
    ] {
        let toolcrib = toolcrib(&dir, vec![hook(HookEvent::Guard, matcher, &[&denies])]).await;
        let error = read(&toolcrib, "a.txt").await.1;
        assert_eq!(error.is_some(), is_denied, "{matcher}");
    }
    // A matcher may use an alias of a tool.
    let by_alias = hook(HookEvent::Guard, "web_fetch", &[&denies]);
    let toolcrib = toolcrib(&dir, vec![by_alias]).await;
    let args = RawArgs::Value(json!({"url": "http://127.0.0.1:9/"}));
    let answer = toolcrib.call("fetch_url", args, Origin::Cli).await.unwrap();
    let outcome = answer.outcome().unwrap();
    let error = outcome.result.as_ref().err().map(|error| error.error_type);
    assert_eq!(error, Some(ErrorType::PolicyDenied), "{outcome:?}");
}

#[tokio::test]
async fn a_program_reads_the_context_and_sees_nothing_else_of_ours() {
    let dir = place();
    let seen = dir.path().join("seen");
    let text = format!("cat > {0}/in; env > {0}/env; pwd > {0}/pwd", seen.display());
    fs::create_dir(&seen).unwrap();
    let program = script(dir.path(), "look.sh", &text);
    let toolcrib = toolcrib(&dir, vec![hook(HookEvent::Guard, "*", &[&program])]).await;
    assert!(read(&toolcrib, "a.txt").await.1.is_none());
    let text = |name: &str| fs::read_to_string(seen.join(name)).unwrap();
    let context: Value = serde_json::from_str(&text("in")).unwrap();
    let work = dir.path().join("work").canonicalize().unwrap();
    for (key, value) in [
        ("hook_point", json!("guard")),
        ("tool_name", json!("read_file")),
        ("parameters", json!({"path": "a.txt"})),
        ("role", json!("agent")),
        ("attempt", json!(1)),
        ("result", Value::Null),
        ("workspace", json!(work)),
        ("session_id", Value::Null),
        ("origin", json!("cli")),
    ] {
        assert_eq!(context[key], value, "{key}");
    }
    assert!(context["call"].is_string());
    assert_eq!(text("pwd").trim(), work.to_str().unwrap());
    let variables = text("env");
    let mut names: Vec<&str> =
        variables.lines().filter_map(|line| Some(line.split_once('=')?.0)).collect();
    names.retain(|name| !matches!(*name, "PWD" | "SHLVL" | "_" | "OLDPWD"));
    names.sort_unstable();
    assert_eq!(names, ["KEPT", "PATH", "TOOLCRIB_HOOK"]);
}

#[tokio::test]
async fn observers_are_told_and_change_nothing() {
    let dir = place();
    let log = dir.path().join("log");
    let tells = script(dir.path(), "tell.sh", &format!("cat >> {}; exit 2", log.display()));
    let events = [EventKind::BeforeTool, EventKind::AfterTool, EventKind::ToolError];
    let hooks: Vec<CommandHook> =
        events.iter().map(|kind| hook(HookEvent::On(*kind), "*", &[&tells])).collect();
    let toolcrib = toolcrib(&dir, hooks).await;
    assert!(
        read(&toolcrib, "a.txt").await.1.is_none(),
        "exit code 2 of an observer denies nothing"
    );
    assert!(read(&toolcrib, "none.txt").await.1.is_some());
    let remarks = toolcrib.flush_hooks().await;
    let said = "hook check (config.toml:7): it failed with exit code 2";
    assert_eq!(remarks, [said], "once, however often");
    assert_eq!(toolcrib.flush_hooks().await, [""; 0]);
    let told: Vec<Value> = fs::read_to_string(&log)
        .unwrap()
        .lines()
        .map(|line| serde_json::from_str(line).unwrap())
        .collect();
    let mut points: Vec<&str> =
        told.iter().filter_map(|context| context["hook_point"].as_str()).collect();
    points.sort_unstable();
    assert_eq!(points, ["on_after_tool", "on_before_tool", "on_before_tool", "on_tool_error"]);
    let of = |point: &str| told.iter().find(|context| context["hook_point"] == point).unwrap();
    assert!(of("on_after_tool")["result"].as_str().unwrap().contains("one"));
    assert!(of("on_after_tool")["duration"].as_f64().is_some());
    assert_eq!(of("on_tool_error")["error_type"], "file_not_found");
    assert_eq!(of("on_before_tool")["attempt"], 1);
}

#[tokio::test]
async fn observers_hear_of_denied_calls() {
    let dir = place();
    let log = dir.path().join("log");
    let tells = script(dir.path(), "tell.sh", &format!("cat >> {}", log.display()));
    let denies = script(dir.path(), "check.sh", "echo no >&2; exit 2");
    let hooks = vec![
        hook(HookEvent::Guard, "*", &[&denies]),
        hook(HookEvent::On(EventKind::PermissionDenied), "*", &[&tells]),
    ];
    let toolcrib = toolcrib(&dir, hooks).await;
    assert!(read(&toolcrib, "a.txt").await.1.is_some());
    assert_eq!(toolcrib.flush_hooks().await, [""; 0]);
    let context: Value = serde_json::from_str(&fs::read_to_string(&log).unwrap()).unwrap();
    assert_eq!(context["hook_point"], "on_permission_denied");
    assert!(context["error"].as_str().unwrap().contains("denied by the guard check"));
}

#[test]
fn matchers_are_read_or_refused() {
    let check = |text: &str, matches: &[&str], not: &[&str]| {
        let matcher: ToolMatcher = text.parse().unwrap();
        assert!(matches.iter().all(|name| matcher.matches(name)), "{text}");
        assert!(!not.iter().any(|name| matcher.matches(name)), "{text}");
        assert_eq!(matcher.to_string().parse::<ToolMatcher>().unwrap(), matcher);
    };
    check("a|b_*", &["a", "b_", "b_x"], &["ab", "b", "x"]);
    check(" a | b ", &["a", "b"], &["c"]);
    check("*__push", &["git__push"], &["git__pull"]);
    for wrong in ["", "a||b", "|", "Bash(git *)", "a b", "x,y"] {
        assert!(wrong.parse::<ToolMatcher>().is_err(), "{wrong}");
    }
}

#[test]
fn events_have_their_names() {
    for event in HookEvent::ALL {
        assert_eq!(event.as_str().parse::<HookEvent>(), Ok(event));
    }
    let near = "before_tool".parse::<HookEvent>().unwrap_err();
    assert_eq!(near, "unknown event `before_tool`, did you mean `on_before_tool`?");
    assert!("zzz".parse::<HookEvent>().unwrap_err().contains("known are guard, on_before_tool"));
}
