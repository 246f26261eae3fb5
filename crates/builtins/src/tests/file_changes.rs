//! Tools that change files: results, refusals and messages.

use std::os::unix::fs::{MetadataExt as _, PermissionsExt as _, symlink};
use std::sync::Arc;

use serde_json::json;
use toolcrib_core::{Access, Effect, ErrorType, Handler};

use crate::test_support::TestWorkspace;

fn mode(shop: &TestWorkspace, path: &str) -> u32 {
    shop.path(path).metadata().expect(path).permissions().mode() & 0o7777
}

fn set_mode(shop: &TestWorkspace, path: &str, mode: u32) {
    std::fs::set_permissions(shop.path(path), std::fs::Permissions::from_mode(mode)).expect(path);
}

#[tokio::test]
async fn write_file_overwrites_and_appends() {
    let shop = TestWorkspace::new();
    let text = shop.call_ok("write_file", json!({"path": "a/b/ü.md", "content": "héllo"})).await;
    assert_eq!(text, "Successfully wrote 6 bytes to a/b/ü.md (mode: overwrite)");
    assert_eq!(shop.read_file("a/b/ü.md").as_deref(), Some("héllo"));
    let text = shop
        .call_ok("write_file", json!({"path": "a/b/ü.md", "content": "!\n", "mode": "append"}))
        .await;
    assert_eq!(text, "Successfully wrote 2 bytes to a/b/ü.md (mode: append)");
    assert_eq!(shop.read_file("a/b/ü.md").as_deref(), Some("héllo!\n"));
    shop.call_ok("write_file", json!({"path": "new/log", "content": "x", "mode": "append"})).await;
    shop.call_ok("write_file", json!({"path": "a/b/ü.md", "content": ""})).await;
    assert_eq!(shop.read_file("a/b/ü.md").as_deref(), Some(""));
    let absolute = shop.path("abs.txt").display().to_string();
    shop.call_ok("write_file", json!({"path": absolute, "content": "1"})).await;
    assert_eq!(shop.read_file("abs.txt").as_deref(), Some("1"));
}

#[tokio::test]
async fn writing_keeps_the_mode_and_leaves_other_names_alone() {
    let shop = TestWorkspace::new();
    shop.write_file("tool.sh", "old");
    set_mode(&shop, "tool.sh", 0o751);
    std::fs::hard_link(shop.path("tool.sh"), shop.path("other.sh")).expect("link");
    let message = shop
        .call_err(
            "write_file",
            json!({"path": "tool.sh", "content": "x", "mode": "append"}),
            ErrorType::ExecutionError,
        )
        .await;
    assert!(message.contains("2 hard links"), "{message}");
    shop.call_ok("write_file", json!({"path": "tool.sh", "content": "new"})).await;
    assert_eq!(
        (shop.read_file("tool.sh").as_deref(), mode(&shop, "tool.sh")),
        (Some("new"), 0o751)
    );
    assert_eq!(shop.read_file("other.sh").as_deref(), Some("old"));
    let names = std::fs::read_dir(shop.path("")).expect("root").count();
    assert_eq!(names, 2, "no temporary file is left");
}

#[tokio::test]
async fn read_only_targets_are_refused_for_all_callers() {
    let shop = TestWorkspace::new();
    shop.write_file("ro.txt", "old");
    set_mode(&shop, "ro.txt", 0o444);
    shop.write_file("dir/file", "old");
    set_mode(&shop, "dir", 0o555);
    for (tool, args) in [
        ("write_file", json!({"path": "ro.txt", "content": "x"})),
        ("write_file", json!({"path": "ro.txt", "content": "x", "mode": "append"})),
        ("edit_file", json!({"path": "ro.txt", "old_text": "old", "new_text": "x"})),
        ("delete_file", json!({"path": "ro.txt"})),
        ("write_file", json!({"path": "dir/file", "content": "x"})),
        ("write_file", json!({"path": "dir/new/file", "content": "x"})),
        ("make_dir", json!({"path": "dir/new"})),
        ("move_path", json!({"from": "dir/file", "to": "file"})),
        ("delete_file", json!({"path": "dir/file"})),
    ] {
        let message = shop.call_err(tool, args, ErrorType::ExecutionError).await;
        assert!(message.contains("read-only"), "{tool}: {message}");
    }
    assert_eq!(
        (shop.read_file("ro.txt"), shop.read_file("dir/file")),
        (Some("old".into()), Some("old".into()))
    );
    set_mode(&shop, "dir", 0o755);
    assert!(shop.workspace.journal().expect("journal").list().expect("list").is_empty());
}

