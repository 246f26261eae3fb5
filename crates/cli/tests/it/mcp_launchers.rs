//! MCP servers behind launchers: `docker run` with a fake docker, `uvx` with a fake uv, `npx` with
//! a registry on this machine. `cargo xtask mcp-servers` starts well-known servers.

use std::fs;
use std::io::{BufRead as _, BufReader, Write as _};
use std::net::{Ipv4Addr, TcpListener, TcpStream};
use std::os::unix::fs::PermissionsExt as _;
use std::os::unix::net::UnixListener;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::{Arc, Mutex};
use std::thread;

use serde_json::json;

use crate::support::{self, Ended, TestEnv};

const FIXTURE: &str = include_str!("../../../mcp/tests/it/fixture/server.py");

/// A docker client that sends its arguments to its socket, and is the server itself.
const DOCKER: &str = r#"#!/usr/bin/env python3
import os, socket, sys
daemon = socket.socket(socket.AF_UNIX)
daemon.connect(os.environ["DOCKER_HOST"].removeprefix("unix://"))
daemon.sendall((" ".join(sys.argv[1:]) + "\n").encode())
daemon.close()
if sys.argv[1] == "pull":
    sys.exit(0)
sys.argv[1] = "/nowhere"
"#;

/// Runs the binary with additional variables.
fn run(env: &TestEnv, variables: &[(&str, &str)], args: &[&str]) -> Ended {
    let mut command = env.command(args);
    command.envs(variables.iter().copied());
    support::end(command, b"")
}

fn script(path: &Path, text: &str) {
    fs::write(path, text).unwrap();
    fs::set_permissions(path, fs::Permissions::from_mode(0o755)).unwrap();
}

/// The part of `uv` that a launcher needs: it fetches once with the network, and then runs offline.
const UV: &str = r#"#!/usr/bin/env python3
import os, sys
if sys.argv[-1] == "--version":
    sys.exit(0 if os.environ["UV_OFFLINE"] == "0" and "mcp<2" in sys.argv else 3)
assert os.environ["UV_OFFLINE"] == "1"
sys.argv[1] = "/nowhere"
"#;

/// Regression: `uvx` executes the `uv` beside it, which was not visible in the sandbox.
#[test]
fn uvx_finds_the_uv_beside_it() {
    let env = TestEnv::new();
    let bin = env.outside().canonicalize().unwrap().join("person/.local/bin");
    fs::create_dir_all(&bin).unwrap();
    script(&bin.join("uvx"), "#!/bin/sh\nexec \"$(dirname \"$0\")/uv\" tool \"$@\"\n");
    script(&bin.join("uv"), &format!("{UV}{FIXTURE}"));
    let path = format!("{}:/usr/bin:/bin", bin.display());
    let line = ["mcp", "add", "time", "--", "uvx", "--with", "mcp<2", "mcp-server-time"];
    run(&env, &[("PATH", &path)], &line).code(0).says(&[
        "fetches the package mcp-server-time from https://",
        &format!("reads {}", bin.join("uv").display()),
    ]);
    env.run(&["mcp", "test", "time", "--accept"]).code(0).says(&["time is connected to fixture 1"]);
}

#[test]
fn docker_run_is_recognised_and_its_reach_is_said() {
    let env = TestEnv::new();
    let folder = env.outside().canonicalize().unwrap().join("docker");
    fs::create_dir(&folder).unwrap();
    script(&folder.join("docker"), &format!("{DOCKER}{FIXTURE}"));
    let socket = folder.join("d.sock");
    let listener = UnixListener::bind(&socket).unwrap();
    let asked = Arc::new(Mutex::new(Vec::new()));
    let log = Arc::clone(&asked);
    thread::spawn(move || {
        for stream in listener.incoming().flatten() {
            let mut line = String::new();
            let _ = BufReader::new(stream).read_line(&mut line);
            log.lock().unwrap().push(line.trim().to_owned());
        }
    });
    let path = format!("{}:/usr/bin:/bin", folder.display());
    let host = format!("unix://{}", socket.display());
    let variables = [("PATH", path.as_str()), ("DOCKER_HOST", host.as_str())];
    let line =
        ["mcp", "add", "dk", "--", "docker", "run", "-i", "--rm", "-v", "/srv:/srv", "img:1"];
    run(&env, &variables, &line).code(0).says(&[
        "runs the image img:1 with docker, outside of this sandbox",
        "can change everything on this machine",
        "gives the container -v /srv:/srv",
        &format!("reads {}", socket.display()),
    ]);
    let shown = support::json(&env.run(&["mcp", "show", "dk", "--json"]).code(0).stdout);
    assert_eq!(shown["launcher"]["kind"], "docker", "{shown}");
    env.run(&["mcp", "test", "dk", "--accept"]).code(0).says(&["dk is connected to fixture 1"]);
    let asked = asked.lock().unwrap().clone();
    assert_eq!(asked[0], "pull --quiet img:1", "{asked:?}");
    assert!(asked[1..].iter().all(|line| line == "run -i --rm -v /srv:/srv img:1"), "{asked:?}");
}

/// A package of a registry: a server for Node that speaks the protocol itself.
const PACKAGE: &str =
    r#"{"name": "tiny-mcp", "version": "1.2.3", "bin": {"tiny-mcp": "server.js"}}"#;
