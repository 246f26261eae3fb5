//! Memories and tasks over HTTP, and the scheduler that runs due tasks.

use std::time::{Duration, Instant};

use serde_json::{Value, json};

use crate::support::{Client, Plan, TestDaemon};

/// Starts a daemon whose model answers each run with one sentence.
async fn daemon() -> TestDaemon {
    let script = "turns:\n  - say: The plants are fine.\n".to_owned();
    TestDaemon::with(Plan { script, ..Plan::default() }).await
}

/// Waits until the task has run `times` times, and returns it.
async fn after(client: &Client, task: &str, times: usize) -> Value {
    let started = Instant::now();
    loop {
        let row = client.get(&format!("/api/v1/tasks/{task}")).await.expect(200);
        if row["history"].as_array().is_some_and(|history| history.len() >= times) {
            return row;
        }
        assert!(started.elapsed() < Duration::from_secs(20), "it never ran: {row}");
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
}

#[tokio::test]
async fn a_due_task_runs_once_in_a_conversation_of_its_own() {
    let daemon = daemon().await;
    let client = daemon.client();
    let at = jiff::Timestamp::now() + Duration::from_millis(300);
    let new = json!({"description": "Plants", "prompt": "How are the plants?", "execute_at": at.to_string()});
    let made = client.post("/api/v1/tasks", &new).await.expect(200);
    assert_eq!(made["status"], "PENDING");
    let task = made["task"].as_str().unwrap();
    let ran = after(&client, task, 1).await;
    assert_eq!((&ran["status"], &ran["history"][0]["ok"]), (&json!("COMPLETED"), &json!(true)));
    assert_eq!(ran["history"][0]["result"], "The plants are fine.");
    // The task starts within a second of its time.
    let first = &ran["history"][0];
    let late = first["started_at"].as_i64().unwrap() - first["due_at"].as_i64().unwrap();
    assert!((0..1_000).contains(&late), "{late} ms late");
    let conversation = ran["conversation"].as_str().unwrap();
    let messages = client.get(&format!("/api/v1/conversations/{conversation}/messages")).await;
    assert_eq!(messages.expect(200)["items"].as_array().unwrap().len(), 2);
    // A manual run continues in the same conversation.
    client.post(&format!("/api/v1/tasks/{task}/run"), &json!({})).await.expect(200);
    let again = after(&client, task, 2).await;
    assert_eq!(again["conversation"], conversation);
    assert_eq!(again["history"].as_array().unwrap().len(), 2);
    daemon.stop().await;
}

#[tokio::test]
async fn tasks_are_paused_cancelled_and_refused() {
    let daemon = daemon().await;
    let client = daemon.client();
    let new = json!({"description": "News", "prompt": "Tell the news.", "cron": "0 9 * * *", "zone": "UTC"});
    let made = client.post("/api/v1/tasks", &new).await.expect(200);
    assert_eq!(made["schedule"], "Daily at 9:00");
    assert_eq!(made["next"].as_array().unwrap().len(), 3);
    let path = format!("/api/v1/tasks/{}", made["task"].as_str().unwrap());
    let pause = format!("{path}/pause");
    assert_eq!(client.post(&pause, &json!({})).await.expect(200)["status"], "PAUSED");
    let resume = format!("{path}/resume");
    assert_eq!(client.post(&resume, &json!({})).await.expect(200)["status"], "PENDING");
    assert_eq!(client.delete(&path).await.expect(200)["status"], "CANCELLED");
    assert_eq!(client.delete(&path).await.problem(), "conflict");
    assert_eq!(client.get("/api/v1/tasks?open=true").await.expect(200)["items"], json!([]));
    let never = json!({"description": "x", "prompt": "y", "cron": "0 9 31 2 *"});
    assert_eq!(client.post("/api/v1/tasks", &never).await.problem(), "invalid");
    assert_eq!(client.get("/api/v1/tasks/none").await.problem(), "not_found");
    daemon.stop().await;
}

#[tokio::test]
async fn a_switch_holds_due_tasks_back() {
    let daemon = daemon().await;
    let client = daemon.client();
    let off = client.put("/api/v1/switches/feature:scheduling", &json!({"state": "off"})).await;
    off.expect(200);
    let at = jiff::Timestamp::now().to_string();
    let new = json!({"description": "Plants", "prompt": "?", "execute_at": at});
    let made = client.post("/api/v1/tasks", &new).await.expect(200);
    let path = format!("/api/v1/tasks/{}", made["task"].as_str().unwrap());
    tokio::time::sleep(Duration::from_millis(1_500)).await;
    assert_eq!(client.get(&path).await.expect(200)["status"], "PENDING");
    let on = client.put("/api/v1/switches/feature:scheduling", &json!({"state": "on"})).await;
    on.expect(200);
    after(&client, made["task"].as_str().unwrap(), 1).await;
    daemon.stop().await;
}

#[tokio::test]
async fn memories_are_written_listed_and_taken_back() {
    let daemon = daemon().await;
    let client = daemon.client();
    let text = json!({"content": "The favorite color is blue.", "category": "PREFERENCE"});
    let made = client.put("/api/v1/memories/color", &text).await.expect(200);
    assert_eq!((&made["category"], &made["by"]), (&json!("PREFERENCE"), &json!("owner")));
    let found = client.get("/api/v1/memories?query=what+color+is+liked").await.expect(200);
    assert_eq!(found["items"][0]["key"], "color");
    client.delete("/api/v1/memories/color").await.expect(200);
    assert_eq!(client.get("/api/v1/memories/color").await.problem(), "not_found");
    let undone = client.post("/api/v1/memory/undo", &json!({})).await.expect(200);
    assert_eq!(undone["memory"]["content"], "The favorite color is blue.");
    let file = client.get("/api/v1/memory/export").await.expect(200);
    client.delete("/api/v1/memories/color").await.expect(200);
    let import = json!({"file": file});
    assert_eq!(client.post("/api/v1/memory/import", &import).await.expect(200)["added"], 1);
    let secret = json!({"content": "AKIAABCDEFGHIJKLMNOP"});
    assert_eq!(client.put("/api/v1/memories/key", &secret).await.problem(), "invalid");
    daemon.stop().await;
}

#[tokio::test]
async fn lists_are_made_changed_and_taken_back() {
    let daemon = daemon().await;
    let client = daemon.client();
    let add = json!({"action": "add", "items": ["milk", "bread"]});
    let made = client.post("/api/v1/lists/Groceries", &add).await.expect(200);
    assert_eq!((&made["list"]["open"], &made["changed"]), (&json!(2), &json!(["milk", "bread"])));
    let check = json!({"action": "check", "items": ["MILK", "beer"]});
    let checked = client.post("/api/v1/lists/groceries", &check).await.expect(200);
    assert_eq!(checked["missing"], json!(["beer"]));
    let history = client.get("/api/v1/lists/groceries/history").await.expect(200);
    assert_eq!(history["changes"][0]["change"], "checked milk");
    client.delete("/api/v1/lists/groceries").await.expect(200);
    assert_eq!(client.get("/api/v1/lists/groceries").await.problem(), "not_found");
    client.post("/api/v1/list/undo", &json!({})).await.expect(200);
    let all = client.get("/api/v1/lists").await.expect(200);
    assert_eq!(all["items"][0]["items"][0], json!({"text": "milk", "checked": true}));
    let bad = json!({"action": "add", "items": ["two\nlines"]});
    assert_eq!(client.post("/api/v1/lists/x", &bad).await.problem(), "invalid");
    daemon.stop().await;
}

#[tokio::test]
async fn a_goal_is_pursued_in_the_background_with_its_own_budget() {
    let daemon = daemon().await;
    let client = daemon.client();
    let new = json!({"goal": "How are the plants?", "rounds": 3});
    let made = client.post("/api/v1/goals", &new).await.expect(200);
    let path = format!("/api/v1/goals/{}", made["goal"].as_str().unwrap());
    let started = Instant::now();
    let done = loop {
        let row = client.get(&path).await.expect(200);
        if row["status"] != "pending" && row["status"] != "running" {
            break row;
        }
        assert!(started.elapsed() < Duration::from_secs(20), "it never ran: {row}");
        tokio::time::sleep(Duration::from_millis(50)).await;
    };
    assert_eq!(
        (&done["status"], &done["result"]),
        (&json!("done"), &json!("The plants are fine."))
    );
    // Its events are the same as those of any run.
    let run = client.get(&format!("/api/v1/runs/{}", done["run"].as_str().unwrap())).await;
    assert_eq!(run.expect(200)["conversation"], done["conversation"]);
    assert_eq!(client.delete(&path).await.problem(), "conflict");
    assert_eq!(client.get("/api/v1/goals").await.expect(200)["items"].as_array().unwrap().len(), 1);
    assert_eq!(client.get("/api/v1/goals/none").await.problem(), "not_found");
    assert_eq!(client.post("/api/v1/goals", &json!({"goal": " "})).await.problem(), "invalid");
    daemon.stop().await;
}

/// Regression: a goal's run that scheduled a task, and a task's run that started a goal, started
/// again at depth 0, and so did tasks and goals that a run started before its conversation was
/// recorded.
#[tokio::test]
async fn goals_and_tasks_that_start_each_other_come_to_an_end() {
    let now = jiff::Timestamp::now();
    let script = format!(
        "turns:\n  - calls:\n      - tool: goal_pursuit\n        args: {{goal: More.}}\n      - tool: schedule_task\n        args: {{description: More, prompt: More., execute_at: '{now}'}}\n  - say: Done.\n"
    );
    let daemon = TestDaemon::with(Plan { script, ..Plan::default() }).await;
    let client = daemon.client();
    client.post("/api/v1/runs", &json!({"text": "Go."})).await;
    let started = Instant::now();
    let rows = |answer: Value| answer["items"].as_array().cloned().unwrap_or_default();
    loop {
        let goals = rows(client.get("/api/v1/goals").await.expect(200));
        let tasks = rows(client.get("/api/v1/tasks").await.expect(200));
        let is_over = goals.iter().all(|goal| goal["status"] == "done")
            && tasks.iter().all(|task| task["status"] == "COMPLETED");
        // One goal and one task of the person's run, one of each of the two runs of those, and
        // tasks of four more runs.
        if is_over && goals.len() == 3 && tasks.len() == 7 {
            break;
        }
        let all = (goals.len(), tasks.len());
        assert!(all.0 <= 3 && all.1 <= 7, "goals and tasks without end: {all:?}");
        assert!(started.elapsed() < Duration::from_secs(50), "they never ended: {all:?} {tasks:?}");
        tokio::time::sleep(Duration::from_millis(100)).await;
    }
    daemon.stop().await;
}

#[tokio::test]
async fn a_goal_waits_for_its_switch_and_is_cancelled_before_it_begins() {
    let daemon = daemon().await;
    let client = daemon.client();
    let off = client.put("/api/v1/switches/feature:goals", &json!({"state": "off"})).await;
    off.expect(200);
    let made = client.post("/api/v1/goals", &json!({"goal": "Plants"})).await.expect(200);
    let path = format!("/api/v1/goals/{}", made["goal"].as_str().unwrap());
    tokio::time::sleep(Duration::from_millis(1_500)).await;
    assert_eq!(client.get(&path).await.expect(200)["status"], "pending");
    client.delete(&path).await.expect(200);
    client.put("/api/v1/switches/feature:goals", &json!({"state": "on"})).await.expect(200);
    tokio::time::sleep(Duration::from_millis(1_500)).await;
    let row = client.get(&path).await.expect(200);
    assert_eq!((&row["status"], &row["run"]), (&json!("cancelled"), &Value::Null));
    daemon.stop().await;
}

#[tokio::test]
async fn documents_and_the_persons_text_over_http() {
    let daemon = daemon().await;
    let client = daemon.client();
    let text = json!({"text": "I am a baker."});
    client.put("/api/v1/custom-instructions", &text).await.expect(200);
    client.put("/api/v1/custom-instructions", &json!({"text": "I am a smith."})).await.expect(200);
    assert_eq!(
        client.get("/api/v1/custom-instructions/history").await.expect(200)["items"][0]["before"],
        "I am a baker."
    );
    let undone = client.post("/api/v1/custom-instructions/undo", &json!({})).await.expect(200);
    assert_eq!(undone["text"], "I am a baker.");
    client.delete("/api/v1/custom-instructions").await.expect(200);
    assert_eq!(client.get("/api/v1/custom-instructions").await.expect(200), json!({}));
    // The path of 0.1 works, and says which one replaces it.
    let old = client.get("/api/v1/soul").await;
    assert_eq!(old.headers["deprecation"], "@1795824000");
    let link = "</api/v1/custom-instructions>; rel=\"successor-version\"";
    assert_eq!(old.headers["link"], link);
    assert_eq!(old.expect(200), json!({}));
    assert_eq!(client.get("/api/v1/documents").await.expect(200)["items"], json!([]));
    assert_eq!(client.get("/api/v1/documents/search?query=the").await.problem(), "invalid");
    assert_eq!(client.get("/api/v1/documents/none").await.problem(), "not_found");
    daemon.stop().await;
}

/// Waits for this many notifications, and returns them.
async fn notifications(client: &Client, count: usize) -> Vec<Value> {
    let started = Instant::now();
    loop {
        let answer = client.get("/api/v1/notifications").await.expect(200);
        let rows = answer["items"].as_array().cloned().unwrap_or_default();
        if rows.len() >= count {
            return rows;
        }
        assert!(started.elapsed() < Duration::from_secs(20), "only {rows:?}");
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
}

/// Regression: the results of tasks and goals caused no notification.
#[tokio::test]
async fn the_end_of_a_task_and_of_a_goal_is_notified_once() {
    let daemon = daemon().await;
    let client = daemon.client();
    let at = jiff::Timestamp::now().to_string();
    let new = json!({"description": "Plants", "prompt": "How are the plants?", "execute_at": at});
    let made = client.post("/api/v1/tasks", &new).await.expect(200);
    let task = made["task"].as_str().unwrap();
    let ran = after(&client, task, 1).await;
    let rows = notifications(&client, 1).await;
    assert_eq!((&rows[0]["title"], &rows[0]["tag"]), (&json!("Done: Plants"), &json!(task)));
    assert_eq!(rows[0]["message"], "The plants are fine.");
    let link = format!("#/chat/{}", ran["conversation"].as_str().unwrap());
    assert_eq!(rows[0]["link"], link);
    // A newer notification replaces the older one.
    client.post(&format!("/api/v1/tasks/{task}/run"), &json!({})).await.expect(200);
    after(&client, task, 2).await;
    let goal = client.post("/api/v1/goals", &json!({"goal": "Water them."})).await.expect(200);
    let rows = notifications(&client, 2).await;
    assert_eq!(rows.len(), 2);
    assert_eq!((&rows[0]["title"], &rows[0]["tag"]), (&json!("Done: Water them."), &goal["goal"]));
    daemon.stop().await;
}

#[tokio::test]
async fn a_task_that_notified_the_person_itself_is_not_notified_again() {
    let script = "turns:\n  - calls:\n      - tool: send_notification\n        args: {message: Dry.}\n  - say: Told.\n";
    let daemon = TestDaemon::with(Plan { script: script.to_owned(), ..Plan::default() }).await;
    let client = daemon.client();
    let at = jiff::Timestamp::now().to_string();
    let new = json!({"description": "Plants", "prompt": "?", "execute_at": at});
    let made = client.post("/api/v1/tasks", &new).await.expect(200);
    after(&client, made["task"].as_str().unwrap(), 1).await;
    client.post("/api/v1/goals", &json!({"goal": "Look."})).await.expect(200);
    let rows = notifications(&client, 2).await;
    // The goal's run has sent its own notification, too.
    assert!(rows.iter().all(|row| row["message"] == "Dry."), "{rows:?}");
    daemon.stop().await;
}

/// Regression: all due tasks ran at once.
#[tokio::test]
async fn at_most_four_tasks_run_at_a_time() {
    let script = "turns:\n  - delay_ms: 1500\n    say: Done.\n".to_owned();
    let daemon = TestDaemon::with(Plan { script, ..Plan::default() }).await;
    let client = daemon.client();
    let at = jiff::Timestamp::now().to_string();
    for n in 0..9 {
        let name = format!("Task {n}");
        let new = json!({"description": name, "prompt": "?", "execute_at": at});
        client.post("/api/v1/tasks", &new).await.expect(200);
    }
    let (started, mut most) = (Instant::now(), 0);
    loop {
        let answer = client.get("/api/v1/tasks").await.expect(200);
        let rows = answer["items"].as_array().cloned().unwrap();
        let count = |status: &str| rows.iter().filter(|row| row["status"] == status).count();
        most = most.max(count("RUNNING"));
        if count("COMPLETED") == 9 {
            break;
        }
        assert!(started.elapsed() < Duration::from_secs(50), "they never ended: {rows:?}");
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
    assert_eq!(most, 4);
    daemon.stop().await;
}
