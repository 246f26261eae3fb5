//! `toolcrib mcp`: a third-party server from its first test to its last call, imports from other
//! programs, and this program as a server.

use serde_json::{Value, json};

use crate::support::{self, DaemonProcess, TestEnv};

/// A server that speaks the protocol itself, from the tests of the `mcp` crate.
const FIXTURE: &str = include_str!("../../../mcp/tests/it/fixture/server.py");

#[test]
fn a_server_is_added_tested_used_reviewed_and_removed() {
    let env = TestEnv::new();
    env.write("server.py", FIXTURE);
    std::fs::create_dir(env.root().join("own")).unwrap();
    let path = |name: &str| env.root().join(name).display().to_string();
    let (server, own) = (path("server.py"), path("own"));
    env.run(&["mcp", "add", "Fx", "--write", &own, "--", "python3", &server, &own])
        .code(0)
        .says(&["the server is called fx", "fx is added and off"]);
    env.run(&["tool", "call", "fx__add", "--args", "{}"]).code(4);
    // Without the agreement of a person, it stays disabled.
    let tested = env.run(&["mcp", "test", "fx"]).code(5).says(&["fx is connected to fixture 1"]);
    assert!(
        tested.stdout.contains("fx__add") && tested.stdout.contains("a*: integer"),
        "{tested:?}"
    );
    env.run(&["tool", "call", "fx__add", "--args", "{}"]).code(4);
    env.run(&["mcp", "test", "fx", "--accept"]).code(0);
    // A server's own statements about its tools are not trusted, so the call asks.
    let sum = json!({"a": 1, "b": 2});
    let (reply, code) = env.call("fx__add", &sum, &[]);
    assert_eq!((reply["outcome"].as_str(), code), (Some("denied"), 5), "{reply}");
    let (reply, code) = env.call("fx__add", &sum, &["--policy", "auto"]);
    assert_eq!((reply["outcome"].as_str(), code), (Some("succeeded"), 0), "{reply}");
    assert!(reply["result"].to_string().contains('3'), "{reply}");
    let rows = support::json(&env.run(&["tool", "list", "--json"]).code(0).stdout);
    let row = rows.as_array().unwrap().iter().find(|row| row["id"] == "fx__add").unwrap();
    assert_eq!((&row["risk"], &row["source"]), (&json!("high"), &json!("fx")));
    // The server reports another identity: its tools are held until a person reviews them.
    env.write("own/name", "impostor");
    env.call("fx__add", &sum, &["--policy", "auto"]);
    let held = env.run(&["mcp", "review", "fx"]);
    assert!(held.stdout.contains("impostor"), "{held:?}");
    let (reply, _) = env.call("fx__add", &sum, &["--policy", "auto"]);
    assert_ne!(reply["outcome"], "succeeded", "{reply}");
    env.run(&["mcp", "rm", "FX"]).code(0);
    env.run(&["mcp", "test", "fx"]).code(4).says(&["there is no server fx"]);
}

#[test]
fn what_other_programs_have_is_shown_first_and_taken_over_without_its_secrets() {
    let env = TestEnv::new();
    let theirs = json!({"mcpServers": {"files": {"command": "npx", "args": ["-y", "files"],
        "env": {"API_KEY": "sk-very-secret-123456"}}}});
    env.write("theirs.json", theirs.to_string());
    let dry = env.run(&["mcp", "import", "theirs.json"]).code(0).says(&["nothing was changed"]);
    assert!(dry.stdout.contains("mcp_files_API_KEY"), "{dry:?}");
    let listed = |env: &TestEnv| env.run(&["mcp", "list"]).code(0).stdout;
    assert!(!listed(&env).contains("files"));
    let done = env.run(&["mcp", "import", "theirs.json", "--write"]).code(0);
    for said in [&dry, &done] {
        assert!(!format!("{said:?}").contains("very-secret"), "{said:?}");
    }
    assert!(listed(&env).contains("off"), "until it is tested");
    let files = std::fs::read_dir(env.outside().join("home")).unwrap().flatten();
    let texts = files.filter_map(|file| std::fs::read_to_string(file.path()).ok());
    assert!(texts.into_iter().all(|text| !text.contains("very-secret")));
    env.run(&["mcp", "import", "nothing.json"]).code(3);
}

