//! Runs every block of commands of README.md, clients/README.md and docs/*.md with the binary;
//! `fixtures/docs_blocks.toml` specifies how, or why not.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use serde::Deserialize;

use crate::support::{self, DaemonProcess, Ended, TestEnv};

/// The address of the daemon in the pages.
const ADDRESSES: [&str; 2] = ["127.0.0.1:7300", "127.0.0.1:8717"];

#[derive(Deserialize)]
struct Table {
    block: Vec<Row>,
}

/// See the comment at the top of the fixture.
#[derive(Deserialize, Clone)]
#[serde(deny_unknown_fields)]
struct Row {
    page: String,
    starts: String,
    not_run: Option<String>,
    #[serde(default)]
    setup: String,
    serve: Option<String>,
    #[serde(default)]
    skip: BTreeMap<String, String>,
    #[serde(default)]
    codes: BTreeMap<String, i32>,
    #[serde(default)]
    replace: BTreeMap<String, String>,
    #[serde(default)]
    input: BTreeMap<String, String>,
}

/// A command of a block, with the output on the page.
struct Shown {
    command: String,
    output: Vec<String>,
}

struct Block {
    commands: Vec<Shown>,
    /// Whether every command must end with the exit code of the row: for `console` blocks,
    /// transcripts are compared instead, except for commands without output.
    is_script: bool,
}

fn top() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

fn rows() -> Vec<Row> {
    let table: Table = toml::from_str(include_str!("../fixtures/docs_blocks.toml")).unwrap();
    table.block
}

fn pages() -> Vec<String> {
    let mut pages = vec!["README.md".to_owned(), "clients/README.md".to_owned()];
    for entry in fs::read_dir(top().join("docs")).unwrap() {
        let name = entry.unwrap().file_name().into_string().unwrap();
        if name.ends_with(".md") {
            pages.push(format!("docs/{name}"));
        }
    }
    pages
}

/// Returns the blocks of commands of a page, each with its first line.
fn blocks(text: &str) -> Vec<(String, Block)> {
    let mut found = Vec::new();
    let mut lines = text.lines();
    while let Some(line) = lines.next() {
        let indent = line.len() - line.trim_start().len();
        let Some(language) = line.trim_start().strip_prefix("```") else { continue };
        let inside: Vec<&str> = lines
            .by_ref()
            .take_while(|line| line.trim() != "```")
            .map(|line| line.get(indent..).unwrap_or_default())
            .collect();
        let first = inside.first().copied().unwrap_or_default().to_owned();
        match language {
            "sh" => found.push((first, script(&inside))),
            "console" => found.push((first, transcript(&inside))),
            _ => {}
        }
    }
    found
}

fn script(lines: &[&str]) -> Block {
    let text = lines.join("\n").replace("\\\n", "");
    let commands = text.lines().filter(|line| !line.trim().is_empty());
    let shown = |line: &str| Shown { command: line.to_owned(), output: Vec::new() };
    Block { commands: commands.map(shown).collect(), is_script: true }
}

fn transcript(lines: &[&str]) -> Block {
    let mut commands: Vec<Shown> = Vec::new();
    for line in lines {
        match (line.strip_prefix("$ "), commands.last_mut()) {
            (Some(command), _) => {
                commands.push(Shown { command: command.to_owned(), output: Vec::new() });
            }
            (None, Some(last)) => last.output.push((*line).to_owned()),
            (None, None) => panic!("a transcript begins with a command: {line}"),
        }
    }
    Block { commands, is_script: false }
}

/// A reader who types the commands of a page.
struct Reader {
    env: TestEnv,
    daemon: Option<DaemonProcess>,
    /// Variables that were set so far.
    variables: Vec<String>,
    /// Ids of the page, and the actual ids.
    ids: BTreeMap<String, String>,
}

impl Reader {
    fn new() -> Self {
        let env = TestEnv::new();
        env.write("docs/tour.yaml", fs::read_to_string(top().join("docs/tour.yaml")).unwrap());
        fs::create_dir_all(env.outside().join("nobody")).unwrap();
        Self { env, daemon: None, variables: Vec::new(), ids: BTreeMap::new() }
    }

