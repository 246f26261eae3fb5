//! Remembered approvals.

use serde_json::{Value, json};
use toolcrib_core::grant::GrantQuery;
use toolcrib_core::{Grant, GrantId, GrantScope, GrantStore, ReasonKind, Risk, RunId, StoreError};

/// Grants answer exactly what they were given for, until they expire or are revoked.
///
/// # Panics
/// When the store does something else.
pub async fn grants(store: &dyn GrantStore) {
    scopes_and_limits(store).await;
    arguments_look_as_they_must(store).await;
    the_first_that_answers_is_found(store).await;
    they_are_listed_and_revoked(store).await;
}

fn grant(owner: &str, scope: GrantScope) -> Grant {
    Grant {
        args: std::collections::BTreeMap::new(),
        id: GrantId::fresh(),
        owner: owner.into(),
        operation: "git.push".into(),
        definition_hash: "d1".into(),
        reasons: vec![ReasonKind::Risk, ReasonKind::Rule],
        risk: Risk::High,
        scope,
        run: None,
        conversation: None,
        created_by: owner.into(),
        created_at: 1_000,
        expires_at: None,
    }
}

fn query(owner: &str) -> GrantQuery<'_> {
    GrantQuery {
        args: &serde_json::Value::Null,
        owner,
        operation: "git.push",
        definition_hash: "d1",
        risk: Risk::High,
        run: None,
        conversation: "",
        now_ms: 2_000,
    }
}

async fn check(store: &dyn GrantStore, query: GrantQuery<'_>, reason: ReasonKind, found: bool) {
    let answer = store.find(query, reason).await.unwrap();
    assert_eq!(answer.is_some(), found, "{query:?} for {reason:?}: {answer:?}");
}

async fn scopes_and_limits(store: &dyn GrantStore) {
    use ReasonKind::{Risk as AtRisk, Taint};
    let run = RunId::fresh();
    store.add(grant("once", GrantScope::Once)).await.unwrap();
    store.add(grant("always", GrantScope::Always)).await.unwrap();
    let of_run = Grant { run: Some(run), ..grant("run", GrantScope::Run) };
    store.add(of_run).await.unwrap();
    let of_conversation =
        Grant { conversation: Some("c1".into()), ..grant("talk", GrantScope::Conversation) };
    store.add(of_conversation).await.unwrap();
    let ends = Grant { expires_at: Some(2_000), ..grant("ends", GrantScope::Always) };
    store.add(ends).await.unwrap();

    check(store, query("once"), AtRisk, false).await;
    check(store, query("nobody"), AtRisk, false).await;
    check(store, query("always"), AtRisk, true).await;
    check(store, query("always"), Taint, false).await;
    check(store, GrantQuery { operation: "git", ..query("always") }, AtRisk, false).await;
    check(store, GrantQuery { definition_hash: "d2", ..query("always") }, AtRisk, false).await;
    check(store, GrantQuery { risk: Risk::Safe, ..query("always") }, AtRisk, true).await;
    check(store, GrantQuery { risk: Risk::Critical, ..query("always") }, AtRisk, false).await;
    check(store, query("run"), AtRisk, false).await;
    check(store, GrantQuery { run: Some(run), ..query("run") }, AtRisk, true).await;
    check(store, GrantQuery { run: Some(RunId::fresh()), ..query("run") }, AtRisk, false).await;
    check(store, query("talk"), AtRisk, false).await;
    check(store, GrantQuery { conversation: "c1", ..query("talk") }, AtRisk, true).await;
    check(store, GrantQuery { conversation: "c2", ..query("talk") }, AtRisk, false).await;
    check(store, GrantQuery { now_ms: 1_999, ..query("ends") }, AtRisk, true).await;
    check(store, query("ends"), AtRisk, false).await;
}

