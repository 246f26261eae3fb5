//! File tools in a real folder: their effects, and protection against misuse.

use std::fs;
use std::os::unix::fs::symlink;

use serde_json::{Value, json};

use crate::support::{TestEnv, end};

#[track_caller]
fn done(env: &TestEnv, tool: &str, args: Value) -> Value {
    let (reply, code) = env.call(tool, &args, &["--policy", "auto"]);
    assert_eq!((reply["outcome"].as_str(), code), (Some("succeeded"), 0), "{tool} {args}: {reply}");
    reply["result"].clone()
}

#[track_caller]
fn fails(env: &TestEnv, tool: &str, args: Value, error: &str) {
    let (reply, code) = env.call(tool, &args, &["--policy", "auto"]);
    assert_eq!((reply["error_type"].as_str(), code), (Some(error), 1), "{tool} {args}: {reply}");
}

#[test]
fn every_file_tool_does_its_work() {
    let env = TestEnv::new();
    done(&env, "make_dir", json!({"path": "a/b"}));
    done(&env, "write_file", json!({"path": "a/b/c.txt", "content": "one\ntwo\n"}));
    done(&env, "write_file", json!({"path": "a/b/c.txt", "content": "three\n", "mode": "append"}));
    done(&env, "edit_file", json!({"path": "a/b/c.txt", "old_text": "two", "new_text": "zwei"}));
    assert_eq!(env.read("a/b/c.txt").as_deref(), Some("one\nzwei\nthree\n"));
    done(&env, "copy_path", json!({"from": "a", "to": "copy"}));
    done(&env, "move_path", json!({"from": "copy/b/c.txt", "to": "moved.txt"}));
    assert_eq!((env.read("moved.txt").is_some(), env.read("copy/b/c.txt")), (true, None));
    let list = done(&env, "list_dir", json!({}));
    for name in ["a/", "copy/", "moved.txt", "notes.md"] {
        assert!(list.as_str().unwrap().contains(name), "{list}");
    }
    let found = done(&env, "find_files", json!({"pattern": "**/*.txt"}));
    assert!(found.as_str().unwrap().contains("a/b/c.txt"), "{found}");
    let info = done(&env, "file_info", json!({"path": "moved.txt"}));
    assert!(info.to_string().contains("15"), "its size: {info}");
    fails(&env, "delete_file", json!({"path": "a"}), "execution_error");
    done(&env, "delete_file", json!({"path": "a", "recursive": true}));
    assert_eq!(env.names(), ["copy", "moved.txt", "notes.md"]);
}

#[test]
fn nothing_outside_of_the_root_is_reached() {
    let env = TestEnv::new();
    fs::write(env.outside().join("secret"), "geheim").unwrap();
    symlink(env.outside().join("secret"), env.root().join("link")).unwrap();
    symlink(env.outside(), env.root().join("up")).unwrap();
    symlink("notes.md", env.root().join("inside")).unwrap();
    let absolute = env.outside().join("secret");
    let absolute = absolute.to_str().unwrap();
    for path in [
        "../secret",
        "link",
        "up/secret",
        "a/../../secret",
        "/etc/passwd",
        "/proc/self/environ",
        absolute,
    ] {
        for (tool, args) in [
            ("read_file", json!({"path": path})),
            ("write_file", json!({"path": path, "content": "x"})),
            ("edit_file", json!({"path": path, "old_text": "geheim", "new_text": "x"})),
            ("copy_path", json!({"from": path, "to": "stolen"})),
            ("copy_path", json!({"from": "notes.md", "to": path, "overwrite": true})),
        ] {
            let (reply, code) = env.call(tool, &args, &["--policy", "auto"]);
            // Copying a link copies the link itself, and reveals nothing.
            let harmless = tool == "copy_path" && code == 0 && path == "link";
            assert!(harmless || code == 1, "{tool} {args}: {reply}");
            assert!(!reply.to_string().contains("geheim"), "{tool} {args}: {reply}");
        }
    }
    assert_eq!(fs::read_to_string(absolute).unwrap(), "geheim");
    fails(&env, "read_file", json!({"path": "../secret"}), "path_not_allowed");
    fails(&env, "read_file", json!({"path": "link"}), "path_not_allowed");
    assert_eq!(done(&env, "read_file", json!({"path": "inside"})), "buy oats\n");
    done(&env, "delete_file", json!({"path": "up"}));
    assert!(fs::exists(absolute).unwrap(), "a delete removes the link, not its target");
}

/// The timeout of the test applies: a command that waits for the other end of a pipe never ends.
#[test]
fn a_fifo_does_not_hang_anything() {
    let env = TestEnv::new();
    let made = std::process::Command::new("mkfifo").arg(env.root().join("pipe")).status().unwrap();
    assert!(made.success());
    fails(&env, "read_file", json!({"path": "pipe"}), "path_not_allowed");
    fails(&env, "write_file", json!({"path": "pipe", "content": "x"}), "path_not_allowed");
    fails(
        &env,
        "edit_file",
        json!({"path": "pipe", "old_text": "a", "new_text": "b"}),
        "path_not_allowed",
    );
    fails(&env, "copy_path", json!({"from": "pipe", "to": "b"}), "path_not_allowed");
    assert!(done(&env, "list_dir", json!({})).as_str().unwrap().contains("FIFO"));
}

