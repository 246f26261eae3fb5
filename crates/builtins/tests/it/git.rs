//! `git_manager` and the diffs of `diff_editor` on real repositories, including hostile ones.

use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::path::Path;
use std::process::Command;
use std::sync::Arc;

use serde_json::{Value, json};
use toolcrib_builtins::Builtins;
use toolcrib_builtins::fs::{Roots, Workspace};
use toolcrib_core::{Effect, ErrorType, Handler, Risk, ToolError};

use crate::support::{Bench, call_of};
use crate::text_of;

/// A workspace without a repository, and the tools on it.
struct Shop {
    bench: Bench,
    tools: Vec<Arc<dyn Handler>>,
}

impl Shop {
    fn new() -> Self {
        Self::on(Bench::new())
    }

    fn on(bench: Bench) -> Self {
        fs::remove_dir_all(bench.path("ws/.git")).unwrap();
        let roots = Roots::open([bench.path("ws")]).unwrap();
        let workspace = Arc::new(Workspace::without_journal(roots));
        let tools = Builtins::new()
            .with_workspace(workspace)
            .with_program_runner(Arc::clone(&bench.workbench))
            .handlers();
        Self { bench, tools }
    }

    fn tool(&self, name: &str) -> &Arc<dyn Handler> {
        self.tools.iter().find(|tool| tool.spec().name.as_str() == name).unwrap()
    }

    async fn call(&self, name: &str, args: Value) -> Result<String, ToolError> {
        let output = self.tool(name).call(&call_of("git"), &args).await?;
        Ok(text_of(&output))
    }

    async fn git(&self, args: Value) -> String {
        let shown = args.to_string();
        self.call("git_manager", args).await.unwrap_or_else(|error| panic!("{shown}: {error}"))
    }

    async fn refused(&self, args: Value) -> ToolError {
        let shown = args.to_string();
        self.call("git_manager", args).await.expect_err(&shown)
    }

    fn put(&self, path: &str, text: &str) {
        let path = self.bench.path("ws").join(path);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
    }
}

#[tokio::test]
async fn a_repository_from_its_first_file_to_a_branch() {
    let shop = Shop::new();
    shop.put("a.txt", "one\n");
    shop.put("b.txt", "two\n");
    let no = shop.refused(json!({"action": "status"})).await;
    assert!(no.message.contains("Make one with the action init"), "{}", no.message);
    assert!(shop.git(json!({"action": "init"})).await.contains("Initialized empty"));
    assert!(shop.bench.path("ws/.git/HEAD").exists());
    assert!(!shop.bench.path("ws/.git/hooks").exists(), "no templates");
    let status = shop.git(json!({"action": "status"})).await;
    assert!(
        status.contains("## No commits yet on main") && status.contains("?? a.txt"),
        "{status}"
    );
    shop.git(json!({"action": "add", "paths": ["a.txt"]})).await;
    let staged = shop.git(json!({"action": "diff", "staged": true})).await;
    assert!(staged.contains("+one") && !staged.contains("two"), "{staged}");
    shop.git(json!({"action": "commit", "message": "First: \"quoted\" $HOME `x`"})).await;
    assert!(shop.git(json!({"action": "status"})).await.contains("?? b.txt"));
    shop.put("a.txt", "ONE\n");
    let diff = shop.git(json!({"action": "diff"})).await;
    assert!(diff.contains("-one\n+ONE"), "{diff}");
    let created = shop.call("diff_editor", json!({"action": "create", "path": "a.txt"})).await;
    assert!(created.unwrap().contains("-one\n+ONE"));
    let created = shop.call("diff_editor", json!({"action": "create", "path": "b.txt"})).await;
    assert!(created.unwrap().contains("b.txt is not in git"));
    shop.git(json!({"action": "add"})).await;
    shop.git(json!({"action": "commit", "message": "Second", "all": true})).await;
    let created = shop.call("diff_editor", json!({"action": "create", "path": "a.txt"})).await;
    assert_eq!(created.unwrap(), "(no changes)");
    assert_eq!(shop.git(json!({"action": "diff"})).await, "(no changes)");
    let log = shop.git(json!({"action": "log"})).await;
    assert!(log.lines().count() == 2 && log.contains(" - Second (Toolcrib, "), "{log}");
    assert!(log.contains("First: \"quoted\" $HOME `x`"), "{log}");
    assert_eq!(shop.git(json!({"action": "log", "count": 1})).await.lines().count(), 1);
    assert_eq!(shop.git(json!({"action": "log", "paths": ["b.txt"]})).await.lines().count(), 1);
    assert!(shop.git(json!({"action": "show", "revision": "HEAD~1"})).await.contains("+one"));
    shop.git(json!({"action": "branch", "name": "work/new"})).await;
    let branches = shop.git(json!({"action": "branch"})).await;
    assert!(branches.contains("* work/new") && branches.contains("  main"), "{branches}");
    shop.put("a.txt", "three\n");
    shop.git(json!({"action": "commit", "message": "Third", "all": true})).await;
    shop.git(json!({"action": "branch", "name": "main"})).await;
    assert_eq!(shop.bench.read("ws/a.txt").unwrap(), "ONE\n");
    let range = shop.git(json!({"action": "diff", "revision": "main..work/new"})).await;
    assert!(range.contains("+three"), "{range}");
}

