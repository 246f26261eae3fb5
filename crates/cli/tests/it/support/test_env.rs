//! A separate folder, state folder and environment of a test, and the binary in it.

use std::fs;
use std::io::{BufRead as _, BufReader, Read, Write as _};
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdin, Command, Stdio};
use std::sync::mpsc::{self, Receiver};
use std::thread;
use std::time::Duration;

use serde_json::Value;
use tempfile::TempDir;

/// Timeout of a command; generous, because the machine may be busy.
const PATIENCE: Duration = Duration::from_secs(120);

/// A test environment. The workspace initially contains `notes.md`.
pub(crate) struct TestEnv {
    dir: TempDir,
}

impl TestEnv {
    pub(crate) fn new() -> Self {
        let env = Self { dir: TempDir::new().unwrap() };
        fs::create_dir(env.root()).unwrap();
        env.write("notes.md", "buy oats\n");
        env
    }

    /// Returns the workspace, which is the current folder of the binary.
    pub(crate) fn root(&self) -> PathBuf {
        self.dir.path().join("work")
    }

    /// Returns the parent folder of workspace and state: files directly in it are outside of every
    /// root.
    pub(crate) fn outside(&self) -> &Path {
        self.dir.path()
    }

    pub(crate) fn write(&self, path: &str, text: impl AsRef<[u8]>) {
        let path = self.root().join(path);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
    }

    /// Returns the text of a file in the workspace; `None` if it does not exist.
    pub(crate) fn read(&self, path: &str) -> Option<String> {
        fs::read_to_string(self.root().join(path)).ok()
    }

    /// Returns the names in the workspace folder, sorted.
    pub(crate) fn names(&self) -> Vec<String> {
        let entries = fs::read_dir(self.root()).unwrap();
        let mut names: Vec<String> =
            entries.map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect();
        names.sort();
        names
    }

    /// Returns the command of the binary, without the environment of the person who runs the tests.
    pub(crate) fn command(&self, args: &[&str]) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_toolcrib"));
        command
            .args(args)
            .current_dir(self.root())
            .env_clear()
            .env("HOME", self.dir.path().join("nobody"))
            .env("TOOLCRIB_HOME", self.dir.path().join("home"))
            .env("TZ", "UTC")
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped());
        command
    }

    /// Runs the binary without input.
    #[track_caller]
    pub(crate) fn run(&self, args: &[&str]) -> Ended {
        self.feed(args, "")
    }

    /// Runs the binary with this input.
    #[track_caller]
    pub(crate) fn feed(&self, args: &[&str], input: impl AsRef<[u8]>) -> Ended {
        end(self.command(args), input.as_ref())
    }

    /// Runs `tool call NAME --args ARGS --json MORE…`; returns its parsed output.
    #[track_caller]
    pub(crate) fn call(&self, tool: &str, args: &Value, more: &[&str]) -> (Value, i32) {
        let fixed = ["tool", "call", tool, "--json", "--args", "-"];
        let ended = self.feed(&[&fixed, more].concat(), args.to_string());
        (super::json(&ended.stdout), ended.code)
    }

    /// Starts a filter that gets its input line by line.
    pub(crate) fn filter(&self, args: &[&str]) -> Filter {
        let mut child = self.command(args).stderr(Stdio::null()).spawn().unwrap();
        let stdin = child.stdin.take();
        let stdout = child.stdout.take().unwrap();
        let (send, lines) = mpsc::channel();
        thread::spawn(move || {
            for line in BufReader::new(stdout).lines().map_while(Result::ok) {
                if send.send(line).is_err() {
                    return;
                }
            }
        });
        Filter { child, stdin, lines }
    }
}

/// The result of a command.
#[derive(Debug)]
pub(crate) struct Ended {
    pub(crate) stdout: String,
    pub(crate) stderr: String,
    pub(crate) code: i32,
}

impl Ended {
    /// Fails unless the exit code is this one.
    #[track_caller]
    pub(crate) fn code(self, code: i32) -> Self {
        assert_eq!(self.code, code, "{self:#?}");
        self
    }

    /// Fails unless standard output contains each of these texts.
    #[track_caller]
    pub(crate) fn prints(self, words: &[&str]) -> Self {
        for word in words {
            assert!(self.stdout.contains(word), "{word:?} is not printed: {self:#?}");
        }
        self
    }

    /// Fails unless standard error contains each of these texts.
    #[track_caller]
    pub(crate) fn says(self, words: &[&str]) -> Self {
        for word in words {
            assert!(self.stderr.contains(word), "{word:?} is not said: {self:#?}");
        }
        self
    }
}

/// Runs a command to its end.
#[track_caller]
pub(crate) fn end(mut command: Command, input: &[u8]) -> Ended {
    let mut child = command.spawn().unwrap();
    let mut stdin = child.stdin.take().unwrap();
    let input = input.to_vec();
    // A command that fails early closes its input, which is not a failure of the test.
    thread::spawn(move || stdin.write_all(&input));
    let stdout = text(child.stdout.take().unwrap());
    let stderr = text(child.stderr.take().unwrap());
    let (Ok(stdout), Ok(stderr)) = (stdout.recv_timeout(PATIENCE), stderr.recv_timeout(PATIENCE))
    else {
        child.kill().unwrap();
        panic!("the command hangs: {command:?}");
    };
    let code = child.wait().unwrap().code().unwrap();
    Ended { stdout, stderr, code }
}

fn text(mut pipe: impl Read + Send + 'static) -> Receiver<String> {
    let (send, receive) = mpsc::channel();
    thread::spawn(move || {
        let mut text = String::new();
        pipe.read_to_string(&mut text).unwrap();
        send.send(text)
    });
    receive
}

/// A running filter.
pub(crate) struct Filter {
    child: Child,
    stdin: Option<ChildStdin>,
    lines: Receiver<String>,
}

impl Filter {
    /// Sends one line without waiting for its answer.
    #[track_caller]
    pub(crate) fn tell(&mut self, line: &str) {
        let stdin = self.stdin.as_mut().unwrap();
        stdin.write_all(format!("{line}\n").as_bytes()).unwrap();
        stdin.flush().unwrap();
    }

    /// Sends one line and waits for its answer, with the input still open.
    #[track_caller]
    pub(crate) fn ask(&mut self, line: &str) -> Value {
        self.tell(line);
        super::json(&self.lines.recv_timeout(PATIENCE).expect("an answer before the next line"))
    }

    /// Closes the input while the program may still write.
    #[track_caller]
    pub(crate) fn close(mut self) {
        drop(self.stdin.take());
        while self.lines.recv_timeout(PATIENCE).is_ok() {}
        self.child.wait().unwrap();
    }

    /// Ends the input; returns the exit code.
    #[track_caller]
    pub(crate) fn end(mut self) -> i32 {
        drop(self.stdin.take());
        assert_eq!(self.lines.recv_timeout(PATIENCE).ok(), None, "one answer per line");
        self.child.wait().unwrap().code().unwrap()
    }
}

impl Drop for Filter {
    fn drop(&mut self) {
        // The process has already ended after `end`; a failed test must not leave it behind.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}
