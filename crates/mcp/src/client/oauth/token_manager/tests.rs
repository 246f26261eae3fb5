//! Token manager: concurrent changes of the stored credentials by other processes.

use std::sync::Mutex as Shared;
use std::sync::atomic::{AtomicU64, Ordering};

use toolcrib_core::BoxFuture;
use toolcrib_net::AddressPolicy;
use toolcrib_sandbox::Process;

use super::super::stored_credentials::{AuthMethod, StoredTokens};
use super::*;
use crate::client::{ReviewedTools, Stdio};

const SERVER: &str = "https://a.org/mcp";

/// Stores one text. `meanwhile` is the text that another process stores before the lock is granted.
#[derive(Default)]
struct Memory {
    changes: AtomicU64,
    text: Shared<Option<String>>,
    meanwhile: Shared<Option<String>>,
}

impl ClientHost for Memory {
    fn start<'a>(
        &'a self,
        _: &'a str,
        _: &'a Stdio,
        _: bool,
    ) -> BoxFuture<'a, Result<Process, String>> {
        Box::pin(std::future::ready(Err("no programs here".to_owned())))
    }

    fn http(&self) -> HttpClient {
        HttpClient::new(AddressPolicy::public_only())
    }

    fn secret(&self, name: &str) -> Result<String, String> {
        Err(format!("no secret {name}"))
    }

    fn authorization<'a>(&'a self, _: &'a str) -> BoxFuture<'a, Option<String>> {
        Box::pin(std::future::ready(self.text.lock().unwrap().clone()))
    }

    fn store_authorization<'a>(
        &'a self,
        _: &'a str,
        text: Option<&'a str>,
    ) -> BoxFuture<'a, Result<(), String>> {
        *self.text.lock().unwrap() = text.map(str::to_owned);
        Box::pin(std::future::ready(Ok(())))
    }

    fn lock_authorization<'a>(&'a self, _: &'a str) -> BoxFuture<'a, Box<dyn Send>> {
        if let Some(text) = self.meanwhile.lock().unwrap().take() {
            *self.text.lock().unwrap() = Some(text);
        }
        Box::pin(std::future::ready(Box::new(()) as Box<dyn Send>))
    }

    fn reviewed_tools<'a>(&'a self, _: &'a str) -> BoxFuture<'a, Option<ReviewedTools>> {
        Box::pin(std::future::ready(None))
    }

    fn store_reviewed_tools<'a>(
        &'a self,
        _: &'a str,
        _: &'a ReviewedTools,
    ) -> BoxFuture<'a, Result<(), String>> {
        Box::pin(std::future::ready(Ok(())))
    }

    fn authorizations_changed(&self) -> u64 {
        self.changes.load(Ordering::Relaxed)
    }
}

/// Creates stored credentials with a token that is due for renewal but cannot be renewed.
fn kept(access: Option<&str>) -> StoredCredentials {
    let tokens = |access: &str| StoredTokens {
        issuer: "https://l.org".to_owned(),
        endpoint: "https://l.org/t".to_owned(),
        resource: SERVER.to_owned(),
        client_id: "id".to_owned(),
        method: AuthMethod::None,
        access: access.to_owned(),
        refresh: None,
        renew_at: Some(1),
        scopes: Vec::new(),
    };
    let tokens = access.map(tokens);
    StoredCredentials { server: SERVER.to_owned(), tokens, ..StoredCredentials::default() }
}

fn keeper(
    before: &StoredCredentials,
    meanwhile: Option<&StoredCredentials>,
) -> (Arc<Memory>, TokenManager) {
    let memory = Memory {
        changes: AtomicU64::new(1),
        text: Shared::new(Some(before.to_json())),
        meanwhile: Shared::new(meanwhile.map(StoredCredentials::to_json)),
    };
    let memory = Arc::new(memory);
    let keeper = TokenManager::new("a", SERVER, Oauth::default(), Arc::clone(&memory) as _);
    (memory, keeper.unwrap())
}

#[test]
fn no_token_goes_anywhere_in_the_clear() {
    let check = |url: &str, good: bool| {
        let keeper = TokenManager::new("a", url, Oauth::default(), Arc::new(Memory::default()));
        assert_eq!(keeper.is_some(), good, "{url}");
    };
    check("https://a.org/mcp", true);
    check("http://127.0.0.1:1/mcp", true);
    check("http://localhost/mcp", true);
    check("http://a.org/mcp", false);
    check("http://10.0.0.1/mcp", false);
    check("no address", false);
}

#[tokio::test]
async fn what_cannot_be_renewed_is_what_is_kept_now() {
    let check = async |meanwhile: Option<&StoredCredentials>, expected: Option<&str>| {
        let (_, keeper) = keeper(&kept(Some("old")), meanwhile);
        assert_eq!(keeper.token().await.unwrap().as_deref(), expected);
    };
    check(None, Some("old")).await;
    check(Some(&kept(Some("new"))), Some("new")).await;
    check(Some(&kept(None)), None).await;
}

#[tokio::test]
async fn a_login_that_ends_while_a_request_is_refused_is_not_written_over() {
    let scopes = r#"Bearer error="insufficient_scope", scope="more""#;
    for (status, header) in [(401, "Bearer"), (403, scopes)] {
        let (memory, keeper) = keeper(&kept(Some("old")), Some(&kept(Some("new"))));
        let answer = keeper.handle_challenge(status, header, Some("old")).await.unwrap();
        assert!(matches!(answer, RefreshResult::RetryWith(token) if token == "new"), "{status}");
        assert!(*memory.text.lock().unwrap() == Some(kept(Some("new")).to_json()), "{status}");
    }
    let (memory, keeper) = keeper(&kept(Some("old")), None);
    let answer = keeper.handle_challenge(401, "Bearer", Some("old")).await.unwrap();
    assert!(matches!(answer, RefreshResult::LoginRequired));
    let now = StoredCredentials::parse(memory.text.lock().unwrap().as_deref(), SERVER);
    assert!(now.is_needed() && !now.is_granted());
}

/// Regression: after `toolcrib mcp auth --forget`, a running daemon kept sending the deleted tokens
/// until it was restarted.
#[tokio::test]
async fn what_another_process_forgets_is_not_sent_any_more() {
    let (memory, keeper) = keeper(&kept(Some("old")), None);
    assert_eq!(keeper.token().await.unwrap().as_deref(), Some("old"));
    *memory.text.lock().unwrap() = None;
    memory.changes.fetch_add(1, Ordering::Relaxed);
    assert_eq!(keeper.token().await.unwrap(), None);
    *memory.text.lock().unwrap() = Some(kept(Some("new")).to_json());
    assert_eq!(keeper.token().await.unwrap(), None, "nothing says that it has changed");
}
