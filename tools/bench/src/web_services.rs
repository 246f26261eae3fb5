//! Time that a search, news and the weather add to the answer of their server: the call through the
//! whole pipeline, beside a bare request for the same body over a kept connection.

use std::fmt::Write as _;
use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::path::Path;
use std::time::Instant;

use serde_json::{Value, json};
use tokio::runtime::Runtime;
use toolcrib_app::{Preset, Settings, Toolcrib};
use toolcrib_builtins::web::{SearchBackendKind, SearchBackendSettings};
use toolcrib_core::{Origin, RawArgs};

use crate::results::Results;
use crate::timing::median;

/// Calls of a measurement. Each asks for something else: answers are cached.
const CALLS: usize = 300;
/// What a call may add, in milliseconds.
const MOST_MS: f64 = 2.0;

pub(crate) fn run(table: &mut Results) {
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .worker_threads(2)
        .enable_all()
        .build()
        .expect("a runtime");
    let folder = tempfile::tempdir().expect("a folder");
    let server = start();
    let tools = runtime.block_on(toolcrib(folder.path(), server));
    let feed = format!("http://{server}/feed");
    let search = |n: usize| json!({ "query": format!("oat bread {n}") });
    let weather = |n: usize| json!({ "place": format!("{:.2},10.75", n as f64 / 10.0) });
    let news = |_: usize| json!({ "feed": feed });
    type Args<'a> = &'a dyn Fn(usize) -> Value;
    let rows: [(&str, &'static str, &str, Args<'_>); 3] = [
        ("web: a search adds to its server's answer, p50", "web_search", "/search", &search),
        ("web: the weather adds to its server's answer, p50", "get_weather", "/v1", &weather),
        ("web: news of a feed add to its server's answer, p50", "news", "/feed", &news),
    ];
    for (what, tool, path, args) in rows {
        let call = median((0..CALLS).map(|n| call_ms(&runtime, &tools, tool, &args(n))));
        let floor = bare_ms(server, path);
        table.at_most(what, call - floor, "ms", MOST_MS);
    }
}

async fn toolcrib(folder: &Path, server: SocketAddr) -> Toolcrib {
    let base = format!("http://{server}");
    let mut settings = Settings::new(folder, folder.join("state"));
    settings.engine.preset = Preset::Auto;
    let mut searxng = SearchBackendSettings::new(SearchBackendKind::Searxng);
    searxng.url = Some(base.clone());
    settings.web.search = vec![searxng];
    settings.web.weather.forecast = Some(base);
    settings.allow_net = vec![server.to_string()];
    Toolcrib::builder(settings).build().await.expect("a Toolcrib")
}

/// A call in a task of the runtime, as in the daemon.
fn call_ms(runtime: &Runtime, tools: &Toolcrib, tool: &'static str, args: &Value) -> f64 {
    let (tools, args) = (tools.clone(), RawArgs::from(args.clone()));
    let call = async move {
        let begun = Instant::now();
        let answer = tools.call(tool, args, Origin::Cli).await;
        (begun.elapsed().as_secs_f64() * 1000.0, answer)
    };
    let (took, answer) = runtime.block_on(runtime.spawn(call)).expect("a call");
    let outcome = answer.as_ref().and_then(|answer| answer.outcome());
    assert!(outcome.is_some_and(|outcome| !outcome.is_error()), "{tool}: {answer:?}");
    took
}

/// Milliseconds of a request without anything around it, the median.
fn bare_ms(server: SocketAddr, path: &str) -> f64 {
    let stream = TcpStream::connect(server).expect("a connection");
    stream.set_nodelay(true).expect("a socket");
    let mut reader = BufReader::new(stream.try_clone().expect("a socket"));
    let mut stream = stream;
    median((0..CALLS).map(|_| {
        let begun = Instant::now();
        let request = format!("GET {path} HTTP/1.1\r\nHost: {server}\r\n\r\n");
        stream.write_all(request.as_bytes()).expect("a request");
        let head = read_head(&mut reader).expect("a head");
        let length = head.iter().find_map(|line| line.strip_prefix("content-length: "));
        let mut body = vec![0; length.and_then(|text| text.parse().ok()).expect("a length")];
        reader.read_exact(&mut body).expect("a body");
        begun.elapsed().as_secs_f64() * 1000.0
    }))
}

