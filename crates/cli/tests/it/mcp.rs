//! `toolcrib mcp`: a server of somebody else from its first test to its last call, what other
//! programs have, and this program as a server.

use serde_json::{Value, json};

use crate::support::{self, TestEnv};

/// A server that speaks the protocol itself; the same that the crate is tested with.
const FIXTURE: &str = include_str!("../../../mcp/tests/it/fixture/server.py");

#[test]
fn a_server_is_added_tested_used_reviewed_and_removed() {
    let env = TestEnv::new();
    env.write("server.py", FIXTURE);
    std::fs::create_dir(env.root().join("own")).unwrap();
    let path = |name: &str| env.root().join(name).display().to_string();
    let (server, own) = (path("server.py"), path("own"));
    env.run(&["mcp", "add", "fx", "--", "python3", &server, &own])
        .code(0)
        .says(&["fx is added and off"]);
    env.run(&["tool", "call", "fx__add", "--args", "{}"]).code(4);
    let tested = env.run(&["mcp", "test", "fx"]).code(0).says(&["fx is connected to fixture 1"]);
    assert!(tested.stdout.contains("fx__add"), "{tested:?}");
    // What a server says of its tools is not taken at its word: somebody is asked.
    let sum = json!({"a": 1, "b": 2});
    let (reply, code) = env.call("fx__add", &sum, &[]);
    assert_eq!((reply["outcome"].as_str(), code), (Some("denied"), 5), "{reply}");
    let (reply, code) = env.call("fx__add", &sum, &["--policy", "auto"]);
    assert_eq!((reply["outcome"].as_str(), code), (Some("succeeded"), 0), "{reply}");
    assert!(reply["result"].to_string().contains('3'), "{reply}");
    let rows = support::json(&env.run(&["tool", "list", "--json"]).code(0).stdout);
    let row = rows.as_array().unwrap().iter().find(|row| row["id"] == "fx__add").unwrap();
    assert_eq!((&row["risk"], &row["source"]), (&json!("high"), &json!("fx")));
    // It says something else of itself now: its tools are held until somebody looks.
    env.write("own/name", "impostor");
    env.call("fx__add", &sum, &["--policy", "auto"]);
    let held = env.run(&["mcp", "review", "fx"]);
    assert!(held.stdout.contains("impostor"), "{held:?}");
    let (reply, _) = env.call("fx__add", &sum, &["--policy", "auto"]);
    assert_ne!(reply["outcome"], "succeeded", "{reply}");
    env.run(&["mcp", "rm", "fx"]).code(0);
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
    // Nobody can be asked at this client.
    let answer = ask(call(4, "delete_file"));
    assert_eq!(answer["result"]["isError"], true, "{answer}");
    assert!(env.read("notes.md").is_some());
}

/// A client of ours sees a server's tools through us, with what they say to programs, and reads the
/// pages that they name.
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
        env.run(&["mcp", "add", server, "--", "python3", &path("server.py"), &path(server)])
            .code(0);
        env.run(&["mcp", "test", server]).code(0);
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
    // One server must not show itself as the other.
    let both = ask("resources/read", json!({"uri": "ui://both"}));
    assert!(
        both["error"]["message"].as_str().unwrap().contains("two servers have ui://both"),
        "{both}"
    );
    for nothing in ["ui://none", "file:///etc/passwd"] {
        let refused = ask("resources/read", json!({"uri": nothing}));
        assert!(refused["error"]["message"].as_str().unwrap().contains("there is no"), "{refused}");
    }
    // Whoever does not see the tool does not read its page.
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

/// A skill as a server describes it, with what it gives for its file.
fn skill_of_server(name: &str, words: &str) -> (Value, Value) {
    let (uri, text) = (
        format!("skill://acme/{name}/SKILL.md"),
        format!("---\nname: {name}\ndescription: Says {words}.\n---\n\nSay {words}.\n"),
    );
    let digest = format!("sha256:{}", toolcrib_app::core::canonical_json::sha256_text(&text));
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

/// Until the owner takes one over nothing of it is read, and what the server says later changes
/// nothing.
#[test]
fn skills_of_a_server_are_held_until_they_are_taken_over() {
    let env = TestEnv::new();
    env.write("server.py", FIXTURE);
    let (good, false_one) = (skill_of_server("refunds", "yes"), skill_of_server("billing", "no"));
    let (other, _) = (skill_of_server("billing", "maybe").1, ());
    offer_skills(&env, &[good, (false_one.0, other), skill_of_server("create-skill", "mine")]);
    let path = |name: &str| env.root().join(name).display().to_string();
    let (server, own) = (path("server.py"), path("own"));
    env.run(&["mcp", "add", "fx", "--", "python3", &server, &own]).code(0);
    env.run(&["mcp", "test", "fx"]).code(0);
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

/// Each file is what its digest says.
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
        let digest = toolcrib_app::core::canonical_json::sha256_text(text);
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
