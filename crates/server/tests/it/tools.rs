//! Tools over HTTP: listing, showing, explaining, testing and configuring them.

use std::sync::Arc;

use serde_json::{Value, json};
use toolcrib_core::{ConfigKey, Risk, ToolOutput};
use toolcrib_server::DaemonHost as _;
use toolcrib_testkit::ScriptedTool;

use crate::calls::with_tools;
use crate::support::{Client, Plan, TestDaemon};

#[tokio::test]
async fn all_tools_are_listed_with_their_state() {
    let daemon = TestDaemon::start().await;
    let client = daemon.client();
    let answer = client.get("/api/v1/tools").await;
    let tools = answer.expect(200);
    let find = |tools: &Value, name: &str| {
        tools["items"].as_array().unwrap().iter().find(|t| t["name"] == name).unwrap().clone()
    };
    let read = find(&tools, "read_file");
    assert_eq!(
        (&read["status"], &read["state"], &read["risk"]),
        (&json!("system"), &json!("on"), &json!("safe"))
    );
    assert_eq!((&read["offered"], &read["metrics"]), (&json!(true), &Value::Null));
    assert!(read["tokens"].as_u64().unwrap() > 50);
    let tag = answer.headers["etag"].to_str().unwrap();
    let again = client.clone().with("if-none-match", tag).get("/api/v1/tools").await;
    assert_eq!(again.status, 304);
    client.put("/api/v1/switches/tool:read_file", &json!({"state": "off"})).await.expect(200);
    client.post("/api/v1/calls", &json!({"tool": "read_file"})).await.expect(403);
    let tools = client
        .clone()
        .with("if-none-match", tag)
        .get("/api/v1/tools?metrics=true")
        .await
        .expect(200);
    let read = find(&tools, "read_file");
    assert_eq!((&read["status"], &read["enabled"]), (&json!("disabled"), &json!(false)));
    assert_eq!((&read["metrics"]["count"], &read["metrics"]["not_run"]), (&json!(1), &json!(1)));
    let metrics = client.get("/api/v1/tools/read_file/metrics").await.expect(200);
    assert_eq!(metrics, read["metrics"]);
    assert_eq!(client.get("/api/v1/tools/list_dir/metrics").await.expect(200)["count"], 0);
    daemon.stop().await;
}

#[tokio::test]
async fn tools_are_found_by_a_need() {
    let daemon = TestDaemon::start().await;
    let client = daemon.client();
    let found = client.get("/api/v1/tools?find=read%20a%20text%20file&limit=2").await.expect(200);
    let items = found["items"].as_array().unwrap();
    assert_eq!(items[0]["name"], "read_file");
    assert!(items.len() <= 2, "{found}");
    assert!(items[0]["score"].as_f64().unwrap() > 0.3, "{found}");
    assert_eq!(items[0]["kind"], "local");
    let none = client.get("/api/v1/tools?find=zorbulon%20frobnication").await.expect(200);
    assert_eq!(none["items"], json!([]));
    for limit in ["0", "101"] {
        let answer = client.get(&format!("/api/v1/tools?find=x&limit={limit}")).await;
        assert_eq!(answer.problem(), "invalid");
    }
    // The search does not find a disabled tool.
    client.put("/api/v1/switches/tool:read_file", &json!({"state": "off"})).await.expect(200);
    let found = client.get("/api/v1/tools?find=read%20a%20text%20file").await.expect(200);
    assert!(found["items"].as_array().unwrap().iter().all(|tool| tool["name"] != "read_file"));
    daemon.stop().await;
}

#[tokio::test]
async fn a_tool_is_shown_and_one_that_is_not_there_has_near_names() {
    let daemon = TestDaemon::start().await;
    let client = daemon.client();
    let shown = client.get("/api/v1/tools/web_fetch").await.expect(200);
    assert_eq!(shown["name"], "fetch_url", "an alias finds it");
    assert_eq!(shown["timeout_ms"], 15_000);
    assert_eq!(shown["input_schema"]["type"], "object");
    assert_eq!(shown["definition_hash"].as_str().unwrap().len(), 64);
    let answer = client.get("/api/v1/tools/read_flie").await;
    assert_eq!(answer.problem(), "not_found");
    assert!(answer.text.contains("read_file"), "{}", answer.text);
    for path in ["why", "metrics"] {
        let answer = client.get(&format!("/api/v1/tools/nothing/{path}")).await;
        assert_eq!(answer.problem(), "not_found");
    }
    daemon.stop().await;
}

#[tokio::test]
async fn why_a_tool_is_not_offered_is_said() {
    let daemon = TestDaemon::start().await;
    let client = daemon.client();
    let why = async |client: &Client, query: &str| {
        client.get(&format!("/api/v1/tools/read_file/why{query}")).await.expect(200)
    };
    assert_eq!(why(&client, "").await["offered"], true);
    let limited = json!({"name": "ci", "roles": ["caller"], "tools": ["list_dir"]});
    let made = client.post("/api/v1/tokens", &limited).await.expect(201);
    let ci = daemon.anybody().with_token(made["token"].as_str().unwrap());
    assert_eq!(why(&ci, "").await["excluded"]["because"], "agent");
    assert_eq!(why(&ci, "?agent=general-assistant").await["offered"], true);
    assert_eq!(client.get("/api/v1/tools/read_file/why?agent=nobody").await.problem(), "not_found");
    client.put("/api/v1/switches/tool:read_file", &json!({"state": "off"})).await.expect(200);
    let off = why(&client, "").await;
    assert_eq!((&off["offered"], &off["excluded"]["because"]), (&json!(false), &json!("disabled")));
    client.put("/api/v1/kill-switch", &json!({})).await.expect(200);
    assert_eq!(why(&client, "").await["excluded"]["because"], "kill_switch");
    daemon.stop().await;
}

