//! `toolcrib memory` and `toolcrib task`: a person reads and changes memories and tasks.

use std::time::{Duration, Instant};

use serde_json::{Value, json};

use crate::support::{self, DaemonProcess, TestEnv};

#[test]
fn a_memory_of_a_model_is_seen_changed_and_taken_back() {
    let env = TestEnv::new();
    let args = json!({"key": "sister", "content": "Mia lives in Oslo."});
    let (reply, code) = env.call("memory_store", &args, &[]);
    assert_eq!(code, 0, "{reply}");
    let shown = support::json(&env.run(&["memory", "show", "sister", "--json"]).code(0).stdout);
    assert_eq!((&shown["content"], &shown["hit_count"]), (&args["content"], &json!(1)));
    assert!(shown["call"].as_str().unwrap().starts_with("call_"), "{shown}");
    env.run(&["memory", "edit", "sister", "Mia lives in Bergen."]).code(0);
    let found = env.run(&["memory", "list", "where does family live", "--json"]).code(0);
    assert_eq!(support::json(&found.stdout)[0]["content"], "Mia lives in Bergen.");
    env.run(&["memory", "forget", "sister"]).code(0).says(&["toolcrib memory undo"]);
    env.run(&["memory", "show", "sister"]).code(4);
    env.run(&["memory", "undo"]).code(0);
    let file = env.outside().join("memories.json");
    let file = file.to_str().unwrap();
    env.run(&["memory", "export", file]).code(0);
    env.run(&["memory", "edit", "other", "x"]).code(0);
    env.run(&["memory", "import", file, "--replace"]).code(0).says(&["1 unchanged, 1 removed"]);
    env.run(&["memory", "edit", "k", "AKIAABCDEFGHIJKLMNOP"])
        .code(2)
        .says(&["contains a secret", "toolcrib secret set"]);
}

#[test]
fn memories_are_in_the_prompt_until_the_switch_is_off() {
    let env = TestEnv::new();
    env.run(&["memory", "edit", "color", "The favorite color is blue."]).code(0);
    let turn = "  - expect:\n      system_contains: \"- **color**: The favorite color is blue.\"\n    say: Blue.\n";
    env.play(turn, &[]).code(0);
    env.run(&["tool", "disable", "--feature", "memory"]).code(0);
    env.play(turn, &[]).code(1);
    let (reply, code) = env.call("memory_recall", &json!({"query": "color"}), &[]);
    assert_ne!(code, 0, "{reply}");
}

#[test]
fn tasks_are_made_listed_and_cancelled() {
    let env = TestEnv::new();
    let made = env
        .run(&[
            "task",
            "add",
            "News",
            "Tell the news.",
            "--cron",
            "0 9 * * *",
            "--zone",
            "UTC",
            "--json",
        ])
        .code(0);
    let made = support::json(&made.stdout);
    assert_eq!((&made["schedule"], &made["status"]), (&json!("Daily at 9:00"), &json!("PENDING")));
    let id = made["task"].as_str().unwrap();
    env.run(&["task", "pause", &id[..id.len() - 2]]).code(0);
    let listed = support::json(&env.run(&["task", "list", "--json"]).code(0).stdout);
    assert_eq!(listed[0]["status"], "PAUSED");
    env.run(&["task", "resume", id]).code(0);
    env.run(&["task", "cancel", id]).code(0);
    env.run(&["task", "cancel", id]).code(5).says(&["is over already"]);
    env.run(&["task", "history", id]).code(0).says(&["has not run yet"]);
    env.run(&["task", "add", "x", "y", "--at", "2020-01-01T00:00Z"]).code(2).says(&["now it is"]);
    env.run(&["task", "add", "x", "y"]).code(2).says(&["either execute_at or cron"]);
}

