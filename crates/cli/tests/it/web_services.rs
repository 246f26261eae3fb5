//! The web tools through the binary, against servers on loopback that imitate the services: their
//! formats, error pages and refusals.

use std::io::{BufRead as _, BufReader, Write as _};
use std::net::TcpListener;
use std::thread;

use serde_json::{Value, json};

use crate::support::{DaemonProcess, Server, TestEnv, place_database};

/// Status line, media type, body.
type Answer = (&'static str, &'static str, String);

/// Starts a server that answers each path; returns its base address.
fn serve(answer: fn(&str) -> Answer) -> String {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let base = format!("http://{}", listener.local_addr().unwrap());
    thread::spawn(move || {
        for mut stream in listener.incoming().flatten() {
            let Ok(copy) = stream.try_clone() else { continue };
            let mut lines = BufReader::new(copy).lines();
            let Some(Ok(first)) = lines.next() else { continue };
            while lines.next().and_then(Result::ok).is_some_and(|line| !line.is_empty()) {}
            let path = first.split(' ').nth(1).unwrap_or_default();
            let (status, kind, body) = answer(path);
            let length = body.len();
            let head = format!(
                "HTTP/1.1 {status}\r\ncontent-type: {kind}\r\ncontent-length: {length}\r\nconnection: close\r\n\r\n"
            );
            // A client that disconnects in the middle is not a failure.
            let _ = stream.write_all(format!("{head}{body}").as_bytes());
        }
    });
    base
}

fn ok(body: &Value) -> Answer {
    ("200 OK", "application/json", body.to_string())
}

fn text(reply: &Value) -> String {
    reply["result"].to_string()
}

fn weather(path: &str) -> Answer {
    let springfield = |region: &str, latitude: f64, population: u32| {
        json!({
            "id": 1, "name": "Springfield", "latitude": latitude, "longitude": -90.0, "country_code": "US",
            "country": "United States", "admin1": region, "timezone": "America/Chicago", "population": population
        })
    };
    let step = |time: &str, degrees: f64| {
        json!({"time": time, "data": {
            "instant": {"details": {"air_temperature": degrees, "relative_humidity": 80.5, "wind_from_direction": 45.0, "wind_speed": 5.0}},
            "next_1_hours": {"summary": {"symbol_code": "lightrain"}, "details": {"precipitation_amount": 0.4}}
        }})
    };
    match path.split('?').next().unwrap_or_default() {
        "/v1/search" => ok(&json!({"results": [
            springfield("Missouri", 37.2, 166_810), springfield("Massachusetts", 42.1, 154_341),
            springfield("Illinois", 39.8, 116_565)
        ], "generationtime_ms": 0.6})),
        // The public service is unavailable behind its proxy.
        "/v1/forecast" => (
            "503 Service Unavailable",
            "text/html",
            "<html><h1>503 Backend fetch failed</h1></html>".into(),
        ),
        "/weatherapi/locationforecast/2.0/compact" => {
            ok(&json!({"type": "Feature", "properties": {
                "meta": {"updated_at": "2026-11-26T12:30:00Z"},
                "timeseries": [step("2026-11-26T13:00:00Z", 7.0), step("2026-11-26T14:00:00Z", 8.0)]
            }}))
        }
        _ => ("404 Not Found", "text/plain", String::new()),
    }
}

#[test]
fn the_weather_falls_back_and_asks_which_of_three_cities_is_meant() {
    let (env, base) = (TestEnv::new(), serve(weather));
    let config = format!(
        "[web.weather]\nurl = \"{base}\"\ngeocoding = \"{base}\"\nfallback = \"{base}\"\nunits = \"metric\"\n"
    );
    env.own("config.toml", &config);
    let (reply, code) = env.call("get_weather", &json!({"place": "Springfield"}), &[]);
    assert_ne!(code, 0, "{reply}");
    for part in ["3 places are called Springfield", "Illinois", "Ask the person which one is meant"]
    {
        assert!(text(&reply).contains(part), "{part}: {reply}");
    }
    let place = json!({"place": "Springfield, Illinois"});
    let (reply, code) = env.call("get_weather", &place, &[]);
    assert_eq!((code, &reply["trust"]), (0, &json!("external")), "{reply}");
    for part in ["Springfield, Illinois", "7.0 °C", "Weather data by MET Norway"] {
        assert!(text(&reply).contains(part), "{part}: {reply}");
    }
}

