//! `toolcrib tool find`, and a model that finds its tools in a run of the binary.

use serde_json::{Value, json};

use crate::support::{self, Provider, Reply, TestEnv};

const TOOLS: &str = r#"{"type":"tool","id":"s:weather","server":"","name":"get_weather","description":"Forecast for a city.","parameters":[{"name":"city"}]}
{"id":"s:mail","server":"mail","name":"send","description":"Sends an e-mail."}

{"name":"draw_chart","description":"Draws a chart of numbers.","parameters":null}
"#;

#[test]
fn needs_find_tools_of_its_own() {
    let env = TestEnv::new();
    let text = env.run(&["tool", "find", "read a text file"]).code(0).stdout;
    let first = text.lines().next().unwrap();
    assert!(first.contains("read_file"), "{text}");
    let found = support::json(
        &env.run(&["tool", "find", "--json", "--limit", "2", "what time is it"]).code(0).stdout,
    );
    let names: Vec<&str> = found["found"]
        .as_array()
        .unwrap()
        .iter()
        .map(|row| row["name"].as_str().unwrap())
        .collect();
    assert_eq!(names[0], "get_current_time");
    assert!(names.len() <= 2, "{found}");
    assert!(found["found"][0]["tokens"].as_u64().unwrap() > 10, "{found}");
    let nothing = env.run(&["tool", "find", "frobnicate the quux of zorbulon"]).code(0);
    assert_eq!(nothing.stdout, "");
    assert!(nothing.stderr.contains("no tool fits"), "{}", nothing.stderr);
}

#[test]
fn needs_of_a_file_find_tools_of_a_file() {
    let env = TestEnv::new();
    env.write("tools.jsonl", TOOLS);
    env.write("queries.jsonl", "{\"id\":\"q1\",\"query\":\"will it rain in Oslo\"}\n{\"id\":2,\"query\":\"write to my boss\"}\n");
    let base =
        ["tool", "find", "--tools", "tools.jsonl", "--queries", "queries.jsonl", "--limit", "1"];
    for words in [&base[..], &[&base[..], &["--lines"]].concat()] {
        let lines = support::lines(&env.run(words).code(0).stdout);
        assert_eq!(lines.len(), 2);
        assert_eq!(
            (&lines[0]["id"], &lines[0]["results"][0]["id"]),
            (&json!("q1"), &json!("s:weather"))
        );
        assert_eq!((&lines[1]["id"], &lines[1]["results"][0]["id"]), (&json!(2), &json!("s:mail")));
        assert_eq!(lines[0]["results"].as_array().unwrap().len(), 1);
        assert!(lines[0]["results"][0]["score"].as_f64().unwrap() > 0.1);
    }
    let text = env.run(&["tool", "find", "--tools", "tools.jsonl", "a bar chart"]).code(0).stdout;
    assert!(text.lines().next().unwrap().ends_with("draw_chart"), "{text}");
}

#[test]
fn what_cannot_be_read_is_named() {
    let env = TestEnv::new();
    env.write("tools.jsonl", TOOLS);
    env.write("bad.jsonl", "{\"id\":1}\n");
    for (words, code, said) in [
        (&["tool", "find"][..], 2, "required"),
        (&["tool", "find", " "], 2, "say in words"),
        (&["tool", "find", "x", "--limit", "0"], 2, "--limit"),
        (&["tool", "find", "--queries", "tools.jsonl"], 2, "--tools"),
        (
            &["tool", "find", "x", "--tools", "tools.jsonl", "--queries", "bad.jsonl"],
            2,
            "cannot be used with",
        ),
        (&["tool", "find", "--tools", "tools.jsonl", "--queries", "tools.jsonl"], 2, "two files"),
        (&["tool", "find", "--tools", "gone.jsonl", "x"], 1, "cannot read gone.jsonl"),
        (
            &["tool", "find", "--tools", "tools.jsonl", "--queries", "bad.jsonl"],
            2,
            "queries, line 1: a query needs a `query`",
        ),
    ] {
        env.run(words).code(code).says(&[said]);
    }
    env.own("config.toml", "[discovery]\nmodel = \"no-such-model\"\n");
    env.run(&["tool", "find", "--tools", "tools.jsonl", "x"]).code(3).says(&["model.safetensors"]);
    env.run(&["tool", "find", "read a file"]).code(3).says(&["`[discovery]`"]);
    env.run(&["tool", "list"]).code(0);
}

#[test]
fn a_model_finds_its_tools_in_a_run() {
    let env = TestEnv::new();
    env.own("config.toml", "[discovery]\nmode = \"search\"\n");
    let turns = "  - calls: [{tool: find_tools, args: {query: read a text file of the workspace}}]\n  - calls: [{tool: read_file, args: {path: notes.md}}]\n    expect: {results: [{tool: find_tools, outcome: succeeded, contains: read_file}]}\n  - say: It says oats.\n";
    let events = support::lines(&env.play(turns, &["--json"]).code(0).stdout);
    let requests: Vec<&Value> = events.iter().filter(|event| event["type"] == "request").collect();
    assert_eq!(requests.len(), 3, "{events:?}");
    let tools = |at: usize| requests[at]["tools"].as_u64().unwrap();
    assert!(tools(0) < 12, "{events:?}");
    assert!(tools(1) > tools(0));
    assert!(requests[0]["tokens_saved"].as_u64().unwrap() > 2_000);
    let end = events.iter().find(|event| event["type"] == "run-end").unwrap();
    assert_eq!(end["text"], "It says oats.");
    assert!(end["tokens_saved"].as_u64().unwrap() > 6_000, "{end}");
    let said = env.play(turns, &[]).code(0).stderr;
    assert!(said.contains("tokens of tool definitions were not sent"), "{said}");
}

/// A provider's model determines the order: its requests, and the remark if it does not respond.
#[test]
fn a_model_of_embeddings_is_asked() {
    let vectors = json!({"data": [{"index": 0, "embedding": [1.0, 0.0]}]});
    let server = Provider::start(vec![Reply::json(200, &vectors)], json!({}));
    let env = TestEnv::new();
    let config = format!(
        "[discovery]\nembeddings = \"near/nomic\"\n[providers.near]\nkind = \"openai-compatible\"\nbase_url = \"{}\"\nkey = \"sk-near-0123456789\"\n",
        server.url()
    );
    env.own("config.toml", &config);
    let found = env.run(&["tool", "find", "read a text file"]).code(0);
    assert!(found.stdout.lines().next().unwrap().contains("read_file"), "{}", found.stdout);
    // One vector for many texts is not a valid response.
    assert!(found.stderr.contains("the order is that of the built-in index"), "{}", found.stderr);
    let asked = &server.asked()[0];
    assert_eq!(
        (&asked.body["model"], &asked.body["input"][0]),
        (&json!("nomic"), &json!("read a text file"))
    );
    assert!(asked.body["input"].as_array().unwrap().len() > 2, "{}", asked.body);
    assert_eq!(asked.authorization, "Bearer sk-near-0123456789");
    env.own("config.toml", "[discovery]\nembeddings = \"nobody/x\"\n");
    env.run(&["tool", "find", "x"]).code(3).says(&["`discovery.embeddings`"]);
}
