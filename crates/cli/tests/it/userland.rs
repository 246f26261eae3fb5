//! The Linux userland from the command line, with a mirror on loopback that has a small system.

use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::time::{Duration, Instant};

use flate2::Compression;
use flate2::write::GzEncoder;
use serde_json::{Value, json};
use sha2::{Digest as _, Sha256};

use crate::support::{self, DaemonProcess, Ended, TestEnv};

#[expect(dead_code, reason = "not every way of a mirror is tried here")]
#[path = "../../../sandbox/tests/it/fake_mirror.rs"]
mod mirror;
#[expect(clippy::print_stderr, reason = "what is not tried is said aloud")]
#[path = "../../../sandbox/tests/it/fake_rootfs.rs"]
mod system;

use mirror::{Mirror, Way};

const APK: &str = include_str!("../../../sandbox/tests/it/apk.sh");

struct Scene {
    env: TestEnv,
    mirror: Mirror,
    _runtime: tokio::runtime::Runtime,
}

impl Scene {
    /// Returns `None` if there is no busybox, or this host has no namespaces.
    fn new() -> Option<Self> {
        let env = TestEnv::new();
        let folder = env.outside().join("system");
        if !system::build(&folder) || !has_namespaces(&env) {
            return None;
        }
        let apk = folder.join("sbin/apk");
        fs::write(&apk, APK).unwrap();
        fs::set_permissions(&apk, fs::Permissions::from_mode(0o755)).unwrap();
        let mut tar = tar::Builder::new(GzEncoder::new(Vec::new(), Compression::fast()));
        tar.follow_symlinks(false);
        tar.append_dir_all(".", &folder).unwrap();
        let archive = tar.into_inner().unwrap().finish().unwrap();

        let runtime = tokio::runtime::Runtime::new().unwrap();
        let mirror = runtime.block_on(Mirror::start(Way::Good));
        let arch = std::env::consts::ARCH;
        let digest: String =
            Sha256::digest(&archive).iter().map(|byte| format!("{byte:02x}")).collect();
        let name = format!("alpine-minirootfs-3.24.2-{arch}.tar.gz");
        mirror.put(&format!("v3.24/releases/{arch}/{name}"), archive);
        for part in ["main", "community"] {
            let folder = format!("v3.24/{part}/x86_64");
            mirror.put(&format!("{folder}/INDEX"), "hello-1.2-r3 - Says hello\n");
            mirror.put(&format!("{folder}/hello"), "#!/bin/sh\necho hello from a package\n");
        }
        let release = json!({
            "name": "Alpine Linux", "version": "3.24.2", "branch": "v3.24",
            "mirrors": [mirror.url()], "sha256": { arch: digest }, "signer": null,
        });
        env.write("release.json", release.to_string());
        Some(Self { env, mirror, _runtime: runtime })
    }

    fn sandbox(&self, args: &[&str]) -> Ended {
        let entry = self.mirror.entry();
        self.env.run(&[&["sandbox"], args, &["--allow-net", &entry]].concat())
    }

    fn install(&self) -> Ended {
        self.sandbox(&["install", "--release", "release.json"])
    }

    fn status(&self) -> serde_json::Value {
        let status = support::json(&self.env.run(&["sandbox", "status", "--json"]).stdout);
        status.as_array().unwrap().last().unwrap().clone()
    }
}

#[expect(clippy::print_stderr, reason = "what is not tried is said aloud")]
fn has_namespaces(env: &TestEnv) -> bool {
    let status = support::json(&env.run(&["sandbox", "status", "--json"]).stdout);
    if status[0]["strongest"] != "namespace" {
        eprintln!("NOT TRIED: this host gives no namespaces");
    }
    status[0]["strongest"] == "namespace"
}