    fn follow(&mut self, row: &Row, block: &Block) {
        if let Some(command) = &row.serve {
            self.serve(command);
        }
        if !row.setup.is_empty() {
            let setup = format!("set -e\n{}", row.setup);
            let ended = self.shell(&setup, "");
            assert_eq!(ended.code, 0, "{}: what comes before {}: {ended:#?}", row.page, row.starts);
            let sets = row.setup.lines().filter(|line| is_assignment(line));
            self.variables.extend(sets.map(str::to_owned));
        }
        for shown in &block.commands {
            if !row.skip.keys().any(|skipped| shown.command.starts_with(skipped)) {
                self.type_in(row, shown, block.is_script);
            }
        }
    }

    fn type_in(&mut self, row: &Row, shown: &Shown, is_script: bool) {
        let command = self.adapt(row, &shown.command);
        if command.starts_with("toolcrib serve") {
            return self.serve(&command);
        }
        let plain = shown.command.split("  #").next().unwrap_or_default().trim();
        let input = row.input.get(plain).map(String::as_str).unwrap_or_default();
        let ended = self.shell(&command, input);
        if is_assignment(&command) {
            self.variables.push(command.clone());
        }
        if is_script || shown.output.is_empty() {
            let code = row.codes.iter().find(|(begin, _)| shown.command.starts_with(*begin));
            let code = code.map_or(0, |(_, code)| *code);
            assert_eq!(ended.code, code, "{}: {command}\n{ended:#?}", row.page);
        }
        self.compare(row, shown, &ended.stdout);
    }

    /// Adapts a command to this daemon and these ids, and handles error responses of the server.
    fn adapt(&self, row: &Row, command: &str) -> String {
        let mut command = command.replace("curl -s ", "curl -sf ");
        // Replace the longest first: a short id is a prefix of a complete one.
        let mut known: Vec<_> = row.replace.iter().chain(&self.ids).collect();
        known.sort_by_key(|(from, _)| std::cmp::Reverse(from.len()));
        for (from, to) in known {
            command = command.replace(from, to);
        }
        let Some(daemon) = &self.daemon else { return command };
        let here = daemon.url();
        let here = here.trim_start_matches("http://");
        ADDRESSES.iter().fold(command, |text, address| text.replace(address, here))
    }

    /// Starts the daemon of a line `toolcrib serve …`, replacing an earlier one.
    fn serve(&mut self, command: &str) {
        let plain = command.split("  #").next().unwrap_or_default();
        let words = plain.trim_end_matches('&').split_whitespace().skip(2);
        let words: Vec<String> = words.map(|word| word.replace('~', &self.home())).collect();
        let mut more: Vec<&str> = words.iter().map(String::as_str).collect();
        // The test chooses these itself.
        for own in ["--listen", "--log-format", "--log-level"] {
            if let Some(at) = more.iter().position(|word| *word == own) {
                more.drain(at..at + 2);
            }
        }
        if let Some(earlier) = self.daemon.take() {
            earlier.stop(&self.env);
        }
        self.daemon = Some(DaemonProcess::start(&self.env, &more));
    }

    fn home(&self) -> String {
        self.env.outside().join("nobody").display().to_string()
    }

    fn shell(&self, commands: &str, input: &str) -> Ended {
        let ours = self.env.command(&[]);
        let folder = Path::new(ours.get_program()).parent().unwrap();
        let path = std::env::var("PATH").unwrap_or_default();
        // Use one stream, as on a terminal: the order of the lines is part of a transcript.
        let text = format!("exec 2>&1\n{}\n{commands}", self.variables.join("\n"));
        let mut shell = Command::new("sh");
        shell.args(["-c", &text]).current_dir(self.env.root()).env_clear();
        for (name, value) in ours.get_envs() {
            shell.env(name, value.unwrap_or_default());
        }
        shell.env("PATH", format!("{}:{path}", folder.display()));
        shell.env("USER", "ann").env("LOGNAME", "ann").env("REPO", top());
        shell.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
        support::end(shell, input.as_bytes())
    }

    /// Checks that the output contains the lines of the page, in order.
    fn compare(&mut self, row: &Row, shown: &Shown, output: &str) {
        let home = self.env.outside().join("home").display().to_string();
        let output = output.replace(&home, "~/.config/toolcrib");
        let output = output.replace(&self.env.root().display().to_string(), "/srv/garden");
        let mut lines = output.lines();
        for expected in shown.output.iter().filter(|line| !matches!(line.trim(), "" | "…")) {
            let found = lines.find(|line| normalized(line) == normalized(expected));
            let Some(found) = found else {
                panic!("{}: $ {}\nmissing: {expected}\n{output}", row.page, shown.command)
            };
            for (theirs, ours) in ids(expected).zip(ids(found)) {
                // A page shortens an id to its prefix and ten digits.
                let kind = theirs.find('_').unwrap_or_default();
                let short = theirs.get(..kind + 11).unwrap_or(theirs);
                self.ids.insert(short.to_owned(), ours.to_owned());
                self.ids.insert(theirs.to_owned(), ours.to_owned());
            }
        }
    }
}

