//! A path that a rule denies can be neither read nor written in any way; other paths are not
//! affected.

use std::process::Command;

use serde_json::{Value, json};

use crate::sandbox_backends::works;
use crate::support::TestEnv;

/// A text in every denied file, and in no other.
const MARK: &str = "SESAME";

const RULES: &str = r#"
[[rules]]
effect = "deny"
rule = "Read(./secrets/**)"
[[rules]]
effect = "deny"
rule = "Read(*.pem)"
[[rules]]
effect = "deny"
rule = "Read(./.env*)"
[[rules]]
effect = "deny"
rule = "Edit(./kept/**)"
[[rules]]
effect = "deny"
rule = "Edit(./lock.toml)"
"#;

/// A repository with denied files: committed, changed, untracked, and behind a link.
struct World {
    env: TestEnv,
}

impl World {
    fn new(rules: &str) -> Self {
        let env = TestEnv::new();
        for (path, text) in [
            ("secrets/key", "SESAME old key\n"),
            ("secrets/deep/note.txt", "SESAME note\n"),
            ("secrets/name", "SESAME name\n"),
            ("certs/a.pem", "SESAME pem\n"),
            ("certs/readme", "hello certs\n"),
            (".env", "SESAME=env\n"),
            ("src/main.sh", "echo hello main\n"),
            ("kept/file", "kept\n"),
            ("lock.toml", "locked\n"),
            ("Makefile", "build:\n\t@sh src/main.sh > built\ntest:\n\t@cat secrets/key\n"),
        ] {
            env.write(path, text);
        }
        std::os::unix::fs::symlink("secrets", env.root().join("link")).unwrap();
        let world = Self { env };
        world.git(&["init", "--quiet", "--initial-branch=main"]);
        world.git(&["add", "--all"]);
        world.git(&["commit", "--quiet", "--message=first"]);
        world.git(&["switch", "--quiet", "--create", "other"]);
        world.env.write("kept/file", "changed\n");
        world.git(&["commit", "--quiet", "--all", "--message=other"]);
        world.git(&["switch", "--quiet", "main"]);
        world.env.write("secrets/key", "SESAME key\n");
        world.env.write("src/main.sh", "echo hello again\n");
        world.git(&["commit", "--quiet", "--all", "--message=second"]);
        world.env.write("secrets/key", "SESAME new key\n");
        world.env.write("secrets/unknown", "SESAME unknown\n");
        world.env.own("rules.toml", rules);
        for tool in ["execute_shell_command", "manage_process", "code_exec"] {
            world.env.run(&["tool", "enable", tool]).code(0);
        }
        world
    }

    /// Runs git for the person, without restrictions.
    fn git(&self, args: &[&str]) -> String {
        let user = ["-c", "user.name=Ann", "-c", "user.email=ann@example.com"];
        let done = Command::new("git")
            .args(user)
            .args(args)
            .current_dir(self.env.root())
            .env("GIT_CONFIG_GLOBAL", "/dev/null")
            .env("GIT_CONFIG_NOSYSTEM", "1")
            .output()
            .unwrap();
        assert!(done.status.success(), "{args:?}: {done:?}");
        String::from_utf8(done.stdout).unwrap().trim().to_owned()
    }

    fn call(&self, tool: &str, args: &Value) -> Value {
        self.env.call(tool, args, &["--policy", "auto"]).0
    }

    fn sh(&self, command: &str) -> Value {
        self.call("execute_shell_command", &json!({"command": command}))
    }

    /// Checks that each result contains no text of a denied file.
    #[track_caller]
    fn check_hidden(&self, ways: &[(&str, Value)]) {
        for (tool, args) in ways {
            let answer = self.call(tool, args).to_string();
            assert!(!answer.contains(MARK), "{tool} {args}: {answer}");
        }
    }

    #[track_caller]
    fn succeeds(&self, tool: &str, args: &Value) -> Value {
        let answer = self.call(tool, args);
        assert_eq!(answer["outcome"], "succeeded", "{tool} {args}: {answer}");
        answer
    }
}

