//! Files that other programs execute automatically: file tools ask or refuse, and files that a
//! sandboxed program leaves for git are set aside.

use std::path::Path;
use std::process::Command;

use serde_json::{Value, json};

use crate::support::TestEnv;

const PLAIN: &str = "[core]\n\tbare = false\n";

/// Creates a workspace with a repository, in which everything is allowed.
fn allowed() -> TestEnv {
    let env = TestEnv::new();
    for tool in ["write_file", "edit_file", "diff_editor", "copy_path", "move_path", "make_dir"] {
        env.run(&["rules", "add", "allow", tool]).code(0);
    }
    for folder in [".git/objects", ".git/refs", ".git/hooks", "bare/objects", "bare/refs"] {
        std::fs::create_dir_all(env.root().join(folder)).unwrap();
    }
    for repository in [".git", "bare"] {
        env.write(&format!("{repository}/HEAD"), "ref: refs/heads/main\n");
        env.write(&format!("{repository}/config"), PLAIN);
    }
    env.write("evil", "evil\n");
    env
}

/// Returns the ways in which file tools change a file.
fn changes(path: &str) -> [(&'static str, Value); 4] {
    [
        ("write_file", json!({"path": path, "content": "evil"})),
        ("write_file", json!({"path": path, "content": "evil", "mode": "append"})),
        ("copy_path", json!({"from": "evil", "to": path, "overwrite": true})),
        ("move_path", json!({"from": "evil", "to": path, "overwrite": true})),
    ]
}

#[test]
fn a_file_that_runs_later_is_changed_by_file_tools_only_after_a_question() {
    let env = allowed();
    let check = |tool: &str, args: &Value| {
        let (reply, code) = env.call(tool, args, &["--policy", "auto"]);
        assert_eq!(
            (reply["error_type"].as_str(), code),
            (Some("approval_denied"), 5),
            "{args} {reply}"
        );
        let said = reply["result"].as_str().unwrap();
        assert!(said.contains("executes"), "{said}");
    };
    for path in [
        ".git/config",
        ".git/hooks/pre-commit",
        ".git/config.worktree",
        ".git/modules/a/config",
        "bare/config",
        "bare/hooks/post-checkout",
        "sub/.envrc",
        ".vscode/tasks.json",
        ".idea/workspace.xml",
        ".husky/pre-commit",
    ] {
        for (tool, args) in changes(path) {
            check(tool, &args);
        }
    }
    let edit = json!({"path": ".git/config", "old_text": "bare", "new_text": "fsmonitor"});
    check("edit_file", &edit);
    let diff = "@@ -1,2 +1,2 @@\n [core]\n-\tbare = false\n+\tfsmonitor = evil\n";
    check("diff_editor", &json!({"path": ".git/config", "diff": diff}));
    assert_eq!(env.read(".git/config").unwrap(), PLAIN);
    // The question waits like any other, and its approval applies to this call.
    let (reply, code) = env.call("edit_file", &edit, &["--policy", "auto", "--on-ask", "fail"]);
    assert_eq!(code, 6, "{reply}");
    let id = reply["approval"]["id"].as_str().unwrap();
    env.run(&["approve", "yes", id]).code(0);
    assert!(env.read(".git/config").unwrap().contains("fsmonitor"));
    check("write_file", &json!({"path": ".git/config", "content": "evil"}));
    // Other files are changed as before.
    let (reply, code) =
        env.call("write_file", &json!({"path": "Makefile", "content": "all:\n"}), &[]);
    assert_eq!(code, 0, "{reply}");
    let (reply, code) =
        env.call("write_file", &json!({"path": ".git/info/exclude", "content": "x\n"}), &[]);
    assert_eq!(code, 0, "{reply}");
}

#[test]
fn records_of_git_and_hidden_names_are_refused() {
    let env = allowed();
    std::os::unix::fs::symlink(".git/hooks", env.root().join("link")).unwrap();
    std::os::unix::fs::symlink(".git/config", env.root().join("settings")).unwrap();
    for path in [
        ".git/commondir",
        ".git/HEAD",
        ".git/worktrees/w/gitdir",
        "sub/.git",
        "bare/commondir",
        "link/pre-commit",
        "settings",
    ] {
        for (tool, args) in changes(path) {
            // Another file may replace a link itself.
            if tool == "move_path" && path == "settings" {
                continue;
            }
            let (reply, code) = env.call(tool, &args, &["--policy", "auto"]);
            let kind = reply["error_type"].as_str();
            assert_eq!((kind, code), (Some("path_not_allowed"), 1), "{path} {args} {reply}");
        }
    }
    let (reply, code) = env.call("make_dir", &json!({"path": "sub/.git"}), &["--policy", "auto"]);
    assert_eq!((reply["error_type"].as_str(), code), (Some("path_not_allowed"), 1), "{reply}");
    assert_eq!(env.read(".git/config").unwrap(), PLAIN);
    assert!(env.read(".git/commondir").is_none());
}

fn sh(env: &TestEnv, command: &str) -> String {
    let args = json!({"command": command});
    let (reply, code) = env.call("execute_shell_command", &args, &["--policy", "auto"]);
    assert_eq!(code, 0, "{reply}");
    reply["result"].as_str().unwrap().to_owned()
}

/// Runs `git status` as the person would.
fn status(folder: &Path) -> std::process::Output {
    let mut git = Command::new("git");
    git.args(["status", "--short"]).current_dir(folder).env("GIT_CONFIG_GLOBAL", "/dev/null");
    git.env("GIT_CONFIG_SYSTEM", "/dev/null").output().unwrap()
}

#[test]
fn what_a_sandboxed_program_leaves_for_git_does_not_run_later() {
    let scripts = [
        // The configuration of a new repository.
        "git init -q . && git config core.fsmonitor \"touch $PWD/ran; false\"",
        "git init -q sub && git -C sub config core.fsmonitor \"touch $PWD/ran; false\"",
        "mkdir -p x/objects x/refs && cp -r x .git && printf '[core]\\n\\tfsmonitor = \"touch %s/ran; false\"\\n' \"$PWD\" > .git/config && echo 'ref: refs/heads/main' > .git/HEAD",
        // Another configuration for an existing one.
        "git init -q . && mkdir .git/evil && cp -r .git/objects .git/refs .git/evil && printf '[core]\\n\\tfsmonitor = \"touch %s/ran; false\"\\n' \"$PWD\" > .git/evil/config && echo evil > .git/commondir",
        "git init -q --bare store && git -C store config core.fsmonitor \"touch $PWD/ran; false\" && git -C store config core.bare false && echo 'gitdir: store' > .git",
    ];
    for script in scripts {
        let env = TestEnv::new();
        env.run(&["tool", "enable", "execute_shell_command"]).code(0);
        let said = sh(&env, script);
        assert!(said.contains("was set aside"), "{script}: {said}");
        for folder in ["", "sub"] {
            let folder = env.root().join(folder);
            if folder.exists() {
                status(&folder);
            }
        }
        assert!(env.read("ran").is_none(), "{script}: {said}");
    }
}

#[test]
fn a_harmless_repository_of_a_sandboxed_program_is_left_as_it_is() {
    let env = TestEnv::new();
    env.run(&["tool", "enable", "execute_shell_command"]).code(0);
    let said = sh(
        &env,
        "git init -q a && cd a && git config user.name A && git config user.email a@example.com && echo x > f && git add f && git commit -q -m one && git remote add origin https://example.com/a.git && git worktree add -q ../b && git -C ../b status --short && git clone -q --no-local . ../c && cd .. && git -C c log --oneline",
    );
    assert!(said.contains("exit code 0") && !said.contains("set aside"), "{said}");
    for folder in ["a", "b", "c"] {
        let output = status(&env.root().join(folder));
        assert!(output.status.success(), "{folder}: {output:?}");
    }
    let said = sh(&env, "echo 'echo hello' > .envrc");
    assert!(said.contains(".envrc was changed, which direnv executes"), "{said}");
    let said = sh(&env, "echo hello");
    assert!(!said.contains(".envrc"), "{said}");
}
