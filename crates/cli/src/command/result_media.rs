//! Images and audio of a result at a terminal: each is saved to a file whose path is printed.

use std::io::{self, Write as _};
use std::path::PathBuf;

use toolcrib_core::{Blob, Block};

use crate::output;

/// Saves each image and sound of a result, and prints the path of its file.
pub(super) fn print<'a>(blocks: impl IntoIterator<Item = &'a Block>) -> io::Result<()> {
    for block in blocks {
        let (Block::Image(blob) | Block::Audio(blob)) = block else { continue };
        let (media_type, bytes) = (&blob.media_type, blob.data.len());
        let line = match save(blob) {
            Ok(path) => format!("[{media_type}, {bytes} bytes: {}]", path.display()),
            Err(error) => format!("[{media_type}, {bytes} bytes: cannot write a file: {error}]"),
        };
        output::print_line(&crate::terminal::escape_to_line(&line))?;
    }
    Ok(())
}

/// Creates a file in the folder for temporary files, for its owner only.
fn save(blob: &Blob) -> io::Result<PathBuf> {
    let mut file = tempfile::Builder::new()
        .prefix("toolcrib-")
        .suffix(extension(&blob.media_type))
        .tempfile()?;
    file.write_all(&blob.data)?;
    let (_, path) = file.keep()?;
    Ok(path)
}

/// Returns the extension that viewers know; types that only a server defines have none.
fn extension(media_type: &str) -> &'static str {
    match media_type.split(';').next().unwrap_or_default().trim() {
        "image/png" => ".png",
        "image/jpeg" => ".jpg",
        "image/gif" => ".gif",
        "image/webp" => ".webp",
        "image/svg+xml" => ".svg",
        "audio/wav" | "audio/x-wav" => ".wav",
        "audio/mpeg" => ".mp3",
        "audio/ogg" => ".ogg",
        _ => "",
    }
}
