//! Read-only file tools: `read_file`, `list_dir`, `file_info`, `find_files`.

use std::os::unix::fs::symlink;

use serde_json::{Value, json};
use toolcrib_core::{ErrorType, Trust};

use crate::test_support::TestWorkspace;

#[tokio::test]
async fn read_file_gives_the_text() {
    let shop = TestWorkspace::new();
    shop.write_file("plain", "one\ntwo");
    shop.write_file("empty", "");
    shop.write_file("bom", "\u{feff}text");
    shop.write_file("latin", b"caf\xe9");
    shop.write_file("utf16", b"\xff\xfeh\0i\0");
    shop.write_file("日本/ファイル.txt", "漢字");
    shop.write_file("max", "x".repeat(1024 * 1024));
    for (path, encoding, expected) in [
        ("plain", None, "one\ntwo"),
        ("empty", None, ""),
        ("bom", None, "text"),
        ("latin", Some("windows-1252"), "café"),
        ("latin", Some("latin1"), "café"),
        ("utf16", Some("utf-16le"), "hi"),
        ("日本/ファイル.txt", Some("UTF-8"), "漢字"),
    ] {
        let said = shop.call("read_file", json!({"path": path, "encoding": encoding})).await;
        let said = said.expect(path);
        assert_eq!(said.text(), expected, "{path}");
        assert_eq!((said.0.trust, said.0.source.as_deref()), (Some(Trust::Workspace), Some(path)));
    }
    assert_eq!(shop.call_ok("read_file", json!({"path": "max"})).await.len(), 1024 * 1024);
}

#[tokio::test]
async fn failures_of_read_file_are_told_apart() {
    let shop = TestWorkspace::new();
    shop.write_file("notes.md", "x");
    shop.write_file("dir/file", "x");
    shop.write_file("nul", b"a\0b");
    shop.write_file("bytes", b"\xff\xd8\xff\xe0");
    shop.write_file("utf16", b"\xff\xfeh\0i\0");
    shop.write_file("large", "x".repeat(1024 * 1024 + 1));
    rustix::fs::mkfifoat(rustix::fs::CWD, shop.path("fifo"), 0o600.into()).expect("fifo");
    use ErrorType::{ExecutionError, FileNotFound, FileTooLarge, PathNotAllowed, ValidationError};
    for (args, kind, part) in [
        (json!({"path": "none"}), FileNotFound, "File not found: none"),
        (json!({"path": "Note.md"}), FileNotFound, "Did you mean notes.md?"),
        (json!({"path": "dir"}), ValidationError, "is a folder"),
        (json!({"path": "dir/file/x"}), ValidationError, "part of its path is a file"),
        (json!({"path": "nul"}), ExecutionError, "binary"),
        (json!({"path": "bytes"}), ExecutionError, "call again with its encoding"),
        (json!({"path": "bytes", "encoding": "shift_jis"}), ExecutionError, "not valid Shift_JIS"),
        (json!({"path": "utf16"}), ExecutionError, "encoding utf-16le"),
        (json!({"path": "large"}), FileTooLarge, "give offset"),
        (json!({"path": "notes.md", "encoding": "klingon"}), ValidationError, "\"klingon\""),
        (json!({"path": "fifo"}), PathNotAllowed, "FIFO"),
        (json!({"path": "../none"}), PathNotAllowed, "not allowed"),
        (json!({"path": "a\0b"}), ValidationError, "NUL"),
        (json!({"path": ""}), ValidationError, "empty"),
    ] {
        let message = shop.call_err("read_file", args.clone(), kind).await;
        assert!(message.contains(part), "{args}: {message}");
    }
    assert_eq!(
        shop.call_err("read_file", json!({"path": "zzz"}), FileNotFound).await,
        "File not found: zzz"
    );
}

#[tokio::test]
async fn read_file_pages_by_lines() {
    let shop = TestWorkspace::new();
    let lines: String = (1..=100_000).map(|i| format!("line {i} äöü\n")).collect();
    shop.write_file("log", &lines);
    shop.write_file("two", "a\r\nb");
    shop.write_file("wide", "x".repeat(2 * 1024 * 1024));
    shop.write_file("rows", format!("{}\n", "y".repeat(999)).repeat(3000));
    for (args, first, note) in [
        (
            json!({"path": "log", "offset": 50_000, "limit": 2}),
            "line 50000 äöü\nline 50001 äöü\n",
            "(Lines 50000 to 50001 of log. There are more: continue with offset 50002.)",
        ),
        (
            json!({"path": "log", "offset": 99_999, "limit": 5}),
            "line 99999 äöü\nline 100000 äöü\n",
            "(Lines 99999 to 100000 of log, which ends there.)",
        ),
        (
            json!({"path": "log", "offset": 100_001}),
            "",
            "(log has only 100000 lines, so there is nothing from line 100001 on.)",
        ),
        (json!({"path": "two", "limit": 9}), "a\r\nb", "(Lines 1 to 2 of two, which ends there.)"),
        (
            json!({"path": "two", "limit": 1}),
            "a\r\n",
            "(Lines 1 to 1 of two. There are more: continue with offset 2.)",
        ),
        (
            json!({"path": "two", "offset": 2, "limit": 1}),
            "b",
            "(Lines 2 to 2 of two, which ends there.)",
        ),
    ] {
        let said = shop.call("read_file", args.clone()).await.expect("part");
        assert_eq!(said.parts(), [first, note], "{args}");
    }
    let said = shop.call("read_file", json!({"path": "rows", "limit": 3000})).await.expect("rows");
    let parts = said.parts();
    assert_eq!(parts[0].len(), 1048 * 1000);
    assert_eq!(
        parts[1],
        "(Lines 1 to 1048 of rows: more do not fit into 1 MB. Go on with offset 1049.)"
    );
    shop.call_err("read_file", json!({"path": "wide", "limit": 1}), ErrorType::FileTooLarge).await;
}