#[test]
fn a_recurrence_is_limited_to_hours_of_the_day() {
    let env = TestEnv::new();
    let every = [
        "task",
        "add",
        "Water",
        "Drink.",
        "--every",
        "interval:90",
        "--at",
        "2099-01-01T09:00",
        "--between",
        "9:00-12:30",
        "--zone",
        "Europe/Berlin",
        "--notify",
    ];
    env.run(&every).code(0).prints(&[
        "interval:90 from Thu, January 1, 2099 at 9:00, between 9:00 and 12:30",
        "next: Thu, January 1, 2099 at 9:00 +01:00",
        "next: Thu, January 1, 2099 at 12:00 +01:00",
    ]);
    let listed = support::json(&env.run(&["task", "list", "--json"]).code(0).stdout);
    assert_eq!(listed[0]["kind"], "notification", "{listed}");
    for (more, words) in [
        (["--every", "daily", "--between", "9:00-17:00"], "daily has one time a day"),
        (["--every", "hourly", "--between", "9:00-25:00"], "is not a time of the day"),
        (["--every", "hourly", "--between", "9:00-9:00"], "must be different times"),
        (["--every", "interval:1440", "--between", "9:00-10:00"], "No time of this recurrence"),
        (["--every", "hourly", "--between", "morning"], "such as 9:00-17:00"),
    ] {
        let args = [&["task", "add", "x", "y", "--at", "2099-01-01T23:30"][..], &more].concat();
        env.run(&args).code(2).says(&[words]);
    }
    let line = json!({
        "id": "window", "recurrence": "hourly", "execute_at": "2026-03-01T08:30", "zone": "UTC",
        "window_start": "22:00", "window_end": "1:00", "after": "2026-03-01T08:00", "count": 4,
    });
    let answer = env.feed(&["task", "next", "--lines"], support::feed(&[line])).code(0);
    assert_eq!(
        support::lines(&answer.stdout)[0]["next"],
        json!([
            "2026-03-01T22:30:00+00:00",
            "2026-03-01T23:30:00+00:00",
            "2026-03-02T00:30:00+00:00",
            "2026-03-02T22:30:00+00:00"
        ])
    );
    let broken = env.feed(&["task", "next", "--lines"], "0 9 * * *\n").code(0).stdout;
    assert!(broken.contains("Write one JSON object on each line, such as"), "{broken}");
    // A model lists tasks that are due in a period.
    for (range, count) in [("2099-01-01/2099-01-01", 1), ("2098-01-01/2098-12-31", 0), ("today", 0)]
    {
        let (reply, code) = env.call("list_tasks", &json!({ "time_range": range }), &[]);
        assert_eq!(code, 0, "{reply}");
        let found = reply["structured"]["tasks"].as_array().map_or(0, Vec::len);
        assert_eq!(found, count, "{range}: {reply}");
    }
    let (reply, code) = env.call("list_tasks", &json!({"time_range": "soon"}), &[]);
    assert_ne!(code, 0);
    assert!(reply["result"].to_string().contains("Use today, tomorrow, week, month"), "{reply}");
}

/// The task needs no model: the daemon has none that answers.
#[test]
fn a_task_that_is_a_notification_notifies_once() {
    let env = TestEnv::new();
    let model = env.script("script", "  - expect:\n      system_contains: never\n    say: x\n");
    let daemon = DaemonProcess::start(&env, &["--model", &model]);
    let now = jiff::Timestamp::now().to_string();
    let add = ["task", "add", "Tea", "The tea is ready.", "--at", &now, "--notify", "--json"];
    let made = support::json(&env.run(&add).code(0).stdout);
    let id = made["task"].as_str().unwrap();
    let until = Instant::now() + Duration::from_secs(60);
    let ended = loop {
        let task = support::json(&env.run(&["task", "show", id, "--json"]).code(0).stdout);
        if task["status"] == "COMPLETED" {
            break task;
        }
        assert!(Instant::now() < until, "{task}");
        std::thread::sleep(Duration::from_millis(200));
    };
    let history = &ended["history"];
    assert_eq!((&history[0]["ok"], &history[0]["run"]), (&json!(true), &json!(null)), "{ended}");
    assert_eq!(history.as_array().unwrap().len(), 1, "{ended}");
    let sent = support::json(&env.run(&["notification", "list", "--json"]).code(0).stdout);
    assert_eq!(sent.as_array().unwrap().len(), 1, "{sent}");
    assert_eq!(
        (&sent[0]["title"], &sent[0]["message"]),
        (&json!("Tea"), &json!("The tea is ready."))
    );
    daemon.stop(&env).0.code(0);
}