const SERVER: &str = r##"#!/usr/bin/env node
const lines = require("readline").createInterface({ input: process.stdin });
const say = (id, more) => console.log(JSON.stringify({ jsonrpc: "2.0", id, ...more }));
lines.on("line", (line) => {
  const { id, method, params } = JSON.parse(line);
  if (id === undefined) return;
  const tool = { name: "word", description: "Says a word.", inputSchema: { type: "object" } };
  if (method === "initialize") say(id, { result: { protocolVersion: params.protocolVersion, capabilities: { tools: {} }, serverInfo: { name: "tiny", version: "1.2.3" } } });
  else if (method === "tools/list") say(id, { result: { tools: [tool] } });
  else if (method === "tools/call") say(id, { result: { content: [{ type: "text", text: "oats" }] } });
  else say(id, { error: { code: -32601, message: "no" } });
});
"##;

/// Starts a registry with this package; returns the requested paths.
fn registry(tarball: Vec<u8>) -> (String, Arc<Mutex<Vec<String>>>) {
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).unwrap();
    let base = format!("http://{}", listener.local_addr().unwrap());
    let asked = Arc::new(Mutex::new(Vec::new()));
    let (log, own) = (Arc::clone(&asked), base.clone());
    thread::spawn(move || {
        for stream in listener.incoming().flatten() {
            let _ = answer(stream, &own, &tarball, &log);
        }
    });
    (base, asked)
}

fn answer(
    mut stream: TcpStream,
    base: &str,
    tarball: &[u8],
    log: &Mutex<Vec<String>>,
) -> std::io::Result<()> {
    let mut reader = BufReader::new(stream.try_clone()?);
    let mut first = String::new();
    reader.read_line(&mut first)?;
    let mut line = String::new();
    while reader.read_line(&mut line)? > 2 {
        line.clear();
    }
    let path = first.split(' ').nth(1).unwrap_or_default().to_owned();
    let version = json!({
        "name": "tiny-mcp", "version": "1.2.3", "bin": {"tiny-mcp": "server.js"},
        "dist": {"tarball": format!("{base}/tiny-mcp/-/tiny-mcp-1.2.3.tgz")},
    });
    let package = json!({
        "name": "tiny-mcp", "dist-tags": {"latest": "1.2.3"}, "versions": {"1.2.3": version},
    });
    let (status, body) = match path.as_str() {
        "/tiny-mcp" => ("200 OK", package.to_string().into_bytes()),
        path if path.ends_with(".tgz") => ("200 OK", tarball.to_vec()),
        _ => ("404 Not Found", b"{}".to_vec()),
    };
    log.lock().unwrap().push(path);
    let length = body.len();
    write!(stream, "HTTP/1.1 {status}\r\ncontent-length: {length}\r\nconnection: close\r\n\r\n")?;
    stream.write_all(&body)
}

fn tarball(folder: &Path) -> Vec<u8> {
    let package = folder.join("package");
    fs::create_dir_all(&package).unwrap();
    fs::write(package.join("package.json"), PACKAGE).unwrap();
    fs::write(package.join("server.js"), SERVER).unwrap();
    let made = Command::new("tar").arg("czf").arg("-").arg("package").current_dir(folder).output();
    made.unwrap().stdout
}

fn on_path(program: &str) -> Option<PathBuf> {
    let path = std::env::var_os("PATH")?;
    std::env::split_paths(&path).map(|folder| folder.join(program)).find(|file| file.is_file())
}

/// The registry of a company has a private address, and the one of this test is on this machine.
#[test]
fn npx_fetches_from_the_registry_of_the_person_and_runs_without_it() {
    let Some(npx) = on_path("npx") else {
        eprintln!("skipped: there is no npx on this machine");
        return;
    };
    let env = TestEnv::new();
    let folder = tempfile::tempdir().unwrap();
    let (base, asked) = registry(tarball(folder.path()));
    let path = format!("{}:/usr/bin:/bin", npx.parent().unwrap().display());
    let variables = [("PATH", path.as_str()), ("npm_config_registry", base.as_str())];
    run(&env, &variables, &["mcp", "add", "tiny", "--", "npx", "-y", "tiny-mcp"])
        .code(0)
        .says(&[&format!("fetches the package tiny-mcp from {base}"), "has no network"]);
    let tested = run(&env, &variables, &["mcp", "test", "tiny", "--accept"]).code(0);
    assert!(tested.stdout.contains("tiny__word"), "{tested:?}");
    let fetched = asked.lock().unwrap().len();
    assert!(fetched >= 2, "{:?}", asked.lock().unwrap());
    let (reply, _) = env.call("tiny__word", &json!({}), &["--policy", "auto"]);
    assert!(reply["result"].to_string().contains("oats"), "{reply}");
    assert_eq!(asked.lock().unwrap().len(), fetched, "it runs from what was fetched");
    // The package does not exist: the registry is contacted, and its error is shown.
    run(&env, &variables, &["mcp", "add", "none", "--", "npx", "-y", "no-such-mcp"]).code(0);
    run(&env, &variables, &["mcp", "test", "none", "--accept"])
        .code(1)
        .says(&["the package no-such-mcp could not be fetched", "E404"]);
}
