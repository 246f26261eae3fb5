//! `toolcrib prove`: shows on this machine that calls are allowed, denied, approved and undone,
//! that the sandbox holds, and that an edited audit log is detected.
//!
//! Every step is a command of this program that a person could type, in a folder with a separate
//! state that is removed at the end. The person's own state, configuration and variables are not
//! read.

use std::io::{self, IsTerminal as _};
use std::net::{TcpListener, TcpStream};
use std::path::PathBuf;
use std::process::{Command, Stdio};
use std::{env, fs};

use serde::Serialize;
use serde_json::{Value, json};
use tempfile::TempDir;

use crate::output::{self, Failure};
use crate::terminal::{self, Style, Styler};

/// Content of the file that a rule denies.
const SECRET: &str = "open sesame";
/// Content of the other file.
const TEXT: &str = "buy oats";
/// Output of the sandboxed command if it reaches the network.
const CONNECTED: &str = "the network was reached";

/// Variables that the commands keep: the locations of programs and temporary files.
const KEPT_VARIABLES: [&str; 3] = ["PATH", "TMPDIR", "LANG"];

pub(crate) fn run(json: bool) -> Result<u8, Failure> {
    let proof = Proof::new()?;
    let steps: [Step; 6] = [
        Proof::allowed,
        Proof::denied,
        Proof::approved,
        Proof::undone,
        Proof::confined,
        Proof::audited,
    ];
    let is_terminal = io::stdout().is_terminal();
    let paint = if is_terminal { Styler::from_env() } else { Styler::default() };
    let mut claims = Vec::new();
    for step in steps {
        let claim = step(&proof)?;
        if !json {
            output::print_line(&claim.to_text(paint))?;
        }
        claims.push(claim);
    }
    let holding = claims.iter().filter(|claim| claim.holds == Some(true)).count();
    let all_hold = holding == claims.len();
    if json {
        output::print_json(&json!({"holds": all_hold, "claims": claims}), true)?;
    } else {
        output::print_line(&format!("{holding} of {} hold on this machine", claims.len()))?;
    }
    Ok(u8::from(!all_hold))
}

/// Tests one claim.
type Step = fn(&Proof) -> Result<Claim, Failure>;

/// A tested claim.
#[derive(Debug, Serialize)]
struct Claim {
    claim: &'static str,
    /// `None` if it could not be tested here.
    holds: Option<bool>,
    /// The observation, or the reason why it could not be tested, with advice.
    seen: String,
    /// The commands, as a person would type them.
    commands: Vec<String>,
}

impl Claim {
    fn to_text(&self, paint: Styler) -> String {
        let (word, style) = match self.holds {
            Some(true) => ("holds   ", Style::GREEN),
            Some(false) => ("FAILS   ", Style::RED),
            None => ("untried ", Style::YELLOW),
        };
        let seen = terminal::escape_to_line(&self.seen);
        let mut text = format!("{} {}: {seen}\n", paint.styled(style, word), self.claim);
        for command in &self.commands {
            text += &format!("{}\n", paint.dim(&format!("         $ {command}")));
        }
        text.trim_end().to_owned()
    }
}

/// The result of a command.
struct Ended {
    code: i32,
    stdout: String,
    stderr: String,
    /// The command line, as a person would type it.
    typed: String,
}

impl Ended {
    /// Returns the first line that it printed for people.
    fn first_line(&self) -> String {
        let all = if self.stderr.trim().is_empty() { &self.stdout } else { &self.stderr };
        let line = all.lines().find(|line| !line.trim().is_empty()).unwrap_or_default();
        line.strip_prefix("toolcrib: ").unwrap_or(line).to_owned()
    }

    /// Returns the last line of its result.
    fn last_line(&self) -> String {
        let line = self.stdout.lines().rfind(|line| !line.trim().is_empty());
        line.unwrap_or_default().to_owned()
    }

    fn json(&self) -> Value {
        serde_json::from_str(&self.stdout).unwrap_or_default()
    }
}

