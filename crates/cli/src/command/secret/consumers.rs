//! Who uses which secret: by its name in the configuration, or because a tool declares the key that
//! it is named for.

use std::fmt;

use serde_json::{Value, json};
use toolcrib_app::store::vault::SecretName;

use crate::bootstrap;
use crate::clap_args::{LibraryArgs, WorkspaceArgs};
use crate::output::{self, Failure};

/// A user of a secret.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum SecretConsumer {
    /// A tool, as the value of this key.
    Tool { tool: String, key: String },
    /// A provider, as its key.
    Provider { id: String },
    /// A service of the web tools.
    Service { name: String },
    /// None: its name is that of a tool's key, and no tool here declares it.
    Unknown { tool: String, key: String },
}

impl SecretConsumer {
    /// For machines; `None` = unused.
    pub(super) fn to_json(&self) -> Option<Value> {
        match self {
            Self::Tool { tool, key } => Some(json!({"tool": tool, "key": key})),
            Self::Provider { id } => Some(json!({"provider": id})),
            Self::Service { name } => Some(json!({"service": name})),
            Self::Unknown { .. } => None,
        }
    }
}

impl fmt::Display for SecretConsumer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Tool { tool, key } => write!(f, "tool {tool} ({key})"),
            Self::Provider { id } => write!(f, "provider {id}"),
            Self::Service { name } => f.write_str(name),
            Self::Unknown { tool, key } => {
                write!(f, "unused: no tool {tool} here declares the key {key}")
            }
        }
    }
}

/// Every use of a secret. Where the tools cannot be looked at, as with a damaged vault, names alone
/// have to do.
pub(super) fn find_consumers(
    places: &LibraryArgs,
    json: bool,
) -> Result<Vec<(SecretName, SecretConsumer)>, Failure> {
    let world = WorkspaceArgs {
        workspace: places.workspace.clone(),
        tools: places.tools.clone(),
        ..WorkspaceArgs::default()
    };
    let mut users = consumers_in_config(&world)?;
    for listed in bootstrap::open_vault()?.list().unwrap_or_default() {
        let Some((tool, key)) = listed.name.tool_and_key() else { continue };
        let (tool, key) = (tool.to_owned(), key.to_owned());
        users.push((listed.name.clone(), SecretConsumer::Unknown { tool, key }));
    }
    let toolcrib = match bootstrap::block_on(bootstrap::inspect(&world, json)) {
        Ok(toolcrib) => toolcrib,
        Err(failure) => {
            let what = "the tools cannot be looked at, so who uses a secret is not known";
            output::warn(&format!("{what}: {}", failure.message), json);
            return Ok(users);
        }
    };
    for (_, user) in &mut users {
        let SecretConsumer::Unknown { tool, key } = user else { continue };
        let declares = |spec: &toolcrib_app::core::ToolSpec| {
            spec.config.iter().any(|config| config.key == *key)
        };
        if toolcrib.spec(tool).is_some_and(|spec| declares(&spec)) {
            *user = SecretConsumer::Tool { tool: tool.clone(), key: key.clone() };
        }
    }
    let was_named = |users: &[(SecretName, SecretConsumer)], name: &SecretName| {
        users
            .iter()
            .any(|(other, user)| other == name && !matches!(user, SecretConsumer::Unknown { .. }))
    };
    let all = users.clone();
    users.retain(|(name, user)| {
        !matches!(user, SecretConsumer::Unknown { .. }) || !was_named(&all, name)
    });
    Ok(users)
}

/// Those that name one in the configuration.
fn consumers_in_config(
    world: &WorkspaceArgs,
) -> Result<Vec<(SecretName, SecretConsumer)>, Failure> {
    let config = bootstrap::load_config(&bootstrap::or_current_dir(world))?;
    let tools = config.vault_tool_config().into_iter().flat_map(|(tool, keys)| {
        keys.into_iter().filter_map(move |(key, name)| {
            let user = SecretConsumer::Tool { tool: tool.clone(), key };
            Some((name.parse().ok()?, user))
        })
    });
    let providers = config
        .vault_provider_keys()
        .map(|(id, name)| (name.clone(), SecretConsumer::Provider { id: id.to_owned() }));
    let services = config
        .vault_service_keys()
        .map(|(name, secret)| (secret.clone(), SecretConsumer::Service { name }));
    Ok(tools.chain(providers).chain(services).collect())
}