#[test]
fn file_tools_read_no_denied_path() {
    let world = World::new(RULES);
    let absolute = world.env.root().join("secrets/key");
    let chain = "files = await code_search(pattern='SES[A]ME')\nprint(files.text)\ntry:\n    print((await read_file(path='link/key')).text)\nexcept PermissionError:\n    pass\n1";
    world.check_hidden(&[
        ("read_file", json!({"path": "secrets/key"})),
        ("read_file", json!({"path": "link/key"})),
        ("read_file", json!({"path": absolute})),
        ("read_file", json!({"path": "certs/a.pem"})),
        ("read_file", json!({"path": "./src/../.env"})),
        ("code_search", json!({"pattern": "SES[A]ME"})),
        ("code_search", json!({"pattern": "SES[A]ME", "include_ignored": true})),
        ("code_search", json!({"pattern": "SES[A]ME", "path": "certs", "include": "*.pem"})),
        ("code_search", json!({"pattern": "SES[A]ME", "path": "secrets"})),
        ("code_search", json!({"pattern": "SES[A]ME", "path": "link"})),
        ("diff_editor", json!({"action": "create", "path": "secrets/key"})),
        ("diff_editor", json!({"action": "create", "path": "."})),
        ("edit_file", json!({"path": "secrets/key", "old_text": "x", "new_text": "y"})),
        ("copy_path", json!({"from": "secrets/key", "to": "copy"})),
        ("copy_path", json!({"from": ".", "to": "copies"})),
        ("move_path", json!({"from": "secrets/key", "to": "moved"})),
        ("pdf_read", json!({"path": "secrets/key"})),
        ("lsp_manager", json!({"action": "symbols", "file": "secrets/key"})),
        ("tool_chain", json!({"code": chain})),
    ]);
    for path in ["copy", "copies", "moved"] {
        assert!(!world.env.root().join(path).exists(), "{path}");
    }
}

/// Listings omit denied entries and report their number.
#[test]
fn searches_and_listings_say_what_they_leave_out() {
    let world = World::new(RULES);
    let found =
        world.succeeds("find_files", &json!({"pattern": "**/{note.txt,a.pem,.env,main.sh}"}));
    let text = found["result"].to_string();
    assert!(text.contains("main.sh") && text.contains("entries are left out"), "{text}");
    for name in ["note.txt\\n", "a.pem\\n", ".env\\n"] {
        assert!(!text.contains(name), "{text}");
    }
    let listed = world.succeeds("list_dir", &json!({"path": "certs"}));
    let text = listed["result"].to_string();
    assert!(text.contains("readme") && !text.contains("a.pem"), "{text}");
    assert!(text.contains("1 entry is left out: a rule keeps it from this call."), "{text}");
    let found = world.succeeds("code_search", &json!({"pattern": "hello|sesame"}));
    let text = found["result"].to_string();
    assert!(
        text.contains("main.sh") && text.contains("left out") && !text.contains(MARK),
        "{text}"
    );
}

#[test]
fn git_shows_nothing_of_a_denied_path() {
    let world = World::new(RULES);
    let blob = world.git(&["rev-parse", "HEAD:secrets/key"]);
    let older = world.git(&["rev-parse", "HEAD~1:secrets/key"]);
    world.git(&["tag", "pointer", &blob]);
    let git = |args: Value| ("git_manager", args);
    let show = |revision: &str| git(json!({"action": "show", "revision": revision}));
    world.check_hidden(&[
        git(json!({"action": "show"})),
        show("HEAD~1"),
        show("HEAD~1..HEAD"),
        show("HEAD:secrets/key"),
        show("HEAD:./secrets/key"),
        show(":secrets/key"),
        show(":0:secrets/key"),
        show("HEAD^{/sec}:secrets/key"),
        show(&blob),
        show("pointer"),
        git(json!({"action": "show", "paths": ["secrets/key"]})),
        git(json!({"action": "show", "paths": ["."]})),
        git(json!({"action": "diff"})),
        git(json!({"action": "diff", "revision": "HEAD~1"})),
        git(json!({"action": "diff", "paths": ["secrets"]})),
        git(json!({"action": "diff", "path": "secrets"})),
        git(json!({"action": "diff", "revision": format!("{older}..{blob}")})),
        git(json!({"action": "diff", "revision": "HEAD~1:secrets/key..HEAD:secrets/key"})),
        git(json!({"action": "log", "paths": ["secrets/key"]})),
        git(json!({"action": "status"})),
    ]);
    let shown = world.succeeds("git_manager", &json!({"action": "show"}))["result"].to_string();
    assert!(shown.contains("hello again") && shown.contains("left out"), "{shown}");
    // Only files that are not denied are added.
    world.env.write("src/new.sh", "echo new\n");
    world.succeeds("git_manager", &json!({"action": "add"}));
    world.succeeds("git_manager", &json!({"action": "commit", "message": "third", "all": true}));
    let named = world.git(&["show", "--format=", "--name-only", "HEAD"]);
    assert_eq!(named, "src/new.sh");
    world.check_hidden(&[git(json!({"action": "diff", "staged": true}))]);
}

