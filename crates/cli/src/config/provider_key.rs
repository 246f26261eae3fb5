//! Loads the key of a provider from its configured source.
#![deny(clippy::indexing_slicing)]

use std::fs::{self, File, Metadata};
use std::io::{self, BufRead as _, BufReader, Read as _};
use std::path::Path;

use toolcrib_providers::http_provider::ApiKey;

use crate::config::environment::Env;
use crate::config::providers::{ProviderEntry, list_providers};
use crate::config::schema::{Config, KeySource};
use crate::output::Failure;

/// Maximum size of a file with a key, in bytes.
const MAX_BYTES: u64 = 64 * 1024;

/// Loads the key of a provider; adds problems of its file to `warnings`. Returns `None` if there is
/// no key, which some servers accept.
pub(super) fn load_key(
    entry: &ProviderEntry,
    config: &Config,
    env: &Env,
    warnings: &mut Vec<String>,
) -> Result<Option<ApiKey>, Failure> {
    let wrong = |what: String| Failure::configuration(format!("provider {}: {what}", entry.id));
    let (text, place) = match entry.section.key_source() {
        Some(KeySource::Literal(key)) => (key.to_owned(), config.path.display().to_string()),
        Some(KeySource::Secret(name)) => {
            let secrets = crate::folders::open_vault()?.read();
            let secrets = secrets.map_err(|error| Failure::configuration(error.to_string()))?;
            let key = secrets.get(name).ok_or_else(|| {
                wrong(format!("its key is the secret {name}, which is not set; `toolcrib secret set {name}` keeps it"))
            })?;
            (key.expose().to_owned(), format!("the secret {name}"))
        }
        Some(KeySource::Variable(name)) => match env.text(name)? {
            Some(key) => (key, name.to_owned()),
            None => return Err(wrong(format!("its key is taken from {name}, which is not set"))),
        },
        Some(KeySource::File(path)) => {
            let path = config.resolve_path(path, env);
            let key = read(&path, warnings).map_err(|error| {
                wrong(format!("its key file {} cannot be used: {error}", path.display()))
            })?;
            (key, path.display().to_string())
        }
        None => {
            let Some(name) = entry.kind.key_variable() else { return Ok(None) };
            let Some(key) = env.text(name)? else { return Ok(None) };
            (key, name.to_owned())
        }
    };
    ApiKey::new(&text).map(Some).map_err(|error| wrong(format!("{place}: {error}")))
}

/// Returns the readable secrets of all providers, which are masked in results.
pub(crate) fn known_keys(config: &Config, env: &Env) -> Vec<String> {
    let entries = list_providers(config, env).unwrap_or_default();
    let keys = entries.iter().filter_map(|entry| {
        let key = load_key(entry, config, env, &mut Vec::new()).ok().flatten()?;
        Some(key.secret().to_owned())
    });
    let headers = entries.iter().flat_map(|entry| entry.section.headers.values());
    let services = config.literal_service_keys().map(str::to_owned);
    keys.chain(headers.map(|value| value.0.clone())).chain(services).collect()
}

/// Returns problems with the configured keys: files that others can read, and missing files and
/// variables.
pub(crate) fn key_warnings(config: &Config, env: &Env) -> Result<Vec<String>, Failure> {
    let mut remarks = Vec::new();
    for entry in list_providers(config, env)? {
        if entry.section.key_source().is_none() {
            continue;
        }
        if let Err(failure) = load_key(&entry, config, env, &mut remarks) {
            remarks.push(failure.message);
        }
    }
    Ok(remarks)
}

/// Reads the first line of a file.
fn read(path: &Path, warnings: &mut Vec<String>) -> io::Result<String> {
    // Checked before opening: opening a pipe would block.
    let metadata = fs::metadata(path)?;
    if !metadata.is_file() {
        return Err(io::Error::other("it is not a regular file"));
    }
    if metadata.len() > MAX_BYTES {
        return Err(io::Error::other(format!("it is larger than {MAX_BYTES} bytes")));
    }
    if is_readable_by_others(&metadata) {
        let path = path.display();
        warnings.push(format!("others can read the key file {path}; chmod 600 {path}"));
    }
    let mut line = String::new();
    BufReader::new(File::open(path)?.take(MAX_BYTES)).read_line(&mut line)?;
    Ok(line)
}

#[cfg(unix)]
fn is_readable_by_others(metadata: &Metadata) -> bool {
    use std::os::unix::fs::PermissionsExt as _;
    metadata.permissions().mode() & 0o077 != 0
}

#[cfg(not(unix))]
fn is_readable_by_others(_: &Metadata) -> bool {
    false
}
