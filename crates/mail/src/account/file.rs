//! The file of accounts, `mail.toml`: read at each use, so that a change takes effect in every
//! process at once.

use std::fs;
use std::io::{ErrorKind, Write as _};
use std::path::Path;

use serde::{Deserialize, Serialize};

use super::model::MailAccount;
use crate::error::MailError;

/// Longest file that is read.
const MAX_BYTES: u64 = 1 << 20;

#[derive(Debug, Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Accounts {
    #[serde(default)]
    account: Vec<MailAccount>,
}

/// All accounts; none if there is no file.
pub(super) fn read(path: &Path) -> Result<Vec<MailAccount>, MailError> {
    let is_long = fs::metadata(path).is_ok_and(|meta| meta.len() > MAX_BYTES);
    if is_long {
        return Err(MailError::Unusable("mail.toml is longer than 1 MB".to_owned()));
    }
    match fs::read_to_string(path) {
        Ok(text) => {
            let read: Result<Accounts, _> = toml::from_str(&text);
            Ok(read.map_err(|error| unusable(&error.to_string()))?.account)
        }
        Err(error) if error.kind() == ErrorKind::NotFound => Ok(Vec::new()),
        Err(error) => Err(unusable(&error.to_string())),
    }
}

/// Changes the accounts under the lock of their folder, so that no other change is lost.
pub(super) fn update<T>(
    path: &Path,
    change: impl FnOnce(&mut Vec<MailAccount>) -> Result<T, MailError>,
) -> Result<T, MailError> {
    let failed = |error: std::io::Error| unusable(&error.to_string());
    let folder = path.parent().unwrap_or_else(|| Path::new("."));
    fs::create_dir_all(folder).map_err(failed)?;
    let lock = fs::File::open(folder).map_err(failed)?;
    lock.lock().map_err(failed)?;
    let mut account = read(path)?;
    let answer = change(&mut account)?;
    let text =
        toml::to_string(&Accounts { account }).map_err(|error| unusable(&error.to_string()))?;
    // A temporary file is for its owner alone.
    let mut file = tempfile::NamedTempFile::new_in(folder).map_err(failed)?;
    file.write_all(text.as_bytes()).map_err(failed)?;
    file.as_file().sync_all().map_err(failed)?;
    file.persist(path).map_err(|error| failed(error.error))?;
    Ok(answer)
}

fn unusable(reason: &str) -> MailError {
    MailError::Unusable(format!("mail.toml: {reason}"))
}
