//! Lists secrets by name, with their consumers.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;
use toolcrib_app::Toolcrib;
use toolcrib_store::vault::SecretName;

use super::consumer::SecretConsumer;
use super::context::SecretContext;
use crate::error::OpError;
use crate::settings::SECRET_MASK;

/// Information about the use of secrets.
#[derive(Clone)]
pub struct ListSecretsRequest<'a> {
    /// Names in the configuration, each with its consumer.
    pub configured: Vec<(String, SecretConsumer)>,
    /// The tools, which declare the keys that secrets are named after; `None` if they cannot be
    /// loaded.
    pub toolcrib: Option<&'a Toolcrib>,
}

/// The secrets, without values.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct ListSecretsReply {
    /// The secrets, by name.
    pub secrets: Vec<SecretReply>,
    /// Names in the configuration that are missing in the vault.
    pub missing: Vec<MissingSecret>,
}

/// A secret without its value.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[schemars(rename = "SecretRow")]
pub struct SecretReply {
    /// Its name.
    pub name: String,
    /// Always `***`.
    pub value: String,
    /// When it was set, in milliseconds since 1970.
    pub set_at: i64,
    /// Its consumers, in words.
    pub used_by: Vec<String>,
    /// Its consumers as objects: a `tool` with the `key`, a `provider`, or a `service`.
    #[schemars(with = "Vec<Value>")]
    pub consumers: Vec<SecretConsumer>,
    /// The tool and the key that it is named after, if it has no consumer.
    #[serde(skip)]
    pub unused_key: Option<(String, String)>,
}

/// A name that is missing in the vault.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct MissingSecret {
    /// The name.
    pub name: String,
    /// The part of the configuration that names it.
    pub named_by: SecretConsumer,
}

/// Lists the secrets.
///
/// # Errors
/// [`OpError::Vault`].
pub async fn list(
    ctx: &SecretContext<'_>,
    request: ListSecretsRequest<'_>,
) -> Result<ListSecretsReply, OpError> {
    let listed = ctx.run(toolcrib_store::vault::Vault::list).await?;
    let secrets = listed.iter().map(|secret| {
        let used_by = consumers(&secret.name, &request);
        let key = secret.name.tool_and_key().filter(|_| used_by.is_empty());
        SecretReply {
            name: secret.name.to_string(),
            value: SECRET_MASK.to_owned(),
            set_at: secret.set_at,
            used_by: used_by.iter().map(ToString::to_string).collect(),
            consumers: used_by,
            unused_key: key.map(|(tool, key)| (tool.to_owned(), key.to_owned())),
        }
    });
    let secrets: Vec<SecretReply> = secrets.collect();
    let is_listed = |name: &str| listed.iter().any(|secret| secret.name.as_str() == name);
    let configured = request.configured.iter().filter(|(name, _)| !is_listed(name));
    let missing = configured
        .map(|(name, by)| MissingSecret { name: name.clone(), named_by: by.clone() })
        .collect();
    Ok(ListSecretsReply { secrets, missing })
}

/// Returns the tool that declares the key that the secret is named after, and the consumers in the
/// configuration; each once.
fn consumers(name: &SecretName, request: &ListSecretsRequest<'_>) -> Vec<SecretConsumer> {
    let declared = name.tool_and_key().and_then(|(tool, key)| {
        let spec = request.toolcrib?.spec(tool)?;
        let declares = spec.config.iter().any(|config| config.key == key);
        declares.then(|| SecretConsumer::Tool { tool: tool.to_owned(), key: key.to_owned() })
    });
    let named = request.configured.iter().filter(|(secret, _)| secret == name.as_str());
    let mut consumers: Vec<SecretConsumer> = declared.into_iter().collect();
    for (_, consumer) in named {
        if !consumers.contains(consumer) {
            consumers.push(consumer.clone());
        }
    }
    consumers
}
