//! Time that the agent loop adds to a round over the HTTP floor of the same endpoint: the same
//! bodies, posted by the same client over a kept connection, and read. One call of a tool per
//! round; the answers come from loopback. Also a turn of 16 parallel calls through the loop.

use std::path::Path;
use std::sync::Arc;
use std::time::{Duration, Instant};

use serde_json::json;
use toolcrib_agent::context::{CompactionRules, ContextWindows, Prices};
use toolcrib_agent::driver::{DriveOutcome, NoHumanInput, RunControl};
use toolcrib_agent::library::{Agent, Folders, GENERAL_ASSISTANT};
use toolcrib_agent::machine::RunEnd;
use toolcrib_app::runner::{RunHandles, Runner, RunnerLimits, RunnerSettings, StartRequest};
use toolcrib_app::{Settings, Toolcrib};
use toolcrib_core::{Context, ConversationId, ToolOutput};
use toolcrib_net::{AddressPolicy, HttpClient, Limits, Method, Request};
use toolcrib_providers::conversation::UserMessage;
use toolcrib_providers::http_provider::{Endpoint, ModelOptions, ProviderKind, ProviderSettings};
use toolcrib_providers::model::Model;
use toolcrib_providers::scripted::{ScriptTurn, ScriptedModel};
use toolcrib_testkit::{ScriptedTool, fixed_source};

use crate::fake_provider::FakeProvider;
use crate::results::Results;
use crate::timing::cpu;

/// Rounds of one run.
const ROUNDS: usize = 50;
/// Runs of each kind; the fastest counts, because a busy neighbour only ever adds.
const RUNS: usize = 31;
const NAP: Duration = Duration::from_millis(10);

pub(crate) fn run(table: &mut Results) {
    let runtime =
        tokio::runtime::Builder::new_current_thread().enable_all().build().expect("a runtime");
    runtime.block_on(async {
        for stream in [false, true] {
            for database in [false, true] {
                rounds(table, stream, database).await;
            }
        }
        parallel(table).await;
    });
}

/// Milliseconds of wall and CPU time.
#[derive(Clone, Copy)]
struct Timing {
    wall: f64,
    cpu: f64,
}

async fn timed<T>(work: impl Future<Output = T>) -> (T, Timing) {
    let (wall, used) = (Instant::now(), cpu());
    let done = work.await;
    let wall = wall.elapsed().as_secs_f64() * 1000.0;
    (done, Timing { wall, cpu: (cpu() - used).as_secs_f64() * 1000.0 })
}

/// Milliseconds of a round.
fn fastest(took: &[Timing], of: impl Fn(&Timing) -> f64) -> f64 {
    took.iter().map(of).fold(f64::INFINITY, f64::min) / (ROUNDS + 1) as f64
}

async fn rounds(table: &mut Results, stream: bool, database: bool) {
    let server = FakeProvider::start(ROUNDS);
    let folder = tempfile::tempdir().expect("a folder");
    let world = agent_setup(folder.path(), database).await;
    let model = live(&server);
    world.drive(&model, stream).await;
    let bodies = server.take_bodies();
    assert_eq!(bodies.len(), ROUNDS + 1);
    let policy = AddressPolicy::with_allowed([server.addr.to_string()]).expect("a policy");
    let client = HttpClient::new(policy).with_keep_alive();
    let requests: Vec<Request> = bodies.into_iter().map(|body| post(&server, body)).collect();
    let (mut floor, mut whole) = (Vec::new(), Vec::new());
    for _ in 0..RUNS {
        // One after the other, so that a busy neighbour slows both down.
        floor.push(timed(post_all(&client, &requests)).await.1);
        whole.push(timed(world.drive(&model, stream)).await.1);
        server.take_bodies();
    }
    let kind = if stream { "streamed" } else { "whole" };
    let kept = if database { "SQLite" } else { "in memory" };
    let what = |part: &str| format!("loop: {kind} answers, runs {kept}: {part}");
    let wall = |took: &Timing| took.wall;
    table.figure(what("floor, a round"), fastest(&floor, wall), "ms");
    table.figure(what("a round"), fastest(&whole, wall), "ms");
    let added = fastest(&whole, wall) - fastest(&floor, wall);
    table.at_most(what("added to a round"), added, "ms", 0.25);
    let used = |took: &Timing| took.cpu;
    let added = fastest(&whole, used) - fastest(&floor, used);
    table.figure(what("CPU time added to a round"), added, "ms");
}

