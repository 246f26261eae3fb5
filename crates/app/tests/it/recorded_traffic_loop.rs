//! Every recorded scenario through the whole loop: requests over loopback, the real pipeline,
//! scripted tools.

use std::collections::HashMap;
use std::fmt::Write as _;
use std::sync::{Arc, Mutex};
use std::time::{Duration, SystemTime};

use serde_json::{Value, json};
use toolcrib_agent::context::{CompactionRules, ContextWindows, Prices};
use toolcrib_agent::driver::{DriveOutcome, Driver, NoHumanInput, NoRefresh, RunControl, RunJob};
use toolcrib_agent::events::{Event, EventSink};
use toolcrib_agent::machine::{Machine, ROUNDS, RunEnd};
use toolcrib_agent::tool_selection::ToolSelectionRules;
use toolcrib_app::Engine;
use toolcrib_app::Stores;
use toolcrib_core::{
    BoxFuture, Context, Conversation, ConversationId, RunId, RunLimits, RunUsage, SystemClock,
    ViewRequest,
};
use toolcrib_providers::conversation::{CallAnswer, Message, UserMessage};
use toolcrib_providers::http_provider::{ApiKey, Clock, Endpoint, ModelOptions, ProviderSettings};
use toolcrib_providers::model::Model;
use toolcrib_providers::quirks::Server as KindOfServer;
use toolcrib_testkit::provider_recordings::{
    ExpectedCall, ReplayServer, Scenario, Suite, Tools, differences,
};
use toolcrib_testkit::{ScriptedTool, fixed_source};

use crate::recorded_traffic::{suites, tools};

#[tokio::test]
async fn openai_chat() {
    run_suite("openai-chat").await;
}

#[tokio::test]
async fn openai_responses() {
    run_suite("openai-responses").await;
}

#[tokio::test]
async fn anthropic() {
    run_suite("anthropic").await;
}

#[tokio::test]
async fn gemini() {
    run_suite("gemini").await;
}

#[tokio::test]
async fn ollama() {
    run_suite("ollama").await;
}

#[tokio::test]
async fn openai_compatible() {
    run_suite("openai-compatible").await;
}

#[tokio::test]
async fn deepseek() {
    run_suite("deepseek").await;
}

/// Runs every scenario of a provider, and reports all failures at once.
async fn run_suite(provider: &str) {
    let (suites, tools) = (suites(), tools());
    let suite = suites.iter().find(|suite| suite.provider == provider).unwrap();
    let mut failed = String::new();
    for scenario in &suite.scenarios {
        let found = run(suite, scenario, &tools).await;
        if !found.is_empty() {
            let _ = write!(failed, "\n{provider}/{}: {}\n", scenario.name, scenario.shows);
            found.iter().for_each(|line| failed.push_str(&format!("  {line}\n")));
        }
    }
    assert!(failed.is_empty(), "{failed}");
}

/// Runs one scenario; returns the differences from the expectation.
async fn run(suite: &Suite, scenario: &Scenario, tools: &Tools) -> Vec<String> {
    let server = ReplayServer::start(scenario.exchanges.clone()).await.unwrap();
    let clock = Arc::new(NoWaiting::default());
    let clock_of_model: Arc<dyn Clock> = Arc::<NoWaiting>::clone(&clock);
    let settings = settings_for(suite, scenario, &server);
    let model = model_of(suite, ProviderSettings { clock: clock_of_model, ..settings });
    let offered: Vec<Arc<ScriptedTool>> =
        scenario.tools.iter().map(|name| tools.make(name).unwrap()).collect();
    let shown = Arc::new(Mutex::new(Shown::default()));
    let watching = Arc::clone(&shown);
    let events: EventSink = Arc::new(move |event| watching.lock().unwrap().take(event));
    let driving = drive(scenario, model, &offered, events);
    let Ok((machine, end)) = tokio::time::timeout(Duration::from_secs(60), driving).await else {
        return vec!["it does not end".to_owned()];
    };
    let mut found = server.mismatches();
    found.append(&mut shown.lock().unwrap().mismatches);
    let waits = clock.waits.lock().unwrap().clone();
    let received = server.received();
    let repeated = received.windows(2).filter(|pair| pair[0].body == pair[1].body).count();
    if repeated != waits.len() {
        found.push(format!(
            "{repeated} requests were the same as before, after {} waits",
            waits.len()
        ));
    }
    compare(scenario, &machine, &end, &offered, &mut found);
    if let Some(expected) = &scenario.outcome.waits_ms
        && *expected != waits
    {
        found.push(format!("waits: {waits:?}\n    expected {expected:?}"));
    }
    found
}