#[test]
fn the_place_is_asked_of_the_next_service_when_one_refuses() {
    let base = serve(|path| match path {
        "/limit" => ("429 Too Many Requests", "text/html", "<h1>Rate limit</h1>".into()),
        "/error" => {
            ok(&json!({"error": true, "reason": "RateLimited", "message": "Visit /contact"}))
        }
        "/good" => ok(
            &json!({"ip": "192.0.2.1", "city": "Oslo", "region": "Oslo", "country": "NO", "loc": "59.91,10.75", "timezone": "Europe/Oslo"}),
        ),
        _ => ("404 Not Found", "text/plain", String::new()),
    });
    let env = TestEnv::new();
    let services = |paths: &[&str]| {
        let urls: Vec<String> = paths.iter().map(|path| format!("\"{base}{path}\"")).collect();
        env.own("config.toml", &format!("[web.location]\nservices = [{}]\n", urls.join(", ")));
    };
    services(&["/limit", "/error", "/good"]);
    let (reply, code) = env.call("get_location_from_ip", &json!({}), &[]);
    assert_eq!(code, 0, "{reply}");
    assert!(text(&reply).contains("Oslo") && text(&reply).contains("Europe/Oslo"), "{reply}");
    services(&["/limit", "/error"]);
    let (reply, code) = env.call("get_location_from_ip", &json!({}), &[]);
    assert_ne!(code, 0, "{reply}");
    for part in ["No service knows the place", "RateLimited", "Ask the person for the place"] {
        assert!(text(&reply).contains(part), "{part}: {reply}");
    }
    // Other addresses need the person's own database, and the error explains how to configure it.
    let (reply, code) = env.call("get_location_from_ip", &json!({"ip": "192.0.2.1"}), &[]);
    assert_ne!(code, 0, "{reply}");
    assert!(text(&reply).contains("web.location.database"), "{reply}");
}

/// A database of the person's own answers without any network, and one that is none is named.
#[test]
fn other_addresses_are_looked_up_in_the_persons_database() {
    let env = TestEnv::new();
    let record = json!({
        "city": {"names": {"en": "Graz"}}, "country": {"iso_code": "AT", "names": {"en": "Austria"}},
        "location": {"latitude": 47.07, "longitude": 15.44, "time_zone": "Europe/Vienna"},
        "subdivisions": [{"names": {"en": "Styria"}}],
    });
    let file = env.outside().join("places.mmdb");
    std::fs::write(&file, place_database([192, 0, 2], &record)).unwrap();
    env.own("config.toml", &format!("[web.location]\nservices = []\ndatabase = {file:?}\n"));
    let look = |ip: &str| env.call("get_location_from_ip", &json!({"ip": ip}), &[]);
    let (reply, code) = look("192.0.2.77");
    assert_eq!(code, 0, "{reply}");
    for part in ["Graz, Styria, Austria", "(47.07,15.44)", "time zone Europe/Vienna"] {
        assert!(text(&reply).contains(part), "{part}: {reply}");
    }
    for ip in ["192.0.3.1", "8.8.8.8", "2001:db8::1"] {
        let (reply, code) = look(ip);
        assert_ne!(code, 0, "{reply}");
        assert!(text(&reply).contains("does not know the address"), "{ip}: {reply}");
    }
    let (reply, code) = look("home");
    assert_ne!(code, 0, "{reply}");
    assert!(text(&reply).contains("is not an IP address"), "{reply}");
    // A file that is none, one that is cut, and none at all.
    let whole = std::fs::read(&file).unwrap();
    for bytes in [&b"<html>Log in to download</html>"[..], &whole[..whole.len() / 2]] {
        std::fs::write(&file, bytes).unwrap();
        let (reply, code) = look("192.0.2.77");
        assert_ne!(code, 0, "{reply}");
        assert!(text(&reply).contains("database of places cannot be read"), "{reply}");
    }
    std::fs::remove_file(&file).unwrap();
    assert_ne!(look("192.0.2.77").1, 0);
}

/// The services allow few requests, so a process asks once in 24 hours.
#[test]
fn the_place_is_asked_once_a_day_and_a_search_once_in_a_while() {
    let server = Server::start();
    let env = TestEnv::new();
    let service = server.url("/place.json");
    let search = server.url("");
    let config =
        format!("[web.location]\nservices = [{service:?}]\n[web.searxng]\nurl = {search:?}\n");
    env.own("config.toml", &config);
    let daemon = DaemonProcess::start(&env, &[]);
    for _ in 0..3 {
        let call = ["tool", "call", "get_location_from_ip", "--args", "{}", "--daemon"];
        env.run(&call).code(0).prints(&["Oslo"]);
    }
    assert_eq!(server.seen(), ["GET /place.json"]);
    // A search is not asked again for 15 minutes.
    for _ in 0..2 {
        let args = r#"{"query": "oat bread"}"#;
        let call = ["tool", "call", "web_search", "--args", args, "--daemon"];
        env.run(&call).code(0).prints(&["oats.example/bread"]);
    }
    assert_eq!(server.seen().len(), 2, "{:?}", server.seen());
    daemon.stop(&env).0.code(0);
}