/// Returns whether a line only sets a variable for later commands.
fn is_assignment(line: &str) -> bool {
    let line = line.strip_prefix("export ").unwrap_or(line);
    line.split_once('=').is_some_and(|(name, _)| {
        !name.is_empty() && name.chars().all(|c| c.is_ascii_uppercase() || c == '_')
    })
}

/// Returns the ids in a line.
fn ids(line: &str) -> impl Iterator<Item = &str> {
    line.split(|c: char| !c.is_ascii_alphanumeric() && c != '_').filter(|word| is_id(word))
}

fn is_id(word: &str) -> bool {
    let kinds = ["call", "appr", "run", "conv", "grant"];
    word.split_once('_').is_some_and(|(kind, digits)| {
        kinds.contains(&kind)
            && digits.len() >= 6
            && digits.chars().all(|digit| digit.is_ascii_hexdigit())
    })
}

/// Returns a line without the parts that differ from run to run: ids, hashes, times, durations,
/// widths of columns.
fn normalized(line: &str) -> String {
    let is_part = |c: char| c.is_ascii_alphanumeric() || matches!(c, '_' | '.' | ':' | '-');
    let mut words: Vec<String> = Vec::new();
    let mut rest = line;
    while let Some(first) = rest.chars().next() {
        let end = rest.find(|c: char| is_part(c) != is_part(first)).unwrap_or(rest.len());
        let (word, after) = rest.split_at(end);
        rest = after;
        if word.trim().is_empty() {
            continue;
        }
        words.push(if is_part(first) { one_word(word) } else { word.trim().to_owned() });
    }
    // `2.9 ms` and `3 us` are durations.
    let units = ["us", "ms", "s", "min", "h", "d"];
    for at in 1..words.len() {
        if units.contains(&words[at].as_str()) && words[at - 1].parse::<f64>().is_ok() {
            "DURATION".clone_into(&mut words[at - 1]);
            "".clone_into(&mut words[at]);
        }
    }
    words.retain(|word| !word.is_empty());
    words.join(" ")
}

fn one_word(word: &str) -> String {
    let digits = word.chars().filter(char::is_ascii_digit).count();
    let is_hash = word.len() >= 12 && word.chars().all(|digit| digit.is_ascii_hexdigit());
    let is_date = word.len() == 10 && digits == 8 && word.matches('-').count() == 2;
    let is_time = word.len() == 8 && digits == 6 && word.matches(':').count() == 2;
    match () {
        () if is_id(word) => "ID".to_owned(),
        () if is_hash => "HASH".to_owned(),
        () if is_date || is_time => "TIME".to_owned(),
        () => word.to_owned(),
    }
}

/// Follows one page from start to end.
fn follow(page: &str, rows: &[Row]) {
    let text = fs::read_to_string(top().join(page)).unwrap();
    let mut reader = Reader::new();
    for (first, block) in blocks(&text) {
        let row = rows.iter().find(|row| row.page == page && first.starts_with(&row.starts));
        let row = row.unwrap_or_else(|| {
            panic!("{page}: a row is missing in fixtures/docs_blocks.toml for the block: {first}")
        });
        if row.not_run.is_none() {
            reader.follow(row, &block);
        }
    }
    if let Some(daemon) = reader.daemon.take() {
        daemon.stop(&reader.env);
    }
}

#[test]
fn every_page_works_as_it_stands() {
    let rows = rows();
    let pages = pages();
    for row in &rows {
        assert!(pages.contains(&row.page), "{}: there is no such page", row.page);
        let text = fs::read_to_string(top().join(&row.page)).unwrap();
        let is_there = blocks(&text).iter().any(|(first, _)| first.starts_with(&row.starts));
        assert!(is_there, "{}: there is no block that begins with {}", row.page, row.starts);
    }
    // Run three pages at a time: each mostly waits for programs that start and end.
    let (rows, queue) = (&rows, &std::sync::Mutex::new(pages));
    std::thread::scope(|scope| {
        for _ in 0..3 {
            scope.spawn(move || {
                loop {
                    let Some(page) = queue.lock().unwrap().pop() else { return };
                    follow(&page, rows);
                }
            });
        }
    });
}