/// Returns the settings for the server of a scenario.
pub(crate) fn settings_for(
    suite: &Suite,
    scenario: &Scenario,
    server: &ReplayServer,
) -> ProviderSettings {
    let kind = suite.provider.parse().unwrap();
    let mut settings = ProviderSettings::new(suite.provider.as_str(), kind);
    let path = match suite.provider.as_str() {
        "anthropic" | "gemini" | "ollama" => "",
        _ => "/v1",
    };
    settings.base_url = Some(format!("{}{path}", server.url()));
    settings.key = Some(ApiKey::new("test-key").unwrap());
    settings.server = scenario.server.as_deref().map(|id| KindOfServer::from_id(id).unwrap());
    settings.quirks = scenario.quirks.clone();
    settings
}

pub(crate) fn model_of(suite: &Suite, settings: ProviderSettings) -> Arc<dyn Model> {
    let endpoint = Endpoint::new(settings).unwrap();
    Arc::new(endpoint.model(suite.model.as_str(), ModelOptions::default()))
}

/// Runs the loop itself.
pub(crate) async fn drive(
    scenario: &Scenario,
    model: Arc<dyn Model>,
    offered: &[Arc<ScriptedTool>],
    events: EventSink,
) -> (Machine, RunEnd) {
    let stores = Stores::memory();
    let engine = Engine::builder().approvals(Arc::clone(&stores.approvals)).build();
    let source = fixed_source("scripted", &offered.iter().collect::<Vec<_>>());
    engine.catalog().attach(&source).await.unwrap();
    let catalog = engine.shared_catalog();
    // Trim nothing for any model: the scenarios test requests, not trimming.
    let windows = ContextWindows::builtin().unwrap().with_override("*", 10_000_000).unwrap();
    let (run, conversation) = (RunId::fresh(), ConversationId::fresh());
    let store = Arc::clone(&stores.runs);
    store.put_conversation(untitled(conversation)).await.unwrap();
    let driver = Driver {
        tool_selection: ToolSelectionRules::default(),
        on_device_tools: Arc::default(),
        request_tools: Arc::default(),
        invoker: Arc::new(engine),
        catalog,
        store,
        approvals: stores.approvals,
        usage: stores.usage,
        clock: Arc::new(SystemClock),
        human_input: Arc::new(NoHumanInput),
        windows: Arc::new(windows),
        prices: Arc::new(Prices::builtin().unwrap()),
        compaction: CompactionRules::default(),
        refresh: Arc::new(NoRefresh),
        events,
    };
    let job = RunJob {
        models: vec![model],
        context: Arc::new(Context { owner: "ann".to_owned(), ..Context::default() }),
        agent: "general".to_owned(),
        view: ViewRequest::default(),
        prompt: Arc::new(|_, _, _| "You are a helpful assistant.".to_owned()),
        temperature: None,
        max_output: None,
        stream: scenario.stream,
        limits: RunLimits::default(),
        cost: None,
        used: RunUsage::default(),
        epoch: 0,
        resumed: false,
        setup: Value::Null,
    };
    let message = UserMessage { text: scenario.user.clone(), ..UserMessage::default() };
    let mut machine = Machine::begin(run, conversation, Vec::new(), message, Some(ROUNDS));
    match driver.drive(&mut machine, &job, &RunControl::new()).await.unwrap() {
        DriveOutcome::Ended(end) => (machine, end),
        DriveOutcome::Paused(pending) => panic!("{}: paused for {pending:?}", scenario.name),
    }
}

fn untitled(id: ConversationId) -> Conversation {
    let empty = String::new;
    Conversation {
        id,
        owner: "ann".to_owned(),
        title: empty(),
        agent: "general".to_owned(),
        workspace: empty(),
        created_at: 0,
        updated_at: 0,
    }
}