#[test]
fn the_next_times_of_schedules_are_answered_line_by_line() {
    let env = TestEnv::new();
    let lines = [
        json!({"id": "gap", "cron": "30 2 * * *", "zone": "Europe/Berlin", "after": "2026-03-28T12:00", "count": 2}),
        json!({"id": "never", "cron": "0 9 31 2 *"}),
    ];
    let answers = env.feed(&["task", "next", "--lines"], support::feed(&lines)).code(0);
    let answers = support::lines(&answers.stdout);
    assert_eq!(
        answers[0],
        json!({"id": "gap", "next": ["2026-03-29T03:00:00+02:00", "2026-03-30T02:30:00+02:00"]})
    );
    assert!(answers[1]["error"].as_str().unwrap().contains("never matches"), "{}", answers[1]);
    let listed = env.run(&["task", "list", "--all", "--json"]).code(0);
    assert_eq!(support::json(&listed.stdout), json!([]));
}

#[test]
fn lists_of_a_model_are_seen_changed_and_taken_back() {
    let env = TestEnv::new();
    let args = json!({"action": "add", "name": "Groceries", "items": ["milk", "bread"]});
    let (reply, code) = env.call("list", &args, &[]);
    assert_eq!(code, 0, "{reply}");
    env.run(&["list", "check", "groceries", "Milk", "beer"])
        .code(0)
        .says(&["beer is not on the list"])
        .prints(&["[x] milk", "[ ] bread"]);
    let shown = support::json(&env.run(&["list", "show", "--json"]).code(0).stdout);
    assert_eq!((&shown["open"], &shown["checked"]), (&json!(1), &json!(1)));
    env.run(&["list", "history", "--since", "2026-01-01"]).code(0).prints(&["checked milk"]);
    env.run(&["list", "delete", "groceries"]).code(0).says(&["toolcrib list undo"]);
    env.run(&["list", "show", "groceries"]).code(4);
    env.run(&["list", "undo"]).code(0);
    env.run(&["list", "all"]).code(0).prints(&["Groceries"]);
    env.run(&["list", "add", "x", "AKIAABCDEFGHIJKLMNOP"]).code(2).says(&["contains a secret"]);
    env.run(&["tool", "disable", "--feature", "lists"]).code(0);
    let (reply, code) = env.call("list", &json!({"action": "view"}), &[]);
    assert_ne!(code, 0, "{reply}");
}

#[test]
fn a_card_is_drawn_and_reaches_programs_as_data() {
    let env = TestEnv::new();
    let table = r#"[{"type":"table","columns":["Bread","Price"],"rows":[["rye","3.10"]]}]"#;
    let blocks = format!("blocks:={table}");
    env.run(&["tool", "call", "rich_render", &blocks])
        .code(0)
        .prints(&["Bread  Price", "rye     3.10"]);
    let args = json!({"blocks": [{"type": "badge", "label": "new"}]});
    let (reply, code) = env.call("rich_render", &args, &[]);
    assert_eq!(code, 0, "{reply}");
    let badge = json!({"type": "badge", "label": "new", "level": "info"});
    assert_eq!(reply["structured"]["blocks"], json!([badge]));
    let script = "  - calls:\n      - tool: rich_render\n        args: {blocks: [{type: badge, label: new}]}\n  - say: Done.\n";
    env.play(script, &[]).code(0).says(&["[i new]"]);
    let events = env.play(script, &["--json"]).code(0);
    let events = support::lines(&events.stdout);
    let shown = events.iter().find(|event| event["state"] == "output-available").unwrap();
    assert_eq!(shown["cards"], json!([{ "blocks": [badge] }]));
}

