//! Configuration values of a tool: plain ones are in the user's own file, secrets in the vault.

use std::sync::Arc;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use toolcrib_app::Toolcrib;
use toolcrib_core::{ConfigKey, ToolSpec};

use super::find_tool;
use crate::error::OpError;
use crate::secrets::{self, RemoveSecretRequest, SecretContext, SetSecretRequest};
use crate::settings::{self, ChangeSettingRequest, Configuration, SECRET_MASK};

/// A configuration value of a tool.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct ConfigRow {
    /// Name of the value.
    pub key: String,
    /// Its description.
    pub description: String,
    /// Whether it is a secret: stored in the vault, masked everywhere.
    pub secret: bool,
    /// Whether the tool requires it.
    pub required: bool,
    /// Whether it has a value.
    pub set: bool,
    /// The value; `***` for a secret, absent if there is none.
    pub value: Option<String>,
}

/// The current value.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct ConfigChanged {
    /// The tool.
    pub tool: String,
    /// The value.
    pub config: ConfigRow,
}

/// The context for changing these values.
pub struct ConfigContext<'a> {
    /// The tools.
    pub toolcrib: &'a Toolcrib,
    /// The store of plain values.
    pub configuration: &'a dyn Configuration,
    /// The store of secrets, and the recorder of all changes.
    pub secrets: SecretContext<'a>,
}

/// One configuration value of one tool.
#[derive(Debug, Clone)]
pub struct ConfigTarget {
    spec: Arc<ToolSpec>,
    key: ConfigKey,
}

impl ConfigTarget {
    /// Finds the value `key` of the tool `name`.
    ///
    /// # Errors
    /// [`OpError::NotFound`] for an unknown tool, [`OpError::Absent`] for a value that it does not
    /// have.
    pub fn find(toolcrib: &Toolcrib, name: &str, key: &str) -> Result<Self, OpError> {
        let spec = find_tool(toolcrib, name)?;
        let Some(found) = spec.config.iter().find(|config| config.key == key).cloned() else {
            let keys: Vec<&str> = spec.config.iter().map(|config| config.key.as_str()).collect();
            let keys = if keys.is_empty() { "none".to_owned() } else { keys.join(", ") };
            return Err(OpError::Absent(format!(
                "{} has no value {key}; it has: {keys}",
                spec.name
            )));
        };
        Ok(Self { spec, key: found })
    }

    /// Returns the canonical name of the tool.
    #[must_use]
    pub fn tool(&self) -> &str {
        self.spec.name.as_str()
    }

    /// Returns whether it is a secret, which only an owner may change.
    #[must_use]
    pub fn is_secret(&self) -> bool {
        self.key.secret
    }

    /// Returns its key in the configuration.
    fn setting(&self) -> String {
        format!("tools.{}.config.{}", self.spec.name, self.key.key)
    }

    /// Returns its name in the vault.
    fn secret(&self) -> String {
        format!("{}.{}", self.spec.name, self.key.key)
    }

    fn now(&self, toolcrib: &Toolcrib) -> Result<ConfigChanged, OpError> {
        let row = config(toolcrib, &self.spec).into_iter().find(|row| row.key == self.key.key);
        let gone = || OpError::Conflict("the tool has changed meanwhile; read it again".to_owned());
        Ok(ConfigChanged { tool: self.spec.name.to_string(), config: row.ok_or_else(gone)? })
    }

    async fn write(&self, ctx: &ConfigContext<'_>, value: Option<String>) -> Result<(), OpError> {
        let request = ChangeSettingRequest { key: self.setting(), value };
        settings::change(ctx.configuration, &ctx.secrets.recorder, request).await.map(drop)
    }

    /// Removes it from the configuration, if any layer sets it.
    async fn unwrite(&self, ctx: &ConfigContext<'_>) -> Result<(), OpError> {
        let setting = self.setting();
        if ctx.configuration.settings()?.iter().any(|row| row.key == setting) {
            self.write(ctx, None).await?;
        }
        Ok(())
    }
}

/// Returns the configuration values of a tool, with their current state.
#[must_use]
pub fn config(toolcrib: &Toolcrib, spec: &ToolSpec) -> Vec<ConfigRow> {
    let settings = toolcrib.engine().settings();
    let names = std::iter::once(spec.name.as_str()).chain(spec.aliases.iter().map(String::as_str));
    let values: Vec<_> =
        names.filter_map(|name| settings.tools.get(name)).map(|tool| &tool.config).collect();
    let row = |key: &ConfigKey| {
        let value = values.iter().find_map(|values| values.get(&key.key));
        let shown = |value: &String| if key.secret { SECRET_MASK } else { value }.to_owned();
        ConfigRow {
            key: key.key.clone(),
            description: key.description.clone(),
            secret: key.secret,
            required: key.required,
            set: value.is_some(),
            value: value.map(shown),
        }
    };
    spec.config.iter().map(row).collect()
}

/// Sets a value; [`SECRET_MASK`] keeps the stored one.
///
/// # Errors
/// The errors of [`settings::change`] and [`secrets::set`]; [`OpError::Conflict`] if the tool has
/// changed meanwhile.
pub async fn set_config(
    ctx: &ConfigContext<'_>,
    target: &ConfigTarget,
    value: String,
) -> Result<ConfigChanged, OpError> {
    if value != SECRET_MASK {
        if target.is_secret() {
            // The configuration has precedence over the vault, and must not contain a secret.
            target.unwrite(ctx).await?;
            let request = SetSecretRequest::from_text(target.secret(), value)?;
            secrets::set(&ctx.secrets, request).await?;
        } else {
            target.write(ctx, Some(value)).await?;
        }
    }
    target.now(ctx.toolcrib)
}

/// Removes a value, even a missing one.
///
/// # Errors
/// The errors of [`set_config`].
pub async fn remove_config(
    ctx: &ConfigContext<'_>,
    target: &ConfigTarget,
) -> Result<ConfigChanged, OpError> {
    if target.is_secret() {
        match secrets::remove(&ctx.secrets, RemoveSecretRequest { name: target.secret() }).await {
            Ok(_) | Err(OpError::NotFound { .. }) => {}
            Err(error) => return Err(error),
        }
    }
    target.unwrite(ctx).await?;
    target.now(ctx.toolcrib)
}
