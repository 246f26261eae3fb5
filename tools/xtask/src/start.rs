//! `cargo xtask start`: the tour. Answers of models go through the built binary, then a whole run
//! does; what comes back, and what happened on disk, is checked. Then a daemon stays on what is
//! left of it.

mod chained;
mod follow_up;
mod serve;
mod server;
mod steps;
mod whole_run;

use std::fs;
use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};

use anyhow::{Context, Result, bail, ensure};
use serde_json::Value;

use crate::flags::flags;
use crate::{process, setup};
use server::Server;
use steps::{STEPS, Step};

/// Files that the workspace of the tour begins with.
const FILES: &[(&str, &str)] = &[
    ("notes.md", "# Notes\n\n- buy oats\n- water the plants\n"),
    ("hello.py", "print(\"Hello, world\")\n"),
    ("data/prices.csv", "item,price\noats,2.40\n"),
    ("old.log", "nothing happened\n"),
];

const INTRO: &str = "
Toolcrib: what a model answered goes in, its tool calls are checked, run, bounded and recorded, and the messages to send
back come out. Or it asks the model itself, round after round, until the answer is there. Nothing here needs a key or the
internet: the answers are recorded, the files and the server are real.
";

/// Takes the tour; `--keep` leaves its folder for a look afterwards, `--check` ends it where people
/// would begin to try things themselves.
pub(crate) fn run(args: &[String]) -> Result<()> {
    let (listen, args) = listen(args)?;
    let [keep, check] = flags(&args, ["--keep", "--check"])?;
    setup::for_tour()?;
    println!("Building toolcrib ...");
    let binary = process::build_binary()?;
    let tour = Tour { binary, folder: Folder::create(keep)?, server: Server::start()? };
    println!("{INTRO}");
    println!("workspace  {}", tour.folder.workspace().display());
    println!("server     http://127.0.0.1:{} (opened with --allow-net)", tour.server.port());
    for (number, step) in STEPS.iter().enumerate() {
        tour.take(number + 1, step).with_context(|| format!("step {}", step.format))?;
    }
    tour.undo(STEPS.len() + 1)?;
    tour.whole_run(STEPS.len() + 2).context("the whole run")?;
    tour.chained(STEPS.len() + 3).context("one script for many calls")?;
    println!("{}", closing(&tour.binary));
    if keep {
        println!("The folder of the tour is kept: {}", tour.folder.path.display());
    }
    tour.serve(listen.as_deref(), check).context("the daemon")
}

/// Takes `--listen ADDRESS` out of the arguments.
fn listen(args: &[String]) -> Result<(Option<String>, Vec<String>)> {
    let mut args = args.to_vec();
    let Some(at) = args.iter().position(|arg| arg == "--listen") else { return Ok((None, args)) };
    ensure!(at + 1 < args.len(), "--listen needs an address, such as 127.0.0.1:7300");
    let address = args.remove(at + 1);
    args.remove(at);
    Ok((Some(address), args))
}

/// The workspace, which is the current folder.
const AT_HOME: [&str; 2] = ["--root", "."];

struct Tour {
    binary: PathBuf,
    folder: Folder,
    server: Server,
}

impl Tour {
    /// One answer of a model: in, run, out, checked.
    fn take(&self, number: usize, step: &Step) -> Result<()> {
        println!("\n── {number}. {} {}", step.format, "─".repeat(90 - step.format.len().min(80)));
        println!("{}\n", step.about);
        println!("the model asks for\n{}", indented(&step.asks()));
        let body = step.body.replace("{{PORT}}", &self.server.port().to_string());
        let net = format!("127.0.0.1:{}", self.server.port());
        let args = ["exec", "--format", step.format, "--allow-net", &net, "--explain"];
        println!("$ toolcrib {} --root . < {}\n", args.join(" "), step.file);
        let output = self.toolcrib(&[&args[..], &AT_HOME].concat(), &body)?;
        let trace = String::from_utf8_lossy(&output.stderr).into_owned();
        let context = || format!("toolcrib ended with {}\n{trace}", output.status);
        ensure!(output.status.success(), context());
        let messages: Value = serde_json::from_slice(&output.stdout).with_context(context)?;
        println!(
            "what every stage decided (stderr)\n{}",
            indented(&shortened(&trace, number == 1))
        );
        println!(
            "the messages to append (stdout)\n{}",
            indented(&serde_json::to_string_pretty(&messages)?)
        );
        check_results(step, &messages)?;
        for (path, expected) in step.files {
            self.check_file(path, *expected)?;
        }
        println!("checked: {}", step.checked());
        Ok(())
    }

