//! Lists in pages: invalid, foreign and stale cursors, and paging through the inbox.

use serde_json::{Value, json};

use crate::approvals::{self, ONE};
use crate::runs::{begun, stands};
use crate::support::{Client, TestDaemon};

/// Returns the ids of all pages of a list.
async fn ids(client: &Client, path: &str, id: &str) -> Vec<String> {
    let (mut ids, mut next) = (Vec::new(), String::new());
    loop {
        let page = client.get(&format!("{path}{next}")).await.expect(200);
        let items = page["items"].as_array().unwrap();
        ids.extend(items.iter().map(|item| item[id].as_str().unwrap().to_owned()));
        match page["next"].as_str() {
            Some(cursor) => next = format!("&cursor={cursor}"),
            None => return ids,
        }
    }
}

/// Starts a daemon with this many waiting questions.
async fn asking(questions: usize) -> TestDaemon {
    let daemon = TestDaemon::with(approvals::plan(&approvals::risky(), ONE)).await;
    for at in 0..questions {
        let run = begun(&daemon.client(), &json!({"text": format!("go {at}")})).await;
        stands(&daemon.client(), &run, "paused").await;
    }
    daemon
}

#[tokio::test]
async fn the_inbox_is_read_page_by_page() {
    let daemon = asking(5).await;
    let client = daemon.client();
    let waiting = ids(&client, "/api/v1/approvals?limit=2", "approval").await;
    assert_eq!(waiting.len(), 5);
    let mut all = ids(&client, "/api/v1/approvals?state=all&limit=2", "approval").await;
    // The history lists the newest first.
    all.reverse();
    assert_eq!(all, waiting);
    // Questions that are decided between two pages neither shift the next page nor appear again.
    let first = client.get("/api/v1/approvals?limit=2").await.expect(200);
    for item in first["items"].as_array().unwrap() {
        let path = format!("/api/v1/approvals/{}", item["approval"].as_str().unwrap());
        let body = json!({"decision": "deny", "nonce": item["nonce"]});
        client.post(&path, &body).await.expect(200);
        stands(&client, item["run"].as_str().unwrap(), "ended").await;
    }
    let next = first["next"].as_str().unwrap();
    let second = client.get(&format!("/api/v1/approvals?limit=2&cursor={next}")).await.expect(200);
    let second: Vec<&Value> =
        second["items"].as_array().unwrap().iter().map(|item| &item["approval"]).collect();
    assert_eq!(second, [&json!(waiting[2]), &json!(waiting[3])]);
    daemon.stop().await;
}

#[tokio::test]
async fn a_cursor_is_good_for_its_own_list_only() {
    let daemon = asking(2).await;
    let client = daemon.client();
    for name in ["a", "b"] {
        let call = json!({"tool": "get_current_time", "arguments": {}});
        client.post("/api/v1/calls", &call).await.expect(200);
        let body = json!({"name": name, "roles": ["viewer"]});
        client.post("/api/v1/tokens", &body).await.expect(201);
    }
    let lists = [
        "calls?",
        "runs?",
        "approvals?",
        "approvals?state=all&",
        "conversations?",
        "tokens?",
        "audit?",
    ];
    let mut cursors = Vec::new();
    for list in lists {
        let page = client.get(&format!("/api/v1/{list}limit=1")).await.expect(200);
        cursors.push(page["next"].as_str().unwrap_or_else(|| panic!("{list}")).to_owned());
    }
    for (own, list) in lists.iter().enumerate() {
        let ask = async |cursor: &str| client.get(&format!("/api/v1/{list}cursor={cursor}")).await;
        assert_eq!(ask(&cursors[own]).await.status, 200, "{list}");
        for (other, cursor) in cursors.iter().enumerate().filter(|(other, _)| *other != own) {
            assert_eq!(ask(cursor).await.problem(), "bad_cursor", "{list} {}", lists[other]);
        }
        for wrong in ["x", "AAAA", "%00", &"A".repeat(4_000)] {
            assert_eq!(ask(wrong).await.problem(), "bad_cursor", "{list} {wrong:.20}");
        }
    }
    // A cursor from before a restart is still valid.
    let cursor = cursors.swap_remove(1);
    let folder = daemon.stop().await;
    let plan = approvals::plan(&approvals::risky(), ONE);
    let daemon = TestDaemon::in_folder(folder, plan).await;
    let page = daemon.client().get(&format!("/api/v1/runs?cursor={cursor}")).await.expect(200);
    assert_eq!(page["items"].as_array().unwrap().len(), 1);
    daemon.stop().await;
}