/// Regression: an imported server did not find its relative script in the sandbox, and `npx` was
/// not fetched.
#[test]
fn an_imported_server_is_prepared_like_an_added_one() {
    let env = TestEnv::new();
    env.write("server/server.py", "");
    env.write("server/requirements.txt", "");
    let theirs = json!({"mcpServers": {
        "words": {"command": "python3", "args": ["server/server.py"]},
        "files": {"command": "npx", "args": ["-y", "files"]},
    }});
    env.write("theirs.json", theirs.to_string());
    let said = env.run(&["mcp", "import", "theirs.json", "--write"]).code(0).stdout;
    let script = env.root().join("server/server.py").canonicalize().unwrap();
    for expected in [script.to_str().unwrap(), "fetches the package files", "has no network"] {
        assert!(said.contains(expected), "{expected}: {said}");
    }
    let shown = env.run(&["mcp", "show", "words", "--json"]).code(0).stdout;
    assert!(shown.contains(script.to_str().unwrap()), "{shown}");
}

#[test]
fn this_program_is_a_server_of_its_own_tools() {
    let env = TestEnv::new();
    let mut server = env.filter(&["mcp", "serve"]);
    let mut ask = |message: Value| server.ask(&message.to_string());
    let hello = json!({"protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": {"name": "t", "version": "1"}});
    let answer = ask(json!({"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": hello}));
    assert_eq!(answer["result"]["serverInfo"]["name"], "toolcrib", "{answer}");
    let answer = ask(json!({"jsonrpc": "2.0", "id": 2, "method": "tools/list"}));
    let tools = answer["result"]["tools"].as_array().unwrap();
    assert!(tools.iter().any(|tool| tool["name"] == "read_file"), "{answer}");
    let call = |id: u64, name: &str| json!({"jsonrpc": "2.0", "id": id, "method": "tools/call", "params": {"name": name, "arguments": {"path": "notes.md"}}});
    let answer = ask(call(3, "read_file"));
    let text = answer["result"]["content"][0]["text"].as_str().unwrap().trim_end();
    assert_eq!(text, env.read("notes.md").unwrap().trim_end());
    // This client cannot ask its user.
    let answer = ask(call(4, "delete_file"));
    assert_eq!(answer["result"]["isError"], true, "{answer}");
    assert!(env.read("notes.md").is_some());
}

/// A client of Toolcrib sees a server's tools, with their metadata for programs, and reads their
/// pages.
#[test]
fn pages_of_servers_are_passed_on_to_clients_that_see_their_tools() {
    let env = TestEnv::new();
    env.write("server.py", FIXTURE);
    let path = |name: &str| env.root().join(name).display().to_string();
    let meta =
        |page: &str| json!({"ui": {"resourceUri": page}, "dev.toolcrib/call": {"trust": "tool"}});
    let tool = |name: &str, page: &str| json!({"name": name, "inputSchema": {"type": "object"}, "_meta": meta(page)});
    for (server, own, shared) in
        [("one", "ui://one/page", "ui://both"), ("two", "ui://two/page", "ui://both")]
    {
        let page = |uri: &str| json!({"uri": uri, "mimeType": "text/html;profile=mcp-app", "text": format!("<p>{server}"), "_meta": {"ui": {"prefersBorder": true}}});
        env.write(
            &format!("{server}/tools.json"),
            json!([tool("own", own), tool("shared", shared)]).to_string(),
        );
        let pages =
            json!({own: page(own), shared: page(shared), "ui://secret": page("ui://secret")});
        env.write(&format!("{server}/pages.json"), pages.to_string());
        let (program, own) = (path("server.py"), path(server));
        env.run(&["mcp", "add", server, "--write", &own, "--", "python3", &program, &own]).code(0);
        env.run(&["mcp", "test", server, "--accept"]).code(0);
    }
    let mut server = env.filter(&["mcp", "serve"]);
    let mut id = 0;
    let mut ask = |method: &str, params: Value| {
        id += 1;
        server.ask(
            &json!({"jsonrpc": "2.0", "id": id, "method": method, "params": params}).to_string(),
        )
    };
    let hello = json!({"protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": {"name": "t", "version": "1"}});
    ask("initialize", hello);
    let listed = ask("tools/list", json!({}));
    let tools = listed["result"]["tools"].as_array().unwrap();
    let tool = tools.iter().find(|tool| tool["name"] == "one__own").unwrap();
    assert_eq!(tool["_meta"], json!({"ui": {"resourceUri": "ui://one/page"}}));
    let resources = ask("resources/list", json!({}))["result"]["resources"].to_string();
    assert!(resources.contains("ui://two/page"), "{resources}");
    let read = ask("resources/read", json!({"uri": "ui://one/page"}));
    let contents = &read["result"]["contents"][0];
    assert_eq!(
        (&contents["text"], &contents["mimeType"]),
        (&json!("<p>one"), &json!("text/html;profile=mcp-app")),
        "{read}"
    );
    assert_eq!(contents["_meta"], json!({"ui": {"prefersBorder": true}}));
    // One server must not impersonate the other.
    let both = ask("resources/read", json!({"uri": "ui://both"}));
    assert!(
        both["error"]["message"].as_str().unwrap().contains("two servers have ui://both"),
        "{both}"
    );
    for nothing in ["ui://none", "file:///etc/passwd"] {
        let refused = ask("resources/read", json!({"uri": nothing}));
        assert!(refused["error"]["message"].as_str().unwrap().contains("there is no"), "{refused}");
    }
    // A client without access to the tool cannot read its page.
    env.run(&["tool", "disable", "one__own"]).code(0);
    env.run(&["tool", "disable", "one__shared"]).code(0);
    let mut server = env.filter(&["mcp", "serve"]);
    let mut ask = |method: &str, params: Value| {
        server.ask(
            &json!({"jsonrpc": "2.0", "id": 1, "method": method, "params": params}).to_string(),
        )
    };
    ask(
        "initialize",
        json!({"protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": {"name": "t", "version": "1"}}),
    );
    let refused = ask("resources/read", json!({"uri": "ui://one/page"}));
    assert!(refused.get("error").is_some(), "{refused}");
    let read = ask("resources/read", json!({"uri": "ui://both"}));
    assert_eq!(read["result"]["contents"][0]["text"], "<p>two", "{read}");
}

