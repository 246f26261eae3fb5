//! `toolcrib prove`: six claims hold on this machine, and no files are left behind.

use std::fs;

use crate::support::{self, TestEnv, end};

#[test]
fn every_claim_holds_and_nothing_stays() {
    let env = TestEnv::new();
    let temp = env.outside().join("temp");
    fs::create_dir(&temp).unwrap();
    let mut command = env.command(&["prove", "--json"]);
    command.env("TMPDIR", &temp).env("PATH", std::env::var_os("PATH").unwrap());
    let ended = end(command, b"").code(0);
    let proof = support::json(&ended.stdout);
    assert_eq!(proof["holds"], true, "{proof}");
    let claims = proof["claims"].as_array().unwrap();
    assert_eq!(claims.len(), 6);
    for claim in claims {
        assert_eq!(claim["holds"], true, "{claim}");
        assert!(claim["commands"][0].as_str().unwrap().starts_with("toolcrib "), "{claim}");
    }
    assert_eq!(fs::read_dir(&temp).unwrap().count(), 0, "its folder is removed");
    assert!(!env.outside().join("home").exists(), "the person's own state is not touched");
}

/// Variables of the person have no effect, because the commands run without them.
#[test]
fn variables_of_the_person_do_not_matter() {
    let env = TestEnv::new();
    let mut command = env.command(&["prove"]);
    command
        .env("PATH", std::env::var_os("PATH").unwrap())
        .env("TOOLCRIB_POLICY", "locked")
        .env("TOOLCRIB_DAEMON", "http://127.0.0.1:9");
    let ended = end(command, b"").code(0);
    assert!(ended.stdout.ends_with("6 of 6 hold on this machine\n"), "{}", ended.stdout);
}
