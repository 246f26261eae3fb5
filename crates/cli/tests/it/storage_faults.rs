//! A failing or full disk under the database: answers agree with the store, and read-only tools
//! work.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use serde_json::{Value, json};

use crate::support::{self, Ended, TestEnv, end};

/// A shim that makes the disk fail, preloaded into the binary; its header describes the variables.
const SHIM: &str = include_str!("../../../../tools/fault-injection/shim/disk.c");

fn shim(env: &TestEnv) -> PathBuf {
    let (source, library) = (env.outside().join("disk.c"), env.outside().join("disk.so"));
    fs::write(&source, SHIM).unwrap();
    let made = Command::new("cc")
        .args(["-shared", "-fPIC", "-O1", "-o"])
        .args([&library, &source])
        .arg("-lpthread")
        .output()
        .unwrap();
    assert!(made.status.success(), "{made:?}");
    library
}

fn write_args(name: &str, mode: &str) -> String {
    json!({"path": name, "content": "hi", "mode": mode}).to_string()
}

/// A way in which the disk fails during `write_file`.
#[derive(Debug, Clone, Copy)]
struct Fault {
    /// The variable of the shim that selects the failing operation.
    operation: &'static str,
    /// Whether all later operations of this kind fail, too.
    lasts: bool,
    /// `append` must not run twice: the store syncs its start and its outcome separately.
    /// `overwrite` may: the store commits both without a sync, often together.
    mode: &'static str,
    /// Interval of the tested numbers.
    step: usize,
}

const SYNCS_FAIL: Fault =
    Fault { operation: "CRASH_DISK_FAIL_SYNC", lasts: true, mode: "append", step: 1 };
/// A commit has a dozen writes or more, of which every second one is a page.
const WRITES_FAIL: Fault =
    Fault { operation: "CRASH_DISK_FAIL_WRITE", lasts: true, mode: "append", step: 5 };

/// Runs `write_file` on a disk whose operation with this number fails.
fn write_on_failing_disk(
    env: &TestEnv,
    shim: &Path,
    (fault, number): (Fault, usize),
    name: &str,
    more: &[&str],
) -> Ended {
    let args = write_args(name, fault.mode);
    let fixed = ["tool", "call", "write_file", "--args", &args, "--policy", "auto"];
    let mut command = env.command(&[&fixed, more].concat());
    command
        .env("LD_PRELOAD", shim)
        .env("CRASH_DISK_FOLDER", env.outside().join("home/state/toolcrib.db"))
        .env("CRASH_DISK_LOG", env.outside().join("disk.log"))
        .env("CRASH_DISK_FAIL_ON", if fault.lasts { "1" } else { "0" })
        .env(fault.operation, number.to_string());
    end(command, b"")
}

