//! Information from the surface about the person reaches the prompt and the tools that use it.

use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::thread;
use std::time::{Duration, Instant};

use serde_json::{Value, json};

use crate::support::{self, DaemonProcess, TestEnv, end, of_type};

const CALLS: &str = "  - calls: [{tool: where_am_i, args: {}}, {tool: where_is_it, args: {}}, {tool: get_current_time, args: {}}]\n  - say: Done.\n";

/// Creates two tools that print the information they get: one uses the surroundings, the other does
/// not.
fn with_tools() -> TestEnv {
    let env = TestEnv::new();
    for (name, wish) in [
        ("where_am_i", "surroundings = [\"time_zone\", \"local_time\", \"place\", \"device\"]\n"),
        ("where_is_it", ""),
    ] {
        let definition = format!(
            "description = \"Says what it knows.\"\neffect = \"pure\"\nrisk = \"safe\"\noutput = \"raw\"\ncommand = [\"./run.sh\"]\n{wish}"
        );
        env.own(&format!("tools/{name}/tool.toml"), &definition);
        env.own(
            &format!("tools/{name}/run.sh"),
            "#!/bin/sh\ncat > /dev/null\nprintf '%s' \"$TOOLCRIB_CONTEXT\"\n",
        );
        let program = env.outside().join(format!("home/tools/{name}/run.sh"));
        fs::set_permissions(&program, fs::Permissions::from_mode(0o755)).unwrap();
    }
    env
}

/// Returns the outputs of the tool that uses the surroundings, the other one and the clock; calls
/// end in any order.
fn said(outputs: &[String]) -> (Value, Value, String) {
    assert_eq!(outputs.len(), 3, "{outputs:?}");
    let clock = outputs.iter().find(|text| !text.contains('{')).unwrap();
    let context = |text: &String| {
        let start = text.find('{')?;
        let mut values = serde_json::Deserializer::from_str(&text[start..]).into_iter::<Value>();
        values.next()?.ok()
    };
    let contexts: Vec<Value> = outputs.iter().filter_map(context).collect();
    let has_zone = |context: &&Value| context.get("time_zone").is_some();
    let wants = contexts.iter().find(has_zone).unwrap();
    let other = contexts.iter().find(|context| !has_zone(context)).unwrap();
    (wants.clone(), other.clone(), clock.clone())
}

#[test]
fn a_terminal_has_its_locale_and_time_zone() {
    let env = with_tools();
    let model = env.script("script", CALLS);
    let args = ["run", "--model", &model, "--policy", "auto", "--json", "Do it"];
    let mut command = env.command(&args);
    command.env("LANG", "de_AT.UTF-8").env("TZ", "Asia/Tokyo");
    let ended = end(command, b"").code(0);
    let events = support::lines(&ended.stdout);
    let outputs: Vec<String> = of_type(&events, "tool")
        .into_iter()
        .filter_map(|event| Some(event["output"]["result"].as_str()?.to_owned()))
        .collect();
    let (wants, other, clock) = said(&outputs);
    assert_eq!((&wants["locale"], &wants["time_zone"]), (&json!("de-AT"), &json!("Asia/Tokyo")));
    assert_eq!((&wants["device"], &wants["place"]), (&json!("terminal"), &Value::Null));
    assert!(wants["local_time"].as_str().unwrap().ends_with("+09:00"), "{wants}");
    assert_eq!(other["locale"], "de-AT");
    for hidden in ["time_zone", "local_time", "place", "device"] {
        assert_eq!(other.get(hidden), None, "{other}");
    }
    assert!(clock.contains("+09:00"), "{clock}");
}

/// A daemon and an HTTP client for it.
struct Client {
    daemon: DaemonProcess,
    token: String,
}

impl Client {
    fn start(env: &TestEnv) -> Self {
        let model = env.script("script", CALLS);
        let daemon = DaemonProcess::start(env, &["--model", &model, "--policy", "auto"]);
        let token = env.run(&["token", "show"]).code(0).stdout.trim().to_owned();
        Self { daemon, token }
    }

    /// Returns the complete response.
    fn ask(&self, request: &str, header: &str, body: &Value) -> String {
        let body = if body.is_null() { String::new() } else { body.to_string() };
        self.daemon.raw(&format!(
            "{request} HTTP/1.1\r\nHost: {{host}}\r\nConnection: close\r\nAuthorization: Bearer {}\r\nContent-Type: application/json\r\nContent-Length: {}\r\n{header}\r\n{body}",
            self.token,
            body.len()
        ))
    }

    fn json(&self, request: &str, body: &Value) -> Value {
        first_json(&self.ask(request, "", body))
    }

