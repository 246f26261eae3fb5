//! `create_calendar_event` with a calendar account, through the binary: against recorded responses
//! of Radicale 3.9, and against Radicale itself if it is installed.

use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::net::{TcpListener, TcpStream};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use serde_json::{Value, json};

use crate::support::{self, TestEnv};

/// The response to a search: a daily stand-up at 9:00 UTC, expanded by the server, and an all-day
/// event.
const BUSY: &str = include_str!("../fixtures/caldav_busy.xml");
const PASSWORD: &str = "hunter22";

/// Creates a workspace with a calendar account at this address; its password is in the vault.
fn with_account(url: &str) -> TestEnv {
    let env = TestEnv::new();
    env.own(
        "config.toml",
        &format!(
            "[calendar]\nurl = \"{url}\"\nuser = \"ann\"\npassword = {{ secret = \"caldav\" }}\n"
        ),
    );
    env.feed(&["secret", "set", "caldav"], PASSWORD).code(0);
    env
}

fn lunch() -> Value {
    json!({"title": "Lunch & more", "start_time": "2099-12-01T12:00", "time_zone": "Europe/Berlin"})
}

fn free_times() -> Value {
    json!({
        "title": "Talk", "start_time": "2099-12-01T00:00", "duration_minutes": 60,
        "time_zone": "Europe/Berlin", "find_free_until": "2099-12-04T00:00",
    })
}

/// Returns the number of stored calendar files.
fn files(env: &TestEnv) -> usize {
    let listed = support::json(&env.run(&["artifact", "list", "--json"]).code(0).stdout);
    listed.as_array().unwrap().iter().filter(|row| row["media_type"] == "text/calendar").count()
}

/// A server that gives one response to each method, and records its requests.
struct Server {
    url: String,
    requests: Arc<Mutex<Vec<String>>>,
}

impl Server {
    fn start(put: &'static str, report: (&'static str, String)) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let url = format!("http://{}/ann/home/", listener.local_addr().unwrap());
        let requests = Arc::new(Mutex::new(Vec::new()));
        let seen = Arc::clone(&requests);
        std::thread::spawn(move || {
            for stream in listener.incoming().flatten() {
                let request = read_request(&stream);
                let (status, body) = match request.split(' ').next() {
                    Some("PUT") => (put, ""),
                    _ => (report.0, report.1.as_str()),
                };
                seen.lock().unwrap().push(request);
                let head = format!(
                    "HTTP/1.1 {status}\r\nContent-Type: text/xml; charset=utf-8\r\nContent-Length: {}\r\nConnection: close\r\n\r\n",
                    body.len()
                );
                // The client under test may not read a long response to its end.
                let _ = (&stream).write_all(head.as_bytes());
                let _ = (&stream).write_all(body.as_bytes());
            }
        });
        Self { url, requests }
    }

    fn requests(&self) -> Vec<String> {
        self.requests.lock().unwrap().clone()
    }
}

fn read_request(stream: &TcpStream) -> String {
    let mut reader = BufReader::new(stream);
    let mut text = String::new();
    let mut length = 0;
    loop {
        let mut line = String::new();
        reader.read_line(&mut line).unwrap();
        if let Some(value) = line.to_lowercase().strip_prefix("content-length:") {
            length = value.trim().parse().unwrap();
        }
        text += &line;
        if line.trim().is_empty() {
            break;
        }
    }
    let mut body = vec![0; length];
    reader.read_exact(&mut body).unwrap();
    text + &String::from_utf8(body).unwrap()
}

#[test]
fn an_event_is_sent_to_the_calendar_once_and_kept_as_a_file() {
    let server = Server::start("201 Created", ("207 Multi-Status", BUSY.to_owned()));
    let env = with_account(&server.url);
    let (reply, code) = env.call("create_calendar_event", &lunch(), &[]);
    assert_eq!(code, 0, "{reply}");
    assert!(reply.to_string().contains("The event is in the user's calendar."), "{reply}");
    assert_eq!(files(&env), 1);
    let requests = server.requests();
    assert_eq!(requests.len(), 1);
    let sent = &requests[0];
    assert!(sent.starts_with("PUT /ann/home/") && sent.contains(".ics HTTP/1.1\r\n"), "{sent}");
    // "ann:hunter22" in base64.
    let credentials = "authorization: basic yw5uomh1bnrlcjiy";
    for part in [credentials, "if-none-match: *", "content-type: text/calendar"] {
        assert!(sent.to_lowercase().contains(part), "{part}: {sent}");
    }
    for part in ["BEGIN:VTIMEZONE", "DTSTART;TZID=Europe/Berlin:20991201T120000", "Lunch & more"] {
        assert!(sent.contains(part), "{part}: {sent}");
    }
}

