//! `toolcrib audit tail|show|export|verify`: records of real calls, their verification, and the
//! detection of tampering.

use std::fs;
use std::io::{BufRead as _, BufReader};
use std::path::PathBuf;

use serde_json::{Value, json};

use crate::support::{TestEnv, json as parsed, lines};

/// Creates an environment in which one call changed something, one did not, and one was denied.
fn with_calls() -> TestEnv {
    let env = TestEnv::new();
    env.write("old.txt", "old");
    let delete = json!({"path": "old.txt"});
    let (_, code) = env.call("delete_file", &delete, &["--policy", "auto"]);
    assert_eq!(code, 0);
    let (_, code) = env.call("read_file", &json!({"path": "notes.md"}), &[]);
    assert_eq!(code, 0);
    let (_, code) = env.call("delete_file", &delete, &["--policy", "locked"]);
    assert_eq!(code, 5);
    env
}

fn state(env: &TestEnv) -> PathBuf {
    env.outside().join("home/state")
}

/// Returns the records, oldest first.
fn records(env: &TestEnv) -> Vec<Value> {
    lines(&env.run(&["audit", "tail", "--json", "-n", "1000"]).code(0).stdout)
}

fn verify(env: &TestEnv, more: &[&str], code: i32) -> Value {
    let ended = env.run(&[&["audit", "verify", "--json"], more].concat()).code(code);
    parsed(&ended.stdout)
}

#[test]
fn tail_shows_what_calls_did() {
    let env = with_calls();
    let records = records(&env);
    let settled: Vec<(&str, &str)> = records
        .iter()
        .map(|row| &row["record"])
        .filter(|record| record["kind"] == "settled")
        .map(|r| (r["tool"].as_str().unwrap(), r["outcome"].as_str().unwrap()))
        .collect();
    assert_eq!(
        settled,
        [("delete_file", "succeeded"), ("read_file", "succeeded"), ("delete_file", "denied")]
    );
    let seqs: Vec<u64> = records.iter().map(|row| row["seq"].as_u64().unwrap()).collect();
    assert_eq!(seqs, (1..=records.len() as u64).collect::<Vec<_>>());
    let started = records.iter().filter(|row| row["record"]["kind"] == "started").count();
    assert_eq!(started, 1, "only the call that may change something: {records:#?}");
    let text = env.run(&["audit", "tail", "-n", "1"]).code(0).stdout;
    let rows: Vec<&str> = text.lines().collect();
    assert!(rows.len() == 2 && rows[0].contains("KIND") && rows[1].contains("denied"), "{text}");
}

#[test]
fn show_finds_a_call_or_a_record() {
    let env = with_calls();
    let records = records(&env);
    let last = records.last().unwrap();
    let call = last["record"]["call"].as_str().unwrap();
    let of_call = parsed(&env.run(&["audit", "show", call, "--json"]).code(0).stdout);
    assert!(of_call.as_array().unwrap().iter().all(|row| row["record"]["call"] == call));
    let seq = last["seq"].to_string();
    let one = parsed(&env.run(&["audit", "show", &seq, "--json"]).code(0).stdout);
    assert_eq!(&one, last);
    let card = env.run(&["audit", "show", &seq]).code(0).stdout;
    for word in ["record ", "kind", "settled", "denied", call, last["hash"].as_str().unwrap()] {
        assert!(card.contains(word), "{word}: {card}");
    }
    env.run(&["audit", "show", "100000"]).code(4).says(&["no record 100000", "the newest is"]);
    let mut unknown = call.to_owned();
    unknown.replace_range(call.len() - 4.., "ffff");
    env.run(&["audit", "show", &unknown]).code(4).says(&["no call", "call_"]);
}

#[test]
fn nothing_recorded_is_no_failure() {
    let env = TestEnv::new();
    env.run(&["audit", "tail"]).code(0).says(&["no records yet"]);
    let proof = verify(&env, &[], 0);
    assert_eq!((&proof["sound"], &proof["chains"]), (&json!(true), &json!([])));
    env.run(&["audit", "show", "1"]).code(4).says(&["no records yet"]);
}

#[test]
fn an_untouched_history_is_sound_and_signed_to_its_end() {
    let env = with_calls();
    let proof = verify(&env, &["--calls"], 0);
    let chain = &proof["chains"][0];
    assert_eq!(chain["records"].as_u64().unwrap(), records(&env).len() as u64);
    assert_eq!(chain["signed"], chain["last"], "every process signs when it ends: {proof:#}");
    assert_eq!((&chain["findings"], &chain["remarks"]), (&json!([]), &json!([])));
    assert_eq!((&proof["calls"]["calls"], &proof["calls"]["findings"]), (&json!(3), &json!([])));
    let text = env.run(&["audit", "verify"]).code(0).stdout;
    assert!(text.contains("chain 1: ") && text.ends_with("sound\n"), "{text}");
}