#[test]
fn documents_are_put_in_searched_read_deleted_and_restored() {
    let env = TestEnv::new();
    let page = "The notice period is three months. ".repeat(40);
    env.write("lease.txt", format!("The rent is 900.\n\n{page}\n\nSigned in Oslo."));
    env.write("bread.md", "# Bread\n\nRye bread is baked at night.\n");
    env.write("data.bin", [0_u8, 1, 2]);
    let files: Vec<String> =
        ["lease.txt", "bread.md"].map(|name| env.root().join(name).display().to_string()).into();
    env.run(&["document", "add", &files[0], &files[1]]).code(0).says(&["lease.txt is ready"]);
    let listed = support::json(&env.run(&["document", "list", "--json"]).code(0).stdout);
    assert_eq!(listed.as_array().unwrap().len(), 2);
    let search = ["document", "search", "where was it signed", "--limit", "1", "--json"];
    let found = support::json(&env.run(&search).code(0).stdout);
    assert!(found[0]["text"].as_str().unwrap().contains("Signed in Oslo."), "{found}");
    let offset = found[0]["offset"].to_string();
    env.run(&["document", "show", "lease.txt", "--offset", &offset])
        .code(0)
        .prints(&["Signed in Oslo."]);
    // A model finds the same passages, and adds files of the workspace under the rules for reading.
    let search = json!({"action": "search", "query": "baked at night"});
    let (reply, code) = env.call("document", &search, &[]);
    assert_eq!(code, 0, "{reply}");
    assert!(reply["result"].to_string().contains("bread.md"), "{reply}");
    env.own("rules.toml", "[[rules]]\neffect = \"deny\"\nrule = \"Read(bread.md)\"\n");
    let add = json!({"action": "add", "path": "bread.md"});
    let (reply, code) = env.call("document", &add, &[]);
    assert_eq!((reply["outcome"].as_str(), code), (Some("denied"), 5), "{reply}");
    env.run(&["document", "delete", "BREAD.md"]).code(0).says(&["toolcrib document restore doc_"]);
    env.run(&["document", "search", "rye"]).code(0).says(&["no passage matches"]);
    env.run(&["document", "restore", "bread.md"]).code(0);
    env.run(&["document", "search", "rye"]).code(0).prints(&["Rye bread"]);
    let binary = env.root().join("data.bin").display().to_string();
    env.run(&["document", "add", &binary]).code(2);
    // A file whose content does not match its name.
    env.write("photo.pdf", b"\x89PNG\r\n\x1a\n\0");
    let photo = env.root().join("photo.pdf").display().to_string();
    env.run(&["document", "add", &photo]).code(2).says(&["does not begin with the mark"]);
    let listed = support::json(&env.run(&["document", "list", "--json"]).code(0).stdout);
    assert_eq!(listed.as_array().unwrap().len(), 2, "nothing of it is kept: {listed}");
    env.run(&["document", "show", "none"]).code(4);
    // Text without pages has no page nine; the start of the text was shown.
    env.run(&["document", "show", "lease.txt", "--page", "9"])
        .code(2)
        .says(&["\"lease.txt\" has no pages", "there is nothing at page 9"]);
    env.run(&["document", "show", "lease.txt", "--offset", "99999"])
        .code(2)
        .says(&["there is nothing at offset 99999"]);
    // `read` returns the same text, for callers that have the tool `document`.
    let part = json!({"source": "document:lease.txt", "offset": 4, "max_chars": 20});
    let (reply, code) = env.call("read", &part, &[]);
    assert_eq!(
        (code, &reply["structured"]["text"]),
        (0, &json!("rent is 900.\n\nThe no")),
        "{reply}"
    );
    let next = &reply["structured"]["next"];
    assert_eq!(next["offset"], json!(24), "{reply}");
    for (source, page, words) in [
        ("document:lese.txt", json!(null), "Did you mean lease.txt?"),
        ("document:lease.txt", json!(3), "has no pages"),
        ("lease.txt", json!(2), "page is for document:NAME"),
    ] {
        let (reply, code) = env.call("read", &json!({"source": source, "page": page}), &[]);
        assert_ne!(code, 0, "{reply}");
        assert!(reply["result"].to_string().contains(words), "{words}: {reply}");
    }
    env.run(&["tool", "disable", "--feature", "documents"]).code(0);
    let (reply, code) = env.call("read", &json!({"source": "document:lease.txt"}), &[]);
    assert_ne!(code, 0, "{reply}");
    assert!(reply["result"].to_string().contains("switched off"), "{reply}");
}

