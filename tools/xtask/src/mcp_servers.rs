//! Well-known MCP servers from npm and PyPI against the built binary: each is added with the one
//! command of its documentation, tested, and some are called. It takes minutes and needs the
//! registries, so it is in no other command. What cannot be reached here is named as skipped.

use std::net::{SocketAddr, TcpStream, ToSocketAddrs as _};
use std::path::Path;
use std::process::{Command, Output, Stdio};
use std::time::{Duration, Instant};

use anyhow::{Context as _, Result, bail};
use serde_json::Value;

use crate::flags::flags;
use crate::process;
use crate::served::Scratch;

/// The servers that people begin with and that start without an account. That of SQLite is not
/// maintained any more and needs the library of its time.
const SERVERS: [(&str, &[&str]); 12] = [
    ("filesystem", &["npx", "-y", "@modelcontextprotocol/server-filesystem", "."]),
    ("everything", &["npx", "-y", "@modelcontextprotocol/server-everything"]),
    ("memory", &["npx", "-y", "@modelcontextprotocol/server-memory"]),
    ("time", &["uvx", "mcp-server-time"]),
    ("fetch", &["uvx", "mcp-server-fetch"]),
    ("git", &["uvx", "mcp-server-git"]),
    ("sqlite", &["uvx", "--with", "mcp<2", "mcp-server-sqlite", "--db-path", "./test.db"]),
    ("playwright", &["npx", "-y", "@playwright/mcp"]),
    ("github", &["npx", "-y", "@modelcontextprotocol/server-github"]),
    ("notion", &["npx", "-y", "@notionhq/notion-mcp-server"]),
    ("context7", &["npx", "-y", "@upstash/context7-mcp"]),
    ("sequential-thinking", &["npx", "-y", "@modelcontextprotocol/server-sequential-thinking"]),
];
/// Calls that need neither network nor account, and what their answers contain.
const CALLS: [(&str, &str, &str); 5] = [
    ("everything__echo", r#"{"message": "oats"}"#, "oats"),
    ("filesystem__list_directory", r#"{"path": "."}"#, "notes.md"),
    ("time__get_current_time", r#"{"timezone": "UTC"}"#, "UTC"),
    ("sqlite__create_table", r#"{"query": "create table t (a int)"}"#, "created"),
    (
        "memory__create_entities",
        r#"{"entities": [{"name": "oats", "entityType": "grain", "observations": []}]}"#,
        "oats",
    ),
];
/// How long a registry may take to answer.
const PATIENCE: Duration = Duration::from_secs(5);

/// What became of a server.
enum Ended {
    Started(String),
    Skipped(String),
    Failed(String),
}

/// Starts all of them.
pub(crate) fn run(args: &[String]) -> Result<()> {
    let [] = flags(args, [])?;
    let trial = Trial { binary: &process::build_binary()?, scratch: Scratch::new("mcp-servers")? };
    std::fs::write(trial.scratch.workspace().join("notes.md"), "Oats.\n")?;
    let (mut started, mut skipped, mut failed) = (Vec::new(), 0, Vec::new());
    for (name, line) in SERVERS {
        let begin = Instant::now();
        let (word, said) = match trial.server(name, line)? {
            Ended::Started(said) => {
                started.push(name);
                ("ok", said)
            }
            Ended::Skipped(why) => {
                skipped += 1;
                ("SKIPPED", why)
            }
            Ended::Failed(why) => {
                failed.push(name.to_owned());
                ("FAILED", why)
            }
        };
        println!("{name:<20} {word:<8} {:>5.1} s  {said}", begin.elapsed().as_secs_f64());
    }
    let of = |tool: &str| tool.split("__").next().unwrap_or_default().to_owned();
    let mut answered = 0;
    for (tool, args, expected) in CALLS.iter().filter(|(tool, ..)| started.contains(&&*of(tool))) {
        let called = trial.toolcrib(&["tool", "call", tool, "--args", args, "--policy", "auto"])?;
        if called.status.success() && text(&called.stdout).contains(expected) {
            answered += 1;
        } else {
            failed.push(format!("{tool} ({})", text(&called.stderr)));
        }
    }
    println!("{} started, {skipped} skipped, {answered} calls answered", started.len());
    if !failed.is_empty() {
        bail!("failed: {}", failed.join(", "));
    }
    Ok(())
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).trim().to_owned()
}

struct Trial<'a> {
    binary: &'a Path,
    scratch: Scratch,
}

impl Trial<'_> {
    fn toolcrib(&self, args: &[&str]) -> Result<Output> {
        let mut command = Command::new(self.binary);
        command.args(args).current_dir(self.scratch.workspace()).stdin(Stdio::null());
        command.env("TOOLCRIB_HOME", self.scratch.home()).env("NO_COLOR", "1");
        for name in process::VARIABLES {
            command.env_remove(name);
        }
        command.output().with_context(|| format!("starting {}", self.binary.display()))
    }

    /// Adds a server, and tests it if its registry can be reached.
    fn server(&self, name: &str, line: &[&str]) -> Result<Ended> {
        let launcher = line.first().copied().unwrap_or_default();
        if !process::works(launcher, &["--version"]) {
            return Ok(Ended::Skipped(format!("there is no {launcher} on this machine")));
        }
        let added = self.toolcrib(&[&["mcp", "add", name, "--"], line].concat())?;
        if !added.status.success() {
            return Ok(Ended::Failed(text(&added.stderr)));
        }
        let shown = self.toolcrib(&["mcp", "show", name, "--json"])?;
        let shown: Value = serde_json::from_slice(&shown.stdout)?;
        let registry = shown.pointer("/launcher/registry").and_then(Value::as_str);
        let registry = registry.with_context(|| format!("{name} has no registry"))?;
        let Some(addresses) = reached(registry) else {
            return Ok(Ended::Skipped(format!("{registry} cannot be reached")));
        };
        // Registries behind an address that is not public, as in the network of a company.
        let targets: Vec<String> = addresses.iter().map(ToString::to_string).collect();
        let net = targets.iter().flat_map(|target| ["--allow-net", target]);
        let words: Vec<&str> = ["mcp", "test", name, "--accept"].into_iter().chain(net).collect();
        let tested = self.toolcrib(&words)?;
        let said = text(&tested.stderr);
        Ok(match tested.status.success() {
            true => Ended::Started(said.lines().next().unwrap_or_default().to_owned()),
            false => Ended::Failed(said),
        })
    }
}

/// The addresses of a registry; `None` if none of them answers.
fn reached(registry: &str) -> Option<Vec<SocketAddr>> {
    let (scheme, rest) = registry.split_once("://")?;
    let host = rest.split('/').next()?;
    let port = if scheme == "http" { 80 } else { 443 };
    let target = if host.contains(':') { host.to_owned() } else { format!("{host}:{port}") };
    let addresses: Vec<SocketAddr> = target.to_socket_addrs().ok()?.collect();
    addresses.iter().find(|address| TcpStream::connect_timeout(address, PATIENCE).is_ok())?;
    Some(addresses)
}