/// A folder with a workspace and a state.
struct Proof {
    folder: TempDir,
    program: PathBuf,
}

impl Proof {
    fn new() -> Result<Self, Failure> {
        let proof = Self { folder: TempDir::new()?, program: env::current_exe()? };
        fs::create_dir_all(proof.workspace().join("secrets"))?;
        fs::create_dir(proof.folder.path().join("home"))?;
        fs::write(proof.workspace().join("notes.md"), format!("{TEXT}\n"))?;
        fs::write(proof.workspace().join("secrets/key"), format!("{SECRET}\n"))?;
        Ok(proof)
    }

    fn workspace(&self) -> PathBuf {
        self.folder.path().join("workspace")
    }

    fn has_notes(&self) -> bool {
        self.workspace().join("notes.md").exists()
    }

    /// Runs a command of this program.
    fn toolcrib(&self, args: &[&str]) -> Result<Ended, Failure> {
        let kept = KEPT_VARIABLES.iter().filter_map(|name| Some((name, env::var_os(name)?)));
        let done = Command::new(&self.program)
            .args(args)
            .current_dir(self.workspace())
            .env_clear()
            .envs(kept)
            .env("HOME", self.folder.path().join("home"))
            .env("TOOLCRIB_HOME", self.folder.path().join("state"))
            .stdin(Stdio::null())
            .output()?;
        let quoted = args.iter().map(|arg| terminal::quote_for_shell(arg));
        Ok(Ended {
            code: done.status.code().unwrap_or(-1),
            stdout: String::from_utf8_lossy(&done.stdout).into_owned(),
            stderr: String::from_utf8_lossy(&done.stderr).into_owned(),
            typed: format!("toolcrib {}", quoted.collect::<Vec<_>>().join(" ")),
        })
    }

    fn allowed(&self) -> Result<Claim, Failure> {
        let read = self.toolcrib(&["tool", "call", "read_file", "path=notes.md"])?;
        Ok(Claim {
            claim: "a call is allowed",
            holds: Some(read.code == 0 && read.stdout.trim() == TEXT),
            seen: read.first_line(),
            commands: vec![read.typed],
        })
    }

    fn denied(&self) -> Result<Claim, Failure> {
        let rule = self.toolcrib(&["rules", "add", "deny", "Read(./secrets/**)"])?;
        let read = self.toolcrib(&["tool", "call", "read_file", "path=secrets/key"])?;
        let leaked = read.stdout.contains(SECRET) || read.stderr.contains(SECRET);
        Ok(Claim {
            claim: "a rule denies a call",
            holds: Some(rule.code == 0 && read.code == 5 && !leaked),
            seen: read.first_line(),
            commands: vec![rule.typed, read.typed],
        })
    }

    fn approved(&self) -> Result<Claim, Failure> {
        let delete = ["tool", "call", "delete_file", "path=notes.md", "--on-ask", "fail", "--json"];
        let asked = self.toolcrib(&delete)?;
        let waits = asked.code == 6 && self.has_notes();
        let id = asked.json()["approval"]["id"].as_str().unwrap_or_default().to_owned();
        let decided = self.toolcrib(&["approve", "yes", &id])?;
        Ok(Claim {
            claim: "a risky call waits for a person and runs once approved",
            holds: Some(waits && decided.code == 0 && !self.has_notes()),
            seen: decided.first_line(),
            commands: vec![asked.typed, decided.typed],
        })
    }

    fn undone(&self) -> Result<Claim, Failure> {
        let was_gone = !self.has_notes();
        let undo = self.toolcrib(&["undo"])?;
        Ok(Claim {
            claim: "what a tool did is undone",
            holds: Some(was_gone && undo.code == 0 && self.has_notes()),
            seen: undo.first_line(),
            commands: vec![undo.typed],
        })
    }

