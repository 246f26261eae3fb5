//! `create_calendar_event` and `open_url` through the binary.

use std::fs;
use std::os::unix::fs::PermissionsExt as _;

use serde_json::{Value, json};

use crate::support::{self, TestEnv, end};

#[test]
fn an_event_becomes_a_file() {
    let env = TestEnv::new();
    let args = json!({
        "title": "Lunch, with Bob", "start_time": "2099-12-01T12:00", "duration_minutes": 45,
        "time_zone": "America/New_York", "location": "Café",
    });
    let (reply, code) = env.call("create_calendar_event", &args, &[]);
    assert_eq!(code, 0, "{reply}");
    let listed = support::json(&env.run(&["artifact", "list", "--json"]).code(0).stdout);
    let id = listed[0]["artifact"].as_str().unwrap();
    assert_eq!(listed[0]["media_type"], "text/calendar");
    let text = env.run(&["artifact", "show", id, "--content"]).code(0).stdout;
    for part in [
        "BEGIN:VTIMEZONE",
        "TZOFFSETTO:-0500",
        "DTSTART;TZID=America/New_York:20991201T120000",
        "DTEND;TZID=America/New_York:20991201T124500",
        "SUMMARY:Lunch\\, with Bob",
    ] {
        assert!(text.contains(part), "{part}: {text}");
    }
    for (start, part) in
        [("2020-01-01T12:00", "now it is"), ("2099-02-31T12:00", "not a date and time that exists")]
    {
        let args = json!({"title": "x", "start_time": start});
        let (reply, code) = env.call("create_calendar_event", &args, &[]);
        assert_ne!(code, 0);
        assert!(reply.to_string().contains(part), "{start}: {reply}");
    }
}

/// Opens a URL on a desktop whose opener records its arguments.
fn opened(env: &TestEnv, url: &str) -> (Value, Option<String>) {
    let bin = env.outside().join("bin");
    fs::create_dir_all(&bin).unwrap();
    let program = bin.join("xdg-open");
    fs::write(&program, "#!/bin/sh\nprintf '%s' \"$1\" > \"$BROWSER\"\n").unwrap();
    fs::set_permissions(&program, fs::Permissions::from_mode(0o755)).unwrap();
    let out = env.outside().join("opened");
    let _ = fs::remove_file(&out);
    let mut command =
        env.command(&["tool", "call", "open_url", "--policy", "auto", "--json", "--args", "-"]);
    command.env("PATH", format!("{}:/usr/bin:/bin", bin.display()));
    command.env("DISPLAY", ":9").env("BROWSER", &out);
    let ended = end(command, json!({"url": url}).to_string().as_bytes());
    (support::json(&ended.stdout), fs::read_to_string(&out).ok())
}

/// Regression: without a desktop, the tool was unavailable, and a model could only report that.
#[test]
fn a_terminal_without_a_desktop_prints_the_address() {
    let env = TestEnv::new();
    let args = ["tool", "call", "open_url", "--policy", "auto", "url=https://example.com/a?b=1"];
    let ended = end(env.command(&args), b"").code(0);
    for part in [
        "[Open example.com] open: https://example.com/a?b=1",
        "It is not open yet",
        "returns nothing of its content",
    ] {
        assert!(ended.stdout.contains(part), "{part}: {}", ended.stdout);
    }
    let listed = env.run(&["tool", "list", "--json"]).code(0).stdout;
    let listed = support::json(&listed);
    assert!(listed.as_array().unwrap().iter().any(|tool| tool["id"] == "open_url"), "{listed}");
}

#[cfg(target_os = "linux")]
#[test]
fn a_terminal_opens_links_on_its_desktop() {
    let env = TestEnv::new();
    let (reply, got) = opened(&env, "https://example.com/a b");
    assert_eq!(got.as_deref(), Some("https://example.com/a%20b"), "{reply}");
    let file = |name: &str| format!("file://{}", env.root().join(name).display());
    let (reply, got) = opened(&env, &file("notes.md"));
    assert_eq!(
        got,
        Some(env.root().join("notes.md").canonicalize().unwrap().display().to_string()),
        "{reply}"
    );
    env.write("run.sh", "x");
    fs::write(env.outside().join("secret.txt"), "x").unwrap();
    for (url, part) in [
        (file("run.sh"), "only pages, pictures"),
        (file("missing.md"), "not found"),
        (file("../secret.txt"), "not inside"),
        ("file:///etc/hosts.txt".to_owned(), "not inside"),
        ("--help".to_owned(), "not a complete address"),
    ] {
        let (reply, got) = opened(&env, &url);
        assert_eq!(got, None, "{url}");
        assert!(reply.to_string().to_lowercase().contains(part), "{url}: {reply}");
    }
}