#[tokio::test]
async fn list_dir_says_what_is_there() {
    let shop = TestWorkspace::new();
    shop.write_file("b.txt", "12345");
    shop.write_file("sub/c", "");
    shop.write_file(".hidden", "");
    symlink("b.txt", shop.path("link")).expect("link");
    rustix::fs::mkfifoat(rustix::fs::CWD, shop.path("pipe"), 0o600.into()).expect("fifo");
    assert_eq!(
        shop.call_ok("list_dir", json!({})).await,
        ".: 5 entries\n.hidden  0 bytes\nb.txt  5 bytes\nlink -> b.txt\npipe  (FIFO)\nsub/"
    );
    shop.write_file("many/0000", "");
    for i in 1..=1000 {
        std::fs::write(shop.path(&format!("many/{i:04}")), "").expect("file");
    }
    let said = shop.call("list_dir", json!({"path": "many"})).await.expect("list");
    assert!(said.text().ends_with("Use find_files with a pattern.)"));
    assert_eq!(said.0.structured.expect("data")["complete"], json!(false));
    std::fs::create_dir(shop.path("empty")).expect("folder");
    assert_eq!(
        shop.call_ok("list_dir", json!({"path": "empty"})).await,
        "empty is an empty folder."
    );
    shop.call_err("list_dir", json!({"path": "b.txt"}), ErrorType::ValidationError).await;
    shop.call_err("list_dir", json!({"path": "none"}), ErrorType::FileNotFound).await;
}

#[tokio::test]
async fn file_info_describes_without_opening() {
    let shop = TestWorkspace::new();
    shop.write_file("f", "123");
    std::fs::hard_link(shop.path("f"), shop.path("g")).expect("link");
    symlink("f", shop.path("in")).expect("link");
    symlink("../out", shop.path("out")).expect("link");
    symlink("none", shop.path("dangling")).expect("link");
    rustix::fs::mkfifoat(rustix::fs::CWD, shop.path("pipe"), 0o600.into()).expect("fifo");
    let info = async |path: &str| -> Value {
        let said = shop.call("file_info", json!({"path": path})).await.expect(path);
        said.0.structured.expect("data")
    };
    let f = info("f").await;
    assert_eq!((&f["type"], &f["bytes"], &f["hard_links"]), (&json!("file"), &json!(3), &json!(2)));
    assert!(f["modified"].as_str().expect("time").ends_with('Z'));
    assert_eq!(info(".").await["type"], "folder");
    assert_eq!(info("in").await["leads_to"], "file");
    assert_eq!(info("out").await["leads_to"], "not allowed");
    assert_eq!(info("dangling").await["leads_to"], "nothing");
    assert_eq!(info("pipe").await["type"], "FIFO");
    shop.call_err("file_info", json!({"path": "none"}), ErrorType::FileNotFound).await;
}

#[tokio::test]
async fn find_files_matches_names_and_paths() {
    let shop = TestWorkspace::new();
    for path in ["a.md", "src/b.md", "src/deep/c.rs", "src/deep/d.md", ".git/x.md", ".hid/e.md"] {
        shop.write_file(path, "");
    }
    std::fs::write(shop.path_outside("out/f.md"), "").expect("file");
    symlink("../out", shop.path("link")).expect("link");
    let skipped = "\n(1 folders such as .git or node_modules were not searched. Give one as path to search it.)";
    for (pattern, path, expected, notes) in [
        ("*.md", ".", ".hid/e.md\na.md\nsrc/b.md\nsrc/deep/d.md", skipped),
        ("src/*.md", ".", "src/b.md", skipped),
        ("src/**/*.{md,rs}", ".", "src/b.md\nsrc/deep/c.rs\nsrc/deep/d.md", skipped),
        ("**/d.*", "src", "src/deep/d.md", ""),
        ("*.md", ".git", ".git/x.md", ""),
        ("deep", "src", "src/deep/", ""),
        ("link", ".", "link", skipped),
        ("*.py", "src", "Nothing matches *.py in src.", ""),
    ] {
        let found = shop.call_ok("find_files", json!({"pattern": pattern, "path": path})).await;
        assert_eq!(found, format!("{expected}{notes}"), "{pattern} in {path}");
    }
    let message =
        shop.call_err("find_files", json!({"pattern": "a[b"}), ErrorType::ValidationError).await;
    assert!(message.contains("pattern cannot be used"), "{message}");
    shop.call_err(
        "find_files",
        json!({"pattern": "*", "path": "a.md"}),
        ErrorType::ValidationError,
    )
    .await;
    for i in 0..1001 {
        std::fs::write(shop.path(&format!("src/{i}.txt")), "").expect("file");
    }
    let found = shop.call_ok("find_files", json!({"pattern": "*.txt"})).await;
    assert!(found.contains("Stopped at 1000 results"), "{}", found.len());
}