#[tokio::test]
async fn what_cannot_be_done_is_said() {
    let shop = Shop::new();
    shop.git(json!({"action": "init", "path": "."})).await;
    for (args, kind, why) in [
        (json!({"action": "commit"}), ErrorType::ValidationError, "message is missing"),
        (
            json!({"action": "commit", "message": "Error: it broke"}),
            ErrorType::ValidationError,
            "text of an error",
        ),
        (
            json!({"action": "commit", "message": "nothing"}),
            ErrorType::ExecutionError,
            "nothing to commit",
        ),
        (json!({"action": "log"}), ErrorType::ExecutionError, "does not have any commits yet"),
        (
            json!({"action": "add", "paths": ["gone"]}),
            ErrorType::ExecutionError,
            "did not match any files",
        ),
        (
            json!({"action": "show", "revision": "--output=x"}),
            ErrorType::ValidationError,
            "is not a revision",
        ),
        (
            json!({"action": "branch", "name": "--orphan"}),
            ErrorType::ValidationError,
            "cannot be used as the name",
        ),
        (
            json!({"action": "branch", "name": "a b"}),
            ErrorType::ValidationError,
            "cannot be used as the name",
        ),
        (json!({"action": "status", "path": "../out"}), ErrorType::PathNotAllowed, "not allowed"),
        (json!({"action": "status", "path": "gone"}), ErrorType::FileNotFound, "not found"),
        (json!({"action": "push"}), ErrorType::ExecutionError, "git said: "),
        (
            json!({"action": "push", "remote": "ext::sh"}),
            ErrorType::ValidationError,
            "cannot be used as the name",
        ),
    ] {
        let shown = args.to_string();
        let error = shop.refused(args).await;
        assert_eq!(error.error_type, kind, "{shown}: {}", error.message);
        assert!(error.message.contains(why), "{shown}: {}", error.message);
    }
    // `*` is part of a name here, not a pattern.
    shop.put("a.txt", "x");
    let error = shop.refused(json!({"action": "add", "paths": ["*.txt"]})).await;
    assert!(error.message.contains("did not match"), "{}", error.message);
}

#[tokio::test]
async fn a_git_that_is_not_there_says_what_to_do() {
    let shop = Shop::on(Bench::with(|confines| toolcrib_builtins::program_runner::ProgramPolicy {
        env: vec![("PATH".into(), "/nowhere".into())],
        ..confines
    }));
    let error = shop.refused(json!({"action": "init"})).await;
    assert!(error.message.contains("git is not there"), "{}", error.message);
    assert!(!shop.bench.path("ws/.git").exists());
}

#[tokio::test]
async fn each_action_has_its_own_operation_and_risk() {
    let shop = Shop::new();
    let tool = shop.tool("git_manager");
    for (args, operation, risk, effect) in [
        (json!({"action": "status"}), "git_manager.status", Risk::Safe, Effect::Read),
        (json!({"action": "branch"}), "git_manager.branch", Risk::Safe, Effect::Read),
        (
            json!({"action": "branch", "name": "x"}),
            "git_manager.branch",
            Risk::Safe,
            Effect::SideEffect,
        ),
        (json!({"action": "add"}), "git_manager.add", Risk::Safe, Effect::SideEffect),
        (
            json!({"action": "commit", "message": "x"}),
            "git_manager.commit",
            Risk::High,
            Effect::SideEffect,
        ),
        (json!({"action": "push"}), "git_manager.push", Risk::Critical, Effect::SideEffect),
    ] {
        let assessed = tool.assess(&args).unwrap();
        assert_eq!(assessed.operation.as_deref(), Some(operation));
        assert_eq!((assessed.risk, assessed.effect), (risk, effect), "{operation}");
        assert_eq!(assessed.reach.outbound, operation.ends_with("push"));
    }
}

