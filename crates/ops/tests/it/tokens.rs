//! Operations on tokens.

use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};

use serde_json::{Value, json};
use toolcrib_app::Secrets;
use toolcrib_core::audit::LOCAL_CHAIN;
use toolcrib_core::{ApiToken, BoxFuture, StoreError, TokenStore};
use toolcrib_ops::role::{Role, Roles};
use toolcrib_ops::tokens::{
    self, CallerRights, CreateTokenRequest, ListTokensRequest, MadeToken, RevokeTokenRequest,
    ShowTokenRequest, TokenContext, TokenTable,
};
use toolcrib_ops::{ErrorClass, OpError, StoreContext};

use crate::fixture::Fixture;

/// The tokens of a daemon, without its cache.
struct Table {
    store: Arc<dyn TokenStore>,
    made: AtomicU32,
}

impl TokenTable for Table {
    fn generate(&self) -> Result<String, OpError> {
        Ok(format!("tcb_{}", self.made.fetch_add(1, Ordering::Relaxed)))
    }

    fn list(&self) -> BoxFuture<'_, Result<Vec<ApiToken>, StoreError>> {
        self.store.tokens()
    }

    fn add<'a>(
        &'a self,
        _token: &'a str,
        row: ApiToken,
    ) -> BoxFuture<'a, Result<bool, StoreError>> {
        Box::pin(async move {
            let others = self.store.tokens().await?;
            let is_free = others.iter().all(|other| other.name != row.name);
            if is_free {
                self.store.add_token(row).await?;
            }
            Ok(is_free)
        })
    }

    fn revoke<'a>(
        &'a self,
        token: &'a ApiToken,
        by: &'a str,
    ) -> BoxFuture<'a, Result<bool, StoreError>> {
        self.store.revoke_token(token.id, by, 7)
    }
}

fn table(fixture: &Fixture) -> Table {
    let store = Arc::clone(&fixture.toolcrib.stores().tokens);
    Table { store, made: AtomicU32::new(0) }
}

fn rights(roles: &[Role]) -> CallerRights<'static> {
    CallerRights { roles: Roles::from_roles(roles), tools: None, expires_at: None }
}

fn context<'a>(
    store: StoreContext<'a>,
    tokens: &'a Table,
    secrets: &'a Secrets,
    rights: CallerRights<'a>,
) -> TokenContext<'a> {
    TokenContext { store, secrets, tokens, rights }
}

/// Returns a request for a caller's token with some fields changed.
fn wanted(changes: &Value) -> CreateTokenRequest {
    let mut whole = json!({"name": "ci", "roles": ["caller"]});
    for (key, value) in changes.as_object().unwrap() {
        whole[key] = value.clone();
    }
    serde_json::from_value(whole).unwrap()
}

#[tokio::test]
async fn a_token_is_created_listed_shown_and_revoked_and_the_audit_says_by_whom() {
    let fixture = Fixture::new().await;
    let (table, secrets) = (table(&fixture), Secrets::default());
    let ctx = context(fixture.store(), &table, &secrets, rights(&[Role::Owner]));
    let made: MadeToken = tokens::create(&ctx, wanted(&json!({}))).await.unwrap();
    assert_eq!((made.row.created_by.as_str(), made.row.holds), ("ann", true));
    let again = tokens::create(&ctx, wanted(&json!({}))).await.unwrap_err();
    assert_eq!(again.class(), ErrorClass::Conflict);
    let second = tokens::create(&ctx, wanted(&json!({"name": "b"}))).await.unwrap();
    let all = tokens::list(&ctx, ListTokensRequest::default()).await.unwrap();
    assert_eq!(all, [made.row.clone(), second.row.clone()]);
    let page = ListTokensRequest { after: Some(made.row.id), limit: Some(1) };
    assert_eq!(tokens::list(&ctx, page).await.unwrap(), std::slice::from_ref(&second.row));
    let id = made.row.id;
    assert_eq!(tokens::show(&ctx, ShowTokenRequest { id }).await.unwrap(), made.row);
    assert!(tokens::revoke(&ctx, RevokeTokenRequest { id }).await.unwrap().changed);
    assert!(!tokens::revoke(&ctx, RevokeTokenRequest { id }).await.unwrap().changed);
    let shown = tokens::show(&ctx, ShowTokenRequest { id }).await.unwrap();
    assert_eq!((shown.holds, shown.revoked_by.as_deref()), (false, Some("ann")));
    let records = fixture.toolcrib.stores().audit.records(LOCAL_CHAIN, 0, 100).await.unwrap();
    let texts: Vec<&str> = records.iter().map(|record| record.text.as_str()).collect();
    for act in ["token.add", "token.revoke"] {
        let of_act = texts.iter().filter(|text| text.contains(act) && text.contains("ann"));
        assert_eq!(of_act.count(), if act == "token.add" { 2 } else { 1 }, "{texts:?}");
    }
    assert!(!texts.concat().contains(&made.token), "{texts:?}");
}