    /// The last change of a file is taken back.
    fn undo(&self, number: usize) -> Result<()> {
        println!("\n── {number}. undo {}\n", "─".repeat(86));
        println!("Every change of a file is in the journal of its workspace, whoever made it.\n");
        for args in [&["undo", "--list"][..], &["undo"]] {
            println!("$ toolcrib {} --root .\n", args.join(" "));
            let output = self.toolcrib(&[args, &AT_HOME].concat(), "")?;
            let words = String::from_utf8_lossy(&output.stdout);
            ensure!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
            println!("{}", indented(&words));
        }
        self.check_file("plan.md", Some(steps::PLAN))?;
        println!("checked: plan.md is what it was before the last answer");
        Ok(())
    }

    fn toolcrib(&self, args: &[&str], stdin: &str) -> Result<Output> {
        let mut command = Command::new(&self.binary);
        command
            .args(args)
            .current_dir(self.folder.workspace())
            .env("TOOLCRIB_HOME", self.folder.path.join("state"))
            .env("NO_COLOR", "1")
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped());
        for name in process::VARIABLES {
            command.env_remove(name);
        }
        let mut child =
            command.spawn().with_context(|| format!("starting {}", self.binary.display()))?;
        if let Some(mut pipe) = child.stdin.take() {
            pipe.write_all(stdin.as_bytes())?;
        }
        Ok(child.wait_with_output()?)
    }

    fn check_file(&self, path: &str, expected: Option<&str>) -> Result<()> {
        let found = fs::read_to_string(self.folder.workspace().join(path)).ok();
        ensure!(found.as_deref() == expected, "{path} is {found:?}, expected {expected:?}");
        Ok(())
    }
}

/// One result per call, in the order of the calls, each as the step expects it.
fn check_results(step: &Step, messages: &Value) -> Result<()> {
    let results = follow_up::results(step.format, messages);
    let ids: Vec<&str> = results.iter().map(|result| result.id.as_str()).collect();
    let expected: Vec<&str> = step.results.iter().map(|expect| expect.id).collect();
    ensure!(ids == expected, "the follow-up answers the calls {ids:?}, expected {expected:?}");
    for (result, expect) in results.iter().zip(step.results) {
        let (status, words) = (expect.status(), expect.words);
        if !result.text.contains(&status) || !result.text.contains(words) {
            bail!("call {}: expected {status} and {words:?} in:\n{}", expect.id, result.text);
        }
    }
    Ok(())
}

/// A trace without the stages that just let a call pass; of the first call of the tour, everything.
fn shortened(trace: &str, first_step: bool) -> String {
    let mut calls = 0;
    let mut kept: Vec<&str> = Vec::new();
    for line in trace.lines() {
        let is_stage = line.starts_with(' ');
        calls += usize::from(!is_stage);
        let whole = first_step && calls <= 1;
        let passed = ["pass", "-"].contains(&line.split_whitespace().nth(2).unwrap_or_default());
        if whole || !is_stage || !passed {
            kept.push(line);
        }
    }
    kept.join("\n")
}

fn indented(text: &str) -> String {
    text.lines().map(|line| format!("    {line}\n")).collect()
}