#[tokio::test]
async fn nothing_outside_is_touched_or_revealed() {
    let shop = TestWorkspace::new();
    std::fs::write(shop.path_outside("out/secret"), "secret").expect("secret");
    symlink("../out", shop.path("link")).expect("link");
    symlink("../out/secret", shop.path("l2")).expect("link");
    shop.write_file("mine", "mine");
    let mut messages = Vec::new();
    for path in ["link/secret", "link/none", "l2", "../out/secret", "../out/none", "/etc/passwd"] {
        for (tool, args) in [
            ("read_file", json!({"path": path})),
            ("write_file", json!({"path": path, "content": "x"})),
            ("write_file", json!({"path": path, "content": "x", "mode": "append"})),
            ("edit_file", json!({"path": path, "old_text": "secret", "new_text": "x"})),
            ("list_dir", json!({"path": path})),
            ("make_dir", json!({"path": path})),
            ("copy_path", json!({"from": path, "to": "copy"})),
            ("copy_path", json!({"from": "mine", "to": path, "overwrite": true})),
            ("find_files", json!({"pattern": "*", "path": path})),
        ] {
            let message = shop.call_err(tool, args, ErrorType::PathNotAllowed).await;
            messages.push(message.replace(path, "PATH"));
        }
    }
    messages.dedup();
    assert_eq!(messages.len(), 1, "{messages:?}");
    assert_eq!(std::fs::read_to_string(shop.path_outside("out/secret")).expect("secret"), "secret");
    assert_eq!(std::fs::read_dir(shop.path_outside("out")).expect("out").count(), 1);
    // The link itself may be removed; its target stays.
    shop.call_ok("move_path", json!({"from": "l2", "to": "moved"})).await;
    shop.call_ok("delete_file", json!({"path": "moved"})).await;
    shop.call_ok("delete_file", json!({"path": "link"})).await;
    assert_eq!(std::fs::read_dir(shop.path_outside("out")).expect("out").count(), 1);
}

#[tokio::test]
async fn own_state_is_out_of_reach() {
    let shop = TestWorkspace::new();
    shop.write_file("a/.toolcrib/key", "key");
    for (tool, args) in [
        ("read_file", json!({"path": "a/.toolcrib/key"})),
        ("write_file", json!({"path": ".toolcrib/config.toml", "content": ""})),
        ("delete_file", json!({"path": "a", "recursive": true})),
        ("copy_path", json!({"from": "a", "to": "b"})),
        ("move_path", json!({"from": "a", "to": "b"})),
        ("move_path", json!({"from": "a/.toolcrib", "to": "b"})),
    ] {
        shop.call_err(tool, args, ErrorType::PathNotAllowed).await;
    }
    assert_eq!(shop.read_file("a/.toolcrib/key").as_deref(), Some("key"));
    let listed = shop.call_ok("list_dir", json!({"path": "a"})).await;
    assert!(listed.contains("out of reach") && !listed.contains(".toolcrib"), "{listed}");
    let found = shop.call_ok("find_files", json!({"pattern": "**"})).await;
    assert!(!found.contains("key"), "{found}");
}

#[tokio::test]
async fn edit_replaces_exactly_once_or_says_why_not() {
    let shop = TestWorkspace::new();
    let content = "fn main() {\n    let port = 80;\n    let port2 = 80;\n}\n";
    let check = |old: &str, new: &str, all: bool| json!({"path": "m.rs", "old_text": old, "new_text": new, "replace_all": all});
    shop.write_file("m.rs", content);
    let text = shop.call_ok("edit_file", check("port = 80", "port = 8080", false)).await;
    assert_eq!(text, "Successfully edited m.rs: replaced 1 occurrence, at line 2.");
    assert_eq!(
        shop.read_file("m.rs").expect("file"),
        content.replacen("port = 80", "port = 8080", 1)
    );
    shop.write_file("m.rs", content);
    let text = shop.call_ok("edit_file", check("80;", "443;", true)).await;
    assert!(text.ends_with("replaced 2 occurrences, at lines 2, 3."), "{text}");
    shop.write_file("m.rs", content);
    for (old, new, kind, part) in [
        ("80;", "81;", ErrorType::ExecutionError, "occurs 2 times in m.rs, at lines 2, 3"),
        ("let  port = 80;", "x", ErrorType::ExecutionError, "at line 2 when blanks"),
        ("let prot = 80;", "x", ErrorType::ExecutionError, "2:     let port = 80;"),
        ("zzzzzzzz", "x", ErrorType::ExecutionError, "Nothing in the file is like it"),
        ("80", "80", ErrorType::ValidationError, "are equal"),
        ("", "x", ErrorType::ValidationError, "old_text is empty"),
    ] {
        let message = shop.call_err("edit_file", check(old, new, false), kind).await;
        assert!(message.contains(part), "{old}: {message}");
        assert_eq!(shop.read_file("m.rs").as_deref(), Some(content));
    }
    shop.write_file("m.rs", "a\r\nb\r\n");
    let message =
        shop.call_err("edit_file", check("a\nb", "x", false), ErrorType::ExecutionError).await;
    assert!(message.contains("CR LF"), "{message}");
    shop.write_file("m.rs", b"\xff\xfe\0");
    shop.call_err("edit_file", check("a", "b", false), ErrorType::ExecutionError).await;
    let missing = json!({"path": "none", "old_text": "a", "new_text": "b"});
    assert_eq!(
        shop.call_err("edit_file", missing, ErrorType::FileNotFound).await,
        "File not found: none"
    );
}