/// Returns a skill as a server describes it, and the content of its file.
fn skill_of_server(name: &str, words: &str) -> (Value, Value) {
    let (uri, text) = (
        format!("skill://acme/{name}/SKILL.md"),
        format!("---\nname: {name}\ndescription: Says {words}.\n---\n\nSay {words}.\n"),
    );
    let digest = format!("sha256:{}", toolcrib_core::canonical_json::sha256_text(&text));
    let front = json!({"name": name, "description": format!("Says {words}.")});
    let files = json!([{"uri": uri, "digest": digest, "size": text.len()}]);
    let entry = json!({"uri": uri, "frontmatter": front, "resources": files});
    (entry, json!({"uri": uri, "mimeType": "text/markdown", "text": text}))
}

fn offer_skills(env: &TestEnv, skills: &[(Value, Value)]) {
    let entries: Vec<&Value> = skills.iter().map(|(entry, _)| entry).collect();
    let files =
        skills.iter().map(|(_, file)| (file["uri"].as_str().unwrap().to_owned(), file.clone()));
    env.write("own/skills.json", json!(entries).to_string());
    env.write("own/pages.json", Value::Object(files.collect()).to_string());
}

/// Until the owner installs a skill, none of its text is read, and later changes of the server have
/// no effect.
#[test]
fn skills_of_a_server_are_held_until_they_are_taken_over() {
    let env = TestEnv::new();
    env.write("server.py", FIXTURE);
    let (good, false_one) = (skill_of_server("refunds", "yes"), skill_of_server("billing", "no"));
    let (other, _) = (skill_of_server("billing", "maybe").1, ());
    offer_skills(&env, &[good, (false_one.0, other), skill_of_server("create-skill", "mine")]);
    let path = |name: &str| env.root().join(name).display().to_string();
    let (server, own) = (path("server.py"), path("own"));
    env.run(&["mcp", "add", "fx", "--write", &own, "--", "python3", &server, &own]).code(0);
    env.run(&["mcp", "test", "fx", "--accept"]).code(0);
    let states = || {
        let shown = support::json(&env.run(&["mcp", "skills", "fx", "--json"]).code(0).stdout);
        let rows = shown["skills"].as_array().unwrap().clone();
        rows.iter().map(|row| row["state"].as_str().unwrap().to_owned()).collect::<Vec<_>>()
    };
    let skills = || env.run(&["skill", "list"]).code(0).stdout;
    assert_eq!(states(), ["held", "held", "held"]);
    assert!(!skills().contains("refunds"));
    assert!(!env.read("own/calls").unwrap().contains("read "), "nothing was read before");
    env.run(&["mcp", "skills", "fx", "--enable", "refunds"]).code(0);
    assert_eq!(states(), ["enabled", "held", "held"]);
    let listed = skills();
    let row = listed.lines().find(|line| line.starts_with("refunds")).unwrap();
    assert!(row.contains("server") && row.contains("Says yes."), "{row}");
    env.run(&["mcp", "skills", "fx", "--enable", "billing"])
        .code(1)
        .says(&["is not the one that it described"]);
    env.run(&["mcp", "skills", "fx", "--enable", "create-skill"])
        .code(2)
        .says(&["create-skill already"]);
    env.run(&["mcp", "skills", "fx", "--enable", "none"]).code(4);
    offer_skills(&env, &[skill_of_server("refunds", "everything")]);
    assert_eq!(states(), ["changed"]);
    assert!(skills().contains("Says yes."));
    env.run(&["mcp", "skills", "fx", "--enable", "refunds"]).code(0);
    assert_eq!(states(), ["enabled"]);
    assert!(skills().contains("Says everything."));
    env.run(&["mcp", "skills", "fx", "--disable", "refunds"]).code(0);
    assert_eq!(states(), ["held"]);
    env.run(&["mcp", "skills", "fx", "--enable", "refunds"]).code(0);
    env.run(&["mcp", "rm", "fx"]).code(0);
    assert!(!skills().contains("refunds"));
}

