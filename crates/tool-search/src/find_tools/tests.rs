//! Tests of `find_tools` with a fake registry and a fake conversation.

use std::collections::HashSet;
use std::sync::Mutex;
use std::time::{Duration, Instant};

use serde_json::{Value, json};
use toolcrib_core::tool::Streams;
use toolcrib_core::{
    BoxFuture, CallId, CancellationToken, ErrorType, Excluded, Exclusion, Handler, Source, Status,
    StreamSink, SwitchState, ToolInfo, View, ViewRequest,
};

use super::*;

/// A tool that does nothing.
struct Still(Arc<ToolSpec>);

impl Handler for Still {
    fn spec(&self) -> &Arc<ToolSpec> {
        &self.0
    }

    fn call<'a>(
        &'a self,
        _: &'a CallCtx,
        _: &'a Value,
    ) -> BoxFuture<'a, Result<ToolOutput, ToolError>> {
        Box::pin(std::future::ready(Ok(ToolOutput::text(""))))
    }
}

fn entry(name: &str, description: &str) -> Entry {
    let schema = json!({"type": "object", "properties": {}});
    let name = ToolName::remote(name).unwrap();
    Entry::Local(Arc::new(Still(Arc::new(ToolSpec::new(name, description, schema)))))
}

fn info(name: &str, description: &str, status: Status) -> ToolInfo {
    ToolInfo {
        id: ToolName::remote(name).unwrap(),
        title: String::new(),
        title_key: String::new(),
        description: description.to_owned(),
        description_key: String::new(),
        source: "s".to_owned(),
        tier: Tier::FirstParty,
        group: None,
        status,
        enabled: true,
        state: SwitchState::On,
        own_state: SwitchState::On,
        controlled_by: None,
    }
}

/// A registry whose tools a test changes: those in the view, and those that are not ready.
#[derive(Default)]
struct Registry {
    tools: Mutex<Tools>,
}

#[derive(Default)]
struct Tools {
    generation: u64,
    ready: Vec<Entry>,
    waiting: Vec<ToolInfo>,
}

impl Registry {
    fn set(&self, tools: Vec<Entry>) {
        let mut state = self.tools.lock().unwrap();
        state.generation += 1;
        state.ready = tools;
    }

    fn wait(&self, name: &str, description: &str, status: Status) {
        let info = info(name, description, status);
        let mut state = self.tools.lock().unwrap();
        state.generation += 1;
        state.waiting.push(info);
    }
}

impl Catalog for Registry {
    fn view(&self, _: &Arc<ViewRequest>) -> Arc<View> {
        let state = self.tools.lock().unwrap();
        let excluded = state.waiting.iter().map(|info| Excluded {
            name: info.id.clone(),
            reason: Exclusion::NotReady { status: info.status.clone() },
        });
        Arc::new(View::new(state.ready.clone(), excluded.collect()))
    }

    fn infos(&self) -> Vec<ToolInfo> {
        let state = self.tools.lock().unwrap();
        let ready = state.ready.iter().map(|entry| {
            info(entry.spec().name.as_str(), &entry.spec().description, Status::Connected)
        });
        ready.chain(state.waiting.iter().cloned()).collect()
    }

    fn set_tool_state(&self, _: &str, _: SwitchState) -> Result<(), ToolError> {
        Ok(())
    }

    fn set_tools_enabled(&self, _: bool) {}

    fn attach<'a>(&'a self, _: &'a dyn Source) -> BoxFuture<'a, Result<usize, ToolError>> {
        Box::pin(std::future::ready(Ok(0)))
    }

    fn detach(&self, _: &str) -> bool {
        false
    }

    fn generation(&self) -> u64 {
        self.tools.lock().unwrap().generation
    }
}

/// A conversation that can declare a limited number of tools.
struct Conversation {
    carried: Mutex<HashSet<String>>,
    room: usize,
}

impl ToolSelection for Conversation {
    fn declares_tools(&self, _: &CallCtx) -> bool {
        true
    }

    fn contains(&self, _: &CallCtx, tool: &ToolName) -> bool {
        self.carried.lock().unwrap().contains(tool.as_str())
    }

    fn inject(&self, _: &CallCtx, tools: &[Entry]) -> Vec<ToolName> {
        let mut carried = self.carried.lock().unwrap();
        let fits = tools.iter().take(self.room).map(|entry| entry.spec().name.clone());
        let fits: Vec<ToolName> = fits.collect();
        carried.extend(fits.iter().map(ToString::to_string));
        fits
    }
}

