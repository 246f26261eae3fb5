//! Language servers: real ones if installed, and scripted ones that die, hang, flood or send false
//! data.

use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, Instant};

use serde_json::{Value, json};
use toolcrib_builtins::Builtins;
use toolcrib_builtins::fs::{Journal, Roots, Workspace};
use toolcrib_builtins::program_runner::ProgramPolicy;
use toolcrib_core::{Block, CallCtx, ErrorType, Handler, ToolError};

use super::support::{Bench, call_of, installed, processes_with};

/// A workspace with the tool.
struct Shop {
    bench: Bench,
    tool: Arc<dyn Handler>,
}

impl Shop {
    fn with(change: impl FnOnce(ProgramPolicy) -> ProgramPolicy) -> Self {
        let bench = Bench::with(change);
        let roots = Roots::open([bench.path("ws")]).unwrap();
        let journal = Journal::open(bench.path("state").join("undo")).unwrap();
        let tools = Builtins::new()
            .with_workspace(Arc::new(Workspace::new(roots, journal)))
            .with_program_runner(Arc::clone(&bench.workbench))
            .handlers();
        let tool = tools.into_iter().find(|tool| tool.spec().name.as_str() == "lsp_manager");
        Self { bench, tool: tool.unwrap() }
    }

    fn put(&self, path: &str, content: &str) {
        let path = self.bench.path("ws").join(path);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, content).unwrap();
    }

    async fn call_within(&self, time: Duration, args: Value) -> Result<String, ToolError> {
        let ctx = CallCtx { deadline: Instant::now() + time, ..call_of("lsp") };
        self.tool.assess(&args)?;
        let output = self.tool.call(&ctx, &args).await?;
        match output.content.into_iter().next() {
            Some(Block::Text { text, .. }) => Ok(text),
            other => panic!("{other:?}"),
        }
    }

    async fn call(&self, args: Value) -> Result<String, ToolError> {
        self.call_within(Duration::from_secs(60), args).await
    }

    async fn ok(&self, args: Value) -> String {
        let shown = args.to_string();
        self.call(args)
            .await
            .unwrap_or_else(|error| panic!("{shown}: {} {:?}", error.message, error.detail))
    }

    async fn fails(&self, time: u64, args: Value, kind: ErrorType) -> String {
        let shown = args.to_string();
        let error = self.call_within(Duration::from_secs(time), args).await.expect_err(&shown);
        assert_eq!(error.error_type, kind, "{shown}: {}", error.message);
        error.message
    }
}

fn python() -> PathBuf {
    let program = std::process::Command::new("python3")
        .args(["-c", "import os, sys; print(os.path.realpath(sys.executable))"])
        .output()
        .expect("the scripted servers need python3");
    PathBuf::from(String::from_utf8(program.stdout).unwrap().trim())
}

/// Creates a workspace with `a.go` and a scripted server with this behavior instead of gopls.
fn scripted(behaviour: &str) -> (Shop, tempfile::TempDir) {
    let python = python();
    let folder = tempfile::tempdir().unwrap();
    let script = format!("#!{} -u\n{PROTOCOL}\n{behaviour}\n", python.display());
    let program = folder.path().join("gopls");
    fs::write(&program, script).unwrap();
    fs::set_permissions(&program, fs::Permissions::from_mode(0o755)).unwrap();
    let shop = Shop::with(|confines| ProgramPolicy {
        path: vec![folder.path().canonicalize().unwrap()],
        readable: python.ancestors().nth(2).map(Path::to_owned).into_iter().collect(),
        ..confines
    });
    shop.put("a.go", "package a\n\nfunc größe() {}\n\nvar x = größe\n");
    (shop, folder)
}

/// The protocol in a few lines of Python.
const PROTOCOL: &str = r#"
import json, os, sys, time
def read():
    length = 0
    while True:
        line = sys.stdin.buffer.readline()
        if not line: sys.exit(0)
        if line == b"\r\n": break
        if line.lower().startswith(b"content-length:"): length = int(line.split(b":")[1])
    return json.loads(sys.stdin.buffer.read(length))
