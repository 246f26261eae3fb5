//! Agents, skills and kits over HTTP.

use serde_json::json;

use crate::support::TestDaemon;

#[tokio::test]
async fn an_agent_is_written_only_by_a_client_that_has_read_it() {
    let daemon = TestDaemon::start().await;
    let client = daemon.client();
    let made = client.post("/api/v1/agents", &json!({"name": "reader"})).await;
    assert_eq!(made.expect(201)["name"], "reader");
    let tag = made.headers["etag"].to_str().unwrap().to_owned();
    let path = "/api/v1/agents/reader";
    let text = "---\ntitle: Reader\ntools: [read_file]\n---\n\nYou read.\n";
    let body = json!({"text": text});
    assert_eq!(client.put(path, &body).await.problem(), "needs_match");
    let stale = client.clone().with("if-match", "\"0\"");
    assert_eq!(stale.put(path, &body).await.problem(), "stale");
    let fresh = client.clone().with("if-match", &tag);
    let written = fresh.put(path, &body).await;
    assert_eq!(written.expect(200)["resolved"], json!(["read_file"]));
    assert_eq!(fresh.put(path, &body).await.problem(), "stale");
    let shown = client.get(path).await;
    assert_eq!(shown.expect(200)["text"], text);
    assert_eq!(shown.headers["etag"], written.headers["etag"]);
    // Runs use the new agent.
    let run = json!({"text": "hi", "agent": "reader", "wait": true});
    assert_eq!(client.post("/api/v1/runs", &run).await.expect(200)["agent"], "reader");
    let now = client.clone().with("if-match", written.headers["etag"].to_str().unwrap());
    assert_eq!(client.delete(path).await.problem(), "needs_match");
    assert_eq!(now.delete(path).await.status, 204);
    assert_eq!(client.get(path).await.problem(), "not_found");
    assert_eq!(now.delete(path).await.problem(), "not_found");
    daemon.stop().await;
}

#[tokio::test]
async fn a_file_that_cannot_be_read_is_not_written() {
    let daemon = TestDaemon::start().await;
    let client = daemon.client();
    let folder = daemon.folder().join("config/agents");
    let check = async |name: &str, text: &str, words: &str| {
        let answer = client.put(&format!("/api/v1/agents/{name}"), &json!({"text": text})).await;
        assert_eq!(answer.problem(), "invalid", "{text}");
        assert!(answer.text.contains(words), "{}", answer.text);
        let left = std::fs::read_dir(&folder).map_or(0, Iterator::count);
        assert_eq!(left, 0, "{text}");
    };
    check("a", "no front matter", "front matter").await;
    check("a", "---\nodd: 1\n---\nP", "unknown key").await;
    check("a", "---\ntools: [red_file]\n---\nP", "read_file").await;
    check("a", "---\nmode: loose\n---\nP", "mode").await;
    check("general-assistant", "---\n---\nP", "built-in").await;
    check("A%20b", "---\n---\nP", "name").await;
    check("..%2Fescape", "---\n---\nP", "name").await;
    daemon.stop().await;
}

#[tokio::test]
async fn a_built_in_agent_is_copied_and_not_changed() {
    let daemon = TestDaemon::start().await;
    let client = daemon.client();
    let copy = json!({"name": "mine", "from": "general-assistant"});
    let made = client.post("/api/v1/agents", &copy).await.expect(201);
    let general = client.get("/api/v1/agents/general-assistant").await.expect(200);
    assert_eq!(made["prompt"], general["prompt"]);
    assert_eq!((&general["writable"], &made["writable"]), (&json!(false), &json!(true)));
    assert_eq!(client.post("/api/v1/agents", &copy).await.problem(), "conflict");
    let unknown = json!({"name": "other", "from": "nobody"});
    assert_eq!(client.post("/api/v1/agents", &unknown).await.problem(), "invalid");
    let path = "/api/v1/agents/general-assistant";
    assert!(!client.delete(path).await.status.is_success());
    // Written in the other format, the file replaces the old one.
    let toml = json!({"text": "prompt = \"You are mine.\"\n", "form": "toml"});
    let tag = client.get("/api/v1/agents/mine").await.headers["etag"].clone();
    let matched = client.clone().with("if-match", tag.to_str().unwrap());
    let changed = matched.put("/api/v1/agents/mine", &toml).await.expect(200);
    assert_eq!(changed["prompt"], "You are mine.");
    let left: Vec<String> = std::fs::read_dir(daemon.folder().join("config/agents"))
        .unwrap()
        .map(|entry| entry.unwrap().file_name().to_string_lossy().into_owned())
        .collect();
    assert_eq!(left, ["mine.toml"]);
    daemon.stop().await;
}

