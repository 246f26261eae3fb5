//! Backups: created while a daemon runs under load, and restored to an empty home and over existing
//! data.

use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::atomic::{AtomicBool, Ordering};

use crate::support::{self, DaemonProcess, Ended, TestEnv, end};

const NOTES: &str = r#"{"path": "notes.md"}"#;

fn home(env: &TestEnv) -> PathBuf {
    env.outside().join("home")
}

/// Runs the binary with another home.
fn at_home(env: &TestEnv, home: &Path, args: &[&str]) -> Ended {
    let mut command: Command = env.command(args);
    command.env("TOOLCRIB_HOME", home);
    end(command, b"")
}

/// Returns the names of the files in a backup.
fn names(backup: &Path) -> Vec<String> {
    let listed = Command::new("tar").arg("-tzf").arg(backup).output().unwrap();
    assert!(listed.status.success());
    String::from_utf8(listed.stdout).unwrap().lines().map(str::to_owned).collect()
}

#[test]
fn a_backup_under_load_is_whole_in_another_home() {
    let env = TestEnv::new();
    env.own("config.toml", "policy = \"auto\"\n[tools.read_file]\ntimeout = \"7s\"\n");
    env.own("agents/reviewer.md", "---\nname: reviewer\ndescription: Looks.\n---\nLook.\n");
    env.feed(&["secret", "set", "MAIL"], "hunter2-hunter2").code(0);
    let waiting = env.run(&[
        "tool",
        "call",
        "delete_file",
        "--args",
        NOTES,
        "--policy",
        "ask-risky",
        "--on-ask",
        "fail",
    ]);
    waiting.code(6);
    let daemon = DaemonProcess::start(&env, &[]);
    let (backup, stop) = (env.outside().join("backup.tar.gz"), AtomicBool::new(false));
    let file = backup.to_str().unwrap();
    std::thread::scope(|scope| {
        for _ in 0..2 {
            scope.spawn(|| {
                while !stop.load(Ordering::Relaxed) {
                    env.run(&["tool", "call", "read_file", "--args", NOTES, "--daemon"]).code(0);
                }
            });
        }
        for _ in 0..3 {
            env.run(&["tool", "call", "read_file", "--args", NOTES, "--daemon"]).code(0);
        }
        let taken = env.run(&["backup", file, "--json"]).code(0);
        let said = support::json(&taken.stdout);
        assert_eq!(said["keys"], false);
        stop.store(true, Ordering::Relaxed);
    });
    assert_eq!(fs::metadata(&backup).unwrap().permissions().mode() & 0o777, 0o600);
    env.run(&["backup", file]).code(2).says(&["is there already"]);
    env.run(&["restore", file]).code(1).says(&["a daemon works there"]);
    daemon.stop(&env).0.code(0);

    let names = names(&backup);
    for key in ["secrets.key", "audit-key.pk8", "daemon/token", "socket", ".lock"] {
        assert!(!names.iter().any(|name| name.contains(key)), "{key}: {names:?}");
    }
    for name in [
        "state/toolcrib.db",
        "config/agents/reviewer.md",
        "state/audit/anchors.jsonl",
        "manifest.json",
    ] {
        assert!(names.iter().any(|own| own == name), "{name}: {names:?}");
    }

    let other = env.outside().join("other");
    let restored = at_home(&env, &other, &["restore", file]).code(0);
    restored.says(&["sealed with a key that is not in the backup"]);
    let at = |args: &[&str]| at_home(&env, &other, args);
    let history = support::json(&at(&["history", "--json"]).code(0).stdout);
    assert!(history.as_array().unwrap().len() >= 3, "{history}");
    let inbox = support::json(&at(&["approve", "list", "--json"]).code(0).stdout);
    assert_eq!(inbox.as_array().unwrap().len(), 1);
    at(&["audit", "verify"]).code(0);
    let timeout = at(&["config", "get", "tools.read_file.timeout"]).code(0).stdout;
    assert_eq!(timeout.trim(), "7s");
    at(&["tool", "call", "read_file", "--args", NOTES]).code(0);
    at(&["audit", "verify"]).code(0);
    assert!(at(&["agent", "list"]).code(0).stdout.contains("reviewer"));
}

#[test]
fn what_is_there_is_moved_aside_and_keys_stay_where_they_were() {
    let env = TestEnv::new();
    env.run(&["tool", "call", "read_file", "--args", NOTES]).code(0);
    env.feed(&["secret", "set", "MAIL"], "hunter2-hunter2").code(0);
    let backup = env.outside().join("backup.tar.gz");
    let file = backup.to_str().unwrap();
    env.run(&["backup", file]).code(0);
    env.run(&["tool", "call", "read_file", "--args", NOTES]).code(0);
    env.run(&["restore", file]).code(2).says(&["is there already", "--force"]);
    let restored = env.run(&["restore", file, "--force", "--json"]).code(0);
    let aside = support::json(&restored.stdout)["aside"][0].as_str().unwrap().to_owned();
    assert!(Path::new(&aside).join("toolcrib.db").exists());
    // The data is as it was at the time of the backup, and the existing key opens its secrets.
    let calls = support::json(&env.run(&["history", "--json"]).code(0).stdout);
    assert_eq!(calls.as_array().unwrap().len(), 1);
    assert!(env.run(&["secret", "list"]).code(0).stdout.contains("MAIL"));
    env.run(&["tool", "call", "read_file", "--args", NOTES]).code(0);
    env.run(&["audit", "verify"]).code(0);
}