fn post(server: &FakeProvider, body: Vec<u8>) -> Request {
    let mut request = Request::new(Method::POST, format!("{}/chat/completions", server.base_url()));
    request.headers = vec![("content-type".to_owned(), "application/json".to_owned())];
    request.body = body.into();
    request
}

async fn post_all(client: &HttpClient, requests: &[Request]) {
    for request in requests {
        let answer = client.fetch(request, &Limits::default()).await.expect("an answer");
        assert_eq!(answer.head.status, 200);
    }
}

fn live(server: &FakeProvider) -> Arc<dyn Model> {
    let mut settings = ProviderSettings::new("bench", ProviderKind::OpenAiCompatible);
    settings.base_url = Some(server.base_url());
    let endpoint = Endpoint::new(settings).expect("an endpoint");
    Arc::new(endpoint.model("bench", ModelOptions::default()))
}

struct AgentSetup {
    runner: Runner,
    agent: Agent,
    surfaces: RunHandles,
}

async fn agent_setup(folder: &Path, database: bool) -> AgentSetup {
    let look = ScriptedTool::new("look").takes(json!({
        "type": "object",
        "properties": {"query": {"type": "string"}, "page": {"type": "integer", "minimum": 0}},
        "required": ["query"]
    }));
    let look = Arc::new(look.does(|_, args| {
        Box::pin(std::future::ready(Ok(ToolOutput::text(format!(
            "nothing on page {}",
            args["page"]
        )))))
    }));
    let nap = Arc::new(ScriptedTool::new("nap").does(|_, _| {
        Box::pin(async {
            tokio::time::sleep(NAP).await;
            Ok(ToolOutput::text("ok"))
        })
    }));
    let mut settings = Settings::new(folder, folder.with_extension("state"));
    settings.database = database.then(|| folder.join("bench.db"));
    let toolcrib = Toolcrib::builder(settings)
        .for_agents()
        .source(fixed_source("bench", &[&look, &nap]))
        .build()
        .await
        .expect("a Toolcrib");
    let windows = ContextWindows::builtin().and_then(|w| w.with_override("*", 1_000_000));
    let settings = RunnerSettings {
        folders: Folders::default(),
        workspace: None,
        windows: Arc::new(windows.expect("windows")),
        prices: Arc::new(Prices::builtin().expect("prices")),
        compaction: CompactionRules::default(),
    };
    let runner = Runner::new(toolcrib, settings).expect("a runner");
    let mut agent = runner.library().agent(GENERAL_ASSISTANT).expect("an agent").clone();
    agent.tools = Some(vec!["look".to_owned(), "nap".to_owned()]);
    let surfaces = RunHandles {
        control: RunControl::new(),
        events: Arc::new(|_| {}),
        person: Arc::new(NoHumanInput),
    };
    AgentSetup { runner, agent, surfaces }
}

impl AgentSetup {
    async fn drive(&self, model: &Arc<dyn Model>, stream: bool) {
        let limits = RunnerLimits { rounds: Some(100), ..RunnerLimits::default() };
        let start = StartRequest {
            message: UserMessage {
                text: "Which invoices are open?".to_owned(),
                ..Default::default()
            },
            agent: self.agent.clone(),
            models: vec![Arc::clone(model)],
            conversation: ConversationId::fresh(),
            context: Context::default(),
            limits,
            skill: None,
            stream,
            setup: serde_json::Value::Null,
            untrusted: None,
        };
        let finished = self.runner.start(start, &self.surfaces).await.expect("a run");
        assert_eq!(finished.driven, DriveOutcome::Ended(RunEnd::Completed));
    }
}

/// 16 calls of 10 ms in one answer, from the request to the answer after them.
async fn parallel(table: &mut Results) {
    let folder = tempfile::tempdir().expect("a folder");
    let world = agent_setup(folder.path(), false).await;
    let mut took = Vec::new();
    for _ in 0..21 {
        let calls =
            (0..16).fold(ScriptTurn::default(), |turn, n| turn.and_call("nap", json!({"n": n})));
        let script = ScriptedModel::from_turns("bench", [calls, ScriptTurn::say("done")]);
        let model: Arc<dyn Model> = Arc::new(script.expect("a script"));
        took.push(timed(world.drive(&model, false)).await.1.wall);
    }
    took.sort_by(f64::total_cmp);
    table.at_most("loop: a turn of 16 parallel calls of 10 ms", took[took.len() / 2], "ms", 12.0);
}