/// Returns the stored status of the call that wrote this file, after the next process has settled
/// calls that a dead one left open; `None` if there is none.
fn stored_status(env: &TestEnv, name: &str) -> Option<String> {
    env.run(&["tool", "call", "read_file", "--args", r#"{"path": "notes.md"}"#]).code(0);
    let ended = env.run(&["history", "--json"]).code(0);
    let rows = support::json(&ended.stdout);
    let of = |row: &&Value| row["args"]["path"] == name;
    rows.as_array().unwrap().iter().find(of).map(|row| row["status"].as_str().unwrap().to_owned())
}

/// The calls of a sweep, by the answers to their callers.
#[derive(Debug, Default)]
struct Told {
    not_run: usize,
    not_recorded: usize,
    succeeded: usize,
}

/// No command has this many writes or syncs.
const MOST: usize = 500;

/// Makes later and later operations fail, until some calls have their outcome before the fault.
fn sweep(fault: Fault) -> Told {
    let env = TestEnv::new();
    let shim = shim(&env);
    let first = write_args("first", fault.mode);
    env.run(&["tool", "call", "write_file", "--args", &first, "--policy", "auto"]).code(0);
    let mut told = Told::default();
    for number in (1..MOST).step_by(fault.step) {
        if told.succeeded == 3 {
            return told;
        }
        let name = format!("n{number}");
        let at = format!("{fault:?} {number}");
        let ended = write_on_failing_disk(&env, &shim, (fault, number), &name, &["--json"]);
        let status = stored_status(&env, &name);
        match ended.code {
            0 => {
                told.succeeded += 1;
                assert_eq!(status.as_deref(), Some("succeeded"), "{at}: {ended:?}");
            }
            74 => {
                told.not_recorded += 1;
                let answer = support::json(&ended.stdout);
                assert_eq!(answer["outcome"], "unknown", "{at}");
                assert_eq!(answer["error_type"], "not_recorded", "{at}");
                assert_eq!(answer["unrecorded"]["outcome"], "succeeded", "{at}");
                assert_eq!(env.read(&name).as_deref(), Some("hi"), "{at}");
                // A repeatable call: its start may also be missing, or the next process ends it as
                // cancelled.
                let may_be = match fault.mode {
                    "append" => &[Some("succeeded"), Some("unknown")][..],
                    _ => &[Some("succeeded"), Some("cancelled"), None][..],
                };
                assert!(may_be.contains(&status.as_deref()), "{at}: {status:?}");
            }
            // Its start could not be recorded, or the store could not be opened.
            1 | 3 => {
                told.not_run += 1;
                assert_eq!(env.read(&name), None, "{at}: {ended:?}");
                assert_ne!(status.as_deref(), Some("succeeded"), "{at}: {ended:?}");
            }
            code => panic!("{at}: exit code {code}: {ended:?}"),
        }
    }
    panic!("{fault:?}: no call came through: {told:?}");
}

#[test]
fn a_call_that_is_told_as_succeeded_is_stored_as_succeeded_whenever_the_disk_fails() {
    for fault in [
        SYNCS_FAIL,
        Fault { lasts: false, ..SYNCS_FAIL },
        WRITES_FAIL,
        Fault { mode: "overwrite", ..WRITES_FAIL },
    ] {
        let told = sweep(fault);
        assert!(told.not_run > 0, "{fault:?}: no fault came before the start: {told:?}");
        assert!(told.not_recorded > 0, "{fault:?}: no fault came to the outcome: {told:?}");
    }
}

#[test]
fn the_result_of_a_call_without_a_record_is_printed() {
    let env = TestEnv::new();
    let shim = shim(&env);
    let first = write_args("first", SYNCS_FAIL.mode);
    env.run(&["tool", "call", "write_file", "--args", &first, "--policy", "auto"]).code(0);
    let printed = (1..12).find_map(|number| {
        let name = format!("n{number}");
        let ended = write_on_failing_disk(&env, &shim, (SYNCS_FAIL, number), &name, &[]);
        // Closes the database, so that the next call starts with the same syncs.
        stored_status(&env, &name);
        (ended.code == 74).then_some(ended)
    });
    let printed = printed.expect("a fault comes to the outcome");
    assert!(printed.stdout.contains("Successfully wrote 2 bytes"), "{printed:?}");
    printed.says(&["could not be recorded", "(not_recorded)", "Do not call it again"]);
}

/// A separate small file system, if this user may mount one.
struct SmallDisk(PathBuf);

impl SmallDisk {
    fn mount(env: &TestEnv) -> Option<Self> {
        let at = env.outside().join("home");
        fs::create_dir_all(&at).unwrap();
        let mut mount = Command::new("mount");
        let mounted = mount.args(["-t", "tmpfs", "-o", "size=24m", "tmpfs"]).arg(&at).output();
        mounted.is_ok_and(|done| done.status.success()).then_some(Self(at))
    }

    fn fill(&self) -> PathBuf {
        use std::io::Write as _;
        let path = self.0.join("filler");
        let mut file = fs::File::create(&path).unwrap();
        for size in [65_536, 4_096, 1] {
            while file.write_all(&vec![1; size]).is_ok() {}
        }
        path
    }
}

impl Drop for SmallDisk {
    fn drop(&mut self) {
        let _ = Command::new("umount").arg("-l").arg(&self.0).output();
    }
}

#[test]
fn on_a_full_disk_tools_that_only_read_work_and_doctor_condemns_no_healthy_database() {
    let env = TestEnv::new();
    let Some(disk) = SmallDisk::mount(&env) else { return };
    let write = |name: &str| {
        let args = write_args(name, "overwrite");
        env.run(&["tool", "call", "write_file", "--args", &args, "--policy", "auto"])
    };
    write("before").code(0);
    let filler = disk.fill();
    for _ in 0..3 {
        let read = env.run(&["tool", "call", "read_file", "--args", r#"{"path": "notes.md"}"#]);
        assert!(read.code(0).stdout.contains("buy oats"));
        let words = ["the disk is full", "no record is lost", "(store_failed)"];
        write("meanwhile").code(1).says(&words);
        assert_eq!(env.read("meanwhile"), None);
    }
    let doctor = support::json(&env.run(&["doctor", "--json"]).stdout);
    for check in doctor["checks"].as_array().unwrap() {
        assert!(!check.to_string().contains("toolcrib restore"), "{check}");
    }
    fs::remove_file(filler).unwrap();
    write("after").code(0);
    assert_eq!(stored_status(&env, "before").as_deref(), Some("succeeded"));
}
