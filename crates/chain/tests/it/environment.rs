//! The managed environment, without a network: what is there, what is half there, what is removed.

use toolcrib_chain::{Environment, EnvironmentError, EnvironmentState, Interpreter, REQUIREMENTS};

use crate::world::{World, env};

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
    let environment = Environment::new(folder.path().join("python/environment"));
    assert_eq!(environment.state(), EnvironmentState::Missing);
    environment.remove().unwrap();
    let python = Interpreter::find(&env()).await.expect("a Python on this machine");
    // Its installer finds no package anywhere.
    let mut lonely = env();
    lonely.extend([
        ("PIP_NO_INDEX".into(), "1".into()),
        ("PIP_FIND_LINKS".into(), "/no/such".into()),
    ]);
    let error = environment.install(&python, &lonely).unwrap_err();
    assert!(
        matches!(error, EnvironmentError::Step { step: "installing the packages", .. }),
        "{error}"
    );
    assert_eq!(environment.state(), EnvironmentState::Unfinished);
    let world = World::with(|setup| setup.environment = environment.clone()).await;
    assert_eq!(world.full("1 + 1").await.text(), "2");
    let said = world.full("import numpy").await;
    if said.output().is_error {
        assert!(said.text().contains("toolcrib python install"), "{}", said.text());
    }
    environment.remove().unwrap();
    assert_eq!(environment.state(), EnvironmentState::Missing);
}
