//! Secrets of the vault, put where they are used: into the configuration of the tools that declare them.

use std::collections::{BTreeMap, HashMap};

use toolcrib_engine::ToolSettings;
use toolcrib_mcp::client::{Kept, ServerName};
use toolcrib_store::vault::{Secret, SecretName, VaultError};

use crate::settings::Settings;

/// Gives tools what the vault has for them: the secret that is named for a key, or the one of the name `TOOL.KEY`. A value that is written
/// down for the key stays. Every secret of the vault is returned, to be masked.
pub(crate) fn unlock(settings: &mut Settings) -> Result<Vec<String>, VaultError> {
    let Some(vault) = &settings.vault else { return Ok(Vec::new()) };
    let secrets = vault.read()?;
    for (tool, keys) in &settings.secret_config {
        for (key, name) in keys {
            if let Some(secret) =
                name.parse::<SecretName>().ok().and_then(|name| secrets.get(&name))
            {
                give(&mut settings.engine.tools, tool, key, secret);
            }
        }
    }
    for (name, secret) in &secrets {
        if let Some((tool, key)) = name.of_tool() {
            give(&mut settings.engine.tools, tool, key, secret);
        }
    }
    Ok(values(&secrets))
}

/// What has to be masked of these secrets. The authorization for an MCP server is a text with several in it; one of such a name that holds
/// none is a secret of the person's own.
#[must_use]
pub fn values(secrets: &BTreeMap<SecretName, Secret>) -> Vec<String> {
    let of = |(name, secret): (&SecretName, &Secret)| {
        let kept = name.as_str().starts_with(MCP).then(|| Kept::secrets_of(secret.expose()));
        let several = kept.filter(|several| !several.is_empty());
        several.unwrap_or_else(|| vec![secret.expose().to_owned()])
    };
    secrets.iter().flat_map(of).collect()
}

/// How the names of what is kept of authorizations for MCP servers begin.
const MCP: &str = "mcp-oauth-";

/// The secret that is kept of the authorization for an MCP server.
#[must_use]
pub fn authorization(server: &ServerName) -> Option<SecretName> {
    format!("{MCP}{server}").parse().ok()
}

fn give(tools: &mut HashMap<String, ToolSettings>, tool: &str, key: &str, secret: &Secret) {
    let config = &mut tools.entry(tool.to_owned()).or_default().config;
    config.entry(key.to_owned()).or_insert_with(|| secret.expose().to_owned());
}

#[cfg(test)]
mod tests {
    use super::*;
    use toolcrib_store::vault::Vault;

    #[test]
    fn a_secret_that_is_named_like_an_authorization_is_masked_too() {
        let secret = |name: &str, text: &str| {
            (name.parse::<SecretName>().unwrap(), Secret::new(text).ok().unwrap())
        };
        let all = [secret("mcp-oauth-own", "my own words"), secret("plain", "other words")];
        assert_eq!(values(&all.into_iter().collect()), ["my own words", "other words"]);
    }

    #[test]
    fn tools_get_what_is_named_for_them_and_what_is_written_down_stays() {
        let folder = tempfile::tempdir().unwrap();
        let vault = Vault::at(folder.path().join("vault"));
        let set = |name: &str, value: &str| {
            let value = Secret::new(value).ok().unwrap();
            vault.set(&name.parse().unwrap(), &value, 1).unwrap();
        };
        set("weather.KEY", "for the weather");
        set("weather.OLD", "not for the weather");
        set("shared", "for several tools");
        let mut settings = Settings::new(folder.path(), folder.path());
        assert_eq!(unlock(&mut settings).unwrap(), Vec::<String>::new());
        settings.vault = Some(vault.clone());
        let written = [("OLD".to_owned(), "as written".to_owned())].into();
        let weather = ToolSettings { config: written, ..ToolSettings::default() };
        settings.engine.tools.insert("weather".to_owned(), weather);
        let named =
            [("TOKEN".to_owned(), "shared".to_owned()), ("GONE".to_owned(), "x".to_owned())];
        settings.secret_config.insert("mail".to_owned(), named.into());
        let mut all = unlock(&mut settings).unwrap();
        all.sort();
        assert_eq!(all, ["for several tools", "for the weather", "not for the weather"]);
        let config = |tool: &str| {
            let mut config: Vec<_> = settings.engine.tools[tool].config.iter().collect();
            config.sort();
            config.into_iter().map(|(k, v)| format!("{k}={v}")).collect::<Vec<_>>()
        };
        assert_eq!(config("weather"), ["KEY=for the weather", "OLD=as written"]);
        assert_eq!(config("mail"), ["TOKEN=for several tools"]);
        std::fs::write(vault.folder().join("secrets.key"), "damaged").unwrap();
        assert!(unlock(&mut settings).is_err());
    }
}