/// Each file matches its digest.
#[test]
fn clients_read_our_skills() {
    let env = TestEnv::new();
    let text = "---\nname: house-style\ndescription: How we write.\nx-team: red\n---\n\nShort.\n";
    env.write(".toolcrib/skills/house-style/SKILL.md", text);
    env.write(".toolcrib/skills/house-style/more/a b.md", "More.\n");
    let mut server = env.filter(&["mcp", "serve"]);
    let mut ask = |method: &str, params: Value| {
        server.ask(
            &json!({"jsonrpc": "2.0", "id": 1, "method": method, "params": params}).to_string(),
        )
    };
    let hello = json!({"protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": {"name": "t", "version": "1"}});
    let hello = ask("initialize", hello);
    assert!(
        hello["result"]["capabilities"]["extensions"]["io.modelcontextprotocol/skills"].is_object(),
        "{hello}"
    );
    let listed = ask("skills/list", json!({}));
    let skills = listed["result"]["skills"].as_array().unwrap();
    assert!(skills.iter().any(|skill| skill["uri"] == "skill://create-skill/SKILL.md"), "{listed}");
    let own = skills.iter().find(|skill| skill["frontmatter"]["name"] == "house-style").unwrap();
    assert_eq!(
        own["frontmatter"],
        json!({"name": "house-style", "description": "How we write.", "x-team": "red"})
    );
    let files = own["resources"].as_array().unwrap();
    let uris: Vec<&str> = files.iter().map(|file| file["uri"].as_str().unwrap()).collect();
    assert_eq!(uris, ["skill://house-style/SKILL.md", "skill://house-style/more/a%20b.md"]);
    for file in files {
        let read = ask("resources/read", json!({"uri": file["uri"]}));
        let text = read["result"]["contents"][0]["text"].as_str().unwrap();
        let digest = toolcrib_core::canonical_json::sha256_text(text);
        assert_eq!(file["digest"], format!("sha256:{digest}"), "{read}");
    }
    let one = ask("skills/get", json!({"uri": "skill://house-style/SKILL.md"}));
    assert_eq!(one["result"]["skill"], *own);
    for none in ["skill://house-style", "skill://none/SKILL.md", "skill://house-style/../../secret"]
    {
        assert!(ask("skills/get", json!({"uri": none}))["error"].is_object());
        assert!(ask("resources/read", json!({"uri": none}))["error"].is_object());
    }
}