#[test]
fn keys_are_in_a_backup_only_when_they_are_asked_for() {
    let env = TestEnv::new();
    env.own(
        "config.toml",
        "[providers.acme]\nkind = \"openai-compatible\"\nbase_url = \"http://127.0.0.1:1/v1\"\nkey = \"sk-planted-secret-1\"\n[providers.other]\nkind = \"openai-compatible\"\nbase_url = \"http://127.0.0.1:1/v1\"\nkey_file = \"other.toml\"\n",
    );
    env.own("other.toml", "sk-planted-secret-2");
    fs::set_permissions(home(&env).join("other.toml"), fs::Permissions::from_mode(0o600)).unwrap();
    env.run(&["tool", "call", "read_file", "--args", NOTES]).code(0);
    let (without, with) = (env.outside().join("a.tar.gz"), env.outside().join("b.tar.gz"));
    env.run(&["backup", without.to_str().unwrap()]).code(0).says(&["providers.acme.key"]);
    env.run(&["backup", with.to_str().unwrap(), "--with-keys"])
        .code(0)
        .says(&["protect it like a key"]);
    let texts = |backup: &Path| {
        let output = Command::new("tar").arg("-xzOf").arg(backup).output().unwrap();
        String::from_utf8_lossy(&output.stdout).into_owned()
    };
    let plain = texts(&without);
    assert!(!plain.contains("sk-planted-secret-1") && !plain.contains("sk-planted-secret-2"));
    assert!(plain.contains("base_url"));
    let all = texts(&with);
    assert!(all.contains("sk-planted-secret-1") && all.contains("sk-planted-secret-2"));
    let other = env.outside().join("other");
    at_home(&env, &other, &["restore", with.to_str().unwrap()]).code(0);
    let mode = fs::metadata(other.join("state/audit/audit-key.pk8")).unwrap().permissions().mode();
    assert_eq!(mode & 0o777, 0o600);
    at_home(&env, &other, &["audit", "verify"]).code(0);
}

/// Regression, found in review: an archive whose manifest declares no keys contained keys.
#[test]
fn files_that_the_manifest_does_not_announce_are_not_put_back() {
    let env = TestEnv::new();
    env.feed(&["secret", "set", "MAIL"], "hunter2-hunter2").code(0);
    env.run(&["tool", "call", "read_file", "--args", NOTES]).code(0);
    let backup = env.outside().join("backup.tar.gz");
    env.run(&["backup", backup.to_str().unwrap(), "--with-keys"]).code(0);
    let unpacked = env.outside().join("unpacked");
    fs::create_dir(&unpacked).unwrap();
    let tar = |args: &[&std::ffi::OsStr]| {
        assert!(Command::new("tar").args(args).status().unwrap().success());
    };
    tar(&["-xzf".as_ref(), backup.as_ref(), "-C".as_ref(), unpacked.as_ref()]);
    let manifest = unpacked.join("manifest.json");
    let text = fs::read_to_string(&manifest).unwrap();
    fs::write(&manifest, text.replace("\"keys\": true", "\"keys\": false")).unwrap();
    let forged = env.outside().join("forged.tar.gz");
    let order = names(&backup);
    let mut args = vec!["-czf".as_ref(), forged.as_os_str(), "-C".as_ref(), unpacked.as_os_str()];
    args.extend(order.iter().map(std::ffi::OsStr::new));
    tar(&args);
    let other = env.outside().join("other");
    let ended = at_home(&env, &other, &["restore", forged.to_str().unwrap()]);
    ended.code(3).says(&["vault/secrets.key", "does not announce", "nothing was put back"]);
    assert!(!other.join("state/vault").exists() && !other.join("state/toolcrib.db").exists());
    at_home(&env, &other, &["restore", backup.to_str().unwrap()]).code(0);
}

#[test]
fn what_is_no_sound_backup_changes_nothing() {
    let env = TestEnv::new();
    env.run(&["tool", "call", "read_file", "--args", NOTES]).code(0);
    let backup = env.outside().join("backup.tar.gz");
    env.run(&["backup", backup.to_str().unwrap()]).code(0);
    let whole = fs::read(&backup).unwrap();
    let broken = env.outside().join("broken.tar.gz");
    let other = env.outside().join("other");
    let check = |bytes: &[u8]| {
        fs::write(&broken, bytes).unwrap();
        let ended = at_home(&env, &other, &["restore", broken.to_str().unwrap()]);
        assert_eq!(ended.code, 3, "{ended:?}");
        assert!(!other.join("state/toolcrib.db").exists());
        assert!(!other.join("config.toml").exists());
    };
    check(b"");
    check(b"no archive");
    check(&whole[..whole.len() / 2]);
    let mut flipped = whole.clone();
    // Flip more than one bit: a single one could be in the padding between two blocks, which has no
    // meaning.
    flipped[whole.len() / 2..][..16].iter_mut().for_each(|byte| *byte ^= 0xff);
    check(&flipped);
    at_home(&env, &other, &["restore", "nowhere.tar.gz"]).code(3);
    env.run(&["backup", "/nowhere/at/all.tar.gz"]).code(1).says(&["cannot be written"]);
    let left: Vec<_> = fs::read_dir(&other)
        .map(|entries| entries.flatten().filter(|entry| entry.file_name() != "state").collect())
        .unwrap_or_default();
    assert!(left.is_empty(), "{left:?}");
}