#[tokio::test]
async fn tokens_of_another_owner_do_not_exist() {
    let fixture = Fixture::new().await;
    let (table, secrets) = (table(&fixture), Secrets::default());
    let ctx = context(fixture.store(), &table, &secrets, rights(&[Role::Owner]));
    let own = tokens::create(&ctx, wanted(&json!({}))).await.unwrap().row;
    let of_ben = tokens::create(&ctx, wanted(&json!({"name": "b", "owner": "ben"}))).await.unwrap();
    let ben = context(fixture.other_owner(), &table, &secrets, rights(&[Role::Owner]));
    assert_eq!(tokens::list(&ben, ListTokensRequest::default()).await.unwrap(), [of_ben.row]);
    let show = tokens::show(&ben, ShowTokenRequest { id: own.id }).await.unwrap_err();
    assert_eq!(show.class(), ErrorClass::NotFound);
    let revoke = tokens::revoke(&ben, RevokeTokenRequest { id: own.id }).await.unwrap_err();
    assert_eq!(revoke.class(), ErrorClass::NotFound);
}

#[tokio::test]
async fn a_token_with_more_tools_than_the_caller_has_is_not_revoked() {
    let fixture = Fixture::new().await;
    let (table, secrets) = (table(&fixture), Secrets::default());
    let ctx = context(fixture.store(), &table, &secrets, rights(&[Role::Owner]));
    let id = tokens::create(&ctx, wanted(&json!({}))).await.unwrap().row.id;
    let tools = ["read_file".to_owned()];
    let narrow = CallerRights { tools: Some(&tools), ..rights(&[Role::Owner]) };
    let narrow = context(fixture.store(), &table, &secrets, narrow);
    let refused = tokens::revoke(&narrow, RevokeTokenRequest { id }).await.unwrap_err();
    assert_eq!(refused.class(), ErrorClass::Denied);
}

/// Returns the class of the failure to create a token with these changes; `None` if it is created.
async fn failure(
    store: fn(&Fixture) -> StoreContext<'_>,
    rights: CallerRights<'_>,
    changes: Value,
) -> Option<ErrorClass> {
    let fixture = Fixture::new().await;
    let (table, secrets) = (table(&fixture), Secrets::default());
    let ctx = context(store(&fixture), &table, &secrets, rights);
    tokens::create(&ctx, wanted(&changes)).await.err().map(|error| error.class())
}

#[tokio::test]
async fn a_token_gives_no_more_than_its_creator_has() {
    let denied = Some(ErrorClass::Denied);
    let owner = rights(&[Role::Owner]);
    let less = rights(&[Role::Caller, Role::Approver]);
    let tools = ["read_file".to_owned()];
    let narrow = CallerRights { tools: Some(&tools), ..owner };
    let in_ten_seconds = jiff::Timestamp::now().as_millisecond() + 10_000;
    let brief = CallerRights { expires_at: Some(in_ten_seconds), ..owner };
    for (rights, changes, expected) in [
        (owner, json!({"roles": ["owner"]}), None),
        (owner, json!({"owner": "ben", "tools": ["read_file", "github__*"]}), None),
        (less, json!({"roles": ["viewer", "caller", "approver"]}), None),
        (less, json!({"roles": ["caller", "operator"]}), denied),
        (less, json!({"roles": ["caller", "owner"]}), denied),
        (narrow, json!({"tools": ["read_file"]}), None),
        (narrow, json!({"tools": []}), None),
        (narrow, json!({}), denied),
        (narrow, json!({"tools": ["read_*"]}), denied),
        (brief, json!({"expires_in_seconds": 5}), None),
        (brief, json!({"expires_in_seconds": 60}), denied),
        (brief, json!({}), denied),
    ] {
        assert_eq!(failure(Fixture::store, rights, changes.clone()).await, expected, "{changes}");
    }
    for (changes, expected) in [
        (json!({}), None),
        (json!({"owner": "ben"}), None),
        (json!({"owner": ""}), denied),
        (json!({"owner": "ann"}), denied),
    ] {
        let found = failure(Fixture::other_owner, owner, changes.clone()).await;
        assert_eq!(found, expected, "{changes}");
    }
}

#[tokio::test]
async fn a_token_that_makes_no_sense_is_refused() {
    for bad in [
        json!({"name": ""}),
        json!({"name": "  "}),
        json!({"name": "a\nb"}),
        json!({"name": "x".repeat(61)}),
        json!({"roles": []}),
        json!({"tools": [""]}),
        json!({"tools": ["a b"]}),
        json!({"tools": vec!["x"; 201]}),
        json!({"expires_in_seconds": 0}),
        json!({"expires_in_seconds": u64::MAX}),
        json!({"owner": "ben", "roles": ["operator"]}),
    ] {
        let found = failure(Fixture::store, rights(&[Role::Owner]), bad.clone()).await;
        assert_eq!(found, Some(ErrorClass::Invalid), "{bad}");
    }
}