/// Returns the ways of a shell to read a denied file.
fn shell_ways() -> Vec<&'static str> {
    vec![
        "cat secrets/key",
        "cat link/key",
        "cat certs/a.pem",
        "cat .env",
        "grep -r SES.ME . --exclude-dir=.git",
        "cat sec*/k*",
        "cd secrets && cat key",
        "cat < secrets/na??",
        "a=sec; b=rets; cat ${a}${b}/key",
        "ln -s secrets/key way && cat way",
        "ln secrets/key hard && cat hard",
        "tar c secrets | cat",
        "cp -r . $TMPDIR/all; cat $TMPDIR/all/secrets/deep/note.txt",
        "find . -name note.txt -exec cat {} +",
        "mv secrets other; cat other/key",
        "awk 1 secrets/key",
        "while read -r line; do echo $line; done < $(echo secrets)/key",
        "env -C secrets cat key",
        "sh -c 'exec 3<secrets/key; cat <&3'",
        "dd if=$PWD/secrets/key status=none",
        "cat /proc/self/cwd/secrets/key",
    ]
}

#[test]
fn programs_in_the_shell_do_not_find_a_denied_path() {
    check_shell_ways(&World::new(RULES));
}

#[track_caller]
fn check_shell_ways(world: &World) {
    for command in shell_ways() {
        let answer = world.sh(command);
        assert!(!answer["result"].to_string().contains(MARK), "{command}: {answer}");
    }
    for path in ["secrets/key", "secrets/deep/note.txt", "certs/a.pem", ".env"] {
        assert!(world.env.read(path).unwrap().contains(MARK), "{path}");
    }
}

/// In bubblewrap, the same rules become mounts.
#[test]
fn programs_in_bubblewrap_do_not_find_a_denied_path_and_change_no_protected_one() {
    let world = World::new(RULES);
    world.env.own("config.toml", "[sandbox]\nbackend = \"bubblewrap\"\n");
    if !works(&world.env, "bubblewrap") {
        return;
    }
    check_shell_ways(&world);
    check_protected_paths(&world);
}

/// Without the rules, each of these ways finds the text, so the test above is meaningful.
#[test]
fn programs_in_the_shell_find_what_no_rule_denies() {
    let world = World::new("");
    for command in shell_ways() {
        let answer = world.sh(command);
        assert!(answer["result"].to_string().contains(MARK), "{command}: {answer}");
        world.env.run(&["undo"]);
        let _ = std::fs::rename(world.env.root().join("other"), world.env.root().join("secrets"));
    }
}

#[test]
fn other_programs_do_not_find_a_denied_path() {
    let world = World::new(RULES);
    let path = world.env.root().join("secrets/key");
    let code = format!("print(open({:?}).read())", path.display().to_string());
    world.check_hidden(&[
        ("test_runner", json!({"runner": "make"})),
        ("code_exec", json!({"code": code, "level": "full"})),
        ("execute_shell_command", json!({"command": "make test", "fresh": true})),
    ]);
    // A third-party server that prints the file that it reads.
    world.env.write("server.py", include_str!("../../../mcp/tests/it/fixture/server.py"));
    let own = world.env.root().join("own");
    std::fs::create_dir(&own).unwrap();
    std::os::unix::fs::symlink("../secrets/name", own.join("name")).unwrap();
    let name = |path: &str| world.env.root().join(path).display().to_string();
    let (server, own) = (name("server.py"), name("own"));
    let add = ["mcp", "add", "fx", "--write", &own, "--", "python3", &server, &own];
    world.env.run(&add).code(0);
    world
        .env
        .run(&["mcp", "test", "fx", "--accept"])
        .code(0)
        .says(&["fx is connected to fixture 1"]);
}