/// Writes a script into the repository that creates a marker file when it runs.
fn trap(repository: &Path, name: &str) -> String {
    let mark = repository.parent().unwrap().join("SPRUNG");
    let script = repository.join(name);
    let text = format!("#!/bin/sh\necho {name} >> {}\ncat 2>/dev/null\nexit 0\n", mark.display());
    fs::write(&script, text).unwrap();
    fs::set_permissions(&script, fs::Permissions::from_mode(0o755)).unwrap();
    script.display().to_string()
}

/// Runs plain git as a person would, with the configuration of the repository in force.
fn plain(repository: &Path, args: &[&str]) {
    let mut git = Command::new("git");
    git.current_dir(repository).args(args).env("GIT_CONFIG_GLOBAL", "/dev/null");
    git.env("GIT_EDITOR", ":").env("HOME", repository);
    git.stdin(std::process::Stdio::null()).output().unwrap();
}

/// Creates a repository with two commits whose configuration runs a program wherever git allows it.
fn hostile(repository: &Path) {
    fs::create_dir_all(repository).unwrap();
    let identity = ["-c", "user.name=x", "-c", "user.email=x@x"];
    let run = |args: &[&str]| plain(repository, &[&identity[..], args].concat());
    run(&["init", "-q", "-b", "main"]);
    fs::write(repository.join("f.txt"), "1\n").unwrap();
    fs::write(
        repository.join(".gitattributes"),
        "*.txt filter=evil diff=evil\n*.md filter=a.b=c\n",
    )
    .unwrap();
    // A submodule has a separate configuration.
    let sub = repository.join("sub");
    fs::create_dir(&sub).unwrap();
    plain(&sub, &["init", "-q"]);
    plain(
        &sub,
        &["-c", "user.name=x", "-c", "user.email=x@x", "commit", "-q", "--allow-empty", "-m", "s"],
    );
    run(&["add", "-A"]);
    run(&["commit", "-q", "-m", "first"]);
    fs::write(repository.join("f.txt"), "2\n").unwrap();
    run(&["commit", "-q", "-a", "-m", "second"]);
    let set = |folder: &Path, key: &str, value: &str| plain(folder, &["config", key, value]);
    for (key, name) in [
        ("core.fsmonitor", "fsmonitor"),
        ("core.pager", "pager"),
        ("core.editor", "editor"),
        ("core.sshCommand", "ssh"),
        ("core.askPass", "askpass"),
        ("core.alternateRefsCommand", "alternate"),
        ("credential.helper", "helper"),
        ("credential.https://localhost.helper", "helper2"),
        ("diff.external", "external"),
        ("diff.evil.command", "command"),
        ("diff.evil.textconv", "textconv"),
        ("filter.evil.clean", "clean"),
        ("filter.evil.smudge", "smudge"),
        ("filter.a.b=c.process", "process"),
        ("gpg.program", "gpg"),
        ("pager.log", "pager_log"),
        ("pager.diff", "pager_diff"),
        ("remote.origin.receivepack", "receivepack"),
        ("remote.origin.uploadpack", "uploadpack"),
        ("sequence.editor", "sequence"),
    ] {
        set(repository, key, &trap(repository, name));
    }
    for (key, value) in [
        ("filter.evil.required", "true"),
        ("commit.gpgSign", "true"),
        ("log.showSignature", "true"),
        ("status.submoduleSummary", "true"),
        ("diff.submodule", "log"),
        ("core.hooksPath", "evilhooks"),
        ("alias.status", "!./clean"),
        ("init.templateDir", "evilhooks"),
        ("remote.origin.url", "ext::./helper"),
        ("protocol.ext.allow", "always"),
        ("protocol.allow", "always"),
        ("remote.origin.promisor", "true"),
        ("extensions.partialClone", "origin"),
        ("include.path", "../more.config"),
    ] {
        set(repository, key, value);
    }
    fs::write(
        repository.join("more.config"),
        format!("[filter \"more\"]\n\tclean = {}\n", trap(repository, "included")),
    )
    .unwrap();
    for hook in [
        "pre-commit",
        "post-commit",
        "commit-msg",
        "post-checkout",
        "pre-push",
        "post-index-change",
        "reference-transaction",
        "prepare-commit-msg",
    ] {
        for folder in ["evilhooks", ".git/hooks"] {
            fs::create_dir_all(repository.join(folder)).unwrap();
            trap(repository, &format!("{folder}/{hook}"));
        }
    }
    set(&sub, "core.fsmonitor", &trap(repository, "sub_fsmonitor"));
}

