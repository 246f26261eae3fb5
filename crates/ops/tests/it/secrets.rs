//! Operations on the secrets of the vault.

use toolcrib_app::Secrets;
use toolcrib_core::audit::LOCAL_CHAIN;
use toolcrib_ops::administration::Recorder;
use toolcrib_ops::secrets::{
    self, ListSecretsReply, ListSecretsRequest, RemoveSecretRequest, SecretConsumer, SecretContext,
    SetSecretRequest,
};
use toolcrib_ops::{ErrorClass, OpError};
use toolcrib_store::vault::Vault;

use crate::fixture::Fixture;
use crate::settings::OneKey;

const VALUE: &str = "hunter2-hunter2";

fn request(name: &str, value: &str) -> SetSecretRequest {
    SetSecretRequest::from_text(name.to_owned(), value.to_owned()).unwrap()
}

async fn list(
    ctx: &SecretContext<'_>,
    fixture: &Fixture,
    configured: &[(&str, SecretConsumer)],
) -> ListSecretsReply {
    let configured = configured.iter().map(|(name, by)| ((*name).to_owned(), by.clone()));
    let toolcrib = Some(&fixture.toolcrib);
    let request = ListSecretsRequest { configured: configured.collect(), toolcrib };
    secrets::list(ctx, request).await.unwrap()
}

#[tokio::test]
async fn a_secret_is_stored_listed_and_removed_and_its_value_is_in_no_reply_and_no_record() {
    let (fixture, folder) = (Fixture::new().await, tempfile::tempdir().unwrap());
    let (masked, configuration) = (Secrets::default(), OneKey::default());
    let ctx = SecretContext {
        vault: Vault::in_folder(folder.path().join("vault")),
        masked: Some(&masked),
        recorder: Recorder::Audit { store: fixture.store(), secrets: &masked },
        configuration: Some(&configuration),
    };
    let stored = secrets::set(&ctx, request("openai", VALUE)).await.unwrap();
    assert!(!stored.replaced && !stored.unchanged);
    assert_eq!(masked.mask(format!("key: {VALUE}")), "key: ***");
    assert!(secrets::set(&ctx, request("openai", VALUE)).await.unwrap().replaced);
    assert!(secrets::set(&ctx, request("openai", "***")).await.unwrap().unchanged);
    assert_eq!(*configuration.reloads.lock().unwrap(), 2);
    let provider = SecretConsumer::Provider { provider: "openai".to_owned() };
    let configured = [("openai", provider.clone()), ("absent", provider.clone())];
    let reply = list(&ctx, &fixture, &configured).await;
    assert_eq!(reply.secrets[0].consumers, std::slice::from_ref(&provider));
    assert_eq!((reply.missing[0].name.as_str(), &reply.missing[0].named_by), ("absent", &provider));
    let text = serde_json::to_string(&reply).unwrap();
    assert!(text.contains("openai") && !text.contains("hunter2"), "{text}");
    assert_eq!(secrets::rotate(&ctx).await.unwrap().rotated, 1);
    let remove = async |name: &str| {
        secrets::remove(&ctx, RemoveSecretRequest { name: name.to_owned() }).await
    };
    assert_eq!(remove("openai").await.unwrap().removed, "openai");
    assert_eq!(remove("openai").await.unwrap_err().class(), ErrorClass::NotFound);
    assert_eq!(list(&ctx, &fixture, &[]).await.secrets, []);
    let records = fixture.toolcrib.stores().audit.records(LOCAL_CHAIN, 0, 100).await.unwrap();
    let texts: String = records.iter().map(|record| record.text.as_str()).collect();
    for act in ["secret.set", "secret.rotate", "secret.remove"] {
        assert!(texts.contains(act), "{texts}");
    }
    assert!(!texts.contains("hunter2"), "{texts}");
}

#[tokio::test]
async fn a_secret_that_is_named_for_a_key_of_no_tool_is_unused() {
    let (fixture, folder) = (Fixture::new().await, tempfile::tempdir().unwrap());
    let vault = Vault::in_folder(folder.path().join("vault"));
    let ctx = SecretContext { vault, masked: None, recorder: Recorder::None, configuration: None };
    secrets::set(&ctx, request("greet.token", VALUE)).await.unwrap();
    let reply = list(&ctx, &fixture, &[]).await;
    assert_eq!(reply.secrets[0].unused_key, Some(("greet".to_owned(), "token".to_owned())));
    let tool = SecretConsumer::Tool { tool: "greet".to_owned(), key: "token".to_owned() };
    let reply = list(&ctx, &fixture, &[("greet.token", tool.clone())]).await;
    assert_eq!(
        (reply.secrets[0].unused_key.as_ref(), &reply.secrets[0].consumers[..]),
        (None, &[tool][..])
    );
}

#[tokio::test]
async fn what_cannot_be_stored_is_refused() {
    let (folder, vault) = (tempfile::tempdir().unwrap(), Vault::in_folder);
    let vault = vault(folder.path().join("vault"));
    let ctx = SecretContext { vault, masked: None, recorder: Recorder::None, configuration: None };
    let short = SetSecretRequest::from_text("openai".to_owned(), "short".to_owned());
    assert!(matches!(short, Err(OpError::Invalid(_))));
    let class = async |name: &str, value: &str| {
        secrets::set(&ctx, request(name, value)).await.err().map(|error| error.class())
    };
    assert_eq!(class("a b", VALUE).await, Some(ErrorClass::Invalid));
    assert_eq!(class("openai", "***").await, Some(ErrorClass::NotFound));
    assert_eq!(class("openai", VALUE).await, None);
    assert_eq!(class("OpenAI", VALUE).await, Some(ErrorClass::Conflict));
}
