//! MCP: a call of a trivial tool through the whole pipeline compared with the same call of a bare
//! `rmcp` server, over pipes and over HTTP; a long list of tools; and the time that Toolcrib adds
//! in front of an MCP server. `cargo xtask bench` builds both programs into one folder.

mod minimal_client;
mod rmcp_baseline;

use std::path::Path;
use std::process::Command;
use std::time::Instant;

use serde_json::{Value, json};
use tempfile::TempDir;

use minimal_client::{Server, program};
pub(crate) use rmcp_baseline::serve;

use crate::results::Results;

/// Rounds, each with so many calls of every server. The best of the medians counts: a busy
/// neighbour only ever adds.
const ROUNDS: usize = 15;
const CALLS: usize = 300;
/// Lists that are asked for in each round.
const LISTS: usize = 5;
/// Tools of a long list (issue's figure).
const TOOLS: usize = 1_000;
/// A tool of ours that does little.
const OURS: &str = "get_current_time";

pub(crate) fn run(table: &mut Results) {
    let Some(binary) = std::env::current_exe().ok().map(|path| path.with_file_name("toolcrib"))
    else {
        return;
    };
    if !binary.exists() {
        table.figure("mcp: not built beside this program", f64::NAN, "");
        return;
    }
    over_pipes(table, &binary);
    over_http(table, &binary);
    long_list(table, &binary);
    gateway(table, &binary);
}

/// A folder for the files of one program, and a folder to work in.
fn home() -> TempDir {
    let home = tempfile::tempdir().expect("a folder");
    std::fs::create_dir(home.path().join("work")).expect("a folder");
    home
}

fn this_program(words: &[&str]) -> Command {
    let mut command = Command::new(std::env::current_exe().expect("this program"));
    command.args(words);
    command
}

/// What is called, and how.
struct Subject {
    server: Server,
    method: &'static str,
    params: Value,
    times: usize,
    best: f64,
}

impl Subject {
    fn call(mut server: Server, tool: &str) -> Self {
        let params = json!({"name": tool, "arguments": {"timezone": "UTC"}});
        server.checked("tools/call", params.clone());
        Self { server, method: "tools/call", params, times: CALLS, best: f64::INFINITY }
    }

    fn list(mut server: Server) -> Self {
        server.checked("tools/list", json!({}));
        let (method, params) = ("tools/list", json!({}));
        Self { server, method, params, times: LISTS, best: f64::INFINITY }
    }

    /// One round: the best median so far, in microseconds.
    fn round(&mut self) {
        let times = (0..self.times).map(|_| {
            let params = self.params.clone();
            let begun = Instant::now();
            self.server.request(self.method, params);
            begun.elapsed().as_secs_f64() * 1e6
        });
        let median = crate::timing::median(times);
        self.best = self.best.min(median);
    }
}

/// Turn by turn, so that a busy neighbour slows all of them down.
fn compare(subjects: &mut [&mut Subject]) {
    for _ in 0..ROUNDS {
        subjects.iter_mut().for_each(|subject| subject.round());
    }
}

fn over_pipes(table: &mut Results, binary: &Path) {
    let homes = [home(), home()];
    let ours = |at: usize| {
        let command = program(binary, &["mcp", "serve"], homes[at].path(), at == 0);
        Subject::call(Server::over_pipes(command), OURS)
    };
    let bare = Server::over_pipes(this_program(&[rmcp_baseline::OVER_STDIO, "1"]));
    let (mut bare, mut memory, mut durable) =
        (Subject::call(bare, rmcp_baseline::TOOL), ours(0), ours(1));
    compare(&mut [&mut bare, &mut memory, &mut durable]);
    add_rows(table, "stdio", (&bare, &memory, &durable));
}