#[test]
fn a_path_that_rules_protect_is_not_changed() {
    let world = World::new(RULES);
    for (tool, args) in [
        ("write_file", json!({"path": "kept/file", "content": "x"})),
        ("delete_file", json!({"path": "kept", "recursive": true})),
        ("git_manager", json!({"action": "branch", "name": "other"})),
    ] {
        let answer = world.call(tool, &args);
        assert_ne!(answer["outcome"], "succeeded", "{tool} {args}: {answer}");
    }
    check_protected_paths(&world);
    // The file is still readable.
    let read = world.succeeds("read_file", &json!({"path": "kept/file"}));
    assert!(read["result"].to_string().contains("kept"), "{read}");
}

#[track_caller]
fn check_protected_paths(world: &World) {
    for command in [
        "echo x > kept/file",
        "echo x | tee kept/file",
        "f=kept; cp Makefile $f/file",
        "rm -rf kept",
        "mv kept gone",
        "sed -i s/kept/x/ kept/file",
        "touch kept/new",
        "echo x | tee lock.toml",
        "rm lock.toml",
        "mv Makefile lock.toml",
        "git switch other",
    ] {
        world.sh(command);
        assert_eq!(world.env.read("kept/file").as_deref(), Some("kept\n"), "{command}");
        assert_eq!(world.env.read("lock.toml").as_deref(), Some("locked\n"), "{command}");
        assert_eq!(world.env.read("kept/new"), None, "{command}");
    }
}

#[test]
fn what_lies_beside_a_denied_path_is_used_as_ever() {
    check_what_lies_beside(&World::new(RULES));
}

#[track_caller]
fn check_what_lies_beside(world: &World) {
    for command in [
        "grep -r hello . --exclude-dir=.git",
        "ls -lR",
        "find . -type f",
        "git status",
        "git log --oneline",
        "make build && cat built",
        "tar cf $TMPDIR/all.tar . && tar tf $TMPDIR/all.tar",
        "cp -r src copy && sh copy/main.sh",
        "echo x > certs/new && mv certs/new certs/newer && rm certs/newer",
        "cat kept/file lock.toml",
    ] {
        let answer = world.sh(command);
        let text = answer["result"].as_str().unwrap_or_default();
        let is_clean = text.starts_with("[exit code 0") && !text.contains("stderr:");
        assert!(is_clean, "{command}: {answer}");
    }
    assert_eq!(world.env.read("built").as_deref(), Some("hello again\n"));
}

/// Without a sandbox, the path cannot be hidden, so the call asks.
#[test]
fn a_shell_without_a_sandbox_asks_while_a_rule_denies_a_path() {
    let world = World::new(RULES);
    world.env.own("config.toml", "[shell]\ntarget = \"native\"\n");
    let answer = world.sh("cat src/main.sh");
    assert_eq!(answer["outcome"], "denied", "{answer}");
    assert!(answer.to_string().contains("without a sandbox"), "{answer}");
    world.env.own("rules.toml", "");
    assert_eq!(world.sh("cat src/main.sh")["outcome"], "succeeded");
}

#[test]
fn what_cannot_be_confined_is_said_where_the_rule_is_written() {
    let env = TestEnv::new();
    let words = "git keeps what was committed";
    env.run(&["rules", "add", "deny", "Read(./secrets/**)"]).code(0).says(&[words]);
    let linted = env.run(&["rules", "lint"]).code(0);
    assert!(linted.stdout.contains(words), "{linted:?}");
    let explained = env.run(&["rules", "explain", "cat secrets/key && ls"]).code(0);
    let words = "Read(./secrets/**) denies `secrets/key`: the sandbox hides it from programs";
    assert!(explained.stdout.contains(words), "{explained:?}");
    let explained = env.run(&["rules", "explain", "cat notes.md"]).code(0);
    assert!(!explained.stdout.contains("hides"), "{explained:?}");
}
