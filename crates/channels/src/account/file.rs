//! The file of accounts, `channels.toml`: read at each use, so that a change takes effect in every
//! process at once.

use std::fs;
use std::io::{ErrorKind, Write as _};
use std::path::Path;

use serde::{Deserialize, Serialize};

use super::model::ChannelAccount;
use crate::error::ChannelError;

/// Longest file that is read.
const MAX_BYTES: u64 = 1 << 20;

#[derive(Debug, Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Accounts {
    #[serde(default)]
    channel: Vec<ChannelAccount>,
}

/// Returns all accounts; none if there is no file.
pub(super) fn read(path: &Path) -> Result<Vec<ChannelAccount>, ChannelError> {
    let is_long = fs::metadata(path).is_ok_and(|meta| meta.len() > MAX_BYTES);
    if is_long {
        return Err(unusable("it is longer than 1 MB"));
    }
    match fs::read_to_string(path) {
        Ok(text) => {
            let read: Result<Accounts, _> = toml::from_str(&text);
            Ok(read.map_err(|error| unusable(&error.to_string()))?.channel)
        }
        Err(error) if error.kind() == ErrorKind::NotFound => Ok(Vec::new()),
        Err(error) => Err(unusable(&error.to_string())),
    }
}

/// Changes the accounts under the lock of their folder, so that no other change is lost.
pub(super) fn update<T>(
    path: &Path,
    change: impl FnOnce(&mut Vec<ChannelAccount>) -> Result<T, ChannelError>,
) -> Result<T, ChannelError> {
    let failed = |error: std::io::Error| unusable(&error.to_string());
    let folder = path.parent().unwrap_or_else(|| Path::new("."));
    fs::create_dir_all(folder).map_err(failed)?;
    let lock = fs::File::open(folder).map_err(failed)?;
    lock.lock().map_err(failed)?;
    let mut channel = read(path)?;
    let answer = change(&mut channel)?;
    let text =
        toml::to_string(&Accounts { channel }).map_err(|error| unusable(&error.to_string()))?;
    // A temporary file is for its owner alone.
    let mut file = tempfile::NamedTempFile::new_in(folder).map_err(failed)?;
    file.write_all(text.as_bytes()).map_err(failed)?;
    file.as_file().sync_all().map_err(failed)?;
    file.persist(path).map_err(|error| failed(error.error))?;
    Ok(answer)
}

fn unusable(reason: &str) -> ChannelError {
    ChannelError::Unusable(format!("channels.toml: {reason}"))
}
