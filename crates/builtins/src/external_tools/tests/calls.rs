//! Running external tools: input, environment, failures, time limits.

use std::time::{Duration, Instant};

use serde_json::json;
use toolcrib_core::{Context, ErrorType, RunId};

use super::*;

async fn text(source: &ExternalToolSource, name: &str, args: Value) -> String {
    let said = call(source, name, args).await.unwrap();
    crate::test_support::TextOutput(said).text()
}

#[tokio::test]
async fn arguments_come_as_one_line_of_json() {
    let tools = Tools::new();
    tools.tool(
        "echo_it",
        &format!("{PLAIN}output = \"raw\""),
        "read -r line; printf %s \"$line\"; pwd",
    );
    let args = json!({"b": [1, 2.5, null], "a": "ä \" \\ \n '"});
    let said = text(&tools.source(), "echo_it", args.clone()).await;
    let folder = tools.at("echo_it").canonicalize().unwrap();
    let line = said.strip_suffix(folder.to_str().unwrap()).expect("it runs in its own folder");
    assert_eq!(serde_json::from_str::<Value>(line).unwrap(), args);
    assert!(line.starts_with("{\"b\""), "in the order of the caller: {line}");
}

#[tokio::test]
async fn a_program_that_reads_nothing_takes_any_arguments() {
    let tools = Tools::new();
    tools.tool("deaf", PLAIN, "exec <&-; echo done");
    let much = json!({"x": "y".repeat(2_000_000)});
    assert_eq!(text(&tools.source(), "deaf", much).await, "done");
}

#[tokio::test]
async fn the_environment_is_path_context_and_configured_values_and_nothing_else() {
    let tools = Tools::new();
    let keys = "command = [\"env\"]\n[config]\nKEY = { secret = true }\nURL = { default = \"u\" }\nNONE = { required = false }";
    tools.file("show/tool.toml", &format!("{PLAIN}{keys}"));
    let values = [("KEY", "k =\n1"), ("OTHER", "not declared"), ("NONE", "")];
    let own = values.map(|(key, value)| (key.to_owned(), value.to_owned())).into();
    let source =
        tools.source().with_config(Config::from([("show".to_owned(), own)])).with_locale("de-AT");
    let mut ctx = context();
    ctx.run = Some(RunId::fresh());
    ctx.context = Arc::new(Context {
        topic: "Shopping".into(),
        agent: "shop".to_owned(),
        conversation: "conv_1".to_owned(),
        workspace: "/w".to_owned(),
        ..Context::default()
    });
    let said = call_in(&ctx, &source, "show", json!({})).await.unwrap();
    let said = crate::test_support::TextOutput(said).text();
    let mut names: Vec<&str> =
        said.lines().filter_map(|line| line.split_once('=')).map(|(name, _)| name).collect();
    names.sort_unstable();
    assert_eq!(names, ["KEY", "PATH", "TOOLCRIB_CONTEXT", "URL"]);
    assert!(said.contains("KEY=k =\n1\n") && said.contains("URL=u"), "{said}");
    let told = said.lines().find_map(|line| line.strip_prefix("TOOLCRIB_CONTEXT=")).unwrap();
    assert_eq!(
        serde_json::from_str::<Value>(told).unwrap(),
        json!({
            "run": ctx.run.unwrap().to_string(), "call": ctx.call.to_string(), "conversation": "conv_1",
            "topic": "Shopping", "workspace": "/w", "locale": "de-AT", "agent": "shop"
        })
    );
}

#[tokio::test]
async fn a_tool_without_its_required_values_is_not_started() {
    let tools = Tools::new();
    tools.tool("keyed", &format!("{PLAIN}config = [\"A\", \"B\"]"), ": > started");
    let own = [("A".to_owned(), "1".to_owned()), ("B".to_owned(), String::new())].into();
    let source = tools.source().with_config(Config::from([("keyed".to_owned(), own)]));
    let error = call(&source, "keyed", json!({})).await.unwrap_err();
    assert_eq!(error.error_type, ErrorType::NotConfigured);
    assert!(error.message.contains("B has no value"), "{}", error.message);
    assert!(!tools.at("keyed/started").exists());
}