#[tokio::test]
async fn copies_and_moves_replace_only_when_asked() {
    let shop = TestWorkspace::new();
    shop.write_file("a", "a");
    set_mode(&shop, "a", 0o640);
    shop.write_file("b", "b");
    for tool in ["copy_path", "move_path"] {
        let message =
            shop.call_err(tool, json!({"from": "a", "to": "b"}), ErrorType::ExecutionError).await;
        assert!(message.contains("exists already"), "{message}");
        shop.call_err(tool, json!({"from": "a", "to": "a"}), ErrorType::ValidationError).await;
        shop.call_err(tool, json!({"from": "none", "to": "c"}), ErrorType::FileNotFound).await;
    }
    shop.call_ok("copy_path", json!({"from": "a", "to": "b", "overwrite": true})).await;
    assert_eq!((shop.read_file("b").as_deref(), mode(&shop, "b")), (Some("a"), 0o640));
    shop.call_ok("copy_path", json!({"from": "a", "to": "x/y/c"})).await;
    shop.call_ok("move_path", json!({"from": "a", "to": "z/d"})).await;
    assert_eq!(
        (shop.read_file("a"), shop.read_file("z/d"), shop.read_file("x/y/c")),
        (None, Some("a".into()), Some("a".into()))
    );
    shop.call_ok("copy_path", json!({"from": "x", "to": "copied/x"})).await;
    assert_eq!(shop.read_file("copied/x/y/c").as_deref(), Some("a"));
    for (from, to) in [("x", "x/y/inner"), ("x", "x"), (".", "inner")] {
        shop.call_err("copy_path", json!({"from": from, "to": to}), ErrorType::ValidationError)
            .await;
    }
    shop.call_err("move_path", json!({"from": "x", "to": "x/y/inner"}), ErrorType::ValidationError)
        .await;
    shop.call_err("move_path", json!({"from": "x", "to": "copied"}), ErrorType::ExecutionError)
        .await;
    shop.call_ok("move_path", json!({"from": "x", "to": "moved"})).await;
    assert_eq!(shop.read_file("moved/y/c").as_deref(), Some("a"));
    rustix::fs::mkfifoat(rustix::fs::CWD, shop.path("moved/fifo"), 0o600.into()).expect("fifo");
    shop.call_err("copy_path", json!({"from": "moved", "to": "again"}), ErrorType::PathNotAllowed)
        .await;
    assert!(!shop.path("again").exists());
    assert!(
        std::fs::read_dir(shop.path(""))
            .expect("root")
            .all(|e| { !e.expect("entry").file_name().to_string_lossy().ends_with(".tmp") })
    );
}

#[tokio::test]
async fn delete_takes_files_links_and_folders() {
    let shop = TestWorkspace::new();
    shop.write_file("d/a", "a");
    shop.write_file("d/e/f", "f");
    shop.write_file("kept", "kept");
    symlink("../kept", shop.path("d/link")).expect("link");
    symlink("none", shop.path("dangling")).expect("link");
    std::fs::create_dir(shop.path("empty")).expect("folder");
    let message =
        shop.call_err("delete_file", json!({"path": "d"}), ErrorType::ExecutionError).await;
    assert!(message.contains("recursive"), "{message}");
    shop.call_err("delete_file", json!({"path": "."}), ErrorType::PathNotAllowed).await;
    shop.call_err("delete_file", json!({"path": "none"}), ErrorType::FileNotFound).await;
    shop.call_ok("delete_file", json!({"path": "empty"})).await;
    shop.call_ok("delete_file", json!({"path": "dangling"})).await;
    assert_eq!(
        shop.call_ok("delete_file", json!({"path": "d", "recursive": true})).await,
        "Deleted d (5 entries)"
    );
    assert!(!shop.path("d").exists());
    assert_eq!(shop.read_file("kept").as_deref(), Some("kept"));
}

