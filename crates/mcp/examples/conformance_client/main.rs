//! The client that the official conformance suite tests: the server's tools become entries of our registry, and each is called through the door.
//!
//! `conformance client --command conformance_client --scenario NAME` puts the address at the end.

#![expect(clippy::print_stderr, reason = "it is for people")]

use std::path::PathBuf;
use std::sync::Arc;

use serde_json::{Map, Value, json};
use toolcrib_core::{Batch, BoxFuture, Call, CallCtx, Invoker as _, Origin, RawArgs};
use toolcrib_engine::{Engine, EngineSettings, Policy, Preset};
use toolcrib_mcp::client::{
    Connection, Elicitation, Elicited, Host, Http, McpSource, Pins, Remote, ServerConfig,
    ServerName, Stdio,
};
use toolcrib_net::{AddressPolicy, HttpClient};
use toolcrib_sandbox::Process;

type Failed = Box<dyn std::error::Error>;

/// A person who answers every question with what it suggests.
struct Suite {
    http: HttpClient,
}

impl Host for Suite {
    fn start<'a>(&'a self, _: &'a str, _: &'a Stdio) -> BoxFuture<'a, Result<Process, String>> {
        Box::pin(std::future::ready(Err("no programs here".to_owned())))
    }

    fn http(&self) -> HttpClient {
        self.http.clone()
    }

    fn secret(&self, name: &str) -> Result<String, String> {
        Err(format!("there is no secret {name}"))
    }

    fn pins<'a>(&'a self, _: &'a str) -> BoxFuture<'a, Option<Pins>> {
        Box::pin(std::future::ready(None))
    }

    fn keep_pins<'a>(&'a self, _: &'a str, _: &'a Pins) -> BoxFuture<'a, Result<(), String>> {
        Box::pin(std::future::ready(Ok(())))
    }

    fn log_file(&self, _: &str) -> Option<PathBuf> {
        None
    }

    fn changed(&self, _: &str) {}

    fn ask<'a>(&'a self, _: Option<&'a CallCtx>, question: Elicitation) -> BoxFuture<'a, Elicited> {
        let fields = question.params["requestedSchema"]["properties"].as_object().cloned();
        let mut content = Map::new();
        for (name, field) in fields.unwrap_or_default() {
            let plain = match field["type"].as_str() {
                Some("boolean") => json!(true),
                Some("number" | "integer") => json!(1),
                _ => json!("test"),
            };
            content.insert(name, field.get("default").cloned().unwrap_or(plain));
        }
        Box::pin(std::future::ready(Elicited::Accept(Some(Value::Object(content)))))
    }

    fn progress(&self, _: &CallCtx, _: f64, _: Option<f64>, _: Option<String>) {}
}

/// What the scenario wants to have called: the calls that it names, else every tool once.
fn calls(context: &Value, names: &[String]) -> Vec<(String, Value)> {
    if let Some(named) = context["toolCalls"].as_array() {
        let call =
            |call: &Value| Some((call["name"].as_str()?.to_owned(), call["arguments"].clone()));
        return named.iter().filter_map(call).collect();
    }
    let args = |name: &str| match name {
        "add_numbers" => json!({"a": 5, "b": 3}),
        "valid_tool" => json!({"region": "us-west1"}),
        _ => json!({}),
    };
    names.iter().map(|name| (name.clone(), args(name))).collect()
}

#[tokio::main]
async fn main() -> Result<(), Failed> {
    let url = std::env::args().next_back().ok_or("the address is missing")?;
    let variable = |name: &str| std::env::var(name).unwrap_or_default();
    let context: Value =
        serde_json::from_str(&variable("MCP_CONFORMANCE_CONTEXT")).unwrap_or_default();
    let place = url.split('/').nth(2).unwrap_or_default().to_owned();
    let policy = AddressPolicy::allowing([place.as_str(), "127.0.0.0/8", "::1/128"])?;
    let host = Arc::new(Suite { http: HttpClient::new(policy) });
    let remote = Remote::Http(Http { url, headers: Vec::new() });
    let mut config = ServerConfig::new(ServerName::new("suite")?, remote);
    let version = variable("MCP_CONFORMANCE_PROTOCOL_VERSION");
    config.legacy = !version.is_empty() && version.as_str() < "2026-07-28";
    let connection = Connection::new(config, host);
    let settings = EngineSettings { preset: Preset::Auto, ..EngineSettings::default() };
    let engine = Engine::builder().policy(Policy { settings, ..Policy::default() }).build();
    let source = McpSource::new(Arc::clone(&connection));
    engine.catalog().attach(&source).await.map_err(|error| error.message)?;
    let view = engine.catalog().view(&Arc::default());
    let own = |name: &str| name.strip_prefix("suite__").map(str::to_owned);
    let names: Vec<String> =
        view.tools.iter().filter_map(|entry| own(entry.spec().name.as_str())).collect();
    eprintln!("{}: {names:?}", connection.state());
    let mut failed = names.is_empty()
        && !matches!(connection.state(), toolcrib_mcp::client::State::Connected { .. });
    for (name, args) in calls(&context, &names) {
        let call = Call::new(format!("suite__{name}"), RawArgs::Value(args));
        for answer in engine.invoke(Batch::new(Origin::Model, vec![call])).await {
            let outcome = answer.outcome().ok_or("a call waits")?;
            eprintln!("{name}: {}", outcome.to_wire());
            failed |= outcome.result.is_err();
        }
    }
    connection.disconnect().await;
    if failed { Err("something failed".into()) } else { Ok(()) }
}
