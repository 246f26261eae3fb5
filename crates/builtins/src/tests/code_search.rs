//! `code_search` on real trees: matches, skipped files, and files that must never be opened.

use std::os::unix::fs::symlink;
use std::sync::Arc;

use serde_json::json;
use toolcrib_core::ErrorType;

use crate::test_support::{TestWorkspace, context};

fn tree() -> TestWorkspace {
    let shop = TestWorkspace::new();
    shop.write_file("src/main.py", "import os\n\ndef parse(x):\n    return x\n\nparse(1)\n");
    shop.write_file("src/deep/other.py", "# Parse nothing\n");
    shop.write_file("README.md", "How to parse\n");
    shop.write_file(".github/ci.yml", "run: parse\n");
    shop.write_file("node_modules/x/index.js", "parse()\n");
    shop.write_file(".git/config", "parse\n");
    shop.write_file("bin.dat", b"parse\n\0parse\n");
    shop.write_file(".gitignore", "out/\n*.log\n!keep.log\n");
    shop.write_file("out/made.py", "parse\n");
    shop.write_file("a.log", "parse\n");
    shop.write_file("keep.log", "parse\n");
    shop.write_file("src/.ignore", "/deep/hidden.py\n");
    shop.write_file("src/deep/hidden.py", "parse\n");
    shop
}

#[tokio::test]
async fn lines_are_found_in_the_order_of_paths() {
    let shop = tree();
    let text = shop.call_ok("code_search", json!({"pattern": "parse"})).await;
    assert_eq!(
        text,
        "6 matching lines in 5 files (8 searched).\n.github/ci.yml:1: run: parse\nREADME.md:1: How to parse\nkeep.log:1: parse\nsrc/deep/other.py:1: # Parse nothing\nsrc/main.py:3: def parse(x):\nsrc/main.py:6: parse(1)"
    );
    for (args, expected) in [
        (
            json!({"pattern": "parse", "include": "*.py", "case_sensitive": true}),
            "2 matching lines in 1 file",
        ),
        (json!({"pattern": "parse(", "literal": true}), "2 matching lines in 1 file"),
        (json!({"pattern": "pars", "whole_words": true}), "Nothing matches pars in ."),
        (json!({"pattern": "parse", "exclude": "src/**"}), "3 matching lines in 3 files"),
        (json!({"pattern": "parse", "path": "src/deep"}), "1 matching line in 1 file"),
        (json!({"pattern": "parse", "include_ignored": true}), "9 matching lines in 8 files"),
        (json!({"pattern": "parse", "path": "node_modules"}), "1 matching line in 1 file"),
        (json!({"pattern": "parse", "path": "out/made.py"}), "1 matching line in 1 file"),
        (
            json!({"pattern": "^def|^import", "files_only": true}),
            "2 matching lines in 1 file (8 searched).\nsrc/main.py: 2",
        ),
        (
            json!({"pattern": "no such thing"}),
            "Nothing matches no such thing in . (8 files searched).\n(Passed: 3 files and folders that ignore files name",
        ),
    ] {
        let shown = args.to_string();
        let text = shop.call_ok("code_search", args).await;
        assert!(text.starts_with(expected), "{shown}: {text}");
    }
}

#[tokio::test]
async fn context_limits_and_long_lines() {
    let shop = TestWorkspace::new();
    shop.write_file("a.txt", "1\n2\nx3\n4\n5\n6\n7\nx8\n9\n");
    let text = shop.call_ok("code_search", json!({"pattern": "x", "context": 1})).await;
    assert_eq!(
        text,
        "2 matching lines in 1 file (1 searched).\na.txt-2- 2\na.txt:3: x3\na.txt-4- 4\n--\na.txt-7- 7\na.txt:8: x8\na.txt-9- 9"
    );
    let text =
        shop.call_ok("code_search", json!({"pattern": "x", "context": 1, "max_results": 1})).await;
    assert!(text.contains("Shown: 1 matching lines"), "{text}");
    assert!(text.ends_with("a.txt-2- 2\na.txt:3: x3\na.txt-4- 4\na.txt: 1 more"), "{text}");
    shop.write_file("b.txt", "y\n".repeat(50));
    for (args, shown) in [
        (json!({"pattern": "y"}), 5),
        (json!({"pattern": "y", "max_per_file": 7}), 7),
        (json!({"pattern": "y", "path": "b.txt"}), 20),
        (json!({"pattern": "y", "path": "b.txt", "max_results": 500}), 50),
    ] {
        let text = shop.call_ok("code_search", args).await;
        assert_eq!(text.lines().filter(|line| line.ends_with(": y")).count(), shown, "{text}");
    }
    shop.write_file("long.txt", format!("{}needle{}\n", "ä".repeat(500), "ö".repeat(5000)));
    let text = shop.call_ok("code_search", json!({"pattern": "needle"})).await;
    let line = text.lines().nth(1).expect("line");
    assert!(line.starts_with("long.txt:1: ...äää") && line.contains("needle"), "{line}");
    assert!(line.ends_with("öö...") && line.chars().count() < 230, "{line}");
    shop.write_file("utf16.txt", [0xff, 0xfe, b'w', 0, b'i', 0, b'd', 0, b'e', 0, b'\n', 0]);
    let text = shop.call_ok("code_search", json!({"pattern": "wide"})).await;
    assert!(text.ends_with("utf16.txt:1: wide"), "{text}");
}