fn needs_keys() -> Arc<ScriptedTool> {
    let key = |key: &str, secret: bool| ConfigKey {
        key: key.to_owned(),
        description: "A value.".to_owned(),
        secret,
        required: true,
    };
    let tool = ScriptedTool::new("weather").spec(|spec| {
        spec.config = vec![key("CITY", false), key("KEY", true)];
        spec.risk = Risk::Safe;
    });
    Arc::new(tool.returns(ToolOutput::text("sunny")))
}

#[tokio::test]
async fn a_tool_is_tried() {
    let weather = needs_keys();
    let greet = Arc::new(ScriptedTool::new("greet"));
    let risky = Arc::new(ScriptedTool::new("risky").spec(|spec| spec.risk = Risk::Critical));
    let daemon = TestDaemon::with(with_tools(&[&weather, &greet, &risky])).await;
    let client = daemon.client();
    let test = async |tool: &str, body: Value| {
        client.post(&format!("/api/v1/tools/{tool}/test"), &body).await
    };
    let tested = test("greet", json!({})).await.expect(200);
    assert_eq!(tested["message"], "Configuration looks complete");
    let tested = test("weather", json!({})).await.expect(200);
    assert_eq!((&tested["complete"], &tested["missing"]), (&json!(false), &json!(["CITY", "KEY"])));
    let tested = test("greet", json!({"arguments": {}})).await.expect(200);
    assert_eq!(tested["call"]["status"], "succeeded");
    assert_eq!(
        test("weather", json!({"arguments": {}})).await.expect(200)["call"]["error_type"],
        "not_configured"
    );
    let would = async |tool: &str| {
        let tested = test(tool, json!({"arguments": {}, "dry_run": true})).await.expect(200);
        tested["forecast"]["would"].as_str().unwrap().to_owned()
    };
    assert_eq!((would("greet").await, would("risky").await), ("run".into(), "ask".into()));
    assert_eq!((greet.runs(), risky.runs(), weather.runs()), (1, 0, 0));
    assert_eq!(test("greet", json!({"dry_run": true})).await.problem(), "invalid");
    assert_eq!(test("greet", json!({"args": {}})).await.problem(), "bad_request");
    daemon.stop().await;
}

#[tokio::test]
async fn values_of_a_tool_are_set_and_secrets_go_to_the_vault() {
    let weather = needs_keys();
    let plan = Plan {
        toolcrib: Box::new(|settings| {
            let vault = toolcrib_store::vault::Vault::in_folder(settings.state.join("vault"));
            settings.vault = Some(vault);
        }),
        ..with_tools(&[&weather])
    };
    let daemon = TestDaemon::with(plan).await;
    let client = daemon.client();
    let place = |key: &str| format!("/api/v1/tools/weather/config/{key}");
    let set = client.put(&place("KEY"), &json!({"value": "a very secret key"})).await.expect(200);
    assert_eq!((&set["config"]["set"], &set["config"]["value"]), (&json!(true), &json!("***")));
    let shown = client.get("/api/v1/tools/weather").await;
    assert!(!shown.text.contains("a very secret key"));
    // The shown value can be written back.
    let kept = client.put(&place("KEY"), &json!({"value": "***"})).await.expect(200);
    assert_eq!(kept["config"]["set"], true);
    let secrets = client.get("/api/v1/secrets").await.expect(200);
    assert_eq!(secrets["items"][0]["name"], "weather.KEY");
    let gone = client.delete(&place("KEY")).await.expect(200);
    assert_eq!(gone["config"]["set"], false);
    client.delete(&place("KEY")).await.expect(200);
    assert_eq!(client.put(&place("NONE"), &json!({"value": "x"})).await.problem(), "not_found");
    let made = client
        .post("/api/v1/tokens", &json!({"name": "op", "roles": ["operator"]}))
        .await
        .expect(201);
    let operator = daemon.anybody().with_token(made["token"].as_str().unwrap());
    let refused = operator.put(&place("KEY"), &json!({"value": "another secret key"})).await;
    assert_eq!(refused.problem(), "forbidden");
    // A value in plain text is removed from the configuration, and the change is recorded.
    daemon.host.set_setting("tools.weather.config.KEY", Some("written by hand")).unwrap();
    client.put(&place("KEY"), &json!({"value": "one more secret key"})).await.expect(200);
    assert!(!client.get("/api/v1/settings").await.text.contains("weather.config.KEY"));
    let audit = client.get("/api/v1/audit?kind=administered").await.text;
    assert!(audit.contains("setting.unset"), "{audit}");
    // A value that is not secret is stored in the configuration.
    operator.put(&place("CITY"), &json!({"value": "Vienna"})).await.expect(200);
    let settings = client.get("/api/v1/settings").await.expect(200);
    let row = settings["items"]
        .as_array()
        .unwrap()
        .iter()
        .find(|row| row["key"] == "tools.weather.config.CITY");
    assert_eq!(row.unwrap()["value"], "Vienna");
    daemon.stop().await;
}