#[test]
fn free_times_are_those_between_the_events_of_the_account() {
    let server = Server::start("201 Created", ("207 Multi-Status", BUSY.to_owned()));
    let env = with_account(&server.url);
    let (reply, code) = env.call("create_calendar_event", &free_times(), &[]);
    assert_eq!(code, 0, "{reply}");
    let free = &reply["structured"]["free"];
    let text = |at: usize| {
        let row = &free[at];
        let hour = |name: &str| row[name].as_str().unwrap().get(8..16).unwrap().to_owned();
        format!("{} {}", hour("from"), hour("until"))
    };
    // 9:00 to 10:30 UTC is 10:00 to 11:30 in Berlin; the third event is a day away.
    let all: Vec<String> = (0..free.as_array().unwrap().len()).map(text).collect();
    assert_eq!(
        all,
        ["01T08:00 01T10:00", "01T11:30 01T20:00", "02T08:00 02T10:00", "02T11:30 02T20:00"],
        "{reply}"
    );
    assert!(!reply.to_string().contains("Stand-up"), "{reply}");
    assert_eq!(files(&env), 0, "a search makes no file");
    let asked = &server.requests()[0];
    assert!(asked.starts_with("REPORT /ann/home/ HTTP/1.1\r\n"), "{asked}");
    for part in ["start=\"20991130T230000Z\" end=\"20991203T230000Z\"", "<C:expand ", "epth: 1"] {
        assert!(asked.contains(part), "{part}: {asked}");
    }
}

#[test]
fn a_calendar_that_does_not_take_the_event_is_said_and_the_file_is_there() {
    for (put, report, words) in [
        ("401 Unauthorized", "401 Unauthorized", "refuses the user or password (401)"),
        ("404 Not Found", "404 Not Found", "there is no calendar at calendar.url"),
        ("302 Found", "302 Found", "the calendar is at another address"),
        ("507 Insufficient Storage", "500 Internal Server Error", "The calendar server "),
    ] {
        let server = Server::start(put, (report, "no".to_owned()));
        let env = with_account(&server.url);
        let (reply, code) = env.call("create_calendar_event", &lunch(), &[]);
        assert_eq!(code, 0, "{reply}");
        let text = reply.to_string();
        assert!(text.contains(words) && text.contains("opens the .ics file"), "{reply}");
        assert!(!text.contains(PASSWORD), "{reply}");
        assert_eq!(files(&env), 1);
        let (reply, code) = env.call("create_calendar_event", &free_times(), &[]);
        assert_ne!(code, 0);
        assert!(reply.to_string().contains(words), "{reply}");
    }
    // A port without a listener.
    let port = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port();
    let env = with_account(&format!("http://127.0.0.1:{port}/ann/home/"));
    let (reply, code) = env.call("create_calendar_event", &lunch(), &[]);
    assert_eq!((code, files(&env)), (0, 1), "{reply}");
    assert!(reply.to_string().contains("cannot be reached"), "{reply}");
}

#[test]
fn an_answer_that_is_no_calendar_or_too_long_is_refused() {
    let endless = format!("<multistatus xmlns=\"DAV:\">{}", "<response/>".repeat(1_000_000));
    for (answer, words) in [
        ("<multistatus><response></multistatus>".to_owned(), "sends no valid answer"),
        (endless, "has more events in this time than the 8 MB that are read"),
    ] {
        let server = Server::start("201 Created", ("207 Multi-Status", answer));
        let env = with_account(&server.url);
        let (reply, code) = env.call("create_calendar_event", &free_times(), &[]);
        assert_ne!(code, 0);
        assert!(reply.to_string().contains(words), "{reply}");
    }
}

/// A server that does not compute the occurrences leaves them to the client: those of a million are
/// not computed, and the answer says so.
#[test]
fn a_million_recurrences_do_not_hang() {
    let event = "BEGIN:VCALENDAR\r\nBEGIN:VEVENT\r\nUID:1\r\nDTSTART:20991201T090000Z\r\nDTEND:20991201T100000Z\r\nRRULE:FREQ=SECONDLY;COUNT=1000000\r\nEND:VEVENT\r\nEND:VCALENDAR\r\n";
    let answer = format!(
        "<multistatus xmlns=\"DAV:\" xmlns:C=\"urn:ietf:params:xml:ns:caldav\"><response><href>/1.ics</href><propstat><prop><C:calendar-data>{event}</C:calendar-data></prop><status>HTTP/1.1 200 OK</status></propstat></response></multistatus>"
    );
    let server = Server::start("201 Created", ("207 Multi-Status", answer));
    let env = with_account(&server.url);
    let begun = Instant::now();
    let (reply, code) = env.call("create_calendar_event", &free_times(), &[]);
    assert_eq!(code, 0, "{reply}");
    assert!(reply.to_string().contains("repeated"), "{reply}");
    assert!(begun.elapsed() < Duration::from_secs(30), "{:?}", begun.elapsed());
}

#[test]
fn an_event_that_the_server_may_invite_to_is_asked_about() {
    let server = Server::start("201 Created", ("207 Multi-Status", BUSY.to_owned()));
    let env = with_account(&server.url);
    let mut event = lunch();
    event["attendees"] = json!(["bob@example.com"]);
    let (reply, code) = env.call("create_calendar_event", &event, &[]);
    assert_ne!(code, 0, "{reply}");
    assert!(server.requests().is_empty());
    // Without an account, the tool invites no attendees, and finds no free time.
    let env = TestEnv::new();
    let (reply, code) = env.call("create_calendar_event", &event, &[]);
    assert_eq!(code, 0, "{reply}");
    let (reply, code) = env.call("create_calendar_event", &free_times(), &[]);
    assert_ne!(code, 0);
    assert!(reply.to_string().contains("No calendar account is configured"), "{reply}");
}