    /// Returns the outputs of the tools of a run.
    fn outputs(snapshot: &Value) -> Vec<String> {
        let items = snapshot["items"].as_array().unwrap_or_else(|| panic!("{snapshot}"));
        items
            .iter()
            .filter_map(|item| Some(item["output"]["result"].as_str()?.to_owned()))
            .collect()
    }

    /// Waits until this object has its run, and reads the run.
    fn run_of(&self, path: &str, run: impl Fn(&Value) -> Option<String>) -> Value {
        let until = Instant::now() + Duration::from_secs(60);
        loop {
            let now = self.json(&format!("GET {path}"), &Value::Null);
            if let Some(id) = run(&now) {
                return self.json(&format!("GET /api/v1/runs/{id}"), &Value::Null);
            }
            assert!(Instant::now() < until, "{now}");
            thread::sleep(Duration::from_millis(100));
        }
    }
}

fn first_json(answer: &str) -> Value {
    let body = answer.split_once("\r\n\r\n").unwrap().1;
    let start = body.find('{').unwrap_or_else(|| panic!("{answer}"));
    let mut values = serde_json::Deserializer::from_str(&body[start..]).into_iter::<Value>();
    values.next().unwrap().unwrap()
}

#[test]
fn a_request_says_where_the_person_is() {
    let env = with_tools();
    let client = Client::start(&env);
    let surroundings = json!({
        "time_zone": "America/New_York", "place": "Vienna, Austria", "device": "phone",
    });
    let run = json!({"text": "Do it", "wait": true, "surroundings": surroundings});
    let answer = client.ask("POST /api/v1/runs", "Accept-Language: sv-SE,sv;q=0.9\r\n", &run);
    let (wants, other, clock) = said(&Client::outputs(&first_json(&answer)));
    assert_eq!(wants["locale"], "sv-SE");
    assert_eq!(wants["time_zone"], "America/New_York");
    assert_eq!((&wants["place"], &wants["device"]), (&json!("Vienna, Austria"), &json!("phone")));
    assert_eq!((&other["locale"], other.get("place")), (&json!("sv-SE"), None));
    assert!(clock.contains("-05:00") || clock.contains("-04:00"), "{clock}");
    for (wrong, part) in [
        (json!({"time_zone": "Mars/Phobos"}), "surroundings"),
        (json!({"place": "a\nb"}), "surroundings: place must be one line"),
        (json!({"moon": true}), "moon"),
    ] {
        let run = json!({"text": "Do it", "surroundings": wrong});
        let answer = client.ask("POST /api/v1/runs", "", &run);
        assert!(answer.starts_with("HTTP/1.1 4") && answer.contains(part), "{answer}");
        let task =
            json!({"description": "x", "prompt": "y", "cron": "0 9 * * *", "surroundings": wrong});
        let answer = client.ask("POST /api/v1/tasks", "", &task);
        assert!(answer.starts_with("HTTP/1.1 4") && answer.contains(part), "{answer}");
    }
}

/// Regression: the runs of tasks and goals had neither place nor locale.
#[test]
fn tasks_and_goals_keep_the_surroundings_of_their_request() {
    let env = with_tools();
    let client = Client::start(&env);
    let surroundings = json!({
        "locale": "sv-SE", "time_zone": "Asia/Tokyo", "place": "Kyoto", "device": "phone",
    });
    let mut task = json!({"description": "x", "prompt": "Do it", "cron": "0 9 * * *"});
    task["surroundings"] = surroundings.clone();
    let made = client.json("POST /api/v1/tasks", &task);
    assert_eq!(made["zone"], "Asia/Tokyo", "{made}");
    let path = format!("/api/v1/tasks/{}", made["task"].as_str().unwrap());
    client.json(&format!("POST {path}/run"), &Value::Null);
    let run = |task: &Value| Some(task["history"][0]["run"].as_str()?.to_owned());
    let (wants, _, clock) = said(&Client::outputs(&client.run_of(&path, run)));
    for field in ["locale", "time_zone", "place", "device"] {
        assert_eq!(wants[field], surroundings[field], "{field}: {wants}");
    }
    assert!(clock.contains("+09:00"), "{clock}");
    let goal = json!({"goal": "Find out where I am", "surroundings": surroundings});
    let made = client.json("POST /api/v1/goals", &goal);
    let path = format!("/api/v1/goals/{}", made["goal"].as_str().unwrap());
    let run = |goal: &Value| {
        let ended = goal["status"] == "done" || goal["status"] == "failed";
        Some(goal["run"].as_str()?.to_owned()).filter(|_| ended)
    };
    let (wants, _, _) = said(&Client::outputs(&client.run_of(&path, run)));
    assert_eq!((&wants["place"], &wants["locale"]), (&json!("Kyoto"), &json!("sv-SE")));
}