#[test]
fn an_export_is_verified_without_the_database() {
    let env = with_calls();
    let key = state(&env).join("audit/audit-key.pub");
    let key = key.to_str().unwrap();
    let count = records(&env).len();
    env.run(&["audit", "export", "-o", "all.jsonl"]).code(0).says(&["records exported"]);
    let all = env.read("all.jsonl").unwrap();
    assert_eq!(env.run(&["audit", "export"]).code(0).stdout, all);
    let of_type = |text: &str, kind: &str| lines(text).iter().filter(|l| l["type"] == kind).count();
    assert_eq!(of_type(&all, "record"), count);
    assert!(of_type(&all, "checkpoint") > 0);
    // The other machine has only the export and the key.
    let elsewhere = TestEnv::new();
    elsewhere.write("all.jsonl", &all);
    let proof = verify(&elsewhere, &["--file", "all.jsonl", "--key", key], 0);
    assert_eq!(proof["chains"][0]["records"], json!(count));
    elsewhere.run(&["audit", "verify", "--file", "all.jsonl"]).code(3).says(&["--key"]);
    let part = env.run(&["audit", "export", "--since", "3"]).code(0).stdout;
    assert_eq!(of_type(&part, "record"), count - 2);
    elsewhere.write("part.jsonl", &part);
    verify(&elsewhere, &["--file", "part.jsonl", "--key", key], 0);
    let none = env.run(&["audit", "export", "--since", "2100-01-01"]).code(0).stdout;
    assert_eq!(of_type(&none, "record"), 0);
    let first = env.run(&["audit", "export", "--since", "1h"]).code(0).stdout;
    assert_eq!(of_type(&first, "record"), count);

    elsewhere.write("edited.jsonl", all.replace("read_file", "real_file"));
    let proof = verify(&elsewhere, &["--file", "edited.jsonl", "--key", key], 1);
    assert_eq!(proof["chains"][0]["findings"][0]["finding"], "altered");
    elsewhere.write("cut.jsonl", &all[..all.len() / 2]);
    elsewhere
        .run(&["audit", "verify", "--file", "cut.jsonl", "--key", key])
        .code(3)
        .says(&["line"]);
    elsewhere.run(&["audit", "verify", "--file", "none.jsonl", "--key", key]).code(3);
}

#[test]
fn a_database_that_is_gone_or_replaced_is_found_by_its_anchors() {
    let env = with_calls();
    for name in ["toolcrib.db", "toolcrib.db-wal", "toolcrib.db-shm"] {
        let _ = fs::remove_file(state(&env).join(name));
    }
    let proof = verify(&env, &[], 1);
    assert_eq!(proof["chains"][0]["findings"][0]["finding"], "tail_cut");
    env.call("read_file", &json!({"path": "notes.md"}), &[]);
    let proof = verify(&env, &[], 1);
    assert!(!proof["chains"][0]["findings"].as_array().unwrap().is_empty());
    let text = env.run(&["audit", "verify"]).code(1).stdout;
    assert!(text.contains("  ! ") && text.contains("NOT SOUND"), "{text}");
}

#[test]
fn keys_and_anchors_that_cannot_be_used_are_said() {
    let env = with_calls();
    let audit = state(&env).join("audit");
    env.run(&["audit", "verify", "--anchors", "none.jsonl"]).code(3).says(&["none.jsonl"]);
    env.write("bad.pub", "not a key\n");
    env.run(&["audit", "verify", "--key", "bad.pub"]).code(3).says(&["line 1 is not a public key"]);
    env.write("other.pub", format!("{}\n", "ab".repeat(32)));
    let proof = verify(&env, &["--key", "other.pub"], 1);
    assert_eq!(proof["chains"][0]["findings"][0]["finding"], "forged_checkpoint");
    // A line that a crash cut off is not a finding.
    let anchors = fs::read_to_string(audit.join("anchors.jsonl")).unwrap();
    fs::write(audit.join("anchors.jsonl"), format!("{anchors}{}", &anchors[..30])).unwrap();
    let proof = verify(&env, &[], 0);
    assert_eq!(proof["remarks"][0]["remark"], "torn_anchors");
    fs::remove_file(audit.join("anchors.jsonl")).unwrap();
    env.run(&["audit", "verify"]).code(0).says(&["there is no anchor file"]);
    fs::remove_file(audit.join("audit-key.pub")).unwrap();
    env.run(&["audit", "verify"]).code(3).says(&["there is no public key", "--key"]);
}

#[test]
fn a_file_that_is_no_database_cannot_be_read() {
    let env = TestEnv::new();
    fs::create_dir_all(state(&env)).unwrap();
    fs::write(state(&env).join("toolcrib.db"), "no database at all, but long enough to look at")
        .unwrap();
    env.run(&["audit", "verify"]).code(3).says(&["not a Toolcrib store"]);
}

#[test]
fn follow_shows_what_is_written_from_now_on() {
    let env = with_calls();
    let count = records(&env).len();
    let mut command = env.command(&["audit", "tail", "-f", "-n", "1", "--json"]);
    let mut child = command.spawn().unwrap();
    let mut rows = BufReader::new(child.stdout.take().unwrap()).lines();
    let mut next = || parsed(&rows.next().unwrap().unwrap());
    assert_eq!(next()["seq"], json!(count));
    env.call("read_file", &json!({"path": "notes.md"}), &[]);
    let row = next();
    assert_eq!((&row["seq"], &row["record"]["tool"]), (&json!(count + 1), &json!("read_file")));
    child.kill().unwrap();
    child.wait().unwrap();
}