def send(message):
    body = json.dumps({"jsonrpc": "2.0", **message}).encode()
    sys.stdout.buffer.write(b"Content-Length: %d\r\n\r\n" % len(body) + body)
    sys.stdout.buffer.flush()
def say(method, params): send({"method": method, "params": params})
def answer(message, result): send({"id": message["id"], "result": result})
def requests():
    while True:
        message = read()
        if message.get("method") == "initialize": answer(message, {"capabilities": {}})
        elif "id" in message and "method" in message: yield message
"#;

const ASK: &str = "a.go";

fn definition() -> Value {
    json!({"action": "definition", "file": ASK, "symbol": "x"})
}

#[tokio::test]
async fn places_are_told_in_characters_and_lines() {
    let (shop, _folder) = scripted(
        r#"
for message in requests():
    at = message["params"]["position"]
    uri = message["params"]["textDocument"]["uri"]
    there = {"start": {"line": 2, "character": 5}, "end": {"line": 2, "character": 10}}
    answer(message, [{"uri": uri, "range": there}, {"uri": "file:///usr/lib/go/src/fmt/print.go", "range": {"start": at, "end": at}}])
"#,
    );
    let text = shop.ok(definition()).await;
    assert_eq!(
        text,
        "a.go:3:6: func größe() {}\ngo/src/fmt/print.go (outside the workspace):5:5\n"
    );
    // The same process answers again, and it cannot change the workspace.
    assert_eq!(shop.ok(definition()).await, text);
}

#[tokio::test]
async fn one_server_is_started_for_a_project_and_kept() {
    let (shop, _folder) = scripted(
        r#"
for message in requests():
    answer(message, {"contents": "process %d" % os.getpid() if not os.access(".", os.W_OK) else "writable"})
"#,
    );
    let hover = |symbol: &str| json!({"action": "hover", "file": ASK, "symbol": symbol});
    let first = shop.ok(hover("x")).await;
    assert!(first.starts_with("process"), "{first}");
    let both = tokio::join!(shop.call(hover("größe")), shop.call(hover("x")));
    assert_eq!((both.0.unwrap(), both.1.unwrap()), (first.clone(), first));
    let marker = shop.bench.path("ws").display().to_string();
    let program = "/gopls";
    assert!(processes_with(program).len() <= 2, "{marker}");
}

#[tokio::test]
async fn changes_on_the_disk_are_told() {
    let (shop, _folder) = scripted(
        r#"
texts = {}
def requests():
    while True:
        message = read()
        method, params = message.get("method"), message.get("params", {})
        if method == "initialize": answer(message, {"capabilities": {}})
        elif method == "textDocument/didOpen": texts[params["textDocument"]["uri"]] = params["textDocument"]["text"]
        elif method == "textDocument/didChange": texts[params["textDocument"]["uri"]] = params["contentChanges"][0]["text"]
        elif method == "textDocument/didClose": texts.pop(params["textDocument"]["uri"])
        elif "id" in message: yield message
for message in requests():
    answer(message, {"contents": "|".join(text for _, text in sorted(texts.items()))})
"#,
    );
    shop.put("a.go", "var a");
    shop.put("b.go", "var b");
    let hover = |file: &str| json!({"action": "hover", "file": file, "line": 0});
    shop.ok(hover("a.go")).await;
    assert_eq!(shop.ok(hover("b.go")).await, "var a|var b");
    shop.put("a.go", "var c");
    assert_eq!(shop.ok(hover("b.go")).await, "var c|var b");
    fs::remove_file(shop.bench.path("ws").join("b.go")).unwrap();
    assert_eq!(shop.ok(hover("a.go")).await, "var c");
}