#[tokio::test]
async fn a_hostile_repository_runs_nothing() {
    let shop = Shop::new();
    let repository = shop.bench.path("ws/repo");
    hostile(&repository);
    let mark = shop.bench.path("ws/SPRUNG");
    let sprung = || fs::read_to_string(&mark).unwrap_or_default();
    // The traps work: plain git runs the program.
    let _ = fs::remove_file(&mark);
    fs::write(repository.join("f.txt"), "3\n").unwrap();
    for args in [
        &["status"][..],
        &["diff"],
        &["add", "."],
        &["commit", "-m", "x"],
        &["switch", "-c", "t"],
        &["push"],
    ] {
        plain(&repository, args);
    }
    let by_itself = sprung();
    for name in ["fsmonitor", "clean", "smudge", "command", "sub_fsmonitor", "hooks/"] {
        assert!(by_itself.contains(name), "{name} is not a trap: {by_itself}");
    }
    plain(
        &repository,
        &["-c", "core.hooksPath=/dev/null", "-c", "core.fsmonitor=false", "switch", "main"],
    );
    let _ = fs::remove_file(&mark);
    fs::write(repository.join("f.txt"), "4\n").unwrap();
    fs::write(repository.join("g.md"), "4\n").unwrap();
    for args in [
        json!({"action": "status"}),
        json!({"action": "diff"}),
        json!({"action": "diff", "revision": "HEAD~1"}),
        json!({"action": "add"}),
        json!({"action": "diff", "staged": true}),
        json!({"action": "commit", "message": "mine"}),
        json!({"action": "log"}),
        json!({"action": "show"}),
        json!({"action": "branch"}),
        json!({"action": "branch", "name": "other"}),
        json!({"action": "branch", "name": "main"}),
        json!({"action": "init"}),
        json!({"action": "push"}),
    ] {
        let mut args = args;
        args["path"] = json!("repo");
        let told = shop.call("git_manager", args.clone()).await;
        assert_eq!(sprung(), "", "{args}: {told:?}");
        let is_push = args["action"] == "push";
        assert_eq!(told.is_err(), is_push, "{args}: {told:?}");
    }
    let created = shop.call("diff_editor", json!({"action": "create", "path": "repo/f.txt"})).await;
    assert_eq!((created.unwrap().as_str(), sprung().as_str()), ("(no changes)", ""));
    let log = shop.git(json!({"action": "log", "count": 1, "path": "repo"})).await;
    assert!(log.contains("mine"), "{log}");
}

#[tokio::test]
async fn a_remote_with_a_program_of_its_own_is_not_reached() {
    let shop = Shop::new();
    let repository = shop.bench.path("ws/repo");
    fs::create_dir_all(&repository).unwrap();
    plain(&repository, &["init", "-q"]);
    plain(&repository, &["config", "remote.origin.vcs", "evil"]);
    let error = shop.refused(json!({"action": "push", "path": "repo"})).await;
    assert!(error.message.contains("remote.NAME.vcs"), "{}", error.message);
    plain(&repository, &["config", "--unset", "remote.origin.vcs"]);
    for url in ["ext::sh -c true", "file:///etc", "/etc", "git://localhost/x"] {
        plain(&repository, &["config", "remote.origin.url", url]);
        let error = shop.refused(json!({"action": "push", "path": "repo", "name": "main"})).await;
        assert!(
            error.message.contains("not allowed") || error.message.contains("src refspec"),
            "{url}: {}",
            error.message
        );
    }
}