#[tokio::test]
async fn a_failure_says_what_the_program_said() {
    let tools = Tools::new();
    tools
        .tool("says", PLAIN, "echo answer; echo 'no such city' >&2; exit 3")
        .tool("prints", PLAIN, "echo on stdout; exit 1")
        .tool("silent", PLAIN, "exit 7")
        .tool("long", PLAIN, "head -c 100000 /dev/zero | tr '\\0' x >&2; echo the end >&2; exit 1")
        .tool("crashes", PLAIN, "echo oh >&2; kill -SEGV $$");
    let source = tools.source();
    for (name, kind, words) in [
        ("says", ErrorType::ExecutionError, "exit code 3. It says:\nno such city\n"),
        ("prints", ErrorType::ExecutionError, "exit code 1. It says:\non stdout\n"),
        ("silent", ErrorType::ExecutionError, "exit code 7. It says nothing more."),
        ("long", ErrorType::ExecutionError, "xxxthe end\n"),
        ("crashes", ErrorType::Crashed, "signal 11. It says:\noh\n"),
    ] {
        let error = call(&source, name, json!({})).await.expect_err(name);
        assert_eq!(error.error_type, kind, "{name}");
        assert!(error.message.contains(words), "{name}: {}", error.message);
        assert!(error.message.len() < 3_000 && !error.message.contains("answer\n"), "{name}");
        assert!(!error.is_transient());
    }
}

#[tokio::test]
async fn a_program_that_is_gone_says_so_without_the_paths_of_the_machine() {
    let tools = Tools::new();
    tools.tool("lost", PLAIN, "echo here").tool("odd", PLAIN, "");
    tools.file("odd/run", "#!/no/such/interpreter\n");
    let source = tools.source();
    let (lost, odd) = (handler(&source, "lost").await, handler(&source, "odd").await);
    fs::remove_file(tools.at("lost/run")).unwrap();
    for (tool, words) in [
        (lost, "could not be started: the program \"./run\" does not exist."),
        (odd, "the interpreter that \"./run\" names in its first line does not exist"),
    ] {
        let error = tool.call(&context(), &json!({})).await.unwrap_err();
        assert!(error.message.contains(words), "{}", error.message);
        let machine = tools.dir.path().to_str().unwrap().to_owned();
        assert!(!error.message.contains(&machine) && error.detail.unwrap().contains(&machine));
    }
}

#[tokio::test]
async fn time_and_a_stop_end_the_program() {
    let tools = Tools::new();
    tools.tool("slow", PLAIN, "sleep 600").tool(
        "reads",
        &format!("{PLAIN}effect = \"read\""),
        "sleep 600",
    );
    let source = tools.source();
    let begun = Instant::now();
    let mut short = context();
    short.deadline = Instant::now() + Duration::from_millis(100);
    let error = call_in(&short, &source, "slow", json!({})).await.unwrap_err();
    assert_eq!(error.error_type, ErrorType::Timeout);
    assert!(error.message.contains("Whether it took effect is unknown"), "{}", error.message);
    let stopped = context();
    stopped.cancel.cancel();
    let error = call_in(&stopped, &source, "reads", json!({})).await.unwrap_err();
    assert_eq!(
        (error.error_type, &*error.message),
        (ErrorType::Cancelled, "The call was stopped.")
    );
    assert!(begun.elapsed() < Duration::from_secs(10));
}

#[tokio::test]
async fn the_one_who_approves_reads_what_runs_and_how_it_is_kept_apart() {
    let tools = Tools::new();
    tools.tool("plain", PLAIN, "");
    let assessed = handler(&tools.source(), "plain").await.assess(&json!({})).unwrap();
    assert_eq!(assessed.summary.as_deref(), Some("run ./run of the tool plain, isolation none"));
}
