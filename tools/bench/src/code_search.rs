//! Searching a large tree: `code_search` against the parts of ripgrep put together as ripgrep does
//! it, and against `rg` where it is installed. Ours opens every file below a descriptor, sorts what
//! it found, and tells how much there is.

use std::path::Path;
use std::process::{Command, Stdio};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use grep_regex::RegexMatcherBuilder;
use grep_searcher::sinks::Lossy;
use grep_searcher::{BinaryDetection, SearcherBuilder};
use ignore::{WalkBuilder, WalkState};
use serde_json::json;
use tokio::runtime::Runtime;
use toolcrib_builtins::Builtins;
use toolcrib_builtins::fs::{Roots, Workspace};
use toolcrib_core::tool::Streams;
use toolcrib_core::{Block, CallCtx, CallId, CancellationToken, Context, Handler, StreamSink};

use crate::results::Results;
use crate::timing::median;

/// Folders, files in each, and lines of each file: 20,000 files, some 80 MB.
const TREE: (usize, usize, usize) = (400, 50, 80);
/// Rounds; in each everything is measured once.
const ROUNDS: usize = 15;

pub(crate) fn run(table: &mut Results) {
    let folder = tempfile::tempdir().expect("a folder");
    let root = folder.path().canonicalize().expect("its real path");
    let files = grow(&root);
    table.figure("search: files of the tree", files as f64, "");
    let runtime =
        tokio::runtime::Builder::new_current_thread().enable_all().build().expect("a runtime");
    let roots = Roots::open([&root]).expect("a root");
    let workspace = Arc::new(Workspace::without_journal(roots));
    let tools = Builtins::new().with_workspace(workspace).handlers();
    let tool = tools.iter().find(|tool| tool.spec().name.as_str() == "code_search").expect("it");
    let has_rg = Command::new("rg").arg("--version").stdout(Stdio::null()).status().is_ok();
    for (what, pattern) in [
        ("a rare word", "needle_7_7"),
        ("a pattern", r"fn \w+_9\(x: u32\)"),
        ("every file", "return"),
    ] {
        let mut took: [Vec<f64>; 3] = Default::default();
        for _ in 0..ROUNDS {
            let [own, parts, rg] = &mut took;
            let mut ours = 0;
            own.push(ms(|| ours = searched(&runtime, tool, pattern)));
            let mut theirs = 0;
            parts.push(ms(|| theirs = by_parts(&root, pattern)));
            assert_eq!(ours, theirs, "both find the same lines of {pattern}");
            if has_rg {
                rg.push(ms(|| by_rg(&root, pattern)));
            }
        }
        let [own, parts, rg] = took.map(|took| median(took.into_iter()));
        table.figure(format!("search: {what}, the parts of ripgrep"), parts, "ms");
        table.at_most(format!("search: {what}, code_search against them"), own / parts, "x", 1.5);
        if has_rg {
            table.at_most(format!("search: {what}, code_search against rg"), own / rg, "x", 1.5);
        }
    }
    if !has_rg {
        table.figure("search: rg is not installed", f64::NAN, "");
    }
}

/// Writes the tree; gives the number of files.
fn grow(root: &Path) -> usize {
    let (folders, files, lines) = TREE;
    for folder in 0..folders {
        let path = root.join(format!("pkg{}/mod{folder}", folder % 20));
        std::fs::create_dir_all(&path).expect("a folder");
        for file in 0..files {
            let line = |n: usize| {
                format!("    fn name_{n}_{}(x: u32) -> u32 {{ return x + {folder}; }}\n", file % 10)
            };
            let mut text: String = (0..lines).map(line).collect();
            if file == 7 && folder % 100 == 7 {
                text.push_str("// needle_7_7\n");
            }
            std::fs::write(path.join(format!("f{file}.rs")), text).expect("a file");
        }
        std::fs::write(path.join(".gitignore"), "*.o\ntarget/\n").expect("a file");
    }
    folders * files
}

fn ms(work: impl FnOnce()) -> f64 {
    let begun = Instant::now();
    work();
    begun.elapsed().as_secs_f64() * 1000.0
}

fn searched(runtime: &Runtime, tool: &Arc<dyn Handler>, pattern: &str) -> u64 {
    let call = CallCtx {
        call: CallId::fresh(),
        run: None,
        context: Arc::new(Context::default()),
        view: Arc::default(),
        attempt: 1,
        cancel: CancellationToken::new(),
        deadline: Instant::now() + Duration::from_secs(30),
        streams: Arc::new(NoStreams),
        path_denials: toolcrib_core::NoPathDenials::shared(),
        approved_hosts: Arc::default(),
    };
    let args = json!({"pattern": pattern, "case_sensitive": true});
    let output = runtime.block_on(tool.call(&call, &args)).expect("a result");
    output.structured.and_then(|found| found["matching_lines"].as_u64()).expect("a number")
}

/// As ripgrep walks and searches, counting lines.
fn by_parts(root: &Path, pattern: &str) -> u64 {
    let matcher = RegexMatcherBuilder::new()
        .multi_line(true)
        .line_terminator(Some(b'\n'))
        .build(pattern)
        .expect("a pattern");
    let found = AtomicU64::new(0);
    let threads = std::thread::available_parallelism().map_or(1, usize::from);
    let walk =
        WalkBuilder::new(root).hidden(false).require_git(false).threads(threads).build_parallel();
    walk.run(|| {
        let mut searcher = SearcherBuilder::new()
            .line_number(true)
            .binary_detection(BinaryDetection::quit(0))
            .build();
        let (matcher, found) = (matcher.clone(), &found);
        Box::new(move |entry| {
            let Ok(entry) = entry else { return WalkState::Continue };
            if entry.file_type().is_some_and(|kind| kind.is_file()) {
                let mut lines = 0;
                let sink = Lossy(|_, _| {
                    lines += 1;
                    Ok(true)
                });
                searcher.search_path(&matcher, entry.path(), sink).expect("a file");
                found.fetch_add(lines, Ordering::Relaxed);
            }
            WalkState::Continue
        })
    });
    found.into_inner()
}

fn by_rg(root: &Path, pattern: &str) {
    let mut rg = Command::new("rg");
    rg.args(["--hidden", "--no-require-git", "--count", "--no-config", "--", pattern]).arg(root);
    rg.stdout(Stdio::null()).stderr(Stdio::null()).status().expect("rg");
}

/// Nothing is streamed.
struct NoStreams;

impl Streams for NoStreams {
    fn open(&self, _: &CallCtx, _: &str) -> Box<dyn StreamSink> {
        Box::new(Self)
    }
}

impl StreamSink for NoStreams {
    fn write(&mut self, _: &[u8]) {}

    fn finish(self: Box<Self>) -> Block {
        Block::text("")
    }
}
