//! Scripts that are saved as tools (`toolcrib chain`, `/chains`), while a daemon runs; and scripts
//! over REST that wait for a person.

use std::time::Duration;

use serde_json::{Value, json};

use crate::support::{self, DaemonProcess, TestEnv};

const COUNTS: &str = "# parameters: {\"paths\": {\"type\": \"array\", \"items\": {\"type\": \"string\"}}}\n# required: [\"paths\"]\nfiles = [await read_file(path=p) for p in args['paths']]\nlen(files)\n";

/// A daemon and its owner's token.
struct Rest {
    daemon: DaemonProcess,
    token: String,
}

/// A response.
struct Answered {
    status: u16,
    tag: Option<String>,
    body: Value,
}

impl Rest {
    fn start(env: &TestEnv) -> Self {
        let daemon = DaemonProcess::start(env, &[]);
        let token = env.run(&["token", "show"]).code(0).stdout.trim().to_owned();
        Self { daemon, token }
    }

    fn send(&self, method: &str, path: &str, headers: &str, body: Option<&Value>) -> Answered {
        let body = body.map(Value::to_string).unwrap_or_default();
        let answer = self.daemon.raw(&format!(
            "{method} /api/v1{path} HTTP/1.1\r\nHost: {{host}}\r\nConnection: close\r\nAuthorization: Bearer {}\r\nContent-Type: application/json\r\nContent-Length: {}\r\n{headers}\r\n{body}",
            self.token,
            body.len()
        ));
        let (head, body) = answer.split_once("\r\n\r\n").unwrap();
        let tag = head.lines().find_map(|line| line.strip_prefix("etag: ")).map(str::to_owned);
        let status = head.split(' ').nth(1).unwrap().parse().unwrap();
        Answered { status, tag, body: serde_json::from_str(body).unwrap_or_default() }
    }

    fn get(&self, path: &str) -> Answered {
        self.send("GET", path, "", None)
    }

    /// Calls a script that waits for a person; returns its id.
    fn waiting(&self, code: &str) -> String {
        let call = json!({"tool": "tool_chain", "arguments": {"code": code}});
        let answered = self.send("POST", "/calls", "", Some(&call));
        assert_eq!(answered.status, 202, "{}", answered.body);
        answered.body["call"].as_str().unwrap().to_owned()
    }

    /// Returns the only waiting question.
    fn question(&self) -> Value {
        let asked = self.get("/approvals?state=pending").body;
        assert_eq!(asked["items"].as_array().map(Vec::len), Some(1), "{asked}");
        asked["items"][0].clone()
    }

    fn decide(&self, question: &Value, mut decision: Value) {
        decision["nonce"] = question["nonce"].clone();
        let path = format!("/approvals/{}", question["approval"].as_str().unwrap());
        let decided = self.send("POST", &path, "", Some(&decision));
        assert_eq!((decided.status, &decided.body["goes_on"]), (200, &json!("call")));
    }

    /// Waits until a call has ended, and returns it.
    fn became(&self, call: &str) -> Value {
        loop {
            let answer = self.get(&format!("/calls/{call}?wait_ms=10000")).body;
            if !["waiting", "running"].contains(&answer["status"].as_str().unwrap_or_default()) {
                return answer;
            }
            std::thread::sleep(Duration::from_millis(5));
        }
    }
}

#[test]
fn scripts_are_saved_listed_shown_and_removed() {
    let env = TestEnv::new();
    env.write("count.py", COUNTS);
    let save = |more: &[&str]| env.run(&[&["chain", "save", "count", "count.py"], more].concat());
    save(&[]).code(2).says(&["have no `# description"]);
    let described = ["--description", "Count files", "--global"];
    let path = save(&described).code(0).stdout;
    assert!(path.trim().ends_with("tools/count.py"), "{path}");
    let rows = env.run(&["chain", "list"]).code(0).stdout;
    assert!(rows.contains("count") && rows.contains("Count files"), "{rows}");
    let shown = env.run(&["chain", "show", "count"]).code(0).stdout;
    assert_eq!(shown, format!("# description: Count files\n{COUNTS}"));
    let (answer, exit) = env.call("count", &json!({"paths": ["notes.md"]}), &[]);
    assert!(exit == 0 && answer["result"].as_str().unwrap().starts_with("1\n"), "{answer}");
    // Names must be valid names of tools, and each exists once.
    for name in ["read_file", "Count", "../x"] {
        env.run(&["chain", "save", name, "count.py", "--description", "x"]).code(2);
    }
    env.run(&["chain", "rm", "count", "--global"]).code(0);
    for command in ["show", "rm"] {
        env.run(&["chain", command, "count"]).code(4).says(&["there is no script count"]);
    }
    // A script of a workspace asks.
    save(&["--description", "Count files"]).code(0).says(&["ask before they run"]);
    assert!(env.read(".toolcrib/tools/count.py").is_some());
    let listed = support::json(&env.run(&["chain", "list", "--json"]).code(0).stdout);
    assert_eq!(
        (&listed[0]["folder"], &listed[0]["asked_about"]),
        (&json!("workspace"), &json!(true))
    );
}