#[test]
fn a_userland_from_nothing_to_its_end() {
    let Some(scene) = Scene::new() else { return };
    assert_eq!(
        (&scene.status()["backend"], &scene.status()["state"]),
        (&json!("userland"), &json!("absent"))
    );
    let exec = ["sandbox", "exec", "--userland", "--write", ".", "--", "sh", "-c"];
    let run = |script: &str| scene.env.run(&[&exec[..], &[script]].concat());
    run("true").code(1).says(&["not installed; `toolcrib sandbox install` installs it"]);
    scene.sandbox(&["packages", "list"]).code(1).says(&["not installed"]);

    let installed = scene.install().code(0).says(&["is installed"]);
    assert!(
        installed.stdout.contains("userland: ready (Alpine Linux 3.24.2)"),
        "{}",
        installed.stdout
    );
    let ready = scene.status();
    assert_eq!(
        (&ready["state"], &ready["repositories"]),
        (&json!("ready"), &json!(scene.mirror.url()))
    );
    scene.install().code(0).says(&["is there already"]);

    let script =
        "cat /etc/alpine-release notes.md; id -u; echo $HOME; echo x > ~/made; echo x > made";
    assert_eq!(run(script).code(0).stdout, "3.24.2\nbuy oats\n0\n/root\n");
    assert_eq!(scene.env.read("made").as_deref(), Some("x\n"));
    let home = ready["home"].as_str().unwrap();
    assert!(fs::exists(format!("{home}/made")).unwrap());
    run("cat /etc/alpine-release; exit 7").code(7);

    scene.sandbox(&["packages", "install", "--root=/x"]).code(2);
    scene.sandbox(&["packages", "install", "a;b"]).code(2).says(&["is not a package name"]);
    let found = scene.sandbox(&["packages", "search", "hello"]).code(0);
    assert_eq!(found.stdout, "hello  1.2-r3  Says hello\n");
    scene.sandbox(&["packages", "install", "hello"]).code(0).says(&["installed hello"]);
    assert_eq!(run("hello").code(0).stdout, "hello from a package\n");
    let listed = scene.sandbox(&["packages", "list", "--json"]).code(0);
    assert_eq!(support::json(&listed.stdout), json!([{ "name": "hello", "version": "1.2-r3" }]));
    scene.sandbox(&["packages", "install", "nosuch"]).code(1).says(&["nosuch (no such package)"]);
    scene.sandbox(&["packages", "remove", "hello"]).code(0);
    run("hello").code(127);

    scene.env.run(&["sandbox", "uninstall"]).code(0).says(&["removed", "still there"]);
    assert_eq!(scene.status()["state"], "absent");
    assert!(fs::exists(format!("{home}/made")).unwrap());
    scene.env.run(&["sandbox", "uninstall", "--home"]).code(0);
    assert!(!fs::exists(home).unwrap());
    scene.env.run(&["sandbox", "uninstall"]).code(0).says(&["there was none"]);
}

#[test]
fn what_goes_wrong_says_what_to_do() {
    let Some(scene) = Scene::new() else { return };
    scene.mirror.behave(Way::Wrong);
    scene.install().code(1).says(&["SHA-256", "--mirror URL"]);
    assert_eq!(scene.status()["state"], "verifying");
    scene.mirror.behave(Way::Missing);
    scene.install().code(1).says(&["404"]);
    // Without permission, addresses that are not public are not reached.
    scene.env.run(&["sandbox", "install", "--release", "release.json"]).code(1);
    scene.env.write("wrong.json", "{}");
    scene
        .sandbox(&["install", "--release", "wrong.json"])
        .code(2)
        .says(&["not a release description"]);
    scene.sandbox(&["install", "--release", "gone.json"]).code(2).says(&["gone.json"]);
    scene.mirror.behave(Way::Good);
    scene.install().code(0);
    let root = scene.status()["root"].as_str().unwrap().to_owned();
    fs::remove_dir_all(&root).unwrap();
    let doctor = scene.env.run(&["doctor"]);
    assert!(doctor.stdout.contains("the Linux userland is broken"), "{}", doctor.stdout);
    scene
        .env
        .run(&["sandbox", "exec", "--userland", "--", "true"])
        .code(1)
        .says(&["broken", "repairs it"]);
    scene.install().code(0);
}

#[test]
fn file_tools_do_not_touch_the_system_of_the_userland() {
    let Some(scene) = Scene::new() else { return };
    scene.install().code(0);
    let root = scene.status()["root"].as_str().unwrap().to_owned();
    let outside = scene.env.outside().to_str().unwrap().to_owned();
    let path = format!("{root}/etc/passwd");
    let (said, code) = scene.env.call("read_file", &json!({ "path": path }), &["--root", &outside]);
    assert_ne!(code, 0, "{said}");
}