fn compare(
    scenario: &Scenario,
    machine: &Machine,
    end: &RunEnd,
    offered: &[Arc<ScriptedTool>],
    found: &mut Vec<String>,
) {
    let outcome = &scenario.outcome;
    let got = match end {
        RunEnd::Failed { kind, .. } => json!({"end": "failed", "error": kind}),
        other => json!({"end": other.as_str(), "error": null}),
    };
    let expected = match &outcome.error {
        Some(error) => json!({"end": "failed", "error": error}),
        None => json!({"end": outcome.end, "error": null}),
    };
    if expected != got {
        found.push(format!("end: {end:?}\n    expected {expected}"));
    }
    if let Some(expected) = &outcome.text {
        let differences = differences(expected, &json!(machine.answer()));
        found.extend(differences.into_iter().map(|line| format!("text: {line}")));
    }
    if let Some(usage) = &outcome.usage {
        let got = machine.state().spent.usage;
        if (got.input, got.output) != (Some(usage.input), Some(usage.output)) {
            found.push(format!("usage: {got:?}\n    expected {usage:?}"));
        }
    }
    compare_calls(&outcome.calls, &calls_made(machine), offered, found);
}

/// Returns every call of the conversation: name and end.
fn calls_made(machine: &Machine) -> Vec<(String, String)> {
    let mut all = Vec::new();
    for message in machine.history() {
        if let Message::Model(message) = &**message {
            let names = message.turn.calls.iter().map(|call| call.name.clone());
            all.extend(names.zip(message.answers().iter().map(|answer| ended(answer.as_ref()))));
        }
    }
    all
}

fn ended(answer: Option<&CallAnswer>) -> String {
    let Some(answer) = answer else { return "not answered".to_owned() };
    match (answer.wire["error_type"].as_str(), answer.wire["status"].as_str()) {
        (Some(error), _) => error.to_owned(),
        (None, Some("success")) => "succeeded".to_owned(),
        (None, status) => status.unwrap_or_default().to_owned(),
    }
}

fn compare_calls(
    expected: &[ExpectedCall],
    made: &[(String, String)],
    offered: &[Arc<ScriptedTool>],
    found: &mut Vec<String>,
) {
    let wanted: Vec<(&str, &str)> =
        expected.iter().map(|call| (call.tool.as_str(), call.outcome.as_str())).collect();
    let got: Vec<(&str, &str)> = made.iter().map(|(t, o)| (t.as_str(), o.as_str())).collect();
    if wanted != got {
        found.push(format!("calls: {got:?}\n    expected {wanted:?}"));
    }
    // The arguments of the tools in the order of their runs; only calls that reached the tool's
    // code count.
    let ran =
        |call: &&ExpectedCall| matches!(call.outcome.as_str(), "succeeded" | "execution_error");
    let mut runs: HashMap<&str, Vec<&ExpectedCall>> = HashMap::new();
    for call in expected.iter().filter(ran) {
        runs.entry(call.tool.as_str()).or_default().push(call);
    }
    for tool in offered {
        let name = toolcrib_core::Handler::spec(&**tool).name.to_string();
        let (wanted, seen) = (runs.remove(name.as_str()).unwrap_or_default(), tool.seen());
        if wanted.len() != seen.len() {
            found.push(format!("{name} ran {} times, expected {}", seen.len(), wanted.len()));
        }
        for (call, args) in wanted.iter().zip(&seen) {
            let unlike = call.args.iter().flat_map(|expected| differences(expected, args));
            found.extend(unlike.map(|line| format!("arguments of {name}: {line}")));
        }
    }
}

/// Compares the streamed text of an answer with the final text.
#[derive(Default)]
struct Shown {
    text: String,
    mismatches: Vec<String>,
}

impl Shown {
    fn take(&mut self, event: Event) {
        match event {
            Event::Request { .. } | Event::Retry { .. } => self.text.clear(),
            Event::TextDelta { text } => self.text.push_str(&text),
            Event::Answer { text, .. } if self.text.trim() != text.trim() => {
                self.mismatches.push(format!("shown: {:?}\n    expected {text:?}", self.text));
            }
            _ => {}
        }
    }
}

/// A clock that does not wait, and records the requested delays.
#[derive(Default)]
struct NoWaiting {
    waits: Mutex<Vec<u64>>,
}

impl Clock for NoWaiting {
    fn now(&self) -> tokio::time::Instant {
        tokio::time::Instant::now()
    }

    fn wall(&self) -> SystemTime {
        SystemTime::now()
    }

    fn sleep(&self, time: Duration) -> BoxFuture<'static, ()> {
        self.waits.lock().unwrap().push(u64::try_from(time.as_millis()).unwrap());
        Box::pin(std::future::ready(()))
    }
}
