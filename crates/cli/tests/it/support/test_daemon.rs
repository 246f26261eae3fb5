//! The daemon of one test: started as a person would start it, and stopped at the end.

use std::io::{BufRead as _, BufReader, Read as _};
use std::net::TcpStream;
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};
use std::sync::mpsc;
use std::thread;
use std::time::{Duration, Instant};

use serde_json::Value;

use super::{Ended, TestEnv};

/// Timeout of the daemon's response; generous, because the machine may be busy.
const PATIENCE: Duration = Duration::from_secs(60);

/// Arguments for any free port of this machine, and the socket.
const SERVE: [&str; 6] = ["serve", "--listen", "127.0.0.1:0", "--json", "--log-level", "debug"];

/// A running daemon.
pub(crate) struct DaemonProcess {
    child: Child,
    /// Its output when it was ready.
    pub(crate) ready: Value,
    /// The lines of its log.
    log: mpsc::Receiver<String>,
    seen: Vec<String>,
}

impl DaemonProcess {
    /// Starts a daemon on any free port of this machine, and on its socket.
    #[track_caller]
    pub(crate) fn start(env: &TestEnv, more: &[&str]) -> Self {
        Self::spawn(env.command(&[&SERVE, more].concat()))
    }

    /// Returns the arguments of [`Self::start`], for a command with a separate environment.
    pub(crate) fn serve<'a>(more: &[&'a str]) -> Vec<&'a str> {
        [&SERVE, more].concat()
    }

    /// Starts a daemon on a shared database.
    #[cfg(feature = "postgres")]
    #[track_caller]
    pub(crate) fn start_on(env: &TestEnv, database: &str) -> Self {
        let mut command = env.command(&SERVE);
        command.env("TOOLCRIB_DATABASE_URL", database);
        Self::spawn(command)
    }

    /// Waits until this command responds as a daemon.
    #[track_caller]
    pub(crate) fn spawn(mut command: Command) -> Self {
        let mut child = command.stdin(Stdio::null()).spawn().unwrap();
        let stderr = child.stderr.take().unwrap();
        let (send, log) = mpsc::channel();
        thread::spawn(move || {
            for line in BufReader::new(stderr).lines().map_while(Result::ok) {
                if send.send(line).is_err() {
                    return;
                }
            }
        });
        let stdout = child.stdout.take().unwrap();
        let (first, ready) = mpsc::channel();
        thread::spawn(move || {
            let mut lines = BufReader::new(stdout).lines();
            let _ = first.send(lines.next());
            // Continue reading, so that the daemon never blocks on its output.
            lines.for_each(drop);
        });
        let line = ready.recv_timeout(PATIENCE).ok().flatten().and_then(Result::ok);
        let Some(line) = line else {
            let _ = child.kill();
            let said: Vec<String> = log.iter().collect();
            panic!("the daemon does not answer: {}", said.join("\n"));
        };
        Self { child, ready: super::json(&line), log, seen: Vec::new() }
    }

    pub(crate) fn pid(&self) -> u32 {
        self.child.id()
    }

    /// Returns its URL.
    pub(crate) fn url(&self) -> String {
        self.ready["url"].as_str().unwrap().to_owned()
    }

    pub(crate) fn socket(&self) -> PathBuf {
        self.ready["socket"].as_str().unwrap().into()
    }

    /// Waits until its log contains this text.
    #[track_caller]
    pub(crate) fn says(&mut self, words: &str) -> String {
        if let Some(line) = self.seen.iter().find(|line| line.contains(words)) {
            return line.clone();
        }
        self.says_next(words)
    }

    /// Waits until its log contains this text again, after the lines that were already read.
    #[track_caller]
    pub(crate) fn says_next(&mut self, words: &str) -> String {
        let until = Instant::now() + PATIENCE;
        loop {
            let left = until.saturating_duration_since(Instant::now());
            let Ok(line) = self.log.recv_timeout(left) else {
                panic!("{words:?} is not said: {}", self.seen.join("\n"));
            };
            self.seen.push(line.clone());
            if line.contains(words) {
                return line;
            }
        }
    }

    /// Sends a raw request over TCP; returns the complete response.
    #[track_caller]
    pub(crate) fn raw(&self, request: &str) -> String {
        let address = self.url().trim_start_matches("http://").to_owned();
        let mut stream = TcpStream::connect(&address).unwrap();
        stream.set_read_timeout(Some(PATIENCE)).unwrap();
        let request = request.replace("{host}", &address);
        std::io::Write::write_all(&mut stream, request.as_bytes()).unwrap();
        let mut answer = String::new();
        stream.read_to_string(&mut answer).unwrap();
        answer
    }

    /// Sends `METHOD PATH` below `/api/v1` with the owner's token; the status and the JSON of the
    /// answer.
    #[track_caller]
    pub(crate) fn rest(&self, env: &TestEnv, what: &str, body: &Value) -> (u16, Value) {
        let (method, path) = what.split_once(' ').unwrap();
        let answer = self.ask_api(env, method, path, body);
        let status = answer.split(' ').nth(1).and_then(|status| status.parse().ok()).unwrap_or(0);
        let text = answer.split_once("\r\n\r\n").map_or("", |(_, text)| text);
        // It may come in chunks; the document is the first value in it.
        let text = text.find(['{', '[']).map_or("", |start| &text[start..]);
        let mut values = serde_json::Deserializer::from_str(text).into_iter::<Value>();
        (status, values.next().and_then(Result::ok).unwrap_or_default())
    }

    /// Follows a stream of events below `/api/v1` to its end; all of it.
    #[track_caller]
    pub(crate) fn events(&self, env: &TestEnv, path: &str) -> String {
        self.ask_api(env, "GET", path, &Value::Null)
    }

    #[track_caller]
    fn ask_api(&self, env: &TestEnv, method: &str, path: &str, body: &Value) -> String {
        let token = env.run(&["token", "show"]).code(0).stdout;
        let body = if body.is_null() { String::new() } else { body.to_string() };
        self.raw(&format!(
            "{method} /api/v1/{path} HTTP/1.1\r\nHost: {{host}}\r\nConnection: close\r\nContent-Type: application/json\r\nContent-Length: {}\r\nAuthorization: Bearer {}\r\n\r\n{body}",
            body.len(),
            token.trim()
        ))
    }

    /// `toolcrib stop`, and waits for its end; its exit code.
    #[track_caller]
    pub(crate) fn stop(mut self, env: &TestEnv) -> (Ended, i32) {
        let ended = env.run(&["stop"]);
        let code = self.ended();
        (ended, code)
    }

    /// Waits for its end; returns its exit code.
    #[track_caller]
    pub(crate) fn ended(&mut self) -> i32 {
        let until = Instant::now() + PATIENCE;
        while Instant::now() < until {
            if let Some(status) = self.child.try_wait().unwrap() {
                return status.code().unwrap_or(-1);
            }
            thread::sleep(Duration::from_millis(10));
        }
        panic!("the daemon works on");
    }

    /// Kills it, as a power failure would.
    pub(crate) fn kill(mut self) {
        self.child.kill().unwrap();
        self.child.wait().unwrap();
    }
}

impl Drop for DaemonProcess {
    fn drop(&mut self) {
        // The process has already ended after `stop`; a failed test must not leave it behind.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}