#[tokio::test]
async fn a_rename_is_shown_and_not_done() {
    let (shop, _folder) = scripted(
        r#"
for message in requests():
    uri = message["params"]["textDocument"]["uri"]
    name = message["params"]["newName"]
    edit = lambda line, at: {"range": {"start": {"line": line, "character": at}, "end": {"line": line, "character": at + 5}}, "newText": name}
    if name == "outside": uri = "file:///etc/passwd"
    answer(message, {"changes": {uri: [edit(2, 5), edit(4, 8)]}})
"#,
    );
    let before = shop.bench.read("ws/a.go");
    let rename =
        |name: &str| json!({"action": "rename", "file": ASK, "symbol": "größe", "new_name": name});
    let text = shop.ok(rename("size")).await;
    assert!(
        text.starts_with("Renaming größe to size would change 1 file. Nothing was changed"),
        "{text}"
    );
    assert!(text.contains("--- a/a.go\n+++ b/a.go\n"), "{text}");
    assert!(text.contains("-func größe() {}\n+func size() {}\n"), "{text}");
    assert!(text.contains("-var x = größe\n+var x = size\n"), "{text}");
    assert_eq!(shop.bench.read("ws/a.go"), before);
    let message = shop.fails(30, rename("outside"), ErrorType::ExecutionError).await;
    assert!(message.contains("cannot be renamed from here"), "{message}");
    shop.fails(30, rename(" "), ErrorType::ValidationError).await;
}

#[tokio::test]
async fn diagnostics_come_by_themselves_or_when_asked_for() {
    let item = r#"{"range": {"start": {"line": 2, "character": 5}, "end": {"line": 2, "character": 6}}, "severity": 1, "code": "E1", "source": "check", "message": "no such thing"}"#;
    let expected = "a.go: 1 errors, 0 others.\na.go:3:6 error [E1] no such thing (check)\n";
    let (shop, _folder) = scripted(&format!(
        r#"
while True:
    message = read()
    if message.get("method") == "initialize": answer(message, {{"capabilities": {{}}}})
    if message.get("method") == "textDocument/didSave":
        say("$/progress", {{"token": 1, "value": {{"kind": "begin"}}}})
        say("textDocument/publishDiagnostics", {{"uri": message["params"]["textDocument"]["uri"], "diagnostics": []}})
        say("textDocument/publishDiagnostics", {{"uri": message["params"]["textDocument"]["uri"], "diagnostics": [{item}]}})
        say("$/progress", {{"token": 1, "value": {{"kind": "end"}}}})
"#
    ));
    let ask = || json!({"action": "diagnostics", "file": ASK});
    assert_eq!(shop.ok(ask()).await, expected);
    assert_eq!(shop.ok(ask()).await, expected, "what did not change is not checked again");
    let (shop, _folder) = scripted(&format!(
        r#"
while True:
    message = read()
    if message.get("method") == "initialize": answer(message, {{"capabilities": {{"diagnosticProvider": {{}}}}}})
    if message.get("method") == "textDocument/diagnostic": answer(message, {{"kind": "full", "items": [{item}]}})
"#
    ));
    assert_eq!(shop.ok(ask()).await, expected);
}

#[tokio::test]
async fn a_server_that_cannot_start_says_why() {
    let (shop, _folder) = scripted("sys.stderr.write('no licence found\\n'); sys.exit(3)");
    let message = shop.fails(30, definition(), ErrorType::ExecutionError).await;
    assert!(message.contains("failed: it ended. Its last words: no licence found"), "{message}");
}

#[tokio::test]
async fn a_server_that_dies_is_started_anew() {
    let (shop, _folder) = scripted(
        r#"
for number, message in enumerate(requests()):
    if message["method"] == "textDocument/definition": os._exit(1)
    answer(message, {"contents": "answer %d" % number})
"#,
    );
    let hover = || json!({"action": "hover", "file": ASK, "symbol": "x"});
    assert_eq!(shop.ok(hover()).await, "answer 0");
    let message = shop.fails(30, definition(), ErrorType::ExecutionError).await;
    assert!(message.contains("The next call restarts it."), "{message}");
    assert_eq!(shop.ok(hover()).await, "answer 0");
}

