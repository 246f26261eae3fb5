//! Client under test of the official MCP conformance suite: the server's tools become registry
//! entries, and each is called through the pipeline.
//!
//! `conformance client --command conformance_client --scenario NAME` appends the URL.

#![expect(clippy::print_stderr, reason = "it is for people")]

mod scripted_login;

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex};

use serde_json::{Map, Value, json};
use toolcrib_core::{Batch, BoxFuture, Call, CallCtx, ErrorType, Invoker as _, Origin, RawArgs};
use toolcrib_engine::{Engine, EngineSettings, Policy, Preset};
use toolcrib_mcp::client::{
    ClientHost, Connection, Elicitation, Elicited, Http, McpSource, Remote, ReviewedTools,
    ServerConfig, ServerName, Stdio,
};
use toolcrib_net::{AddressPolicy, HttpClient};
use toolcrib_sandbox::Process;

type Failed = Box<dyn std::error::Error>;

/// A person who answers every question with the suggested value.
struct Suite {
    http: HttpClient,
    /// The secrets from the suite, by their names in the configuration.
    secrets: BTreeMap<String, String>,
    authorization: Mutex<Option<String>>,
    reviewed: Mutex<Option<ReviewedTools>>,
}

impl ClientHost for Suite {
    fn start<'a>(
        &'a self,
        _: &'a str,
        _: &'a Stdio,
        _: bool,
    ) -> BoxFuture<'a, Result<Process, String>> {
        Box::pin(std::future::ready(Err("no programs here".to_owned())))
    }

    fn http(&self) -> HttpClient {
        self.http.clone()
    }

    fn secret(&self, name: &str) -> Result<String, String> {
        self.secrets.get(name).cloned().ok_or_else(|| format!("there is no secret {name}"))
    }

    fn authorization<'a>(&'a self, _: &'a str) -> BoxFuture<'a, Option<String>> {
        let kept = self.authorization.lock().ok().and_then(|kept| kept.clone());
        Box::pin(std::future::ready(kept))
    }

    fn store_authorization<'a>(
        &'a self,
        _: &'a str,
        text: Option<&'a str>,
    ) -> BoxFuture<'a, Result<(), String>> {
        if let Ok(mut kept) = self.authorization.lock() {
            *kept = text.map(str::to_owned);
        }
        Box::pin(std::future::ready(Ok(())))
    }

    fn reviewed_tools<'a>(&'a self, _: &'a str) -> BoxFuture<'a, Option<ReviewedTools>> {
        Box::pin(std::future::ready(self.reviewed.lock().ok().and_then(|own| own.clone())))
    }

    fn store_reviewed_tools<'a>(
        &'a self,
        _: &'a str,
        reviewed: &'a ReviewedTools,
    ) -> BoxFuture<'a, Result<(), String>> {
        if let Ok(mut own) = self.reviewed.lock() {
            *own = Some(reviewed.clone());
        }
        Box::pin(std::future::ready(Ok(())))
    }

    fn ask<'a>(&'a self, _: &'a CallCtx, question: Elicitation) -> BoxFuture<'a, Elicited> {
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
}

/// Returns the calls that the scenario expects: the calls that it names, or else every tool once.
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
    // The suite's servers refer to each other at ports that are not known in advance.
    let places = (1024..=u16::MAX).map(|port| format!("localhost:{port}"));
    let places = places.chain(["127.0.0.0/8".to_owned(), "::1/128".to_owned()]);
    let policy = AddressPolicy::with_allowed(places)?;
    let (oauth, secrets) = scripted_login::of_context(&context);
    let (authorization, reviewed) = (Mutex::default(), Mutex::default());
    let http = HttpClient::new(policy);
    let host = Arc::new(Suite { http, secrets, authorization, reviewed });
    let remote = Remote::Http(Http { url, oauth, ..Http::default() });
    let mut config = ServerConfig::new(ServerName::new("suite")?, remote);
    let version = variable("MCP_CONFORMANCE_PROTOCOL_VERSION");
    config.legacy = !version.is_empty() && version.as_str() < "2026-07-28";
    let connection = Connection::new(config, Arc::clone(&host) as Arc<dyn ClientHost>);
    let settings = EngineSettings { preset: Preset::Auto, ..EngineSettings::default() };
    let engine = Engine::builder().policy(Policy { settings, ..Policy::default() }).build();
    scripted_login::while_needed(&connection, &host.http).await?;
    // A server that cannot be reached has no tools, and its state contains the reason.
    let _ = connection.accept_reviews().await;
    let source = McpSource::new(Arc::clone(&connection));
    engine.catalog().attach(&source).await.map_err(|error| error.message)?;
    let view = engine.catalog().view(&Arc::default());
    let own = |name: &str| name.strip_prefix("suite__").map(str::to_owned);
    let names: Vec<String> =
        view.tools.iter().filter_map(|entry| own(entry.spec().name.as_str())).collect();
    eprintln!("{}: {names:?}", connection.state());
    let mut failed = names.is_empty()
        && !matches!(connection.state(), toolcrib_mcp::client::ConnectionState::Connected { .. });
    let schema = |name: &str| {
        let entry = view
            .tools
            .iter()
            .find(|entry| own(entry.spec().name.as_str()).as_deref() == Some(name));
        entry.map(|entry| (*entry.spec().input_schema).clone())
    };
    for (name, mut args) in calls(&context, &names) {
        if name == "json_schema_echo" {
            // The suite also checks how the schema of the other tool was converted.
            args = json!({"schema": schema("json_schema_2020_12_tool")});
        }
        loop {
            let call = Call::new(format!("suite__{name}"), RawArgs::Value(args.clone()));
            let answers = engine.invoke(Batch::new(Origin::Model, vec![call])).await;
            let outcome =
                answers.first().and_then(|answer| answer.outcome()).ok_or("a call waits")?;
            eprintln!("{name}: {}", outcome.to_wire());
            if outcome.error_type() == Some(ErrorType::NotConfigured) {
                scripted_login::once(&connection, &host.http).await?;
                continue;
            }
            failed |= outcome.result.is_err();
            break;
        }
    }
    connection.disconnect().await;
    if failed { Err("something failed".into()) } else { Ok(()) }
}