#[test]
fn the_ways_a_file_cannot_be_read_are_told_apart() {
    let env = TestEnv::new();
    env.write("binary", [0u8, 1, 2, 0xff, 0]);
    env.write("large", vec![b'x'; 1_100_000]);
    env.write("folder/x", "");
    fails(&env, "read_file", json!({"path": "no"}), "file_not_found");
    fails(&env, "read_file", json!({"path": "large"}), "file_too_large");
    let message = |path: &str| {
        let (reply, code) = env.call("read_file", &json!({"path": path}), &[]);
        assert_eq!(code, 1, "{reply}");
        reply["result"].as_str().unwrap().to_owned()
    };
    assert!(message("binary").contains("binary"), "{}", message("binary"));
    assert!(message("folder").contains("folder"), "{}", message("folder"));
}

#[test]
fn several_roots_and_the_state_folder() {
    let env = TestEnv::new();
    let second = env.outside().join("second");
    fs::create_dir(&second).unwrap();
    fs::write(second.join("x.md"), "x").unwrap();
    let (root, other) = (env.root(), second.to_str().unwrap().to_owned());
    let roots = ["--root", root.to_str().unwrap(), "--root", &other];
    let (reply, code) = env.call("read_file", &json!({"path": format!("{other}/x.md")}), &roots);
    assert_eq!((reply["result"].as_str(), code), (Some("x"), 0), "{reply}");
    let (reply, _) = env.call("read_file", &json!({"path": "notes.md"}), &roots);
    assert_eq!(reply["result"], "buy oats\n");
    // Toolcrib's own state is inaccessible, even inside a root.
    env.call("write_file", &json!({"path": "a", "content": "x"}), &[]);
    let around = env.outside().to_str().unwrap();
    let (reply, code) = env.call("list_dir", &json!({"path": "home/state"}), &["--root", around]);
    assert_eq!((reply["error_type"].as_str(), code), (Some("path_not_allowed"), 1), "{reply}");
}

#[test]
fn the_home_folder_is_no_root_unless_it_is_named() {
    let env = TestEnv::new();
    let root = env.root();
    let at_home = |args: &[&str]| {
        let mut command = env.command(args);
        command.env("HOME", &root);
        end(command, b"")
    };
    let ended = at_home(&["tool", "call", "list_dir"]).code(3).says(&["--root DIR"]);
    assert_eq!(ended.stdout, "");
    let named = at_home(&["tool", "call", "list_dir", "--root", root.to_str().unwrap()]).code(0);
    assert!(named.stdout.contains("notes.md"));
    // Read-only operations work everywhere.
    for args in [
        &["tool", "list"][..],
        &["tool", "show", "read_file"],
        &["tool", "spec", "--format", "text"],
    ] {
        assert!(at_home(args).code(0).stdout.contains("read_file"), "{args:?}");
    }
}

#[test]
fn file_manager_without_an_action_does_what_its_arguments_say() {
    let env = TestEnv::new();
    for (args, contains) in [
        (json!({"path": "notes.md"}), "buy oats"),
        (json!({}), "notes.md"),
        (json!({"path": "new.md", "content": "hello"}), "wrote 5 bytes"),
    ] {
        let (reply, code) = env.call("file_manager", &args, &["--policy", "auto"]);
        assert_eq!(code, 0, "{reply}");
        assert!(reply["result"].to_string().contains(contains), "{reply}");
        assert!(reply["notes"].to_string().contains("action was missing"), "{reply}");
    }
    // Nothing is deleted without an action, and arguments without an action are not guessed.
    let (reply, _) = env.call("file_manager", &json!({"path": "notes.md", "why": 1}), &[]);
    assert_eq!(reply["error_type"], "validation_error", "{reply}");
    assert!(env.read("notes.md").is_some());
}

#[test]
fn a_missing_file_names_the_files_of_its_name_elsewhere() {
    let env = TestEnv::new();
    env.write("src/deep/main.rs", "fn main() {}");
    let (reply, _) = env.call("read_file", &json!({"path": "lib/main.rs"}), &[]);
    assert!(reply["result"].to_string().contains("Did you mean src/deep/main.rs?"), "{reply}");
}

#[test]
fn a_write_of_python_with_a_syntax_error_warns() {
    let env = TestEnv::new();
    let write = |content: &str| {
        let args = json!({"path": "a.py", "content": content});
        env.call("write_file", &args, &["--policy", "auto"]).0["result"].to_string()
    };
    let bad = write("x = 1\ndef f(:\n    pass\n");
    assert!(bad.contains("not valid Python now: line 2"), "{bad}");
    assert!(!write("def f():\n    pass\n").contains("valid"), "it is right");
}