/// A running Radicale.
struct Radicale {
    child: Child,
    url: String,
    _folder: tempfile::TempDir,
}

impl Drop for Radicale {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// Returns the Python with Radicale: the one for tests, or the system's.
fn python() -> Option<PathBuf> {
    let beside =
        Path::new(env!("CARGO_BIN_EXE_toolcrib")).ancestors().nth(2)?.join("python/bin/python3");
    [beside, PathBuf::from("python3")].into_iter().find(|python| {
        let version = Command::new(python).args(["-m", "radicale", "--version"]).output();
        version.is_ok_and(|output| output.status.success())
    })
}

impl Radicale {
    /// Starts Radicale; returns `None` if it is not installed.
    fn start() -> Option<Self> {
        let python = python()?;
        let folder = tempfile::tempdir().unwrap();
        let users = folder.path().join("users");
        std::fs::write(&users, format!("ann:{PASSWORD}\n")).unwrap();
        // A port that was free a moment ago.
        let port = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port();
        let address = format!("127.0.0.1:{port}");
        let child = Command::new(python)
            .args(["-m", "radicale", "--config", "", "--hosts", &address])
            .args(["--auth-type", "htpasswd", "--auth-htpasswd-encryption", "plain"])
            .arg("--auth-htpasswd-filename")
            .arg(&users)
            .arg("--storage-filesystem-folder")
            .arg(folder.path().join("collections"))
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn()
            .unwrap();
        let radicale = Self { child, url: format!("http://{address}/ann/home/"), _folder: folder };
        let begun = Instant::now();
        while radicale.ask("MKCALENDAR", "", "").is_none() {
            assert!(begun.elapsed() < Duration::from_secs(60), "Radicale does not answer");
            std::thread::sleep(Duration::from_millis(100));
        }
        Some(radicale)
    }

    /// Sends a request; returns the response, or `None` if there is none.
    fn ask(&self, method: &str, name: &str, body: &str) -> Option<String> {
        let (host, path) = self.url.strip_prefix("http://")?.split_once('/')?;
        let mut stream = TcpStream::connect(host).ok()?;
        let request = format!(
            "{method} /{path}{name} HTTP/1.0\r\nHost: {host}\r\nAuthorization: Basic YW5uOmh1bnRlcjIy\r\nContent-Type: text/calendar; charset=utf-8\r\nContent-Length: {}\r\n\r\n{body}",
            body.len()
        );
        stream.write_all(request.as_bytes()).ok()?;
        let mut answer = String::new();
        stream.read_to_string(&mut answer).ok()?;
        answer.starts_with("HTTP/1.0 2").then_some(answer)
    }
}

#[test]
fn radicale_takes_events_and_says_when_it_is_busy() {
    let Some(radicale) = Radicale::start() else {
        eprintln!("NOT TRIED: radicale is not on this machine");
        return;
    };
    let weekly = "BEGIN:VCALENDAR\r\nVERSION:2.0\r\nPRODID:-//x//x//EN\r\nBEGIN:VEVENT\r\nUID:w@x\r\nDTSTAMP:20991101T000000Z\r\nDTSTART;TZID=Europe/Berlin:20991102T100000\r\nDTEND;TZID=Europe/Berlin:20991102T113000\r\nRRULE:FREQ=DAILY;COUNT=60\r\nSUMMARY:Stand-up\r\nEND:VEVENT\r\nEND:VCALENDAR\r\n";
    radicale.ask("PUT", "weekly.ics", weekly).unwrap();
    let env = with_account(&radicale.url);
    let (reply, code) = env.call("create_calendar_event", &lunch(), &[]);
    assert_eq!(code, 0, "{reply}");
    assert!(reply.to_string().contains("The event is in the user's calendar."), "{reply}");
    let mut search = free_times();
    search["find_free_until"] = json!("2099-12-02T00:00");
    let (reply, code) = env.call("create_calendar_event", &search, &[]);
    assert_eq!(code, 0, "{reply}");
    let times: Vec<&str> = reply["structured"]["free"]
        .as_array()
        .unwrap()
        .iter()
        .flat_map(|row| [&row["from"], &row["until"]])
        .map(|time| time.as_str().unwrap().get(11..16).unwrap())
        .collect();
    // There is only half an hour between the stand-up, whose repetitions the server computes, and
    // lunch.
    assert_eq!(times, ["08:00", "10:00", "13:00", "20:00"], "{reply}");
    assert_eq!(reply["structured"].get("warning"), None);
    let stored = radicale.ask("GET", "", "").unwrap();
    assert!(stored.contains("Lunch & more") && stored.contains("Stand-up"), "{stored}");
}