#[cfg(target_os = "linux")]
#[test]
fn a_pdf_is_found_with_its_page() {
    let env = TestEnv::new();
    env.write("a.pdf", crate::document_tools::pdf("Payment is due in thirty days"));
    let file = env.root().join("a.pdf").display().to_string();
    env.run(&["document", "add", &file]).code(0).says(&["a.pdf is ready, 1 page"]);
    env.run(&["document", "search", "when is payment due"]).code(0).prints(&["a.pdf, page 1"]);
    env.run(&["document", "show", "a.pdf", "--page", "9"])
        .code(2)
        .says(&["\"a.pdf\" has 1 page: there is nothing at page 9"]);
}

#[test]
fn the_persons_text_is_in_the_prompt_and_what_is_shown_is_what_is_sent() {
    let env = TestEnv::new();
    env.run(&["prompt", "set", "I am a baker in Oslo."]).code(0);
    env.run(&["prompt", "set", "Answer in two sentences."]).code(0);
    env.run(&["prompt", "history"]).code(0).prints(&["I am a baker in Oslo."]);
    env.run(&["prompt", "undo"]).code(0).prints(&["I am a baker in Oslo."]);
    let model = env.script("hi", "  - say: Hello.\n");
    let shown = env.run(&["prompt", "show", "--model", &model, "--json"]).code(0);
    let shown = support::json(&shown.stdout);
    let names: Vec<&str> = shown["parts"]
        .as_array()
        .unwrap()
        .iter()
        .map(|part| part["part"].as_str().unwrap())
        .collect();
    assert_eq!(&names[..3], ["agent", "custom instructions", "honesty"]);
    assert_eq!(&names[names.len() - 2..], ["context", "cards"]);
    let system = shown["system"].as_str().unwrap();
    assert!(system.contains("I am a baker in Oslo."), "{system}");
    // Half of the former 11,800 characters, with the text of the person and a longer workspace in
    // addition.
    assert!(system.chars().count() < 6_200, "{}", system.chars().count());
    for part in shown["parts"].as_array().unwrap() {
        let text = part["text"].as_str().unwrap();
        // The minute may change between the two.
        if part["part"] == "context" {
            continue;
        }
        let turn = format!("  - expect:\n      system_contains: {}\n    say: Yes.\n", json!(text));
        env.play(&turn, &[]).code(0);
    }
    assert!(shown["declaration_tokens"].as_u64().unwrap() > 1_000);
    env.run(&["prompt", "clear"]).code(0);
    env.run(&["prompt", "instructions"]).code(0).says(&["there is no text"]);
    // The name that it had.
    env.run(&["prompt", "soul"]).code(0).says(&["is now `toolcrib prompt instructions`"]);
    env.run(&["prompt", "set", "AKIAABCDEFGHIJKLMNOP"]).code(2).says(&["contains a secret"]);
    env.run(&["prompt", "set", " "]).code(2).says(&["is empty"]);
}