#[tokio::test]
async fn many_files_give_the_same_first_lines_every_time() {
    let shop = TestWorkspace::new();
    for n in 0..1500 {
        shop.write_file(&format!("d{:02}/f{n:04}", n % 40), format!("match {n}\n").repeat(9));
    }
    let args = json!({"pattern": "match", "max_results": 30});
    let first = shop.call_ok("code_search", args.clone()).await;
    assert!(first.starts_with("13500 matching lines in 1500 files (1500 searched)."), "{first}");
    assert!(first.contains("\nd00/f0000:1: match 0\n"), "{first}");
    for _ in 0..5 {
        assert_eq!(shop.call_ok("code_search", args.clone()).await, first);
    }
    let files = shop.call_ok("code_search", json!({"pattern": "match", "files_only": true})).await;
    assert_eq!(files.lines().count(), 21, "{files}");
}

#[tokio::test]
async fn nothing_outside_and_nothing_of_ours_is_searched() {
    let shop = TestWorkspace::with(|roots| {
        let root = roots.paths().next().expect("root").to_owned();
        roots.protect([root.join("state")]).expect("roots")
    });
    std::fs::write(shop.path_outside("out/secret"), "needle").expect("outside");
    shop.write_file("state/db", "needle\n");
    shop.write_file(".toolcrib/x", "needle\n");
    shop.write_file("sub/.toolcrib/x", "needle\n");
    symlink(shop.path_outside("out"), shop.path("link")).expect("link");
    symlink(shop.path_outside("out/secret"), shop.path("file")).expect("link");
    symlink("loop", shop.path("loop")).expect("link");
    rustix::fs::mkfifoat(
        rustix::fs::CWD,
        shop.path("fifo"),
        rustix::fs::Mode::from_raw_mode(0o600),
    )
    .expect("fifo");
    std::fs::hard_link(shop.path("state/db"), shop.path("other_name")).expect("link");
    let text = shop.call_ok("code_search", json!({"pattern": "needle"})).await;
    // Protected folders are recognized by identity; a hard link from elsewhere is a normal file of
    // the workspace.
    assert!(text.starts_with("1 matching line in 1 file (1 searched).\nother_name:1:"), "{text}");
    assert!(text.ends_with("(3 entries are out of reach of file tools.)"), "{text}");
    for path in ["link", "../out", "state", ".toolcrib", "file"] {
        shop.call_err(
            "code_search",
            json!({"pattern": "x", "path": path}),
            ErrorType::PathNotAllowed,
        )
        .await;
    }
    shop.call_err(
        "code_search",
        json!({"pattern": "x", "path": "fifo"}),
        ErrorType::PathNotAllowed,
    )
    .await;
    shop.call_err("code_search", json!({"pattern": "x", "path": "gone"}), ErrorType::FileNotFound)
        .await;
}

#[tokio::test]
async fn patterns_that_cannot_be_used_are_refused_and_others_take_linear_time() {
    let shop = TestWorkspace::new();
    for (pattern, why) in [
        ("(", "unclosed group"),
        ("(?=x)", "look-around"),
        (r"(a)\1", "backreferences"),
        ("a\nb", "The pattern cannot be used"),
        ("(((a{1000}){1000}){1000})", "The pattern cannot be used"),
    ] {
        let message = shop
            .call_err("code_search", json!({"pattern": pattern}), ErrorType::ValidationError)
            .await;
        assert!(message.contains(why), "{message}");
    }
    let message = shop
        .call_err(
            "code_search",
            json!({"pattern": "x", "include": "[a"}),
            ErrorType::ValidationError,
        )
        .await;
    assert!(message.contains("Write a glob"), "{message}");
    shop.write_file("a.txt", format!("{}!\n", "a".repeat(100_000)));
    shop.call_ok("code_search", json!({"pattern": "(a*)*$"})).await;
}

#[tokio::test]
async fn a_stopped_search_ends() {
    let shop = tree();
    let ctx = context();
    ctx.cancel.cancel();
    let tool = shop.tool("code_search");
    let error = tool.call(&ctx, &json!({"pattern": "parse"})).await.expect_err("stopped");
    assert_eq!(error.error_type, ErrorType::Cancelled);
    drop(Arc::clone(&shop.workspace));
}

#[tokio::test]
async fn hostile_ignore_files_hide_nothing_else() {
    let shop = TestWorkspace::new();
    shop.write_file("a.txt", "needle\n");
    shop.write_file("b.txt", "needle\n");
    let long = format!("{}\n[\n{{\n!\n\\\nb.txt\n{}", "*".repeat(400), "x{a,b}\n".repeat(5000));
    shop.write_file(".gitignore", long);
    let text = shop.call_ok("code_search", json!({"pattern": "needle"})).await;
    assert!(text.contains("a.txt:1:") || text.starts_with("Nothing"), "{text}");
    shop.write_file(".gitignore", b"\xff\xfe\n/b.txt\n");
    let text = shop.call_ok("code_search", json!({"pattern": "needle"})).await;
    assert_eq!(text, "1 matching line in 1 file (2 searched).\na.txt:1: needle");
}
