//! `toolcrib backup` and `toolcrib restore`.

use serde_json::json;

use crate::backup::{self, Restored, Taken};
use crate::cli::{Backup, Restore};
use crate::output::{self, Failure};

pub(super) fn take(command: &Backup, json: bool) -> Result<u8, Failure> {
    let Taken { manifest, remarks } =
        backup::take(&command.file, command.with_keys, command.force)?;
    remarks.iter().for_each(|remark| output::remark(remark, json));
    let size = std::fs::metadata(&command.file).map(|found| found.len()).unwrap_or_default();
    if json {
        let row = json!({
            "file": command.file,
            "files": manifest.files.len(),
            "bytes": manifest.bytes(),
            "size": size,
            "keys": manifest.keys,
            "left_out": manifest.left_out,
        });
        output::document(&row, true)?;
        return Ok(0);
    }
    output::note(&format!(
        "toolcrib: {} files, {} in {}, read again and sound{}",
        manifest.files.len(),
        bytes(size),
        command.file.display(),
        if manifest.keys { "; it holds keys: keep it like one" } else { "" }
    ));
    Ok(0)
}

pub(super) fn restore(command: &Restore, json: bool) -> Result<u8, Failure> {
    let Restored { manifest, aside, remarks } = backup::restore(&command.file, command.force)?;
    remarks.iter().for_each(|remark| output::remark(remark, json));
    if json {
        let row = json!({
            "made_by": manifest.toolcrib,
            "made_at": manifest.made_at,
            "files": manifest.files.len(),
            "aside": aside,
        });
        output::document(&row, true)?;
        return Ok(0);
    }
    for path in aside {
        output::note(&format!("toolcrib: what was there is in {}", path.display()));
    }
    output::note(&format!("toolcrib: {} files are back", manifest.files.len()));
    Ok(0)
}

/// A size in words.
fn bytes(size: u64) -> String {
    match size {
        0..10_000 => format!("{size} bytes"),
        10_000..10_000_000 => format!("{} KB", size / 1_000),
        _ => format!("{} MB", size / 1_000_000),
    }
}