#[test]
fn goals_are_started_listed_and_cancelled() {
    let env = TestEnv::new();
    let made =
        env.run(&["goal", "add", "Compare the libraries.", "--rounds", "5", "--json"]).code(0);
    let made = support::json(&made.stdout);
    assert_eq!((&made["status"], &made["rounds"]), (&json!("pending"), &json!(5)));
    let id = made["goal"].as_str().unwrap();
    env.run(&["goal", "list"]).code(0).prints(&[id]);
    let (reply, _) = env.call("goals", &json!({"action": "inspect", "goal_id": id}), &[]);
    assert!(reply["result"].to_string().contains("Compare the libraries."), "{reply}");
    env.run(&["goal", "cancel", id]).code(0);
    env.run(&["goal", "cancel", id]).code(5).says(&["is cancelled already"]);
    env.run(&["goal", "show", "goal_none"]).code(4);
    env.run(&["goal", "add", "x", "--rounds", "101"]).code(2).says(&["1 to 100"]);
}

#[test]
fn an_alarm_of_a_model_is_listed_and_cancelled() {
    let env = TestEnv::new();
    let args = json!({"duration_seconds": 600, "label": "Pasta"});
    let (reply, code) = env.call("set_alarm", &args, &[]);
    assert_eq!(code, 0, "{reply}");
    let listed = support::json(&env.run(&["task", "list", "--json"]).code(0).stdout);
    assert_eq!((&listed[0]["kind"], &listed[0]["prompt"]), (&json!("alarm"), &json!("Pasta")));
    let id = listed[0]["task"].as_str().unwrap();
    env.run(&["task", "dismiss", id]).code(5).says(&["does not ring"]);
    env.run(&["task", "cancel", id]).code(0);
    env.run(&["task", "add", "Tea", "Tea", "--alarm", "--at", "2099-01-01T08:00"]).code(0);
    let (reply, code) = env.call("set_alarm", &json!({"hour": 24}), &[]);
    assert_ne!(code, 0, "{reply}");
}

#[test]
fn the_heartbeat_is_shown_with_what_it_would_ask() {
    let env = TestEnv::new();
    let text = env.run(&["heartbeat", "show"]).code(0).stdout;
    assert!(text.contains("is on: every 30 min from 8:00 to 22:00"), "{text}");
    env.run(&["config", "set", "heartbeat.interval", "60"]).code(0);
    env.run(&["config", "set", "heartbeat.interval", "7"]).code(2).says(&["one of 5, 10"]);
    env.run(&["task", "add", "Backup", "Check the backup.", "--on-heartbeat"]).code(0);
    let prompt = env.run(&["heartbeat", "prompt"]).code(0).stdout;
    assert!(prompt.contains("[HEARTBEAT]") && prompt.contains("): Check the backup."), "{prompt}");
    let run = support::json(&env.run(&["heartbeat", "run", "--json"]).code(0).stdout);
    assert_eq!(run["interval_minutes"], 60);
    env.run(&["config", "set", "heartbeat.enabled", "false"]).code(0);
    env.run(&["heartbeat", "run"]).code(5).says(&["switched off"]);
}

/// Bug: a promotion was written to a memory named `soul`, and `memory undo` left its instruction in
/// every prompt.
#[test]
fn a_promotion_is_in_the_prompt_and_taken_back_with_its_instruction() {
    let env = TestEnv::new();
    env.run(&["prompt", "set", "I am a baker."]).code(0);
    env.run(&["memory", "edit", "answer_length", "Short answers are liked."]).code(0);
    let promotion = json!({"key": "answer_length", "instruction": "Answer in short sentences."});
    let (reply, code) = env.call("promote_learning", &promotion, &["--policy", "auto"]);
    assert_eq!(code, 0, "{reply}");
    let model = env.script("hi", "  - say: Hello.\n");
    let prompt = || {
        let shown = env.run(&["prompt", "show", "--model", &model, "--json"]).code(0);
        support::json(&shown.stdout)["system"].as_str().unwrap().to_owned()
    };
    let both = "## From the Person, for Every Run\n\nI am a baker.\n\nAnswer in short sentences.";
    assert!(prompt().contains(both), "{}", prompt());
    assert!(!prompt().contains("Short answers are liked."));
    env.run(&["memory", "undo"]).code(0).says(&["its instruction is out of the system prompt"]);
    assert!(!prompt().contains("Answer in short sentences."), "{}", prompt());
    assert!(prompt().contains("I am a baker."));
    assert!(prompt().contains("Short answers are liked."));
    // The key of earlier versions leads to the text.
    let refused = env.run(&["memory", "edit", "soul", "Obey."]).code(2);
    refused.says(&["reserved", "toolcrib prompt set"]);
}

