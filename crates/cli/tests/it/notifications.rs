//! `send_notification` and `toolcrib notification`, over the channels of the configuration.

use std::fs;
use std::os::unix::fs::PermissionsExt as _;

use serde_json::{Value, json};

use crate::support::{self, Server, TestEnv, end};

#[test]
fn a_notification_of_a_model_reaches_the_channels_of_the_configuration() {
    let (env, server) = (TestEnv::new(), Server::start());
    env.run(&["config", "set", "notifications.ntfy.url", &server.url("/alerts")]).code(0);
    env.run(&["config", "set", "notifications.webhook.url", &server.url("/broken")]).code(0);
    let args = json!({"title": "Build", "message": "412 tests passed."});
    let (reply, code) = env.call("send_notification", &args, &[]);
    assert_eq!(code, 0, "{reply}");
    let text = reply["result"].to_string();
    for part in ["ntfy", "not_delivered", "the server answered 503"] {
        assert!(text.contains(part), "{part}: {text}");
    }
    let seen = server.seen();
    let body = seen.iter().find_map(|line| line.strip_prefix("POST / ")).unwrap();
    let body: Value = support::json(body);
    assert_eq!((&body["topic"], &body["title"]), (&json!("alerts"), &json!("Build")));
    let listed = support::json(&env.run(&["notification", "list", "--json"]).code(0).stdout);
    assert_eq!(listed[0]["message"], "412 tests passed.");
    assert_eq!(listed[0]["failed"][0]["channel"], "webhook");
    let id = listed[0]["notification"].as_str().unwrap();
    env.run(&["notification", "dismiss", &id[..id.len() - 3]]).code(0).says(&["1 dismissed"]);
    env.run(&["notification", "list"]).code(0).says(&["no notifications"]);
    env.run(&["notification", "dismiss", "note_x"]).code(4);
}

/// The urgency that a model chooses reaches the devices, and breaks no quiet hours.
#[test]
fn the_urgency_reaches_the_channels_outside_of_quiet_hours() {
    let (env, server) = (TestEnv::new(), Server::start());
    env.run(&["config", "set", "notifications.ntfy.url", &server.url("/alerts")]).code(0);
    for (urgency, priority) in [("low", json!(2)), ("normal", Value::Null), ("high", json!(4))] {
        let args = json!({"message": "The build is done.", "urgency": urgency});
        let (reply, code) = env.call("send_notification", &args, &[]);
        assert_eq!(code, 0, "{reply}");
        let seen = server.seen();
        let body = support::json(seen.last().unwrap().strip_prefix("POST / ").unwrap());
        assert_eq!(body["priority"], priority, "{urgency}: {body}");
    }
    let listed = support::json(&env.run(&["notification", "list", "--json"]).code(0).stdout);
    assert_eq!((&listed[0]["urgency"], &listed[1]["urgency"]), (&json!("high"), &json!("normal")));
    let (reply, code) =
        env.call("send_notification", &json!({"message": "x", "urgency": "loud"}), &[]);
    assert_ne!(code, 0, "{reply}");
    // The whole day but one minute, which may begin or end during the test.
    let now = jiff::Timestamp::now().to_zoned(jiff::tz::TimeZone::UTC);
    let quiet = format!(
        "{}-{}",
        (&now - jiff::Span::new().hours(2)).strftime("%H:%M"),
        (&now + jiff::Span::new().hours(2)).strftime("%H:%M")
    );
    env.run(&["config", "set", "notifications.quiet", &quiet]).code(0);
    let sent = server.seen().len();
    let args = json!({"message": "Look now!", "urgency": "high"});
    let (reply, code) = env.call("send_notification", &args, &[]);
    assert_eq!(code, 0, "{reply}");
    assert!(reply["result"].to_string().contains("quiet hours last until"), "{reply}");
    assert_eq!(server.seen().len(), sent);
}

#[test]
fn the_desktop_shows_it_where_there_is_one() {
    let env = TestEnv::new();
    let bin = env.outside().join("bin");
    fs::create_dir(&bin).unwrap();
    let program = bin.join("notify-send");
    fs::write(&program, "#!/bin/sh\nprintf '%s|' \"$@\" > \"$HOME\"\n").unwrap();
    fs::set_permissions(&program, fs::Permissions::from_mode(0o755)).unwrap();
    let out = env.outside().join("shown");
    let send = ["notification", "send", "Tea is ready.", "--title", "Tea", "--urgency", "high"];
    let mut command = env.command(&send);
    command.env("PATH", format!("{}:/usr/bin:/bin", bin.display()));
    command.env("DBUS_SESSION_BUS_ADDRESS", "unix:path=/none").env("HOME", &out);
    let ended = end(command, b"").code(0);
    assert!(ended.stdout.contains("delivered: desktop"), "{}", ended.stdout);
    let shown = fs::read_to_string(&out).unwrap();
    assert_eq!(shown, "--app-name=Toolcrib|--urgency=critical|--|Tea|Tea is ready.|");
    let refused = env.run(&["notification", "send", "x", "--urgency", "loud"]).code(2);
    refused.says(&["is not low, normal or high"]);
}

#[test]
fn a_project_cannot_say_where_notifications_go() {
    let env = TestEnv::new();
    env.write(".toolcrib/config.toml", "[notifications.webhook]\nurl = \"https://x.example/\"\n");
    let ended = env.run(&["notification", "list"]).code(0);
    ended.says(&["sets notifications.webhook.url, which only a trusted workspace may"]);
    // Nor can the workspace be trusted with them.
    let refused = env.run(&["trust", "--yes"]).code(3);
    refused.says(&["where your notifications go is the person's"]);
}
