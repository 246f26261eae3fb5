//! The settings that the file of a workspace may contain: for a trusted one, all except those that
//! would give away the person's keys or trust; for any other, only those that make settings
//! stricter.

use std::path::Path;

use toolcrib_providers::http_provider::ProviderKind;

use crate::config::key_path::KeyPath;
use crate::config::layer::Layer;
use crate::config::layer_source::Source;
use crate::config::layered_config::LayeredConfig;
use crate::config::schema::Config;
use crate::output::Failure;

/// Keys of a person's provider that a project must not set: those that determine the target of a
/// request, or its key.
const USER_ONLY_KEYS: [&str; 6] =
    ["model", "idle", "timeout", "retries", "max_per_minute", "max_per_hour"];

/// Checks the file of a trusted workspace.
///
/// # Errors
/// Exit code 3 with the line of a forbidden setting, and the alternative.
pub(super) fn check_trusted(source: &Source, own: &Config) -> Result<(), Failure> {
    for leaf in &source.leaves {
        let why = match leaf.key.parts().as_slice() {
            ["trusted_workspaces"] => {
                Some("a workspace cannot vouch for itself or others; use `toolcrib trust`")
            }
            ["tools", _, "config", ..] => Some(
                "values of tools are the person's, who may have keys among them; put it into your own file",
            ),
            ["providers", id, rest @ ..] => provider(source, own, id, rest),
            ["server", ..] => Some(
                "where a daemon listens and whom it answers is the person's; put it into your own file",
            ),
            ["allow_net"] => Some(
                "which addresses of your network tools may reach is the person's; put it into your own file",
            ),
            ["sandbox" | "shell", ..] => {
                Some("what programs may touch is the person's; put it into your own file")
            }
            ["discovery", "model" | "embeddings", ..] => Some(
                "what reads all tools and needs is the person's to choose; put it into your own file",
            ),
            ["discovery", "on_device_tools", ..] => Some(
                "which tools models on this device are offered is the person's; put it into your own file",
            ),
            ["web", ..] => {
                Some("which services get your searches is the person's; put it into your own file")
            }
            ["heartbeat", ..] => {
                Some("when a model is asked without you is the person's; put it into your own file")
            }
            ["notifications", ..] => {
                Some("where your notifications go is the person's; put it into your own file")
            }
            ["apps", ..] => {
                Some("how often your apps are checked is the person's; put it into your own file")
            }
            ["calendar", ..] => {
                Some("which calendar gets your events is the person's; put it into your own file")
            }
            ["drafts", ..] => {
                Some("what leaves in your name is the person's to say; put it into your own file")
            }
            ["python", ..] => {
                Some("which program runs code is the person's; put it into your own file")
            }
            _ => None,
        };
        if let Some(why) = why {
            return Err(Failure::configuration(format!(
                "{}: `{}` cannot be set by a workspace: {why}",
                leaf.place, leaf.key
            )));
        }
    }
    Ok(())
}

/// Returns the reason why a project must not set this key of a provider; `None` if it may.
fn provider(source: &Source, own: &Config, id: &str, rest: &[&str]) -> Option<&'static str> {
    let key = rest.first().copied().unwrap_or_default();
    let is_persons = own.providers.keys().any(|known| known.0 == id) || is_kind(id);
    if is_persons {
        return (!key.is_empty() && !USER_ONLY_KEYS.contains(&key)).then_some(
            "this provider is the person's, and so is where its key goes; describe another one under an id of its own",
        );
    }
    let names_secret = rest.len() > 1 && rest.last() == Some(&"secret");
    if names_secret || matches!(key, "key_env" | "key_file") {
        return Some(
            "it would send a key of the person's elsewhere; a provider of a workspace has a `key` of its own, or none",
        );
    }
    let says = |key: &str| {
        let key = KeyPath(["providers", id, key].map(str::to_owned).to_vec());
        source.leaves.iter().find(|leaf| leaf.key == key)
    };
    let kind = says("kind").and_then(|leaf| leaf.value.as_str()?.parse::<ProviderKind>().ok());
    let takes_theirs = kind.is_some_and(|kind| kind.key_variable().is_some());
    (takes_theirs && says("key").is_none()).then_some(
        "a provider of this kind takes the person's key from the environment; give it a `key` of its own, or the kind openai-compatible",
    )
}

fn is_kind(id: &str) -> bool {
    id.parse::<ProviderKind>().is_ok()
}

/// Applies the settings that make others stricter; returns a remark on the rest, if there is any.
pub(super) fn apply_untrusted(
    mut source: Source,
    layered: &mut LayeredConfig,
    workspace: &Path,
) -> Option<String> {
    source.layer = Layer::Untrusted;
    let rest = layered.tighten(&source);
    if rest.is_empty() {
        return None;
    }
    let shown = workspace.canonicalize().unwrap_or_else(|_| workspace.to_owned());
    Some(format!(
        "{} sets {}, which only a trusted workspace may: nothing of that is used. To look at it and trust it: toolcrib trust {}",
        source.path.display(),
        names(rest),
        shown.display()
    ))
}

/// Returns the sections of keys, each once.
fn names(keys: Vec<String>) -> String {
    let mut names: Vec<String> = keys;
    names.sort_unstable();
    names.dedup();
    let more = names.len().saturating_sub(5);
    names.truncate(5);
    let more = if more > 0 { format!(" and {more} more") } else { String::new() };
    format!("{}{more}", names.join(", "))
}