/// A glob for each parameter: text as it is, other values as JSON, and what is not there fits
/// nothing.
async fn arguments_look_as_they_must(store: &dyn GrantStore) {
    let cases: [(&str, &str, Value, bool); 24] = [
        ("path", "*", json!({"path": ""}), true),
        ("path", "*", json!({"path": null}), true),
        ("path", "*", json!({}), false),
        ("path", "*", json!({"Path": "a"}), false),
        ("path", "*", json!(null), false),
        ("path", "*", json!([{"path": "a"}]), false),
        ("path", "*", json!("path"), false),
        ("path", "", json!({"path": ""}), true),
        ("path", "", json!({"path": "a"}), false),
        ("path", "a*c", json!({"path": "ac", "more": 1}), true),
        ("path", "a*c", json!({"path": "abd"}), false),
        ("path", "a*a", json!({"path": "a"}), false),
        ("path", "*\u{e9}*", json!({"path": "caf\u{e9}s"}), true),
        ("path", "a?c", json!({"path": "abc"}), false),
        ("path", "A", json!({"path": "a"}), false),
        ("n", "7", json!({"n": 7}), true),
        ("n", "7", json!({"n": "7"}), true),
        ("n", "7", json!({"n": 7.0}), false),
        ("n", "1*", json!({"n": 12}), true),
        ("n", "true", json!({"n": true}), true),
        ("n", "null", json!({"n": null}), true),
        ("n", r#"{"a":1,"b":*}"#, json!({"n": {"b": [2], "a": 1}}), true),
        ("n", r#"["a",*"#, json!({"n": ["a", "b"]}), true),
        ("n", "a*", json!({"n": ["a", "b"]}), false),
    ];
    for (place, (name, pattern, args, fits)) in cases.into_iter().enumerate() {
        let owner = format!("pattern {place}");
        let only = [(name.to_owned(), pattern.to_owned())].into();
        let given = Grant { args: only, ..grant(&owner, GrantScope::Always) };
        store.add(given.clone()).await.unwrap();
        assert_eq!(store.list(&owner).await.unwrap(), [given]);
        check(store, GrantQuery { args: &args, ..query(&owner) }, ReasonKind::Risk, fits).await;
    }
    let both = [("a".to_owned(), "1".to_owned()), ("b".to_owned(), "x*".to_owned())].into();
    store.add(Grant { args: both, ..grant("both", GrantScope::Always) }).await.unwrap();
    for (args, fits) in [
        (json!({"a": 1, "b": "xy"}), true),
        (json!({"a": 1, "b": "y"}), false),
        (json!({"b": "xy"}), false),
    ] {
        check(store, GrantQuery { args: &args, ..query("both") }, ReasonKind::Risk, fits).await;
    }
}

async fn the_first_that_answers_is_found(store: &dyn GrantStore) {
    let expired = Grant { expires_at: Some(1_500), ..grant("order", GrantScope::Always) };
    let (first, second) = (grant("order", GrantScope::Always), grant("order", GrantScope::Always));
    // Order of adding counts, not of ids.
    for grant in [&expired, &second, &first] {
        store.add(grant.clone()).await.unwrap();
    }
    let found = store.find(query("order"), ReasonKind::Rule).await.unwrap();
    assert_eq!(found.as_ref(), Some(&second));
    assert!(store.revoke(second.id, "ann", 3).await.unwrap());
    let found = store.find(query("order"), ReasonKind::Rule).await.unwrap();
    assert_eq!(found.as_ref(), Some(&first));
}

async fn they_are_listed_and_revoked(store: &dyn GrantStore) {
    let given = [grant("list", GrantScope::Always), grant("list", GrantScope::Once)];
    for grant in &given {
        store.add(grant.clone()).await.unwrap();
    }
    store.add(grant("somebody", GrantScope::Always)).await.unwrap();
    assert_eq!(store.list("list").await.unwrap(), given);
    assert!(matches!(store.add(given[0].clone()).await, Err(StoreError::Conflict(_))));
    assert!(store.revoke(given[0].id, "ann", 3).await.unwrap());
    assert!(!store.revoke(given[0].id, "ann", 3).await.unwrap());
    assert_eq!(store.list("list").await.unwrap(), given[1..]);
    assert!(store.list("nobody at all").await.unwrap().is_empty());
}
