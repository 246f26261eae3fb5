//! Tokens.

use toolcrib_core::{ApiToken, Revocation, StoreError, TokenHash, TokenId, TokenStore};

fn token(text: &str) -> ApiToken {
    ApiToken {
        id: TokenId::fresh(),
        name: "odd \u{e9}\u{0}\u{1}".into(),
        hash: TokenHash::from_token(text),
        roles: vec!["caller".into(), "approver".into()],
        owner: "ann".into(),
        tools: Some(vec!["read_file".into(), "github__*".into()]),
        created_by: "owner".into(),
        created_at: 1,
        expires_at: Some(i64::MAX),
        revoked: None,
        last_used_at: None,
    }
}

/// A token is found by its hash as it was made, and holds until it is taken back.
///
/// # Panics
/// When the store does something else.
pub async fn tokens(store: &dyn TokenStore) {
    assert_eq!(store.tokens().await, Ok(Vec::new()));
    let (first, second) = (token("first"), token("second"));
    let plain = ApiToken { tools: None, expires_at: None, roles: Vec::new(), ..token("plain") };
    // Out of order: they are listed by their ids, which follow time.
    for row in [&second, &first, &plain] {
        // What has not happened yet is not believed.
        let marked = ApiToken {
            revoked: Some(Revocation { by: "x".into(), at: 0 }),
            last_used_at: Some(7),
            ..row.clone()
        };
        store.add_token(marked).await.unwrap();
    }
    assert_eq!(store.tokens().await.unwrap(), [first.clone(), second.clone(), plain.clone()]);
    for row in [&first, &plain] {
        assert_eq!(store.token_by_hash(&row.hash).await.unwrap().as_ref(), Some(row));
    }
    assert_eq!(store.token_by_hash(&TokenHash::from_token("third")).await, Ok(None));
    they_are_there_once(store, &first).await;
    they_are_used_and_revoked(store, first, second).await;
}

async fn they_are_there_once(store: &dyn TokenStore, old: &ApiToken) {
    let same_id = ApiToken { hash: TokenHash::from_token("other"), ..old.clone() };
    let same_hash = ApiToken { id: TokenId::fresh(), ..old.clone() };
    for row in [same_id, same_hash] {
        assert!(matches!(store.add_token(row).await, Err(StoreError::Conflict(_))));
    }
    assert_eq!(store.tokens().await.unwrap().len(), 3);
}

async fn they_are_used_and_revoked(store: &dyn TokenStore, first: ApiToken, second: ApiToken) {
    for (at, last) in [(5, 5), (9, 9), (7, 9)] {
        store.touch_token(first.id, at).await.unwrap();
        let found = store.token_by_hash(&first.hash).await.unwrap().unwrap();
        assert_eq!(found.last_used_at, Some(last));
    }
    store.touch_token(TokenId::fresh(), 5).await.unwrap();
    assert_eq!(store.revoke_token(first.id, "ann \u{0}", 10).await, Ok(true));
    assert_eq!(store.revoke_token(first.id, "ben", 11).await, Ok(false));
    assert_eq!(store.revoke_token(TokenId::fresh(), "ben", 11).await, Ok(false));
    let found = store.token_by_hash(&first.hash).await.unwrap().unwrap();
    assert!(!found.is_valid_at(0));
    let revoked = Some(Revocation { by: "ann \u{0}".into(), at: 10 });
    assert_eq!(found, ApiToken { revoked, last_used_at: Some(9), ..first });
    let other = store.token_by_hash(&second.hash).await.unwrap().unwrap();
    assert!(other.is_valid_at(i64::MAX - 1) && !other.is_valid_at(i64::MAX));
}