struct NoStreams;

impl Streams for NoStreams {
    fn open(&self, _: &CallCtx, _: &str) -> Box<dyn StreamSink> {
        panic!("find_tools opens no stream")
    }
}

struct Bench {
    registry: Arc<Registry>,
    handler: Arc<dyn Handler>,
    group: Arc<dyn Handler>,
}

impl Bench {
    fn new(room: usize) -> Self {
        let registry = Arc::new(Registry::default());
        registry.set(vec![
            entry("weather__get_forecast", "Returns the weather forecast for a city."),
            entry("slack__send_message", "Posts a message to a channel."),
            entry("read_file", "Reads a file of the workspace."),
            entry("convert_currency", "Converts an amount between two currencies."),
        ]);
        Self::of(registry, Arc::new(Conversation { carried: Mutex::default(), room }))
    }

    fn of(registry: Arc<Registry>, exposure: Arc<dyn ToolSelection>) -> Self {
        let catalog: Arc<dyn Catalog> = registry.clone();
        let catalog = Arc::downgrade(&catalog);
        let finder = Arc::new(ToolFinder::new(ModelChoice::BuiltIn));
        let group =
            load_tool_group::LoadToolGroup { catalog: catalog.clone(), exposure: exposure.clone() };
        let handler = TypedHandler::handler(FindTools { catalog, exposure, finder });
        Self { registry, handler, group: TypedHandler::handler(group) }
    }

    fn call(&self, args: Value) -> Result<Value, ToolError> {
        run(&self.handler, args)
    }

    fn load(&self, group: &str) -> Result<Value, ToolError> {
        run(&self.group, json!({ "group_name": group }))
    }

    fn find(&self, query: &str) -> Value {
        self.call(json!({ "query": query })).unwrap()
    }
}

fn run(handler: &Arc<dyn Handler>, args: Value) -> Result<Value, ToolError> {
    let ctx = CallCtx {
        call: CallId::fresh(),
        run: None,
        context: Arc::default(),
        view: Arc::default(),
        attempt: 1,
        cancel: CancellationToken::new(),
        deadline: Instant::now() + Duration::from_secs(30),
        streams: Arc::new(NoStreams),
        path_denials: toolcrib_core::NoPathDenials::shared(),
        approved_hosts: Arc::default(),
    };
    let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
    let output = runtime.block_on(handler.call(&ctx, &args))?;
    Ok(output.structured.unwrap())
}

fn names(list: &Value) -> Vec<&str> {
    list.as_array().unwrap().iter().map(|row| row["name"].as_str().unwrap()).collect()
}

#[test]
fn the_spec_is_valid() {
    let spec = spec();
    assert_eq!(spec.name.as_str(), "find_tools");
    assert_eq!((spec.risk, spec.tier), (Risk::Safe, Tier::Innate));
    assert_eq!(spec.input_schema["required"], json!(["query"]));
    assert_eq!(spec.input_schema["properties"]["limit"]["maximum"], 10);
    for example in &spec.examples {
        serde_json::from_value::<Args>(example.args.clone()).unwrap();
    }
}

#[test]
fn found_tools_are_injected_once() {
    let bench = Bench::new(5);
    let answer = bench.find("will it rain tomorrow in this city");
    assert_eq!(names(&answer["injected"]), ["weather__get_forecast"]);
    assert_eq!(answer["injected"][0]["summary"], "Returns the weather forecast for a city.");
    assert_eq!(answer["not_found"], json!([]));
    let again = bench.find("will it rain tomorrow in this city");
    assert_eq!(again["injected"], json!([]));
    assert_eq!(again["already_available"], json!(["weather__get_forecast"]));
    assert!(again["next"].as_str().unwrap().contains("in your list already"));
}

#[test]
fn two_needs_are_two_tools() {
    let bench = Bench::new(5);
    let answer =
        bench.find("Get the weather forecast for Oslo. Then post a message to the channel.");
    let mut found = names(&answer["injected"]);
    found.sort_unstable();
    assert_eq!(found, ["slack__send_message", "weather__get_forecast"]);
}

