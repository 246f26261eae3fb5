//! `diff_editor` on real files: changes, refusals, and undo.

use std::os::unix::fs::{PermissionsExt as _, symlink};

use serde_json::json;
use toolcrib_core::{Access, Effect, ErrorType};

use crate::test_support::TestWorkspace;

const TWO: &str = "--- a/src/a.py\n+++ b/src/a.py\n@@ -1,2 +1,2 @@\n-x = 1\n+x = 2\n y = 1\n--- /dev/null\n+++ b/new/b.py\n@@ -0,0 +1 @@\n+z = 1\n";

#[tokio::test]
async fn several_files_are_changed_as_one_and_undone_as_one() {
    let shop = TestWorkspace::new();
    shop.write_file("src/a.py", "x = 1\ny = 1\n");
    let text =
        shop.call_ok("diff_editor", json!({"paths": ["src/a.py", "new/b.py"], "diff": TWO})).await;
    assert_eq!(
        text,
        "Successfully changed src/a.py: +1 -1 lines, at line 1.\nSuccessfully created new/b.py: +1 -0 lines."
    );
    assert_eq!(shop.read_file("src/a.py").as_deref(), Some("x = 2\ny = 1\n"));
    assert_eq!(shop.read_file("new/b.py").as_deref(), Some("z = 1\n"));
    let journal = shop.workspace.journal().expect("journal");
    assert_eq!(journal.list().expect("list").len(), 1);
    let report = journal.undo(shop.workspace.roots(), &[1], false).expect("undo");
    assert!(report.refused.is_none(), "{report:?}");
    assert_eq!(shop.read_file("src/a.py").as_deref(), Some("x = 1\ny = 1\n"));
    assert!(!shop.path("new").exists());
}

#[tokio::test]
async fn nothing_is_changed_unless_everything_fits() {
    let shop = TestWorkspace::new();
    shop.write_file("a", "1\n2\n3\n");
    shop.write_file("b", "1\n2\n3\n");
    let both = |second: &str| {
        format!(
            "--- a/a\n+++ b/a\n@@ -1,2 +1,2 @@\n-1\n+one\n 2\n--- a/b\n+++ b/b\n@@ -2,2 +2,2 @@\n 2\n-{second}\n+x\n"
        )
    };
    let message = shop
        .call_err(
            "diff_editor",
            json!({"paths": ["a", "b"], "diff": both("4")}),
            ErrorType::ExecutionError,
        )
        .await;
    assert_eq!(
        message,
        "Hunk 1 of b (line 9 of the diff) does not fit. Nothing was changed. The nearest place begins at line 2. At line 3, where the diff says\n  | 4\nthe file has\n  | 3\nThe diff was made for another version of the file, or a hunk is in the wrong order: read the file again and send a new diff."
    );
    // One of the files is not writable.
    std::fs::set_permissions(shop.path("b"), std::fs::Permissions::from_mode(0o444)).expect("mode");
    let args = json!({"paths": ["a", "b"], "diff": both("3")});
    let message = shop.call_err("diff_editor", args, ErrorType::ExecutionError).await;
    assert!(message.starts_with("b is read-only"), "{message}");
    assert_eq!(shop.read_file("a").as_deref(), Some("1\n2\n3\n"));
    assert!(shop.workspace.journal().expect("journal").list().expect("list").is_empty());
    assert_eq!(
        std::fs::read_dir(shop.path("")).expect("root").count(),
        2,
        "no temporary file is left"
    );
}

#[tokio::test]
async fn files_that_could_not_all_be_put_in_place_are_put_back() {
    let shop = TestWorkspace::new();
    shop.write_file("a", "1\n");
    // The third new file would need the second one to be a folder.
    let diff = "--- a/a\n+++ b/a\n@@ -1 +1 @@\n-1\n+2\n--- /dev/null\n+++ b/n\n@@ -0,0 +1 @@\n+x\n--- /dev/null\n+++ b/n/m\n@@ -0,0 +1 @@\n+x\n";
    let args = json!({"paths": ["a", "n", "n/m"], "diff": diff});
    shop.call("diff_editor", args).await.expect_err("no place for both");
    assert_eq!(shop.read_file("a").as_deref(), Some("1\n"));
    assert!(shop.workspace.journal().expect("journal").list().expect("list").is_empty());
    let names: Vec<_> =
        std::fs::read_dir(shop.path("")).expect("root").flatten().map(|e| e.file_name()).collect();
    assert_eq!(names, ["a"], "nothing new is left");
}