/// Regression: secrets in natural language were stored, and shown to every model.
#[test]
fn secrets_in_plain_words_are_refused() {
    let env = TestEnv::new();
    for (tool, args) in [
        ("memory_store", json!({"key": "wifi", "content": "the wifi password is hunter2isok"})),
        (
            "memory_learn",
            json!({"key": "w", "content": "password: hunter2", "category": "LEARNING"}),
        ),
        (
            "schedule_task",
            json!({"description": "Log in", "prompt": "password: hunter2", "cron": "0 9 * * *"}),
        ),
        ("goal_pursuit", json!({"goal": "Log in; the PIN is 4711."})),
    ] {
        let (reply, code) = env.call(tool, &args, &[]);
        assert_ne!(code, 0, "{reply}");
        assert!(reply.to_string().contains("toolcrib secret set NAME"), "{reply}");
    }
    let fine = json!({"key": "wifi", "content": "The wifi password is in the vault."});
    let (reply, code) = env.call("memory_store", &fine, &[]);
    assert_eq!(code, 0, "{reply}");
}

/// Regression: a file named `-` was written.
#[test]
fn memories_are_exported_to_and_imported_from_a_dash() {
    let env = TestEnv::new();
    env.run(&["memory", "edit", "color", "Blue."]).code(0);
    let file = env.run(&["memory", "export", "-"]).code(0).prints(&["\"color\""]).stdout;
    env.run(&["memory", "forget", "color"]).code(0);
    env.feed(&["memory", "import", "-"], file).code(0);
    env.run(&["memory", "show", "color"]).code(0).prints(&["Blue."]);
}

/// Regression: after the only task had ended, the list reported that there is none.
#[test]
fn a_list_without_open_tasks_says_where_the_others_are() {
    let env = TestEnv::new();
    env.run(&["task", "list"]).code(0).says(&["no tasks"]);
    let made = env.run(&["task", "add", "News", "Tell.", "--cron", "0 9 * * *", "--json"]).code(0);
    let id = support::json(&made.stdout)["task"].as_str().unwrap().to_owned();
    env.run(&["task", "cancel", &id]).code(0);
    env.run(&["task", "list"]).code(0).says(&["toolcrib task list --all"]);
}

/// On the command line and for models: what is wrong, and what now is.
#[test]
fn times_that_never_come_are_refused() {
    let env = TestEnv::new();
    let never = ["task", "add", "x", "y", "--cron", "0 9 31 2 *"];
    env.run(&never).code(2).says(&["never matches: no date has this day and month"]);
    let february = ["task", "add", "x", "y", "--at", "2099-02-31T09:00"];
    env.run(&february).code(2).says(&["not a date and time that exists"]);
    for (when, words) in [
        (json!({"cron": "0 9 31 2 *"}), "never matches"),
        (json!({"execute_at": "2099-02-31T09:00"}), "not a date and time that exists"),
        (json!({"execute_at": "31 Feb"}), "not a date and time that exists"),
        (json!({"execute_at": "2020-01-01T09:00"}), "now it is"),
    ] {
        let mut args = json!({"description": "x", "prompt": "y"});
        args.as_object_mut().unwrap().extend(when.as_object().unwrap().clone());
        let (reply, code) = env.call("schedule_task", &args, &[]);
        assert_ne!(code, 0, "{reply}");
        assert!(reply["result"].to_string().contains(words), "{words}: {reply}");
    }
    assert_eq!(support::json(&env.run(&["task", "list", "--json"]).code(0).stdout), json!([]));
}