#[test]
fn the_limit_and_the_budget_hold() {
    let bench = Bench::new(5);
    let query = "weather forecast. send a message. convert two currencies. read a file now";
    let answer = bench.call(json!({"query": query, "limit": 2})).unwrap();
    assert_eq!(names(&answer["injected"]).len(), 2);

    let bench = Bench::new(0);
    let answer = bench.find("weather forecast for a city");
    assert_eq!(answer["injected"], json!([]));
    assert_eq!(answer["left_out"], json!(["weather__get_forecast"]));
    assert_eq!(answer["not_found"], json!([]));
}

#[test]
fn nothing_that_fits_is_said_with_near_names() {
    let bench = Bench::new(5);
    let answer = bench.find("frobnicate the quux with convrt_curency");
    assert_eq!(answer["injected"], json!([]));
    assert_eq!(answer["not_found"][0]["nearest"][0], "convert_currency");
    assert!(answer["not_found"][0]["need"].as_str().unwrap().starts_with("frobnicate"));
    bench.registry.set(Vec::new());
    let answer = bench.find("weather");
    assert_eq!(answer["not_found"], json!([{"need": "weather", "nearest": []}]));
}

#[test]
fn an_empty_query_is_refused() {
    let error = Bench::new(5).call(json!({"query": "  "})).unwrap_err();
    assert_eq!(error.error_type, ErrorType::ValidationError);
}

#[test]
fn what_is_not_configured_is_said() {
    let bench = Bench::new(5);
    let status = Status::Available { missing: vec!["MAPS_KEY".to_owned()] };
    bench.registry.wait("plan_route", "Plans the shortest route between two addresses.", status);
    let answer = bench.find("plan a route between two addresses");
    assert_eq!(answer["injected"], json!([]));
    assert_eq!(answer["not_ready"], json!([{"name": "plan_route", "missing": ["MAPS_KEY"]}]));
    assert_eq!(answer["not_found"], json!([]));
    assert!(answer["next"].as_str().unwrap().contains("configuration is missing"));
}

#[test]
fn changes_of_the_registry_are_taken_over() {
    let bench = Bench::new(5);
    assert_eq!(names(&bench.find("weather forecast")["injected"]), ["weather__get_forecast"]);
    bench.registry.set(vec![entry("weather__get_forecast", "Plays chess against the computer.")]);
    let answer = bench.find("play a game of chess");
    assert_eq!(answer["already_available"], json!(["weather__get_forecast"]));
    bench.registry.set(vec![entry("fly_kite", "Flies a kite in the wind.")]);
    assert_eq!(names(&bench.find("fly a kite")["injected"]), ["fly_kite"]);
    assert_eq!(bench.find("play a game of chess")["injected"], json!([]));
}

#[test]
fn what_is_always_there_and_what_is_broken_is_not_offered() {
    let bench = Bench::new(5);
    let mut spec =
        ToolSpec::new(ToolName::local("remember").unwrap(), "Remembers a fact.", json!({}));
    spec.tier = Tier::Innate;
    let broken =
        Entry::broken(ToolName::local("remember_fact").unwrap(), "its schema is not a schema");
    bench.registry.set(vec![Entry::Local(Arc::new(Still(Arc::new(spec)))), broken]);
    let answer = bench.find("remember this fact");
    assert_eq!(answer["injected"], json!([]));
    assert_eq!(answer["not_found"][0]["nearest"], json!([]));
}

#[test]
fn a_registry_that_is_gone_is_said() {
    let Bench { registry, handler, group } = Bench::new(5);
    drop(registry);
    assert!(run(&handler, json!({"query": "x"})).is_err());
    assert!(run(&group, json!({"group_name": "x"})).is_err());
}

/// A tool of a group.
fn member(group: &str, name: &str) -> Entry {
    let mut spec = ToolSpec::new(ToolName::local(name).unwrap(), "Does it.", json!({}));
    spec.group = Some(group.to_owned());
    Entry::Local(Arc::new(Still(Arc::new(spec))))
}

fn grouped(room: usize) -> Bench {
    let bench = Bench::new(room);
    bench.registry.set(vec![
        member("files", "read_file"),
        member("files", "write_file"),
        member("shell", "run_it"),
    ]);
    bench
}