/// What to try next.
const NEXT: [(&str, &str); 8] = [
    ("serve", "the daemon, on your own workspace: REST, streams, switches; docs/daemon.md"),
    (
        "chat --model scripted:docs/tour.yaml",
        "the same run at your terminal: you approve, and you answer",
    ),
    (
        "run --provider ollama --model qwen3 \"What is in this folder?\"",
        "a model of your own; docs/providers.md has the others",
    ),
    ("tool list", "the tools, and what state they are in"),
    (
        "tool call read_file --args '{\"path\":\"README.md\"}'",
        "any tool by hand, through the same pipeline",
    ),
    ("spec --format anthropic", "the declarations to send with your request"),
    ("exec --explain < response.json", "your own model's answer; the format is detected"),
    ("net check http://169.254.169.254/", "which rule refuses an address"),
];

fn closing(binary: &Path) -> String {
    let mut out = format!(
        "\nEverything came out as expected. What next?\n\n    alias toolcrib={}\n",
        binary.display()
    );
    let width = NEXT.iter().map(|(words, _)| words.len()).max().unwrap_or(0);
    for (words, about) in NEXT {
        out.push_str(&format!("    toolcrib {words:width$}   # {about}\n"));
    }
    out.push_str("\nREADME.md shows every command, docs/ has a page for each part.");
    out
}

/// The folder of one tour: the workspace and the state beside it. Removed at the end, also after a
/// failure.
struct Folder {
    path: PathBuf,
    keep: bool,
}

impl Folder {
    fn create(keep: bool) -> Result<Self> {
        let path = std::env::temp_dir().join(format!("toolcrib-tour-{}", std::process::id()));
        let folder = Self { path, keep };
        for (name, text) in FILES {
            let file = folder.workspace().join(name);
            fs::create_dir_all(file.parent().context("a file without a folder")?)?;
            fs::write(&file, text).with_context(|| format!("writing {}", file.display()))?;
        }
        fs::write(folder.path.join("outside.txt"), "not for models\n")?;
        Ok(folder)
    }

    fn workspace(&self) -> PathBuf {
        self.path.join("workspace")
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        if !self.keep {
            let _ = fs::remove_dir_all(&self.path);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn a_missing_wrong_or_misplaced_result_fails_the_tour() {
        let step = STEPS.iter().find(|step| step.format == "openai-chat").unwrap();
        let message = |id: &str, content: &str| json!({"role": "tool", "tool_call_id": id, "content": content});
        let good: Vec<Value> = step
            .results
            .iter()
            .map(|e| message(e.id, &format!("{{{},\"result\":\"{}\"}}", e.status(), e.words)))
            .collect();
        assert!(check_results(step, &json!(good)).is_ok());
        assert!(check_results(step, &json!(good[1..])).is_err(), "one is missing");
        let mut turned = good.clone();
        turned.reverse();
        assert!(check_results(step, &json!(turned)).is_err(), "the order is wrong");
        let mut failed = good;
        failed[0] = message(step.results[0].id, "{\"status\":\"error\"}");
        assert!(check_results(step, &json!(failed)).is_err(), "one failed");
    }

    #[test]
    fn a_trace_is_shortened_to_what_was_decided() {
        let trace = "a ok in 9 us\n   0 receive  pass  1 us\n   3 decode   changed  2 us  a comma\nb denied\n   0 receive  pass  1 us\n   9 approve  STOPPED  1 us";
        let short = "a ok in 9 us\n   3 decode   changed  2 us  a comma\nb denied\n   9 approve  STOPPED  1 us";
        assert_eq!(shortened(trace, false), short);
        assert!(shortened(trace, true).starts_with("a ok in 9 us\n   0 receive"));
        assert_eq!(shortened(trace, true).matches("receive").count(), 1);
    }

    #[test]
    fn the_folder_is_removed() {
        let folder = Folder::create(false).unwrap();
        let path = folder.path.clone();
        assert!(folder.workspace().join("data/prices.csv").is_file());
        drop(folder);
        assert!(!path.exists());
    }
}