/// Adds a server with its files, in a separate folder.
fn add_fixture(env: &TestEnv, more: &[&str]) {
    env.write("server.py", FIXTURE);
    std::fs::create_dir_all(env.root().join("own")).unwrap();
    let path = |name: &str| env.root().join(name).display().to_string();
    let (server, own) = (path("server.py"), path("own"));
    let mut words = vec!["mcp", "add", "fx", "--write", &own];
    words.extend(more);
    words.extend(["--", "python3", &server, &own]);
    env.run(&words).code(0);
}

/// Regression: a daemon applied `mcp disable` and similar commands only after a restart.
#[test]
fn what_the_owner_says_of_a_server_holds_in_a_running_daemon_at_once() {
    let env = TestEnv::new();
    add_fixture(&env, &[]);
    let daemon = DaemonProcess::start(&env, &["--policy", "auto"]);
    let sum = json!({"a": 1, "b": 2}).to_string();
    let call = || {
        let called = env.run(&["tool", "call", "fx__add", "--args", &sum, "--daemon", "--json"]);
        support::json(&called.stdout)["status"].as_str().unwrap_or("none").to_owned()
    };
    let until = |expected: &str| support::eventually(expected, || call() == expected);
    let alive = || {
        let own = env.root().join("own").display().to_string();
        let pids = std::fs::read_dir("/proc").unwrap().flatten();
        let lines = pids.filter_map(|pid| std::fs::read(pid.path().join("cmdline")).ok());
        lines
            .filter(|line| String::from_utf8_lossy(line).contains(&format!("server.py\0{own}")))
            .count()
    };
    env.run(&["mcp", "test", "fx", "--accept"]).code(0);
    until("succeeded");
    assert!(alive() > 0);
    env.run(&["mcp", "disable", "fx"]).code(0);
    until("failed");
    // The daemon answers before the system has reaped the process.
    support::eventually("the end of its process", || alive() == 0);
    env.run(&["mcp", "enable", "fx"]).code(0);
    until("succeeded");
    // A changed definition is held, even while the server is not connected, and then accepted.
    env.write("own/name", "impostor");
    env.run(&["mcp", "restart", "fx"]).code(0);
    env.run(&["mcp", "review", "fx"]).code(5);
    until("denied");
    let token = env.run(&["token", "show"]).code(0).stdout;
    let get = "GET /api/v1/mcp/servers HTTP/1.1\r\nHost: {host}\r\nConnection: close\r\n";
    let rows = || daemon.raw(&format!("{get}Authorization: Bearer {}\r\n\r\n", token.trim()));
    assert!(rows().contains("\"change\":\"changed\""), "{}", rows());
    env.run(&["mcp", "review", "fx", "--accept"]).code(0);
    until("succeeded");
    assert!(rows().contains("\"held\":[]"), "{}", rows());
    env.run(&["mcp", "rm", "fx"]).code(0);
    until("failed");
    support::eventually("the end of its process", || alive() == 0);
    daemon.stop(&env).0.code(0);
}

#[test]
fn secrets_of_a_server_go_into_the_vault_and_out_of_it_with_the_server() {
    let env = TestEnv::new();
    add_fixture(&env, &["--env", "API_TOKEN=very-secret-value-1", "--env", "MODE=plain"]);
    let file = std::fs::read_to_string(env.outside().join("home/mcp.toml")).unwrap();
    assert!(!file.contains("very-secret") && file.contains("plain"), "{file}");
    env.run(&["mcp", "test", "fx", "--accept"]).code(0);
    let (reply, _) = env.call("fx__env", &json!({}), &["--policy", "auto"]);
    let text = reply.to_string();
    assert!(text.contains("API_TOKEN") && !text.contains("very-secret"), "{text}");
    let listed = || env.run(&["secret", "list"]).code(0).stdout;
    assert!(listed().contains("mcp_fx_API_TOKEN"), "{}", listed());
    env.run(&["mcp", "set", "fx", "--env", "MODE=", "--timeout", "7"]).code(0);
    let shown = support::json(&env.run(&["mcp", "show", "fx", "--json"]).code(0).stdout);
    assert_eq!((&shown["timeout_s"], &shown["env"]), (&json!(7), &json!(["API_TOKEN"])), "{shown}");
    env.run(&["mcp", "rm", "fx"]).code(0).says(&["mcp_fx_API_TOKEN"]);
    assert!(!listed().contains("mcp_fx_API_TOKEN"), "{}", listed());
    // A later server with this name is not reviewed yet.
    add_fixture(&env, &[]);
    env.run(&["mcp", "test", "fx"]).code(5);
}