#[test]
fn a_group_is_loaded_whole_and_once() {
    let bench = grouped(5);
    let answer = bench.load(" files ").unwrap();
    assert_eq!(names(&answer["injected"]), ["read_file", "write_file"]);
    assert_eq!(answer["group"], "files");
    let again = bench.load("files").unwrap();
    assert_eq!(again["injected"], json!([]));
    assert_eq!(again["already_available"], json!(["read_file", "write_file"]));
    assert!(again["next"].as_str().unwrap().contains("in your list already"));
    let answer = grouped(1).load("files").unwrap();
    assert_eq!(answer["left_out"], json!(["write_file"]));
    assert!(answer["next"].as_str().unwrap().starts_with("Not all"));
}

#[test]
fn an_unknown_group_lists_those_there_are() {
    let error = grouped(5).load("flies").unwrap_err();
    assert_eq!(error.error_type, ErrorType::ValidationError);
    assert_eq!(
        error.message,
        "There is no tool group \"flies\". Did you mean files? The groups are: files, shell."
    );
    let bench = Bench::new(5);
    bench.registry.set(Vec::new());
    let error = bench.load("files").unwrap_err();
    assert!(error.message.ends_with("ask find_tools for what you need."), "{}", error.message);
}

#[test]
fn who_has_no_requests_here_is_told_the_parameters() {
    let registry = Arc::new(Registry::default());
    registry.set(vec![entry("weather__get_forecast", "Returns the weather forecast for a city.")]);
    let bench = Bench::of(registry, Arc::new(toolcrib_core::NoToolSelection));
    let answer = bench.find("weather forecast for a city");
    assert_eq!(answer["injected"][0]["parameters"], json!({"type": "object", "properties": {}}));
    assert_eq!(answer["next"], "Call the tools now by these names.");
}

/// An embedder that only detects texts about boats. It counts the texts of each request.
struct Boats {
    asked: Mutex<Vec<usize>>,
    fails: bool,
}

impl toolcrib_core::Embedder for Boats {
    fn id(&self) -> &str {
        "harbour/boats"
    }

    fn embed<'a>(&'a self, texts: &'a [String]) -> BoxFuture<'a, Result<Vec<Vec<f32>>, ToolError>> {
        self.asked.lock().unwrap().push(texts.len());
        let vector = |text: &String| {
            let is_boat = text.contains("vessel") || text.contains("ship");
            if is_boat { vec![1.0, 0.0] } else { vec![0.0, 1.0] }
        };
        let made = texts.iter().map(vector).collect();
        let failed = ToolError::execution("It did not answer.").with_detail("it is down");
        Box::pin(std::future::ready(if self.fails { Err(failed) } else { Ok(made) }))
    }
}

fn sought(boats: &Arc<Boats>, times: usize) -> ToolSearchResult {
    let registry = Arc::new(Registry::default());
    registry.set(vec![
        entry("track_parcel", "Tracks where a parcel is that somebody sent."),
        entry("track_vessel", "Tracks where a vessel is at sea."),
        entry("bake_bread", "Bakes bread."),
    ]);
    let finder = ToolFinder::new(ModelChoice::BuiltIn).with_embedder(boats.clone());
    let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
    let find = || {
        let catalog: Arc<dyn Catalog> = registry.clone();
        let view = catalog.view(&Arc::default());
        runtime.block_on(finder.find(catalog, view, "track where my parcel ship is", 5)).unwrap()
    };
    (1..times).for_each(|_| drop(find()));
    find()
}

fn found(sought: &ToolSearchResult) -> Vec<&str> {
    sought.usable.iter().map(|(entry, _)| entry.spec().name.as_str()).collect()
}

#[test]
fn a_better_model_puts_the_best_tools_in_order() {
    let boats = Arc::new(Boats { asked: Mutex::default(), fails: false });
    let sought = sought(&boats, 3);
    assert_eq!(found(&sought)[0], "track_vessel");
    assert_eq!(sought.note, None);
    // Texts of tools are sent once, the query each time.
    let asked = boats.asked.lock().unwrap().clone();
    assert!(asked[0] > 1, "{asked:?}");
    assert_eq!(asked[1..], [1, 1]);
}

#[test]
fn without_an_answer_the_order_of_the_index_stands() {
    let boats = Arc::new(Boats { asked: Mutex::default(), fails: true });
    let sought = sought(&boats, 1);
    assert_eq!(found(&sought)[0], "track_parcel");
    assert_eq!(sought.note.as_deref(), Some("it is down"));
}