#[tokio::test]
async fn a_server_that_hangs_costs_its_call_only() {
    let (shop, _folder) = scripted("for message in requests(): pass");
    let message = shop.fails(3, definition(), ErrorType::Timeout).await;
    assert!(message.contains("did not answer in time"), "{message}");
    let (shop, _folder) = scripted("time.sleep(1000)");
    shop.fails(3, definition(), ErrorType::Timeout).await;
    // A server that stops reading while a large file is sent to it.
    let (shop, _folder) = scripted("answer(read(), {'capabilities': {}})\ntime.sleep(1000)");
    shop.put("a.go", &"// words\n".repeat(100_000));
    shop.fails(4, json!({"action": "hover", "file": ASK, "line": 0}), ErrorType::Timeout).await;
}

#[tokio::test]
async fn a_server_that_talks_nonsense_is_given_up() {
    let check = async |behaviour: &str, expected: &str| {
        let (shop, _folder) = scripted(behaviour);
        let message = shop.fails(30, definition(), ErrorType::ExecutionError).await;
        assert!(message.contains(expected), "{behaviour}: {message}");
    };
    check("print('Traceback: something'); time.sleep(1000)", "not a message of the protocol").await;
    check("sys.stdout.buffer.write(b'Content-Length: 99999999999\\r\\n\\r\\n'); sys.stdout.flush(); time.sleep(1000)", "announced a message longer").await;
    check(
        "for message in requests(): send({'id': message['id'], 'error': {'code': 5, 'message': 'not today'}})",
        "refuses: not today",
    )
    .await;
}

#[tokio::test]
async fn a_server_that_floods_is_given_up() {
    let (shop, _folder) = scripted(
        "for message in requests():\n  while True: say('window/logMessage', {'message': 'x' * 1000000})",
    );
    let message = shop.fails(60, definition(), ErrorType::ExecutionError).await;
    assert!(message.contains("without answering"), "{message}");
}

#[tokio::test]
async fn a_server_that_asks_and_asks_is_answered_no_further_than_it_reads() {
    let (shop, _folder) = scripted(
        r#"
for message in requests():
    for number in range(5000):
        send({"id": "q%d" % number, "method": "workspace/configuration", "params": {"items": [{"section": "x"}] * 50}})
    answer(message, {"contents": "done"})
"#,
    );
    assert_eq!(shop.ok(json!({"action": "hover", "file": ASK, "symbol": "x"})).await, "done");
}

#[tokio::test]
async fn odd_answers_are_no_answers() {
    for odd in ["None", "7", "'x'", "[[]]", "{'contents': 5}", "[{'uri': 'nonsense', 'range': {}}]"]
    {
        let (shop, _folder) =
            scripted(&format!("for message in requests(): answer(message, {odd})"));
        let text = shop.ok(definition()).await;
        assert!(text.starts_with("Nothing was found."), "{odd}: {text}");
        let hover = shop.ok(json!({"action": "hover", "file": ASK, "symbol": "x"})).await;
        assert!(hover.starts_with("The server knows nothing"), "{odd}: {hover}");
    }
}

#[tokio::test]
async fn what_is_missing_is_named() {
    let shop = Shop::with(|confines| confines);
    shop.put("a.go", "package a\n");
    shop.put("notes.md", "x");
    let message = shop
        .fails(30, json!({"action": "hover", "file": "a.go", "line": 0}), ErrorType::NotConfigured)
        .await;
    assert!(message.contains("go install golang.org/x/tools/gopls@latest"), "{message}");
    let message = shop
        .fails(30, json!({"action": "ruff_check", "file": "a.go"}), ErrorType::NotConfigured)
        .await;
    assert!(message.contains("pip install ruff"), "{message}");
    shop.fails(
        30,
        json!({"action": "hover", "file": "notes.md", "line": 0}),
        ErrorType::ValidationError,
    )
    .await;
    shop.fails(30, json!({"action": "hover", "line": 0}), ErrorType::ValidationError).await;
    shop.fails(30, json!({"action": "hover", "file": "a.go"}), ErrorType::ValidationError).await;
    shop.fails(30, json!({"action": "hover", "file": "b.go", "line": 0}), ErrorType::FileNotFound)
        .await;
    shop.fails(
        30,
        json!({"action": "hover", "file": "../a.go", "line": 0}),
        ErrorType::PathNotAllowed,
    )
    .await;
}