    fn confined(&self) -> Result<Claim, Failure> {
        let listener = TcpListener::bind("127.0.0.1:0")?;
        let address = listener.local_addr()?;
        // This process can reach the address, so only the sandbox keeps the command from it.
        TcpStream::connect(address)?;
        listener.accept()?;
        listener.set_nonblocking(true)?;
        let (host, port) = (address.ip(), address.port());
        let command = format!(
            "command=cat notes.md; cat secrets/key; (exec 3<>/dev/tcp/{host}/{port}) && echo {CONNECTED}; true"
        );
        let enable = self.toolcrib(&["tool", "enable", "execute_shell_command"])?;
        let call =
            ["tool", "call", "execute_shell_command", &command, "--policy", "auto", "--json"];
        let ran = self.toolcrib(&call)?;
        let (holds, seen) = judge_sandbox(&ran.json(), listener.accept().is_ok());
        Ok(Claim {
            claim: "a sandboxed command reads no denied file and reaches no network",
            holds,
            seen,
            commands: vec![enable.typed, ran.typed],
        })
    }

    fn audited(&self) -> Result<Claim, Failure> {
        let export = self.folder.path().join("audit.jsonl");
        let path = export.display().to_string();
        let sound = self.toolcrib(&["audit", "verify"])?;
        let exported = self.toolcrib(&["audit", "export", "-o", &path])?;
        let records = fs::read_to_string(&export).unwrap_or_default();
        let unedited = self.toolcrib(&["audit", "verify", "--file", &path])?;
        // An edit that hides a denied call; `sed` could do the same.
        let edited = records.replacen("denied", "succeeded", 1);
        fs::write(&export, &edited)?;
        let found = self.toolcrib(&["audit", "verify", "--file", &path])?;
        let verifies = sound.code == 0 && exported.code == 0 && unedited.code == 0;
        Ok(Claim {
            claim: "the audit log verifies, and an edited copy does not",
            holds: Some(verifies && edited != records && found.code == 1),
            seen: found.last_line(),
            commands: vec![
                sound.typed,
                exported.typed,
                format!("sed -i '0,/denied/s//succeeded/' {}", terminal::quote_for_shell(&path)),
                found.typed,
            ],
        })
    }
}

/// Judges whether the sandbox held, from the reply of the shell and from whether a connection
/// arrived.
fn judge_sandbox(reply: &Value, connected: bool) -> (Option<bool>, String) {
    let result = reply["result"].as_str().unwrap_or_default();
    if reply["outcome"] != "succeeded" {
        let what_to_do = "`toolcrib sandbox status` says what this machine lacks";
        return (None, format!("no command ran: {result} ({what_to_do})"));
    }
    let level = reply["sandbox"].as_str().or(reply["structured"]["sandbox"].as_str());
    let level = level.unwrap_or("none");
    let read = result.contains(TEXT);
    let leaked = result.contains(SECRET);
    let reached = connected || result.contains(CONNECTED);
    let holds = read && !leaked && !reached && level != "none";
    let seen = format!(
        "level {level}; the allowed file was {}, the denied one {}, the network {}",
        if read { "read" } else { "not read" },
        if leaked { "read too" } else { "not" },
        if reached { "reached" } else { "not reached" },
    );
    (Some(holds), seen)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_sandbox_that_leaks_does_not_hold() {
        let reply = |result: &str| {
            json!({
                "outcome": "succeeded", "result": result, "structured": {"sandbox": "namespace"},
            })
        };
        assert_eq!(judge_sandbox(&reply("buy oats"), false).0, Some(true));
        for (result, connected) in [
            ("buy oats", true),
            ("buy oats\nopen sesame", false),
            ("buy oats\nthe network was reached", false),
            ("", false),
        ] {
            assert_eq!(judge_sandbox(&reply(result), connected).0, Some(false), "{result}");
        }
        let mut open = reply("buy oats");
        open["structured"]["sandbox"] = json!("none");
        assert_eq!(judge_sandbox(&open, false).0, Some(false));
        let refused = json!({"outcome": "failed", "result": "no sandbox"});
        assert_eq!(judge_sandbox(&refused, false).0, None);
    }
}