#[test]
fn a_server_sees_of_the_workspace_what_its_entry_says() {
    let env = TestEnv::new();
    env.write("server.py", WORKSPACE_SERVER);
    let server = env.root().join("server.py").display().to_string();
    let root = env.root().display().to_string();
    let call = |tool: &str| {
        let (reply, _) = env.call(tool, &json!({}), &["--policy", "auto"]);
        reply["result"].to_string()
    };
    for access in ["none", "read", "write"] {
        let name = format!("s{access}");
        let words = ["mcp", "add", &name, "--workspace", access, "--", "python3", &server, &root];
        env.run(&words).code(0);
        let tested = env.run(&["mcp", "test", &name, "--accept"]).code(0);
        // The description contains what the server saw before the review.
        assert!(!tested.stdout.contains("notes.md"), "{tested:?}");
    }
    assert!(!call("snone__look").contains("notes.md"));
    assert!(call("sread__look").contains("notes.md"));
    assert!(call("sread__write").contains("Read-only") || call("sread__write").contains("denied"));
    assert!(call("swrite__write").contains("written"));
    assert_eq!(env.read("new.txt").as_deref(), Some("new"));
    env.run(&["undo", "--yes"]).code(0);
    assert_eq!(env.read("new.txt"), None, "what it wrote is undone");
}

/// A server that describes the files it sees, and writes a file on request.
const WORKSPACE_SERVER: &str = r#"
import json, os, sys
root = sys.argv[1]
def seen():
    try:
        return " ".join(sorted(os.listdir(root)))
    except OSError as error:
        return str(error)
def write():
    try:
        open(os.path.join(root, "new.txt"), "w").write("new")
        return "written"
    except OSError as error:
        return str(error)
first = seen()
for line in sys.stdin:
    request = json.loads(line)
    if "id" not in request:
        continue
    method, result = request["method"], None
    if method == "initialize":
        result = {"protocolVersion": request["params"]["protocolVersion"], "capabilities": {"tools": {}}, "serverInfo": {"name": "w", "version": "1"}}
    elif method == "tools/list":
        result = {"tools": [{"name": name, "description": "Sees.", "inputSchema": {"type": "object"}} for name in ["look", "write"]]}
    elif method == "tools/call":
        text = first if request["params"]["name"] == "look" else write()
        result = {"content": [{"type": "text", "text": text}]}
    sys.stderr.write(first + "\n")
    answer = {"result": result} if result else {"error": {"code": -32601, "message": "unknown"}}
    print(json.dumps({"jsonrpc": "2.0", "id": request["id"], **answer}), flush=True)
"#;

#[test]
fn a_failing_start_says_which_setting_was_in_the_way() {
    let env = TestEnv::new();
    let data = env.outside().join("data.json");
    std::fs::write(&data, "{}").unwrap();
    let text = format!("import sys\nopen({:?})\n", data.display().to_string());
    env.write("server.py", text);
    let server = env.root().join("server.py").display().to_string();
    env.run(&["mcp", "add", "fx", "--", "python3", &server]).code(0);
    let path = data.display().to_string();
    env.run(&["mcp", "test", "fx", "--accept"])
        .code(1)
        .says(&["No such file or directory", &format!("toolcrib mcp set fx --read {path}")]);
    env.run(&["mcp", "set", "fx", "--read", &path]).code(0);
    let again = env.run(&["mcp", "test", "fx", "--accept"]).code(1);
    assert!(!again.stderr.contains("--read"), "{again:?}");
}

#[test]
fn doctor_looks_at_every_server() {
    let env = TestEnv::new();
    add_fixture(&env, &[]);
    env.run(&["mcp", "add", "gone", "--", "/no/such/program"]).code(0);
    let checked = env.run(&["doctor", "--json"]).stdout;
    let checks = support::json(&checked)["checks"].as_array().unwrap().clone();
    let texts: Vec<&str> = checks
        .iter()
        .filter(|check| check["name"] == "mcp")
        .map(|check| check["message"].as_str().unwrap())
        .collect();
    assert_eq!(texts.len(), 2, "{texts:?}");
    assert!(texts[0].contains("fx: its tools are not reviewed"), "{texts:?}");
    assert!(texts[1].contains("gone: /no/such/program does not exist"), "{texts:?}");
}
