//! Compresses the bundle in `dist/`, and writes the table of its files that the crate includes.

use std::error::Error;
use std::fmt::Write as _;
use std::fs;
use std::io::Write as _;
use std::path::{Path, PathBuf};

use sha2::{Digest as _, Sha256};

/// Level and window of brotli: the smallest result. It takes a second once, in this build.
const QUALITY: u32 = 11;
const WINDOW_BITS: u32 = 22;

fn main() -> Result<(), Box<dyn Error>> {
    let manifest = PathBuf::from(std::env::var_os("CARGO_MANIFEST_DIR").ok_or("no manifest")?);
    let (dist, out) = (manifest.join("dist"), std::env::var_os("OUT_DIR").ok_or("no OUT_DIR")?);
    let out = PathBuf::from(out);
    println!("cargo::rerun-if-changed={}", dist.display());
    let mut files = Vec::new();
    collect(&dist, "", &mut files)?;
    files.sort();
    if !files.iter().any(|path| path == "index.html") {
        return Err("crates/page/dist has no index.html; `cargo xtask page` builds it".into());
    }
    let mut table = String::from("pub(crate) static FILES: &[PageFile] = &[\n");
    for (number, path) in files.iter().enumerate() {
        let content = fs::read(dist.join(path))?;
        let packed = out.join(format!("{number}.br"));
        fs::write(&packed, compress(&content)?)?;
        let etag = hex(&Sha256::digest(&content));
        let media_type = media_type(path)?;
        writeln!(
            table,
            "    PageFile {{ path: {path:?}, media_type: {media_type:?}, etag: \"\\\"{etag}\\\"\", \
             bytes: {}, brotli: include_bytes!({:?}) }},",
            content.len(),
            packed.display().to_string(),
        )?;
    }
    table.push_str("];\n");
    fs::write(out.join("files.rs"), table)?;
    Ok(())
}

fn collect(folder: &Path, below: &str, files: &mut Vec<String>) -> Result<(), Box<dyn Error>> {
    for entry in fs::read_dir(folder)? {
        let entry = entry?;
        let name = entry.file_name().into_string().map_err(|_| "a file name is not UTF-8")?;
        let path = if below.is_empty() { name } else { format!("{below}/{name}") };
        if entry.file_type()?.is_dir() {
            collect(&entry.path(), &path, files)?;
        } else {
            files.push(path);
        }
    }
    Ok(())
}

fn compress(content: &[u8]) -> Result<Vec<u8>, Box<dyn Error>> {
    let mut packed = Vec::new();
    let mut writer = brotli::CompressorWriter::new(&mut packed, 4_096, QUALITY, WINDOW_BITS);
    writer.write_all(content)?;
    writer.flush()?;
    drop(writer);
    Ok(packed)
}

/// A file of another kind is a fault of the bundler's settings.
fn media_type(path: &str) -> Result<&'static str, Box<dyn Error>> {
    match path.rsplit_once('.').map(|(_, extension)| extension) {
        Some("html") => Ok("text/html; charset=utf-8"),
        Some("js") => Ok("text/javascript; charset=utf-8"),
        Some("css") => Ok("text/css; charset=utf-8"),
        Some("svg") => Ok("image/svg+xml"),
        Some("png") => Ok("image/png"),
        Some("webmanifest") => Ok("application/manifest+json"),
        _ => Err(format!("{path} has no known media type").into()),
    }
}

fn hex(bytes: &[u8]) -> String {
    // 64 bits tell versions of one file apart.
    bytes.iter().take(8).map(|byte| format!("{byte:02x}")).collect()
}
