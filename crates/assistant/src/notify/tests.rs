//! Notifications over real channels: a server on loopback, a program, a fake clock.

use std::os::unix::fs::PermissionsExt as _;
use std::sync::atomic::{AtomicI64, Ordering};
use std::sync::{Arc, Mutex};

use jiff::tz::TimeZone;
use serde_json::{Value, json};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpListener;
use toolcrib_core::{Author, CallId, Clock, NotificationId, Urgency};
use toolcrib_engine::store::MemoryNotifications;
use toolcrib_net::{AddressPolicy, HttpClient};

use super::*;
use crate::signature::is_valid;

/// 2026-11-26 12:00 UTC.
const NOON: i64 = 1_795_694_400_000;
const MINUTE: i64 = 60_000;

#[derive(Clone)]
struct TestClock(Arc<AtomicI64>);

impl Clock for TestClock {
    fn now_ms(&self) -> i64 {
        self.0.load(Ordering::Relaxed)
    }
}

struct Fixture {
    notifier: Notifier,
    now: Arc<AtomicI64>,
}

fn fixture(settings: NotifySettings) -> Fixture {
    let now = Arc::new(AtomicI64::new(NOON));
    let client = HttpClient::new(AddressPolicy::public_only());
    let is_secret = Arc::new(|text: &str| text.contains("hunter2"));
    let notifier =
        Notifier::new(Arc::new(MemoryNotifications::default()), client, settings, is_secret)
            .with_clock(Arc::new(TestClock(Arc::clone(&now))), TimeZone::UTC);
    Fixture { notifier, now }
}

fn new(message: &str) -> NewNotification {
    NewNotification {
        owner: "ann".into(),
        title: "Straße <1>".into(),
        message: message.into(),
        author: Author { call: Some(CallId::fresh()), ..Author::default() },
        ..NewNotification::default()
    }
}

/// A received request: the head in lower case, and the body.
type Seen = Arc<Mutex<Vec<(String, String)>>>;

/// Starts a server that answers every request with this status.
async fn server(status: &'static str) -> (String, Seen) {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let url = format!("http://{}", listener.local_addr().unwrap());
    let seen = Seen::default();
    let log = Arc::clone(&seen);
    tokio::spawn(async move {
        while let Ok((mut stream, _)) = listener.accept().await {
            let (mut bytes, mut buffer) = (Vec::new(), [0; 4096]);
            let (head, body) = loop {
                let read = stream.read(&mut buffer).await.unwrap();
                bytes.extend_from_slice(&buffer[..read]);
                let text = String::from_utf8_lossy(&bytes).into_owned();
                let Some((head, body)) = text.split_once("\r\n\r\n") else { continue };
                let head = head.to_ascii_lowercase();
                let length = head.split("content-length: ").nth(1).unwrap_or("0");
                let length: usize = length.lines().next().unwrap().parse().unwrap();
                if body.len() >= length {
                    break (head, body.to_owned());
                }
            };
            log.lock().unwrap().push((head, body));
            let answer = format!("HTTP/1.1 {status}\r\ncontent-length: 0\r\n\r\n");
            stream.write_all(answer.as_bytes()).await.unwrap();
        }
    });
    (url, seen)
}

fn header<'a>(head: &'a str, name: &str) -> &'a str {
    let prefix = format!("{name}: ");
    head.lines().find_map(|line| line.strip_prefix(&prefix)).unwrap_or_default()
}

#[tokio::test]
async fn every_channel_gets_it_and_a_failing_one_is_named() {
    let ((ntfy, at_ntfy), (hook, at_hook)) = (server("200 OK").await, server("204 No").await);
    let folder = tempfile::tempdir().unwrap();
    let program = folder.path().join("notify-send");
    std::fs::write(&program, "#!/bin/sh\nprintf '%s\\n' \"$@\" > \"$OUT\"\n").unwrap();
    std::fs::set_permissions(&program, std::fs::Permissions::from_mode(0o755)).unwrap();
    let out = folder.path().join("out");
    let env = vec![("OUT".to_owned(), out.display().to_string())];
    let settings = NotifySettings {
        desktop: Some(DesktopProgram { program, env }),
        ntfy: Some(NtfySettings {
            url: format!("{ntfy}/my-topic"),
            token: Some(ChannelSecret::Value("tk_1".into())),
        }),
        webhook: Some(WebhookSettings {
            url: format!("{hook}/x?y=1"),
            secret: Some(ChannelSecret::Value("key".into())),
        }),
        ..NotifySettings::default()
    };
    let fixture = fixture(settings.clone());
    let sent = fixture.notifier.send(new("5 > 3 & more")).await.unwrap();
    assert_eq!(sent.notification.failed, []);
    assert_eq!(sent.notification.delivered, ["desktop", "ntfy", "webhook"]);
    // As in the specification of ntfy: JSON to the root, with the topic in it.
    let (head, body) = at_ntfy.lock().unwrap()[0].clone();
    assert!(head.starts_with("post / http/1.1"), "{head}");
    assert_eq!(header(&head, "authorization"), "bearer tk_1");
    let body: Value = serde_json::from_str(&body).unwrap();
    assert_eq!(
        body,
        json!({"topic": "my-topic", "title": "Straße <1>", "message": "5 > 3 & more"})
    );
    let (head, body) = at_hook.lock().unwrap()[0].clone();
    assert!(head.starts_with("post /x?y=1 http/1.1"), "{head}");
    let seconds: i64 = header(&head, "x-toolcrib-timestamp").parse().unwrap();
    let signature = header(&head, "x-toolcrib-signature");
    assert_eq!(seconds, NOON / 1_000);
    assert!(is_valid(b"key", seconds, body.as_bytes(), signature), "{head}");
    let body: Value = serde_json::from_str(&body).unwrap();
    assert_eq!(body["sent_at"], "2026-11-26T12:00:00Z");
    // Markup in the text must not become markup of the desktop.
    let shown = std::fs::read_to_string(out).unwrap();
    assert_eq!(shown, "--app-name=Toolcrib\n--\nStraße <1>\n5 &gt; 3 &amp; more\n");

    let (down, _) = server("503 Down").await;
    let failing = NotifySettings {
        desktop: Some(DesktopProgram { program: "/none/notify-send".into(), env: vec![] }),
        ntfy: Some(NtfySettings { url: format!("{down}/t"), token: None }),
        webhook: Some(WebhookSettings {
            url: hook,
            secret: Some(ChannelSecret::Named("gone".into())),
        }),
        ..settings
    };
    let sent = super::tests::fixture(failing).notifier.send(new("x")).await.unwrap();
    let failed = sent.notification.failed;
    assert_eq!((sent.notification.delivered.len(), failed.len()), (0, 3));
    for (one, part) in failed.iter().zip(["cannot run", "answered 503", "toolcrib secret set gone"])
    {
        assert!(one.reason.contains(part), "{one:?}");
    }
}