#[test]
fn a_full_memory_loses_nothing_and_says_what_to_do() {
    let env = TestEnv::new();
    let memory = |n: usize| json!({"key": format!("k{n}"), "content": format!("Number {n}.")});
    let all: Vec<Value> = (0..10_000).map(memory).collect();
    let file = env.outside().join("full.json");
    std::fs::write(&file, json!({"version": 1, "memories": all}).to_string()).unwrap();
    env.run(&["memory", "import", file.to_str().unwrap()]).code(0).says(&["10000 added"]);
    let store = |key: &str| env.call("memory_store", &json!({"key": key, "content": "x"}), &[]);
    let (reply, code) = store("one_more");
    assert_ne!(code, 0, "{reply}");
    let text = reply["result"].to_string();
    assert!(text.contains("which is the maximum. Forget one"), "{reply}");
    // One that is there can still change, and one that is forgotten makes room.
    assert_eq!(store("k7").1, 0);
    assert_eq!(env.call("memory_forget", &json!({"key": "k8"}), &[]).1, 0);
    assert_eq!(store("one_more").1, 0);
    env.run(&["memory", "show", "k9999"]).code(0).prints(&["Number 9999."]);
}

/// The four groups in their order, cut between entries, and the three tools of a small model.
#[test]
fn a_model_on_this_device_gets_a_short_part_of_the_memory() {
    let env = TestEnv::new();
    env.own(
        "config.toml",
        "[providers.local]\nkind = \"openai-compatible\"\nbase_url = \"http://127.0.0.1:9/v1\"\non_device = true\n[providers.far]\nkind = \"openai-compatible\"\nbase_url = \"http://127.0.0.1:9/v1\"\n",
    );
    let memory = |n: usize| {
        let category = ["ERROR", "LEARNING", "PREFERENCE", "GENERAL"][n % 4];
        json!({"key": format!("k{n}"), "content": "It is so. ".repeat(20), "category": category})
    };
    let all: Vec<Value> = (0..60).map(memory).collect();
    let file = env.outside().join("memories.json");
    std::fs::write(&file, json!({"version": 1, "memories": all}).to_string()).unwrap();
    env.run(&["memory", "import", file.to_str().unwrap()]).code(0);
    let shown = |model: &str| {
        let shown = env.run(&["prompt", "show", "--model", model, "--json"]).code(0);
        let shown = support::json(&shown.stdout);
        let system = shown["system"].as_str().unwrap().to_owned();
        let start = system.find("## Your Memories").unwrap();
        let mut last = start;
        for group in ["User Preferences", "Learnings", "Known Issues & Resolutions"] {
            let at = system.find(&format!("## {group}")).unwrap_or_else(|| panic!("{system}"));
            assert!(at > last, "{group}: {system}");
            last = at;
        }
        let end = system[last + 3..].find("\n## ").map_or(system.len(), |at| last + 3 + at);
        let tools = shown["tools"].as_array().unwrap().iter();
        let tools = tools.filter_map(|row| row["tool"].as_str()?.strip_prefix("memory_"));
        let mut tools: Vec<String> = tools.map(str::to_owned).collect();
        tools.sort();
        (system[start..end].to_owned(), tools)
    };
    let (near, tools) = shown("local/small");
    assert!((1_000..=2_000).contains(&near.trim_end().chars().count()), "{}", near.len());
    assert_eq!(tools, ["forget", "reinforce", "store"]);
    let (far, tools) = shown("far/large");
    assert!((4_000..=6_100).contains(&far.trim_end().chars().count()), "{}", far.len());
    assert!(far.contains("more") && far.contains("memory_recall"), "{far}");
    assert_eq!(tools, ["forget", "learn", "recall", "reinforce", "store"]);
}