#[tokio::test]
async fn only_files_that_the_call_names_are_changed() {
    let shop = TestWorkspace::new();
    shop.write_file("a", "1\n");
    shop.write_file("dir/a", "1\n");
    shop.write_file("b", "1\n");
    let of = |name: &str| format!("--- a/{name}\n+++ b/{name}\n@@ -1 +1 @@\n-1\n+2\n");
    for (args, why) in [
        (json!({"diff": of("a")}), "No file is named"),
        (json!({"path": "a"}), "diff is missing"),
        (json!({"path": "a", "diff": of("b")}), "The diff is about b, but the call names a"),
        (json!({"paths": ["a"], "diff": of("a") + &of("b")}), "The diff is about b"),
        (
            json!({"paths": ["a", "b"], "diff": of("a")}),
            "The call names b, but the diff says nothing about it",
        ),
        (
            json!({"paths": ["a", "b"], "diff": of("a") + &of("a") + &of("b")}),
            "occurs twice in the diff",
        ),
        (json!({"paths": ["a", "b"], "diff": "@@ -1 +1 @@\n-1\n+2\n"}), "does not say which file"),
        (json!({"paths": ["a", "./a"], "diff": of("a") + &of("./a")}), "occurs twice in the diff"),
        (json!({"path": "a", "diff": "nonsense"}), "The diff cannot be read: line 1"),
    ] {
        let message = shop.call_err("diff_editor", args, ErrorType::ValidationError).await;
        assert!(message.contains(why), "{message}");
    }
    symlink("a", shop.path("link")).expect("link");
    let args = json!({"paths": ["a", "link"], "diff": of("a") + &of("link")});
    let message = shop.call_err("diff_editor", args, ErrorType::ValidationError).await;
    assert!(message.contains("name the same file"), "{message}");
    for (path, name) in [("a", "x/y/a"), ("dir/a", "a"), ("./b", "b")] {
        shop.call_ok("diff_editor", json!({"path": path, "diff": of(name)})).await;
        assert_eq!(shop.read_file(path).as_deref(), Some("2\n"), "{path}");
    }
}

#[tokio::test]
async fn diffs_stay_inside_and_touch_no_state() {
    let shop = TestWorkspace::new();
    let diff = "@@ -0,0 +1 @@\n+x\n";
    for path in ["../out/x", ".toolcrib/x", "../out/../out/x"] {
        shop.call_err(
            "diff_editor",
            json!({"path": path, "diff": diff}),
            ErrorType::PathNotAllowed,
        )
        .await;
    }
    assert!(!shop.path_outside("out/x").exists());
    shop.call_err(
        "diff_editor",
        json!({"path": "gone", "diff": "@@ -1 +1 @@\n-a\n+b\n"}),
        ErrorType::FileNotFound,
    )
    .await;
    shop.write_file("there", "1\n");
    let new = "--- /dev/null\n+++ b/there\n@@ -0,0 +1 @@\n+x\n";
    let message = shop
        .call_err("diff_editor", json!({"path": "there", "diff": new}), ErrorType::ExecutionError)
        .await;
    assert!(message.contains("exists already"), "{message}");
    shop.write_file("bytes", b"\xff\n");
    let message = shop
        .call_err(
            "diff_editor",
            json!({"path": "bytes", "diff": "@@ -1 +1 @@\n-a\n+b\n"}),
            ErrorType::ExecutionError,
        )
        .await;
    assert!(message.contains("not UTF-8 text"), "{message}");
}

#[tokio::test]
async fn a_file_that_its_name_no_longer_fits_is_warned_about() {
    let shop = TestWorkspace::new();
    for (path, old, new, warns) in [
        ("a.json", "{\"a\": 1}\n", "{\"a\": 1\n", true),
        ("b.json", "{\"a\": 1}\n", "{\"a\": 2}\n", false),
        ("tsconfig.json", "// x\n", "// y\n", false),
        ("a.toml", "a = 1\n", "a = \n", true),
        ("a.yaml", "a: 1\n", "a: [1\n", true),
        ("b.yml", "a: 1\n", "---\na: 2\n---\nb: 1\n", false),
        ("a.rs", "fn main() {}\n", "fn main() {\n", false),
    ] {
        shop.write_file(path, old);
        let block = format!("<<<<<<< ORIGINAL\n{old}=======\n{new}>>>>>>> REPLACEMENT\n");
        let text = shop.call_ok("diff_editor", json!({"path": path, "diff": block})).await;
        assert_eq!(text.contains(&format!("Warning: {path} is not valid ")), warns, "{text}");
        assert_eq!(shop.read_file(path).as_deref(), Some(new));
    }
}

#[tokio::test]
async fn the_other_tools_that_write_warn_too() {
    let shop = TestWorkspace::new();
    let write = |content: &str| json!({"path": "a.json", "content": content});
    assert!(!shop.call_ok("write_file", write("{}")).await.contains("Warning"));
    let edit = json!({"path": "a.json", "old_text": "}", "new_text": ""});
    let text = shop.call_ok("edit_file", edit).await;
    assert!(text.contains("\nWarning: a.json is not valid JSON now: EOF"), "{text}");
    let text = shop.call_ok("write_file", write("[")).await;
    assert!(text.contains("\nWarning: a.json is not valid JSON now"), "{text}");
}

#[tokio::test]
async fn a_diff_holds_all_its_files() {
    let shop = TestWorkspace::new();
    let tool = shop.tool("diff_editor");
    let assessed = tool.assess(&json!({"paths": ["a", "b/../c"], "diff": "x"})).expect("assessed");
    assert_eq!(assessed.operation.as_deref(), Some("diff_editor.apply"));
    assert_eq!(assessed.effect, Effect::SideEffect);
    let held: Vec<_> = assessed.concurrency.iter().map(|(_, access)| *access).collect();
    assert_eq!(held, [Access::Exclusive, Access::Exclusive]);
    let create = tool.assess(&json!({"action": "create", "path": "a"})).expect("assessed");
    assert_eq!(
        (create.operation.as_deref(), create.effect),
        (Some("diff_editor.create"), Effect::Read)
    );
}