/// Sends one request to a daemon; returns the status and the body.
fn ask(daemon: &DaemonProcess, token: &str, method: &str, path: &str, body: &str) -> (u16, Value) {
    let answer = daemon.raw(&format!(
        "{method} /api/v1{path} HTTP/1.1\r\nHost: {{host}}\r\nConnection: close\r\nAuthorization: Bearer {token}\r\nContent-Type: application/json\r\nContent-Length: {}\r\n\r\n{body}",
        body.len()
    ));
    let (head, body) = answer.split_once("\r\n\r\n").unwrap();
    let status = head.split(' ').nth(1).unwrap().parse().unwrap();
    (status, serde_json::from_str(body).unwrap_or_default())
}

#[test]
fn a_daemon_changes_packages_in_the_background_with_a_log() {
    let Some(scene) = Scene::new() else { return };
    scene.install().code(0);
    let daemon = DaemonProcess::start(&scene.env, &["--allow-net", &scene.mirror.entry()]);
    let token = scene.env.run(&["token", "show"]).code(0).stdout.trim().to_owned();
    let ask = |method: &str, path: &str, body: &str| ask(&daemon, &token, method, path, body);
    let finished = || {
        let end = Instant::now() + Duration::from_secs(60);
        loop {
            let (_, work) = ask("GET", "/userland/work", "");
            if work["running"] == json!(false) {
                return work;
            }
            assert!(Instant::now() < end, "{work}");
            std::thread::sleep(Duration::from_millis(20));
        }
    };
    assert_eq!(
        ask("GET", "/userland/work", "").1,
        json!({"running": false, "log": [], "dropped": 0})
    );
    let (status, shown) = ask("GET", "/userland", "");
    assert_eq!(
        (status, &shown["state"], &shown["level"]),
        (200, &json!("ready"), &json!("namespace"))
    );
    assert!(shown["root_bytes"].as_u64().unwrap() > 0, "{shown}");

    let (_, found) = ask("GET", "/userland/packages?find=hello", "");
    assert_eq!(found["items"][0]["description"], "Says hello");
    let install = r#"{"change": "install", "names": ["hello"]}"#;
    let (status, begun) = ask("POST", "/userland/packages", install);
    assert_eq!((status, &begun["what"]), (202, &json!("install hello")));
    let work = finished();
    assert_eq!(work["failed"], json!(null), "{work}");
    // The line comes from the package manager.
    let log = work["log"].as_array().unwrap();
    assert!(log.contains(&json!("(1/1) Installing hello (1.2-r3)")), "{work}");
    let (_, listed) = ask("GET", "/userland/packages", "");
    assert_eq!(listed["items"], json!([{"name": "hello", "version": "1.2-r3"}]));

    ask("POST", "/userland/packages", r#"{"change": "install", "names": ["nosuch"]}"#);
    assert!(finished()["failed"].as_str().unwrap().contains("no such package"));
    for names in [r#"["--root=/x"]"#, r#"["a;b"]"#, "[]"] {
        let body = format!(r#"{{"change": "install", "names": {names}}}"#);
        assert_eq!(ask("POST", "/userland/packages", &body).0, 422, "{names}");
    }
    ask("POST", "/userland/packages", r#"{"change": "remove", "names": ["hello"]}"#);
    assert_eq!(finished()["failed"], json!(null));
    // An archive that this build does not know replaces nothing.
    let reset = json!({"reset": true, "mirrors": [scene.mirror.url()]}).to_string();
    assert_eq!(ask("POST", "/userland", &reset).0, 202);
    assert!(finished()["failed"].as_str().unwrap().contains("SHA-256"));
    assert_eq!(ask("GET", "/userland", "").1["state"], "ready");
    assert_eq!(ask("DELETE", "/userland?home=true", "").0, 204);
    assert_eq!(ask("GET", "/userland", "").1["state"], "absent");
    assert_eq!(ask("GET", "/userland/packages", "").0, 409);
    let tail = scene.env.run(&["audit", "tail", "--json", "-n", "100"]).code(0).stdout;
    for act in ["package.install", "package.remove", "userland.reset", "userland.uninstall"] {
        assert!(tail.contains(act), "{act}");
    }
}
