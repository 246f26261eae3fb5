//! Invalid input to and from models: each kind has its message and its exit code, and no call runs
//! that must not.

use serde_json::{Value, json};

use crate::support::{self, Provider, Reply, TestEnv, end};

/// Runs `run` against this server, with a key.
fn ask(env: &TestEnv, provider: &Provider, more: &[&str]) -> (String, String, i32) {
    let url = provider.url();
    let fixed = ["run", "--provider", "deepseek", "--base-url", &url, "--model", "deepsek-chat"];
    let mut command = env.command(&[&fixed, more, &["Do it"]].concat());
    command.env("DEEPSEEK_API_KEY", "sk-very-secret-4711");
    let ended = end(command, b"");
    assert!(!ended.stdout.contains("very-secret") && !ended.stderr.contains("very-secret"));
    (ended.stdout, ended.stderr, ended.code)
}

fn error(message: &str) -> Value {
    json!({"error": {"message": message, "type": "invalid_request_error"}})
}

#[test]
fn no_provider_is_two_lines_of_what_to_do() {
    let env = TestEnv::new();
    let ended = env.run(&["run", "Do it"]).code(3);
    assert_eq!((ended.stdout.as_str(), ended.stderr.lines().count()), ("", 2), "{ended:#?}");
    ended.says(&["toolcrib init", "ANTHROPIC_API_KEY", "Ollama", "--model scripted:FILE"]);
    let ended = env.run(&["run", "--json", "Do it"]).code(3);
    assert_eq!(support::json(&ended.stderr)["exit_code"], 3);
}

#[test]
fn a_wrong_key_is_named_by_where_it_comes_from() {
    let answer = || Reply::json(401, &error("Authentication Fails, your api key is invalid"));
    let provider = Provider::start(vec![answer(), answer()], Value::Null);
    let env = TestEnv::new();
    let (stdout, stderr, code) = ask(&env, &provider, &[]);
    assert_eq!((stdout.as_str(), code), ("", 3), "{stderr}");
    for part in ["refuses the key …4711", "DEEPSEEK_API_KEY", "Authentication Fails"] {
        assert!(stderr.contains(part), "{part}: {stderr}");
    }
    assert_eq!(provider.asked().len(), 1, "it is not tried again");
    let (stdout, _, code) = ask(&env, &provider, &["--json"]);
    let events = support::lines(&stdout);
    assert_eq!((code, &events.last().unwrap()["status"]), (3, &json!("failed")));
}

#[test]
fn an_unknown_model_comes_with_near_names() {
    let answer = Reply::json(
        404,
        &json!({"error": {"message": "The model `deepsek-chat` does not exist", "code": "model_not_found"}}),
    );
    let models =
        json!({"object": "list", "data": [{"id": "deepseek-chat"}, {"id": "deepseek-reasoner"}]});
    let provider = Provider::start(vec![answer], models);
    let (_, stderr, code) = ask(&TestEnv::new(), &provider, &[]);
    assert_eq!(code, 3, "{stderr}");
    assert!(stderr.contains("does not know the model \"deepsek-chat\""), "{stderr}");
    assert!(stderr.contains("Similar names there: deepseek-chat"), "{stderr}");
}

#[test]
fn an_unknown_provider_comes_with_a_near_name() {
    let env = TestEnv::new();
    let unknown = ["run", "--provider", "antropic", "--model", "x", "Do it"];
    env.run(&unknown).code(2).says(&["did you mean `anthropic`?"]);
    env.own("config.toml", "[model]\ndefault = \"olama/x\"\n");
    env.run(&["run", "Do it"]).code(3).says(&["did you mean `ollama`?", "[model] default"]);
    env.own("config.toml", "[modle]\ndefault = \"x\"\n");
    env.run(&["run", "Do it"]).code(3).says(&["config.toml:1", "did you mean `model`?"]);
}

/// The model does not support tools: they are described as text, its calls are parsed from its
/// text, and the next process remembers that.
#[test]
fn a_model_without_tools_is_asked_in_text_and_remembered() {
    let refusal = || Reply::json(400, &error("deepsek-chat does not support tools"));
    let called = || {
        Reply::says(
            "<tool_call>\n{\"name\": \"read_file\", \"arguments\": {\"path\": \"notes.md\"}}\n</tool_call>",
        )
    };
    let said = || Reply::says("You want oats.");
    let replies = vec![refusal(), called(), said(), called(), said()];
    let provider = Provider::start(replies, Value::Null);
    let env = TestEnv::new();
    for (first, requests) in [(true, 3), (false, 2)] {
        let before = provider.asked().len();
        let (stdout, stderr, code) = ask(&env, &provider, &["--no-stream"]);
        assert_eq!((stdout.as_str(), code), ("You want oats.\n", 0), "{stderr}");
        assert!(stderr.contains("read_file … done"), "{stderr}");
        let asked = provider.asked().split_off(before);
        assert_eq!(asked.len(), requests, "{asked:?}");
        assert_eq!(asked[0].body.get("tools").is_some(), first);
        let text = asked.last().unwrap().body["messages"].to_string();
        assert!(text.contains("buy oats") && text.contains("tool_call"), "{text}");
    }
}

#[test]
fn a_server_that_is_not_there() {
    let listener = std::net::TcpListener::bind(("127.0.0.1", 0)).unwrap();
    let url = format!("http://{}/v1", listener.local_addr().unwrap());
    drop(listener);
    let env = TestEnv::new();
    env.own("config.toml", "[providers.mine]\nkind = \"openai-compatible\"\nretries = 0\n");
    let args = ["run", "--provider", "mine", "--base-url", &url, "--model", "m", "Do it"];
    env.run(&args).code(1).says(&["mine", "Check that it runs"]);
}

#[test]
fn a_script_that_cannot_be_played() {
    let env = TestEnv::new();
    env.run(&["run", "--model", "scripted:nothing.yaml", "Do it"]).code(3).says(&["nothing.yaml"]);
    env.run(&["run", "--model", "scripted:", "Do it"]).code(2).says(&["scripted:FILE"]);
    for (turns, words) in [
        ("\n  - sya: Hello.\n", "unknown key `sya`, did you mean `say`?"),
        ("\n  - {}\n", "turn 1"),
        ("\n  - say: [", "script.yaml:"),
    ] {
        env.play(turns, &[]).code(3).says(&["script.yaml:", words]);
    }
}
