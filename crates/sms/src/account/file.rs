//! The file `sms.toml`: read at each use, so that a change takes effect in every process at once.

use std::fs;
use std::io::{ErrorKind, Write as _};
use std::path::Path;

use serde::{Deserialize, Serialize};

use super::model::SmsPhone;
use crate::error::SmsError;

/// Longest file that is read.
const MAX_BYTES: u64 = 1 << 20;

#[derive(Debug, Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Content {
    #[serde(default, skip_serializing_if = "Option::is_none")]
    phone: Option<SmsPhone>,
}

/// Returns the phone; none if there is no file.
pub(super) fn read(path: &Path) -> Result<Option<SmsPhone>, SmsError> {
    if fs::metadata(path).is_ok_and(|meta| meta.len() > MAX_BYTES) {
        return Err(unusable("it is longer than 1 MB"));
    }
    match fs::read_to_string(path) {
        Ok(text) => {
            let read: Result<Content, _> = toml::from_str(&text);
            Ok(read.map_err(|error| unusable(&error.to_string()))?.phone)
        }
        Err(error) if error.kind() == ErrorKind::NotFound => Ok(None),
        Err(error) => Err(unusable(&error.to_string())),
    }
}

/// Changes the phone under the lock of its folder, so that no other change is lost.
pub(super) fn update<T>(
    path: &Path,
    change: impl FnOnce(&mut Option<SmsPhone>) -> Result<T, SmsError>,
) -> Result<T, SmsError> {
    let failed = |error: std::io::Error| unusable(&error.to_string());
    let folder = path.parent().unwrap_or_else(|| Path::new("."));
    fs::create_dir_all(folder).map_err(failed)?;
    let lock = fs::File::open(folder).map_err(failed)?;
    lock.lock().map_err(failed)?;
    let mut phone = read(path)?;
    let answer = change(&mut phone)?;
    let text = toml::to_string(&Content { phone }).map_err(|error| unusable(&error.to_string()))?;
    // A temporary file is for its owner alone.
    let mut file = tempfile::NamedTempFile::new_in(folder).map_err(failed)?;
    file.write_all(text.as_bytes()).map_err(failed)?;
    file.as_file().sync_all().map_err(failed)?;
    file.persist(path).map_err(|error| failed(error.error))?;
    Ok(answer)
}

fn unusable(reason: &str) -> SmsError {
    SmsError::Unusable(format!("sms.toml: {reason}"))
}