#[tokio::test]
async fn quiet_hours_hold_back_all_but_alarms() {
    let (url, seen) = server("200 OK").await;
    let settings = NotifySettings {
        webhook: Some(WebhookSettings { url, secret: None }),
        quiet: Some("22:00-07:00".parse().unwrap()),
        ..NotifySettings::default()
    };
    let fixture = fixture(settings);
    for (hour, quiet) in [(12, false), (21, false), (22, true), (30, true), (31, false)] {
        fixture.now.store(NOON + (hour - 12) * 60 * MINUTE, Ordering::Relaxed);
        let sent = fixture.notifier.send(new("x")).await.unwrap();
        assert_eq!(sent.quiet_until.is_some(), quiet, "{hour}");
    }
    fixture.now.store(NOON + 12 * 60 * MINUTE, Ordering::Relaxed);
    // A model that calls its message urgent is as quiet as any.
    let urgent = NewNotification { urgency: Urgency::High, ..new("urgent") };
    assert!(fixture.notifier.send(urgent).await.unwrap().quiet_until.is_some());
    let alarm = NewNotification { is_alarm: true, ..new("wake up") };
    assert_eq!(fixture.notifier.send(alarm).await.unwrap().quiet_until, None);
    assert_eq!(seen.lock().unwrap().len(), 4);
    assert_eq!(fixture.notifier.list("ann").await.unwrap().len(), 7);
}

#[tokio::test]
async fn models_are_held_to_an_hourly_maximum() {
    let fixture = fixture(NotifySettings { max_per_hour: 3, ..NotifySettings::default() });
    let at = |minutes: i64| fixture.now.store(NOON + minutes * MINUTE, Ordering::Relaxed);
    for minute in 0..3 {
        at(minute);
        fixture.notifier.send(new("x")).await.unwrap();
    }
    at(10);
    let error = fixture.notifier.send(new("x")).await.unwrap_err();
    assert_eq!(error, NotifyError::TooMany { max: 3, minutes: 51 });
    // The limit does not apply to a person or to another owner.
    let person = NewNotification { author: Author::person("ann"), ..new("x") };
    fixture.notifier.send(person).await.unwrap();
    fixture.notifier.send(NewNotification { owner: "bob".into(), ..new("x") }).await.unwrap();
    at(61);
    fixture.notifier.send(new("x")).await.unwrap();
}

/// A daemon that is killed between telling of an event and recording that tells of it again.
#[tokio::test]
async fn an_event_is_told_and_pushed_once() {
    let (url, seen) = server("200 OK").await;
    let settings = NotifySettings {
        webhook: Some(WebhookSettings { url, secret: None }),
        ..NotifySettings::default()
    };
    let fixture = fixture(settings);
    let id = Some(NotificationId::for_event("run_1", NOON));
    for _ in 0..2 {
        let new = NewNotification { id, tag: Some("goal_1".into()), ..new("Done.") };
        assert_eq!(Some(fixture.notifier.send(new).await.unwrap().notification.id), id);
    }
    assert_eq!(fixture.notifier.list("ann").await.unwrap().len(), 1);
    assert_eq!(seen.lock().unwrap().len(), 1);
}

#[tokio::test]
async fn what_cannot_be_sent_is_said() {
    let fixture = fixture(NotifySettings::default());
    let send = |title: &str, message: &str| {
        fixture.notifier.send(NewNotification { title: title.into(), ..new(message) })
    };
    let long = "x".repeat(MAX_MESSAGE_CHARS + 1);
    for (title, message) in [("", ""), ("", " \n"), ("a\nb", "x"), ("", "a\u{7}"), ("", &long)] {
        assert_eq!(send(title, message).await, Err(NotifyError::BadText), "{title:?}");
    }
    assert_eq!(send("", "it is hunter2").await, Err(NotifyError::Secret));
    let sent = send("", "x").await.unwrap().notification;
    assert_eq!(sent.title, "Toolcrib");
    let unknown = fixture.notifier.dismiss("bob", sent.id).await;
    assert!(matches!(unknown, Err(NotifyError::Unknown(_))));
    let dismissed = fixture.notifier.dismiss("ann", sent.id).await.unwrap();
    assert_eq!(dismissed.dismissed_at, Some(NOON));
}