/// Starts the server of all services; its thread ends with the process.
fn start() -> SocketAddr {
    let listener = TcpListener::bind(("127.0.0.1", 0)).expect("a port");
    let address = listener.local_addr().expect("an address");
    std::thread::spawn(move || {
        let answers = [("/search", search()), ("/v1", forecast()), ("/feed", feed())];
        let answers = std::sync::Arc::new(answers);
        for stream in listener.incoming().flatten() {
            let answers = std::sync::Arc::clone(&answers);
            std::thread::spawn(move || serve(stream, answers.as_slice()));
        }
    });
    address
}

/// Answers the requests of one connection until its client goes.
fn serve(stream: TcpStream, answers: &[(&str, (&str, String))]) {
    stream.set_nodelay(true).expect("a socket");
    let mut reader = BufReader::new(stream.try_clone().expect("a socket"));
    let mut stream = stream;
    while let Some(head) = read_head(&mut reader) {
        let path = head.first().and_then(|line| line.split(' ').nth(1)).unwrap_or_default();
        let found = answers.iter().find(|(prefix, _)| path.starts_with(prefix));
        let (_, (kind, body)) = found.expect("a path of this server");
        let answer = format!(
            "HTTP/1.1 200 OK\r\ncontent-type: {kind}\r\ncontent-length: {}\r\n\r\n{body}",
            body.len()
        );
        if stream.write_all(answer.as_bytes()).is_err() {
            return;
        }
    }
}

/// The lines of a head; `None` at the end of the connection.
fn read_head(reader: &mut BufReader<TcpStream>) -> Option<Vec<String>> {
    let mut lines = Vec::new();
    loop {
        let mut line = String::new();
        if reader.read_line(&mut line).ok()? == 0 {
            return None;
        }
        match line.trim_end() {
            "" => return Some(lines),
            line => lines.push(line.to_owned()),
        }
    }
}

/// Ten results of SearXNG.
fn search() -> (&'static str, String) {
    let result = |n: u32| {
        json!({
            "url": format!("https://oats.example/{n}"), "title": format!("Oat bread {n}"),
            "content": "A loaf of oats and rye, which keeps for a week and needs no yeast.",
            "engine": "brave", "score": 1.0, "category": "general",
        })
    };
    let results: Vec<Value> = (0..10).map(result).collect();
    let answer = json!({"query": "oat bread", "results": results, "unresponsive_engines": []});
    ("application/json", answer.to_string())
}

/// Seven days of Open-Meteo.
fn forecast() -> (&'static str, String) {
    let days: Vec<String> = (1..=7).map(|day| format!("2026-11-{day:02}")).collect();
    let answer = json!({
        "latitude": 59.91, "longitude": 10.75, "timezone": "Europe/Oslo",
        "current": {
            "time": "2026-11-01T12:00", "temperature_2m": 7.0, "apparent_temperature": 4.2,
            "relative_humidity_2m": 80, "precipitation": 0.1, "weather_code": 61,
            "wind_speed_10m": 12.0, "wind_direction_10m": 200,
        },
        "daily": {
            "time": days, "weather_code": (vec![3; 7]), "temperature_2m_max": (vec![8.0; 7]),
            "temperature_2m_min": (vec![1.0; 7]), "precipitation_sum": (vec![0.4; 7]),
            "precipitation_probability_max": (vec![40; 7]), "wind_speed_10m_max": (vec![20.0; 7]),
        },
    });
    ("application/json", answer.to_string())
}

/// A feed of thirty entries, as news sites have them.
fn feed() -> (&'static str, String) {
    let mut text = "<?xml version=\"1.0\"?><rss version=\"2.0\"><channel><title>Oats</title><link>https://oats.example/</link>".to_owned();
    for n in 0..30 {
        let _ = write!(
            text,
            "<item><title>Oats rise {n}</title><link>https://oats.example/{n}</link><guid>{n}</guid><pubDate>Thu, 26 Nov 2026 11:30:00 +0100</pubDate><description><![CDATA[<p>Prices have <b>doubled</b> since the wet summer.</p>]]></description></item>"
        );
    }
    text += "</channel></rss>";
    ("application/rss+xml", text)
}