fn over_http(table: &mut Results, binary: &Path) {
    let homes = [home(), home()];
    let ours = |at: usize| {
        let words = ["serve", "--json", "--listen", "127.0.0.1:0"];
        std::fs::create_dir(homes[at].path().join("home")).expect("a folder");
        let config = "[server]\nrequests_per_minute = 1000000\n";
        std::fs::write(homes[at].path().join("home/config.toml"), config).expect("a file");
        let command = program(binary, &words, homes[at].path(), at == 0);
        Subject::call(Server::over_http(command, "/mcp"), OURS)
    };
    let bare = Server::over_http(this_program(&[rmcp_baseline::OVER_HTTP, "1"]), "/");
    let (mut bare, mut memory, mut durable) =
        (Subject::call(bare, rmcp_baseline::TOOL), ours(0), ours(1));
    compare(&mut [&mut bare, &mut memory, &mut durable]);
    add_rows(table, "HTTP", (&bare, &memory, &durable));
}

fn add_rows(
    table: &mut Results,
    way: &str,
    (bare, memory, durable): (&Subject, &Subject, &Subject),
) {
    let what = |words: &str| format!("mcp: a call over {way}{words}");
    table.figure(what(", bare rmcp"), bare.best, "µs");
    table.figure(what(", ours in memory"), memory.best, "µs");
    table.at_most(what(", ours in memory / bare"), memory.best / bare.best, "x", 1.2);
    let added = (durable.best - memory.best) / 1000.0;
    table.at_most(what(", added by the durable store"), added, "ms", 0.1);
    table.at_most(what(", peak memory"), memory.server.peak_mb(), "MB", 25.0);
    table.at_most(what(", peak memory, durable"), durable.server.peak_mb(), "MB", 25.0);
}

/// A world with a bare server in it, reviewed and on.
fn home_with_tools(binary: &Path, tools: usize) -> TempDir {
    let home = home();
    let server = home.path().join("work/server");
    std::fs::copy(std::env::current_exe().expect("this program"), &server).expect("a copy");
    let (server, tools) = (server.display().to_string(), tools.to_string());
    let add = ["mcp", "add", "bare", "--trusted", "--", &server, rmcp_baseline::OVER_STDIO, &tools];
    for words in [&add[..], &["mcp", "test", "bare", "--accept"]] {
        let mut command = program(binary, words, home.path(), false);
        let done = command.stdout(std::process::Stdio::null()).status();
        assert!(done.is_ok_and(|status| status.success()), "{words:?}");
    }
    home
}

fn serving(binary: &Path, home: &Path, in_memory: bool) -> Server {
    let words = ["mcp", "serve", "--policy", "auto"];
    Server::over_pipes(program(binary, &words, home, in_memory))
}

fn long_list(table: &mut Results, binary: &Path) {
    let home = home_with_tools(binary, TOOLS);
    let bare = this_program(&[rmcp_baseline::OVER_STDIO, &TOOLS.to_string()]);
    let mut bare = Subject::list(Server::over_pipes(bare));
    let mut ours = Subject::list(serving(binary, home.path(), false));
    compare(&mut [&mut bare, &mut ours]);
    table.figure("mcp: 1,000 tools listed, bare rmcp", bare.best / 1000.0, "ms");
    table.at_most("mcp: 1,000 tools listed, and our own", ours.best / 1000.0, "ms", 3.0);
    table.figure("mcp: peak memory with 1,000 tools", ours.server.peak_mb(), "MB");
}

fn gateway(table: &mut Results, binary: &Path) {
    let home = home_with_tools(binary, 1);
    let tool = format!("bare__{}", rmcp_baseline::TOOL);
    let ours = |in_memory| Subject::call(serving(binary, home.path(), in_memory), &tool);
    let bare = Server::over_pipes(this_program(&[rmcp_baseline::OVER_STDIO, "1"]));
    let (mut bare, mut memory, mut durable) =
        (Subject::call(bare, rmcp_baseline::TOOL), ours(true), ours(false));
    compare(&mut [&mut bare, &mut memory, &mut durable]);
    let added = |subject: &Subject| subject.best - bare.best;
    table.at_most("mcp: added in front of a server, in memory", added(&memory), "µs", 90.0);
    table.figure("mcp: added in front of a server, durable", added(&durable), "µs");
}