#[tokio::test]
async fn servers_end_with_their_holder() {
    let (shop, folder) = scripted("for message in requests(): answer(message, {'contents': 'x'})");
    shop.ok(json!({"action": "hover", "file": ASK, "symbol": "x"})).await;
    let marker = folder.path().canonicalize().unwrap().display().to_string();
    assert!(!processes_with(&marker).is_empty());
    drop(shop);
    let gone = async {
        while !processes_with(&marker).is_empty() {
            tokio::task::yield_now().await;
        }
    };
    tokio::time::timeout(Duration::from_secs(5), gone).await.expect("a server was left behind");
}

#[tokio::test]
async fn rust_analyzer_knows_a_project() {
    let Some((path, _)) = installed("rust-analyzer") else { return };
    let home = PathBuf::from(std::env::var_os("HOME").unwrap());
    let folder = |name: &str, usual: &str| {
        std::env::var_os(name).map_or_else(|| home.join(usual), PathBuf::from)
    };
    let (rustup, cargo) = (folder("RUSTUP_HOME", ".rustup"), folder("CARGO_HOME", ".cargo"));
    let shop = Shop::with(|confines| ProgramPolicy {
        path: vec![path],
        readable: vec![rustup.clone(), cargo.clone()],
        env: [("RUSTUP_HOME", &rustup), ("CARGO_HOME", &cargo)]
            .map(|(name, path)| (name.to_owned(), path.display().to_string()))
            .into(),
        ..confines
    });
    shop.put(
        "Cargo.toml",
        "[package]\nname = \"small\"\nversion = \"0.1.0\"\nedition = \"2021\"\n",
    );
    shop.put("src/lib.rs", "pub mod shape;\n\npub fn area() -> u32 {\n    shape::square(3)\n}\n");
    shop.put(
        "src/shape.rs",
        "/// The square of a side.\npub fn square(side: u32) -> u32 {\n    side * side\n}\n",
    );
    let square = |action: &str| json!({"action": action, "file": "src/lib.rs", "symbol": "square", "new_name": "quadrat"});
    let text = shop.ok(square("definition")).await;
    assert_eq!(text, "src/shape.rs:2:8: pub fn square(side: u32) -> u32 {\n");
    assert!(shop.ok(square("hover")).await.contains("The square of a side."));
    assert_eq!(shop.ok(square("references")).await.lines().count(), 2);
    assert!(shop.ok(square("rename")).await.contains("+    shape::quadrat(3)\n"));
    let symbols = shop.ok(json!({"action": "symbols", "file": "src/lib.rs"})).await;
    assert!(symbols.contains("function area"), "{symbols}");
    let symbols =
        shop.ok(json!({"action": "symbols", "file": "src/lib.rs", "symbol": "square"})).await;
    assert!(symbols.contains("src/shape.rs:2"), "{symbols}");
    let wrong = || json!({"action": "diagnostics", "file": "src/shape.rs"});
    assert!(shop.ok(wrong()).await.contains("rust-analyzer reports nothing about src/shape.rs"));
    shop.put("src/shape.rs", "pub fn square(side: u32) -> u32 {\n    \"side\"\n}\n");
    let text = shop.ok(wrong()).await;
    assert!(text.contains("src/shape.rs:2:5 error"), "{text}");
    assert!(!shop.bench.path("ws/target").exists() && !shop.bench.path("ws/Cargo.lock").exists());
}

