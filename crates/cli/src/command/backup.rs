//! `toolcrib backup` and `toolcrib restore`.

use serde_json::json;

use crate::backup::{self, BackupReport, RestoreReport};
use crate::clap_args::{Backup, Restore};
use crate::output::{self, Failure};

pub(super) fn take(command: &Backup, json: bool) -> Result<u8, Failure> {
    let BackupReport { manifest, remarks } =
        backup::create(&command.file, command.with_keys, command.force)?;
    remarks.iter().for_each(|remark| output::warn(remark, json));
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
        output::print_json(&row, true)?;
        return Ok(0);
    }
    output::eprint_line(&format!(
        "toolcrib: {} files, {} in {}, verified{}",
        manifest.files.len(),
        size_text(size),
        command.file.display(),
        if manifest.keys { "; it contains keys: protect it like a key" } else { "" }
    ));
    Ok(0)
}

pub(super) fn restore(command: &Restore, json: bool) -> Result<u8, Failure> {
    let RestoreReport { manifest, aside, remarks } = backup::restore(&command.file, command.force)?;
    remarks.iter().for_each(|remark| output::warn(remark, json));
    if json {
        let row = json!({
            "made_by": manifest.toolcrib,
            "made_at": manifest.made_at,
            "files": manifest.files.len(),
            "aside": aside,
        });
        output::print_json(&row, true)?;
        return Ok(0);
    }
    for path in aside {
        output::eprint_line(&format!("toolcrib: moved existing data to {}", path.display()));
    }
    output::eprint_line(&format!("toolcrib: restored {} files", manifest.files.len()));
    Ok(0)
}

/// Describes a size in words.
fn size_text(size: u64) -> String {
    match size {
        0..10_000 => format!("{size} bytes"),
        10_000..10_000_000 => format!("{} KB", size / 1_000),
        _ => format!("{} MB", size / 1_000_000),
    }
}
