//! The program itself is run, as `cargo xtask crash` runs it.

use std::process::{Command, Output};

use serde_json::Value;

/// What must not be.
const FINDINGS: [&str; 7] =
    ["lost", "doubled", "silent_reruns", "audit_failures", "contradictions", "orphans", "stuck"];

fn output(args: &[&str], variables: &[(&str, &str)]) -> Output {
    Command::new(env!("CARGO_BIN_EXE_toolcrib-fault-injection"))
        .args(args)
        .args(["--json"])
        .envs(variables.iter().copied())
        .output()
        .unwrap()
}

pub(crate) fn report(args: &[&str], variables: &[(&str, &str)]) -> (bool, Value) {
    let out = output(args, variables);
    let said = String::from_utf8(out.stdout).unwrap();
    let report: Value = serde_json::from_str(&said)
        .unwrap_or_else(|_| panic!("{said}{}", String::from_utf8_lossy(&out.stderr)));
    (out.status.success(), report)
}

fn run(args: &[&str]) -> Value {
    let (is_clean, report) = report(args, &[]);
    for finding in FINDINGS {
        assert_eq!(report[finding], 0, "{finding}: {report:#}");
    }
    assert!(is_clean, "{report:#}");
    report
}

#[test]
fn a_hundred_kills_lose_double_and_repeat_nothing() {
    let report = run(&["--rounds", "9", "--random", "28"]);
    assert_eq!(report["rounds"], 100);
    // A run in which nothing happened would find nothing either.
    for some in ["calls", "acknowledged", "unknown", "resent", "audit_records"] {
        assert!(report[some].as_u64().unwrap() > 20, "{some}: {report:#}");
    }
    for fault in ["raced", "outlived"] {
        assert!(report[fault].as_u64().unwrap() > 0, "{fault}: {report:#}");
    }
    for (point, row) in report["by_point"].as_object().unwrap() {
        let (rounds, unreached) =
            (row["rounds"].as_u64().unwrap(), row["unreached"].as_u64().unwrap());
        assert!(unreached < rounds, "{point} was never reached: {report:#}");
    }
}

#[cfg(target_os = "linux")]
#[test]
fn twenty_power_cuts_lose_nothing_that_was_promised() {
    let report = run(&["--power-cuts", "20"]);
    assert_eq!(report["rounds"], 20);
    assert!(report["acknowledged"].as_u64().unwrap() > 100, "{report:#}");
}

/// A process that created the database under its own name left a file that no start could open:
/// "file is not a database", "database disk image is malformed".
#[cfg(target_os = "linux")]
#[test]
fn a_power_cut_while_the_database_is_created_leaves_a_store_that_opens() {
    let report = run(&["--creation-cuts", "12"]);
    assert_eq!(report["rounds"], 36);
    for (loss, row) in report["by_point"].as_object().unwrap() {
        assert_eq!(row["unreached"], 0, "{loss}: {report:#}");
    }
}

/// A judge that finds nothing on a disk that forgets everything would find nothing anywhere.
#[cfg(target_os = "linux")]
#[test]
fn a_disk_that_does_not_sync_is_found() {
    let out = output(&["--power-cuts", "4"], &[("CRASH_DISK_DEAF", "1")]);
    assert!(!out.status.success());
    // What such a disk has forgotten may be half of the schema, the first page, or everything: then
    // there is no database to compare with.
    let said = String::from_utf8_lossy(&out.stderr);
    let unreadable =
        ["malformed", "not a database", "is damaged"].iter().any(|word| said.contains(word));
    let report: Value = serde_json::from_slice(&out.stdout).unwrap_or_default();
    let lost = report["lost"].as_u64().is_some_and(|lost| lost > 0);
    assert!(unreadable || lost, "{report:#}{said}");
}

#[cfg(target_os = "linux")]
#[test]
fn a_disk_that_fails_or_is_full_loses_nothing_that_was_promised() {
    let report = run(&["--anomalies", "--step", "31"]);
    for (fault, row) in report["by_point"].as_object().unwrap() {
        assert!(row["rounds"].as_u64() > row["unreached"].as_u64(), "{fault}: {report:#}");
    }
}
