//! A disk that fails or is full under the database: answers agree with the store, and tools that only
//! read work.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use serde_json::{Value, json};

use crate::support::{self, Ended, TestEnv, end};

/// The disk that can fail, preloaded into the binary: see its head for the variables.
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

fn write_args(name: &str) -> String {
    json!({"path": name, "content": "hi"}).to_string()
}

/// `write_file` on a disk whose syncs or writes fail, from the given number on.
fn write_on_failing_disk(
    env: &TestEnv,
    shim: &Path,
    (fault, number): (&str, u32),
    name: &str,
    more: &[&str],
) -> Ended {
    let args = write_args(name);
    let fixed = ["tool", "call", "write_file", "--args", &args, "--policy", "auto"];
    let mut command = env.command(&[&fixed, more].concat());
    command
        .env("LD_PRELOAD", shim)
        .env("CRASH_DISK_FOLDER", env.outside().join("home/state/toolcrib.db"))
        .env("CRASH_DISK_LOG", env.outside().join("disk.log"))
        .env("CRASH_DISK_FAIL_ON", "1")
        .env(fault, number.to_string());
    end(command, b"")
}

/// The stored status of the call that wrote this file, after the next process has settled what a
/// dead one left open; `None` = there is none.
fn stored_status(env: &TestEnv, name: &str) -> Option<String> {
    env.run(&["tool", "call", "read_file", "--args", r#"{"path": "notes.md"}"#]).code(0);
    let ended = env.run(&["history", "--json"]).code(0);
    let rows = support::json(&ended.stdout);
    let of = |row: &&Value| row["args"]["path"] == name;
    rows.as_array().unwrap().iter().find(of).map(|row| row["status"].as_str().unwrap().to_owned())
}

#[test]
fn a_call_that_is_told_as_succeeded_is_stored_as_succeeded_whenever_the_disk_fails() {
    let env = TestEnv::new();
    let shim = shim(&env);
    env.run(&["tool", "call", "write_file", "--args", &write_args("first"), "--policy", "auto"])
        .code(0);
    let mut not_recorded = 0;
    for fault in ["CRASH_DISK_FAIL_SYNC", "CRASH_DISK_FAIL_WRITE"] {
        for number in 1..12 {
            let name = format!("{fault}-{number}");
            let ended = write_on_failing_disk(&env, &shim, (fault, number), &name, &["--json"]);
            let status = stored_status(&env, &name);
            match ended.code {
                0 => assert_eq!(status.as_deref(), Some("succeeded"), "{name}: {ended:?}"),
                74 => {
                    not_recorded += 1;
                    let answer = support::json(&ended.stdout);
                    assert_eq!(answer["outcome"], "unknown", "{name}");
                    assert_eq!(answer["error_type"], "not_recorded", "{name}");
                    assert_eq!(answer["unrecorded"]["outcome"], "succeeded", "{name}");
                    assert_eq!(env.read(&name).as_deref(), Some("hi"));
                    let may_be = [Some("succeeded"), Some("unknown")];
                    assert!(may_be.contains(&status.as_deref()), "{name}: {status:?}");
                }
                // It could not be recorded that it starts, or the store could not be opened.
                1 | 3 => assert_eq!(env.read(&name), None, "{name}: {ended:?}"),
                code => panic!("{name}: exit code {code}: {ended:?}"),
            }
        }
    }
    assert!(not_recorded > 1, "no fault came between the start and the outcome of a call");
}

#[test]
fn the_result_of_a_call_without_a_record_is_printed() {
    let env = TestEnv::new();
    let shim = shim(&env);
    env.run(&["tool", "call", "write_file", "--args", &write_args("first"), "--policy", "auto"])
        .code(0);
    let printed = (1..12).find_map(|number| {
        let fault = ("CRASH_DISK_FAIL_SYNC", number);
        let ended = write_on_failing_disk(&env, &shim, fault, &format!("n{number}"), &[]);
        (ended.code == 74).then_some(ended)
    });
    let printed = printed.unwrap();
    assert!(printed.stdout.contains("Successfully wrote 2 bytes"), "{printed:?}");
    printed.says(&["could not be recorded", "(not_recorded)", "Do not call it again"]);
}

/// A small file system of its own, where this user may mount one.
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
        let args = write_args(name);
        env.run(&["tool", "call", "write_file", "--args", &args, "--policy", "auto"])
    };
    write("before").code(0);
    let filler = disk.fill();
    for _ in 0..3 {
        let read = env.run(&["tool", "call", "read_file", "--args", r#"{"path": "notes.md"}"#]);
        assert!(read.code(0).stdout.contains("buy oats"));
        let words = ["the disk is full", "nothing that was recorded is lost", "(store_failed)"];
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