#[tokio::test]
async fn pylsp_knows_a_project() {
    let Some((path, around)) = installed("pylsp") else { return };
    let shop =
        Shop::with(|confines| ProgramPolicy { path: vec![path], readable: around, ..confines });
    shop.put(
        "shape.py",
        "def square(side):\n    \"\"\"The square of a side.\"\"\"\n    return side * side\n",
    );
    shop.put("main.py", "from shape import square\n\nprint(square(3))\n");
    let square = |action: &str| json!({"action": action, "file": "main.py", "line": 2, "symbol": "square", "new_name": "quadrat"});
    let text = shop.ok(square("definition")).await;
    assert_eq!(text, "shape.py:1:5: def square(side):\n");
    assert!(shop.ok(square("hover")).await.contains("The square of a side."));
    let symbols = shop.ok(json!({"action": "symbols", "file": "shape.py"})).await;
    assert!(symbols.contains("square"), "{symbols}");
    shop.put("main.py", "from shape import square\n\nprint(square(3)\n");
    let text = shop.ok(json!({"action": "diagnostics", "file": "main.py"})).await;
    assert!(text.contains("error"), "{text}");
}

#[tokio::test]
async fn pyright_knows_types() {
    let Some((path, around)) = installed("pyright") else { return };
    let shop =
        Shop::with(|confines| ProgramPolicy { path: vec![path], readable: around, ..confines });
    shop.put(
        "main.py",
        "def square(side: int) -> int:\n    return side * side\n\n\nsquare(\"x\")\n",
    );
    let text = shop.ok(json!({"action": "diagnostics", "file": "main.py"})).await;
    assert!(text.contains("main.py:5:8 error [reportArgumentType]"), "{text}");
    shop.put("main.py", "def square(side: int) -> int:\n    return side * side\n\n\nsquare(3)\n");
    let text = shop.ok(json!({"action": "diagnostics", "file": "main.py"})).await;
    assert!(text == "pyright-langserver reports nothing about main.py.", "{text}");
    let text =
        shop.ok(json!({"action": "references", "file": "main.py", "symbol": "square"})).await;
    assert_eq!(text, "main.py:1:5: def square(side: int) -> int:\nmain.py:5:1: square(3)\n");
}

#[tokio::test]
async fn typescript_language_server_knows_a_project() {
    let Some((path, around)) = installed("typescript-language-server") else { return };
    let shop =
        Shop::with(|confines| ProgramPolicy { path: vec![path], readable: around, ..confines });
    shop.put("tsconfig.json", "{\"compilerOptions\": {\"strict\": true}}");
    shop.put("a.ts", "export function square(side: number) {\n  return side * side;\n}\n");
    shop.put("b.ts", "import { square } from \"./a\";\n\nsquare(\"x\");\n");
    let square = |action: &str| json!({"action": action, "file": "b.ts", "line": 2, "symbol": "square", "new_name": "quadrat"});
    let text = shop.ok(square("definition")).await;
    assert_eq!(text, "a.ts:1:17: export function square(side: number) {\n");
    let text = shop.ok(json!({"action": "diagnostics", "file": "b.ts"})).await;
    assert!(text.contains("b.ts:3:8 error [2345]"), "{text}");
    let text = shop.ok(square("rename")).await;
    assert!(text.contains("+export function quadrat(side: number) {\n"), "{text}");
}

#[tokio::test]
async fn ruff_checks_files_and_folders() {
    let Some((path, around)) = installed("ruff") else { return };
    let shop =
        Shop::with(|confines| ProgramPolicy { path: vec![path], readable: around, ..confines });
    shop.put("a.py", "import os\n\nprint(undefined)\n");
    shop.put("b.py", "print(1)\n");
    let text = shop.ok(json!({"action": "ruff_check", "file": "a.py"})).await;
    assert!(
        text.starts_with("a.py: 2 findings, 1 of them with a known fix.\na.py:1:8 [F401]"),
        "{text}"
    );
    let text = shop.ok(json!({"action": "ruff_check"})).await;
    assert!(text.contains("a.py:3:7 [F821]"), "{text}");
    let text = shop.ok(json!({"action": "ruff_check", "file": "b.py"})).await;
    assert_eq!(text, "ruff finds nothing wrong in b.py.");
    shop.put("ruff.toml", "no-such-key = 1\n");
    let message = shop.fails(30, json!({"action": "ruff_check"}), ErrorType::ExecutionError).await;
    assert!(message.contains("no-such-key"), "{message}");
}
