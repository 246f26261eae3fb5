//! Tests of the managed virtual environment, without a network: its states, and its removal.

use toolcrib_code_mode::{Interpreter, REQUIREMENTS, VirtualEnv, VirtualEnvError, VirtualEnvState};

use crate::support::{World, env};

#[test]
fn every_package_is_pinned_and_has_hashes() {
    let mut packages = 0;
    let mut open = false;
    for line in REQUIREMENTS.lines() {
        if let Some(hash) = line.trim().strip_prefix("--hash=sha256:") {
            let hash = hash.trim_end_matches([' ', '\\']);
            assert!(hash.len() == 64 && hash.bytes().all(|b| b.is_ascii_hexdigit()), "{line}");
            open = false;
        } else {
            assert!(!open && line.contains("==") && line.ends_with('\\'), "{line}");
            (packages, open) = (packages + 1, true);
        }
    }
    assert!(packages > 10 && !open);
}

#[tokio::test]
async fn an_installation_that_was_not_finished_is_not_used() {
    let folder = tempfile::tempdir().unwrap();
    let environment = VirtualEnv::new(folder.path().join("python/environment"));
    assert_eq!(environment.state(), VirtualEnvState::Missing);
    environment.remove().unwrap();
    let python = Interpreter::find(&env()).await.expect("a Python on this machine");
    // The installer finds no package at all.
    let mut lonely = env();
    lonely.extend([
        ("PIP_NO_INDEX".into(), "1".into()),
        ("PIP_FIND_LINKS".into(), "/no/such".into()),
    ]);
    let error = environment.install(&python, &lonely).unwrap_err();
    assert!(
        matches!(error, VirtualEnvError::Step { step: "installing the packages", .. }),
        "{error}"
    );
    assert_eq!(environment.state(), VirtualEnvState::Unfinished);
    let world = World::with(|setup| setup.environment = environment.clone()).await;
    assert_eq!(world.full("1 + 1").await.text(), "2");
    let said = world.full("import numpy").await;
    if said.output().is_error {
        assert!(said.text().contains("toolcrib python install"), "{}", said.text());
    }
    environment.remove().unwrap();
    assert_eq!(environment.state(), VirtualEnvState::Missing);
}

/// Packages that differ from those with which this build was made are not installed, from any
/// source.
#[tokio::test]
async fn a_package_with_another_hash_is_not_installed() {
    let folder = tempfile::tempdir().unwrap();
    let mirror = folder.path().join("mirror");
    std::fs::create_dir(&mirror).unwrap();
    for line in REQUIREMENTS.lines() {
        let words: Vec<&str> = line.split("==").collect();
        let [name, version, ..] = words.as_slice() else { continue };
        let version = version.split([' ', ';']).next().unwrap();
        let file = format!("{}-{version}-py3-none-any.whl", name.replace('-', "_"));
        std::fs::write(mirror.join(file), "not what was pinned").unwrap();
    }
    let environment = VirtualEnv::new(folder.path().join("python/environment"));
    let python = Interpreter::find(&env()).await.expect("a Python on this machine");
    let mut forged = env();
    forged.extend([
        ("PIP_NO_INDEX".into(), "1".into()),
        ("PIP_FIND_LINKS".into(), mirror.clone().into_os_string()),
        ("PIP_LOG".into(), folder.path().join("log").into_os_string()),
    ]);
    let error = environment.install(&python, &forged).unwrap_err();
    assert!(
        matches!(error, VirtualEnvError::Step { step: "installing the packages", .. }),
        "{error}"
    );
    let log = std::fs::read_to_string(folder.path().join("log")).unwrap();
    assert!(log.contains("DO NOT MATCH THE HASHES"), "{log}");
    assert_eq!(environment.state(), VirtualEnvState::Unfinished);
}