#[test]
fn a_daemon_takes_up_what_is_saved_changed_and_removed_beside_it() {
    let env = TestEnv::new();
    let rest = Rest::start(&env);
    let call = || {
        let call = json!({"tool": "twice", "arguments": {"n": 3}});
        rest.send("POST", "/calls", "", Some(&call)).body
    };
    let until = |is: &dyn Fn(&Value) -> bool| {
        let mut answer = call();
        while !is(&answer) {
            std::thread::sleep(Duration::from_millis(20));
            answer = call();
        }
    };
    let save = |by: u32| {
        let script =
            format!("# parameters: {{\"n\": {{\"type\": \"integer\"}}}}\nargs['n'] * {by}");
        env.write("twice.py", script);
        let args = ["chain", "save", "twice", "twice.py", "--description", "x", "--global"];
        env.run(&args).code(0);
    };
    let starts = |answer: &Value, with: &str| {
        answer["result"]["result"]
            .as_str()
            .or(answer["result"].as_str())
            .is_some_and(|text| text.starts_with(with))
            || answer.to_string().contains(&format!("\"{with}\\n"))
    };
    save(2);
    until(&|answer| starts(answer, "6"));
    save(3);
    until(&|answer| starts(answer, "9"));
    env.run(&["chain", "rm", "twice", "--global"]).code(0);
    until(&|answer| {
        answer.to_string().contains("not_found") || answer.to_string().contains("no tool")
    });
    rest.daemon.stop(&env).0.code(0);
}

#[test]
fn scripts_are_kept_over_rest() {
    let env = TestEnv::new();
    let rest = Rest::start(&env);
    let script = |text: &str| json!({"code": format!("# description: {text}\n{COUNTS}")});
    let put = |headers: &str, body: &Value| rest.send("PUT", "/chains/count", headers, Some(body));
    assert_eq!(put("", &json!({"code": "1"})).status, 422);
    let added = put("", &script("One"));
    assert_eq!((added.status, &added.body["description"]), (201, &json!("One")), "{}", added.body);
    // A change must name the version that the client has read.
    assert_eq!(put("", &script("Two")).status, 428);
    assert_eq!(put("If-Match: \"x\"\r\n", &script("Two")).status, 412);
    let tag = rest.get("/chains/count").tag.unwrap();
    assert_eq!(put(&format!("If-Match: {tag}\r\n"), &script("Two")).status, 200);
    let rows = rest.get("/chains").body;
    assert_eq!(
        (&rows["items"][0]["description"], rows["items"][0]["asked_about"].as_bool()),
        (&json!("Two"), Some(true))
    );
    // The script is available at once; one of the workspace asks.
    let call = json!({"tool": "count", "arguments": {"paths": ["notes.md"]}});
    let asked = rest.send("POST", "/calls", "", Some(&call));
    assert_eq!(asked.status, 202, "{}", asked.body);
    let question = rest.question();
    rest.decide(&question, json!({"decision": "approve"}));
    let ended = rest.became(asked.body["call"].as_str().unwrap());
    assert_eq!(ended["status"], "succeeded", "{ended}");
    // A removal must name the version that the client has read, and cannot affect another folder.
    let remove = |name: &str, headers: &str| {
        rest.send("DELETE", &format!("/chains/{name}"), headers, None).status
    };
    assert_eq!((remove("count", ""), remove("count", "If-Match: \"x\"\r\n")), (428, 412));
    let tag = rest.get("/chains/count").tag.unwrap();
    assert_eq!(remove("count", &format!("If-Match: {tag}\r\n")), 204);
    env.write("own.py", COUNTS);
    env.run(&["chain", "save", "own", "own.py", "--description", "x", "--global"]).code(0);
    let tag = rest.get("/chains/own").tag.unwrap();
    assert_eq!(remove("own", &format!("If-Match: {tag}\r\n")), 409);
    // A file of a workspace may be a link to a private file.
    env.write("secret", "secret");
    let link = env.root().join(".toolcrib/tools/link.py");
    std::os::unix::fs::symlink(env.root().join("secret"), link).unwrap();
    let shown = rest.get("/chains/link");
    assert_eq!(shown.status, 409, "{}", shown.body);
    assert_eq!(rest.get("/chains/count").status, 404);
    let gone = rest.send("POST", "/calls", "", Some(&call));
    assert!(gone.status >= 400, "{}", gone.body);
    rest.daemon.stop(&env).0.code(0);
}

/// No client waits for a call that was sent alone: after the decision about a child call, the
/// script continues, once, even after a restart.
#[test]
fn a_script_of_no_run_goes_on_with_what_was_decided() {
    let env = TestEnv::new();
    let rest = Rest::start(&env);
    let approval =
        "a = await read_file(path='notes.md')\nawait delete_file(path='notes.md')\n'gone'";
    let call = rest.waiting(approval);
    rest.decide(&rest.question(), json!({"decision": "approve"}));
    let ended = rest.became(&call);
    assert_eq!(ended["status"], "succeeded", "{ended}");
    assert!(ended.to_string().contains("[chain: 2 tool calls"), "{ended}");
    assert!(env.read("notes.md").is_none());

    let question = "r = await ask_user(question='Which day?', options=['Friday', 'Saturday'])\nawait write_file(path='day.txt', content=r.structured['user_choice'])\nr.text";
    let call = rest.waiting(question);
    rest.daemon.stop(&env).0.code(0);
    let rest = Rest::start(&env);
    rest.decide(&rest.question(), json!({"decision": "answer", "text": "Saturday"}));
    let ended = rest.became(&call);
    assert_eq!(ended["status"], "succeeded", "{ended}");
    assert_eq!(env.read("day.txt").as_deref(), Some("Saturday"));
    rest.daemon.stop(&env).0.code(0);
}