#[tokio::test]
async fn skills_and_kits_are_listed_and_shown() {
    let daemon = TestDaemon::start().await;
    let client = daemon.client();
    for (list, one) in [("skills", "description"), ("kits", "tools")] {
        let rows = client.get(&format!("/api/v1/{list}")).await.expect(200);
        let name = rows["items"][0]["name"].as_str().unwrap_or_else(|| panic!("{list}: {rows}"));
        let shown = client.get(&format!("/api/v1/{list}/{name}")).await.expect(200);
        assert_eq!(shown[one], rows["items"][0][one]);
        assert_eq!(client.get(&format!("/api/v1/{list}/nothing")).await.problem(), "not_found");
        if list == "skills" {
            let path = format!("/api/v1/skills/{name}/validate");
            assert_eq!(client.post(&path, &json!({})).await.expect(200)["valid"], true);
        }
    }
    let problems = client.get("/api/v1/library/problems").await.expect(200);
    assert_eq!(problems["valid"], true, "{problems}");
    daemon.stop().await;
}

#[tokio::test]
async fn a_text_is_checked_field_by_field_and_changed_key_by_key() {
    let daemon = TestDaemon::start().await;
    let client = daemon.client();
    let path = "/api/v1/agents/reader/check";
    let text = "---\ntitle: Reader # the name\ntools: [read_file]\n---\n\nYou read.\n";
    let said = client.post(path, &json!({"text": text})).await.expect(200);
    assert_eq!(said["faults"], json!([]));
    assert_eq!(said["fields"], json!({"title": "Reader", "tools": ["read_file"]}));
    assert_eq!(said["tools"]["resolved"], json!(["read_file"]));
    let fields = json!({"title": "Reader", "tools": ["read_file"], "temperature": 9, "model": "x"});
    let said = client.post(path, &json!({"text": text, "fields": fields})).await.expect(200);
    let changed = said["text"].as_str().unwrap();
    assert!(changed.contains("title: Reader # the name\n"), "{changed}");
    assert!(changed.contains("temperature: 9\n"), "{changed}");
    let mut faults: Vec<&str> =
        said["faults"].as_array().unwrap().iter().filter_map(|one| one["field"].as_str()).collect();
    faults.sort_unstable();
    assert_eq!(faults, ["model", "temperature"]);
    // A text that cannot be parsed is reported, and another format does not change it.
    let broken = "---\ntools: [a\n---\nP";
    let said = client.post(path, &json!({"text": broken})).await.expect(200);
    assert_eq!((&said["fields"], said["faults"].as_array().unwrap().len()), (&json!(null), 1));
    let refused = client.post(path, &json!({"text": broken, "fields": {}})).await;
    assert_eq!(refused.problem(), "invalid");
    assert_eq!(
        client.get("/api/v1/agents/reader").await.problem(),
        "not_found",
        "nothing is written"
    );
    daemon.stop().await;
}

#[tokio::test]
async fn a_skill_that_is_off_is_listed_and_loaded_by_nobody() {
    let daemon = TestDaemon::start().await;
    let client = daemon.client();
    let switch = "/api/v1/switches/skill:create-skill";
    let skill = "/api/v1/skills/create-skill";
    assert_eq!(client.get(skill).await.expect(200)["enabled"], true);
    assert_eq!(client.put(switch, &json!({"state": "off"})).await.expect(200)["state"], "off");
    assert_eq!(client.get(skill).await.expect(200)["enabled"], false);
    let load = json!({"tool": "load_skill", "arguments": {"name": "create-skill"}});
    let refused = client.post("/api/v1/calls", &load).await;
    assert!(refused.text.contains("switched off"), "{}", refused.text);
    assert_eq!(client.put(switch, &json!({"state": "ask"})).await.status.as_u16() / 100, 4);
    let unknown = client.put("/api/v1/switches/skill:nosuch", &json!({"state": "off"})).await;
    assert_eq!(unknown.problem(), "not_found");
    client.delete(switch).await.expect(200);
    assert_eq!(client.get(skill).await.expect(200)["enabled"], true);
    let loaded = client.post("/api/v1/calls", &load).await;
    assert_eq!(loaded.json()["status"], "succeeded", "{}", loaded.text);
    daemon.stop().await;
}