/// A secret in a question is shown as `***`; an owner, who may read it, edits the rest and keeps
/// it. Regression, found in review: an approver sent it to another address.
#[tokio::test]
async fn an_edit_keeps_a_masked_secret_only_for_an_editor_who_may_read_it() {
    let tool = approvals::risky();
    let script = "turns:
  - calls: [{tool: risky, args: {key: s3cr3t-value-9, to: ann}}]
  - say: Sent.
";
    let daemon = TestDaemon::with(approvals::plan(&tool, script)).await;
    daemon.toolcrib.engine().sealing().secrets.add(["s3cr3t-value-9"]);
    let client = daemon.client();
    let run = begun(&client, &json!({"text": "go"})).await;
    stands(&client, &run, "paused").await;
    let list = client.get("/api/v1/approvals").await;
    let question = list.expect(200)["items"][0].clone();
    assert_eq!(question["args"], json!({"key": "***", "to": "ann"}));
    assert!(!list.text.contains("s3cr3t"));
    let path = format!("/api/v1/approvals/{}", question["approval"].as_str().unwrap());
    let edit = json!({"key": "***", "to": "ben"});
    let body = json!({"decision": "edit", "args": edit, "nonce": question["nonce"]});
    let wanted = json!({"name": "second", "roles": ["caller", "approver"]});
    let token = client.post("/api/v1/tokens", &wanted).await.expect(201);
    let approver = daemon.anybody().with_token(token["token"].as_str().unwrap());
    let refused = approver.post(&path, &body).await;
    assert_eq!(refused.problem(), "forbidden");
    assert!(refused.text.contains("in place of a secret"), "{}", refused.text);
    assert_eq!(tool.runs(), 0);
    let decided = client.post(&path, &body).await;
    assert!(decided.status.is_success() && !decided.text.contains("s3cr3t"), "{}", decided.text);
    stands(&client, &run, "ended").await;
    assert_eq!(tool.seen(), [json!({"key": "s3cr3t-value-9", "to": "ben"})]);
    daemon.stop().await;
}

/// Sums up the usage of models and tools, by time and by name.
#[tokio::test]
async fn usage_is_added_up() {
    let script = "turns:
  - calls: [{tool: get_current_time, args: {}}]
    usage: {input: 10, output: 2}
  - say: It is late.
    usage: {input: 20, output: 3}
";
    let plan = crate::support::Plan {
        script: script.to_owned(),
        ..approvals::plan(&approvals::risky(), "")
    };
    let daemon = TestDaemon::with(plan).await;
    let client = daemon.client();
    let sums = async |query: &str| client.get(&format!("/api/v1/usage{query}")).await.expect(200);
    assert_eq!(sums("").await["items"], json!([]));
    let body = json!({"text": "When?", "wait": true});
    let run = client.post("/api/v1/runs", &body).await.expect(200);
    let by_model = sums("").await["items"][0].clone();
    assert_eq!((&by_model["requests"], &by_model["unreported"]), (&json!(2), &json!(0)));
    assert_eq!((&by_model["input_tokens"], &by_model["output_tokens"]), (&json!(30), &json!(5)));
    let by_agent = sums("?by=agent").await["items"][0].clone();
    assert_eq!((&by_agent["name"], &by_agent["input_tokens"]), (&run["agent"], &json!(30)));
    let by_tool = sums("?by=tool").await["items"][0].clone();
    assert_eq!((&by_tool["name"], &by_tool["calls"]), (&json!("get_current_time"), &json!(1)));
    assert_eq!(sums("?until=1").await["items"], json!([]));
    assert_eq!(sums("?since=4102444800000").await["items"], json!([]));
    assert_eq!(client.get("/api/v1/usage?by=hour").await.problem(), "bad_request");
    daemon.stop().await;
}