#[test]
fn a_search_that_gets_a_captcha_goes_on_with_the_next_back_end() {
    let base = serve(|path| {
        if path.starts_with("/search") {
            return ok(&json!({"query": "oats", "results": [
                {"url": "https://oats.example/", "title": "Oats", "content": "All about oats.", "engine": "brave"}
            ], "unresponsive_engines": []}));
        }
        let page = "<html><body><div class=\"anomaly-modal__title\">Unfortunately, bots use DuckDuckGo too.</div></body></html>";
        ("202 Accepted", "text/html", page.into())
    });
    let env = TestEnv::new();
    let config = |names: &str| {
        env.own(
            "config.toml",
            &format!(
                "[web]\nsearch = [{names}]\n[web.duckduckgo]\nurl = \"{base}\"\n[web.searxng]\nurl = \"{base}\"\n"
            ),
        );
    };
    config("\"duckduckgo\", \"searxng\"");
    let (reply, code) = env.call("web_search", &json!({"query": "oats"}), &[]);
    assert_eq!(code, 0, "{reply}");
    for part in ["https://oats.example/", "captcha"] {
        assert!(reply.to_string().contains(part), "{part}: {reply}");
    }
    config("\"duckduckgo\"");
    let (reply, code) = env.call("web_search", &json!({"query": "oats"}), &[]);
    assert_ne!(code, 0, "{reply}");
    assert!(text(&reply).contains("captcha"), "{reply}");
}

#[test]
fn news_come_with_their_source_and_a_refusal_is_said() {
    let base = serve(|path| {
        if path.contains("query=oats") {
            return ok(&json!({"articles": [
                {"url": "https://a.example/1", "title": "Oats rise", "seendate": "20261126T113000Z", "domain": "a.example", "language": "English"}
            ]}));
        }
        ("200 OK", "text/html", "Your query was too short or too long.".into())
    });
    let env = TestEnv::new();
    env.own("config.toml", &format!("[web.news]\nurl = \"{base}\"\n"));
    let (reply, code) = env.call("news", &json!({"query": "oats"}), &[]);
    assert_eq!((code, &reply["trust"]), (0, &json!("external")), "{reply}");
    assert!(text(&reply).contains("Oats rise") && text(&reply).contains("a.example"), "{reply}");
    let (reply, code) = env.call("news", &json!({"query": "xy"}), &[]);
    assert_ne!(code, 0, "{reply}");
    assert!(text(&reply).contains("too short or too long"), "{reply}");
}

#[test]
fn documentation_is_searched_on_an_instance_and_in_a_folder_without_network() {
    let base = serve(|path| match path {
        "/docs.json" => ok(
            &json!([{"name": "Rust", "slug": "rust", "type": "rust", "release": "1.95.0", "mtime": 1, "db_size": 2}]),
        ),
        "/docs/rust/index.json" => ok(&json!({"entries": [
            {"name": "std::vec::Vec", "path": "std/vec/struct.vec", "type": "std::vec"}
        ], "types": []})),
        _ => ("404 Not Found", "text/html", "<h1>Not found</h1>".into()),
    });
    let env = TestEnv::new();
    let folder = "docs/python~3.14";
    env.own(&format!("{folder}/meta.json"), r#"{"name": "Python", "release": "3.14.0"}"#);
    env.own(
        &format!("{folder}/index.json"),
        r#"{"entries": [{"name": "str.split()", "path": "library/stdtypes#str.split", "type": "Built-in Types"}], "types": []}"#,
    );
    env.own(
        &format!("{folder}/library/stdtypes.html"),
        "<h1>Built-in Types</h1><dl><dt id=\"str.split\">str.split()</dt><dd>Return a list of the words.</dd></dl>",
    );
    env.own("config.toml", &format!("[web.docs]\nurl = \"{base}\"\nfolder = \"docs\"\n"));
    let (reply, code) = env.call("docs_search", &json!({"query": "Vec", "language": "rust"}), &[]);
    assert_eq!(code, 0, "{reply}");
    assert!(text(&reply).contains("std::vec::Vec") && text(&reply).contains("1.95.0"), "{reply}");
    let query = json!({"query": "str.split", "language": "python"});
    let (reply, code) = env.call("docs_search", &query, &[]);
    assert_eq!((code, &reply["trust"]), (0, &json!("external")), "{reply}");
    for part in ["Return a list of the words.", "Python 3.14.0", "stdtypes.html"] {
        assert!(text(&reply).contains(part), "{part}: {reply}");
    }
    let (reply, code) = env.call("docs_search", &json!({"query": "x", "language": "go"}), &[]);
    assert_ne!(code, 0, "{reply}");
    assert!(text(&reply).contains("it has no documentation go"), "{reply}");
}