#[tokio::test]
async fn make_dir_is_repeatable() {
    let shop = TestWorkspace::new();
    assert_eq!(shop.call_ok("make_dir", json!({"path": "a/b/c/"})).await, "Made the folder a/b/c/");
    assert!(shop.path("a/b/c").is_dir());
    assert!(shop.call_ok("make_dir", json!({"path": "a/b"})).await.contains("exists already"));
    shop.write_file("file", "");
    shop.call_err("make_dir", json!({"path": "file"}), ErrorType::ExecutionError).await;
    shop.call_err("make_dir", json!({"path": "file/x"}), ErrorType::ValidationError).await;
    shop.call_err("write_file", json!({"path": "a/b", "content": ""}), ErrorType::ValidationError)
        .await;
    shop.call_err("write_file", json!({"path": "new/", "content": ""}), ErrorType::ValidationError)
        .await;
}

/// Concurrent edits of one file are all applied; none is lost.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn concurrent_edits_of_one_file_are_all_applied() {
    let shop = Arc::new(TestWorkspace::new());
    let lines: String = (0..40).map(|i| format!("line {i} old\n")).collect();
    shop.write_file("f", &lines);
    let edits: Vec<_> = (0..40)
        .map(|i| {
            let shop = Arc::clone(&shop);
            tokio::spawn(async move {
                let (old, new) = (format!("line {i} old\n"), format!("line {i} new\n"));
                shop.call_ok("edit_file", json!({"path": "f", "old_text": old, "new_text": new}))
                    .await
            })
        })
        .collect();
    for edit in edits {
        edit.await.expect("edit");
    }
    assert_eq!(shop.read_file("f").expect("file"), lines.replace("old", "new"));
}

#[tokio::test]
async fn a_stopped_call_changes_nothing() {
    let shop = TestWorkspace::new();
    shop.write_file("d/f", "f");
    let ctx = crate::test_support::context();
    ctx.cancel.cancel();
    for (tool, args) in [
        ("write_file", json!({"path": "d/f", "content": "x"})),
        ("delete_file", json!({"path": "d", "recursive": true})),
        ("find_files", json!({"pattern": "*"})),
        ("read_file", json!({"path": "d/f"})),
    ] {
        let error = shop.tool(tool).call(&ctx, &args).await.expect_err(tool);
        assert_eq!(error.error_type, ErrorType::Cancelled, "{tool}");
    }
    assert_eq!(shop.read_file("d/f").as_deref(), Some("f"));
}

#[test]
fn calls_on_one_file_share_a_lock() {
    let shop = TestWorkspace::new();
    let assess = |tool: &str, args| {
        let handler: Arc<dyn Handler> = shop.tool(tool);
        handler.assess(&args).expect(tool)
    };
    let locks = assess("read_file", json!({"path": "a/../b.md"})).concurrency;
    let (key, access) = locks.into_iter().next().expect("lock");
    assert_eq!(
        (key.as_str(), access),
        (format!("file:{}", shop.path("b.md").display()).as_str(), Access::Shared)
    );
    let absolute = shop.path("b.md").display().to_string();
    let write = assess("write_file", json!({"path": absolute, "content": "x"}));
    assert_eq!(write.concurrency, [(key, Access::Exclusive)]);
    assert_eq!(write.effect, Effect::Idempotent);
    let append = assess("write_file", json!({"path": "b.md", "content": "x", "mode": "append"}));
    assert_eq!(append.effect, Effect::SideEffect);
    assert_eq!(append.summary.as_deref(), Some("append to b.md (1 bytes)"));
    assert_eq!(assess("read_file", json!({"path": "/etc/passwd"})).concurrency, []);
    let both = assess("move_path", json!({"from": "a.md", "to": "b.md"}));
    assert_eq!(both.concurrency.len(), 2);
}

#[tokio::test]
async fn renaming_one_of_two_names_of_a_file_over_the_other_is_refused() {
    let shop = TestWorkspace::new();
    shop.write_file("a", "a");
    std::fs::hard_link(shop.path("a"), shop.path("b")).expect("link");
    let args = json!({"from": "a", "to": "b", "overwrite": true});
    shop.call_err("move_path", args, ErrorType::ValidationError).await;
    assert_eq!(shop.path("a").metadata().expect("a").nlink(), 2);
}
