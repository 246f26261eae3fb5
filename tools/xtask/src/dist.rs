//! `cargo xtask dist`: an archive of the release binary with its manual pages, completions and
//! licenses, and its SHA-256 checksum.

use std::fs;
use std::path::Path;
use std::process::Command;

use anyhow::{Context, Result, bail};
use sha2::{Digest as _, Sha256};

use crate::{process, tree};

/// Files of the tree that are part of an archive.
const FILES: [&str; 5] =
    ["README.md", "CHANGELOG.md", "SECURITY.md", "LICENSE-APACHE", "LICENSE-MIT"];

/// Shells whose completions are part of an archive.
const SHELLS: [&str; 3] = ["bash", "zsh", "fish"];

/// Builds the archive of this machine's platform.
pub(crate) fn run(args: &[String]) -> Result<()> {
    if let Some(arg) = args.first() {
        bail!("unexpected argument `{arg}`");
    }
    let features = ["--features", "toolcrib/postgres"];
    let release = ["--release", "--locked", "--package", "toolcrib"];
    let binary = process::built(&[&release[..], &features].concat())?
        .pop()
        .context("cargo built no executable")?;
    let (version, host) = (version(&binary)?, host()?);
    let name = format!("toolcrib-{version}-{host}");
    let dist = tree::target_dir().join("dist");
    let folder = dist.join(&name);
    if folder.exists() {
        fs::remove_dir_all(&folder).context("removing the archive's folder")?;
    }
    for part in ["man", "completions"] {
        fs::create_dir_all(folder.join(part)).context("making the archive's folder")?;
    }
    fs::copy(&binary, folder.join("toolcrib")).context("copying the binary")?;
    for file in FILES {
        fs::copy(tree::root().join(file), folder.join(file))
            .with_context(|| format!("copying {file}"))?;
    }
    process::run(Command::new(&binary).args(["util", "man", "--dir"]).arg(folder.join("man")))?;
    for shell in SHELLS {
        let script = process::output(Command::new(&binary).args(["util", "completions", shell]))?;
        fs::write(folder.join("completions").join(format!("toolcrib.{shell}")), script)?;
    }
    let archive = dist.join(format!("{name}.tar.gz"));
    process::run(Command::new("tar").arg("-czf").arg(&archive).arg("-C").arg(&dist).arg(&name))?;
    let checksum = checksum_line(&archive)?;
    fs::write(dist.join(format!("{name}.tar.gz.sha256")), &checksum)?;
    println!("{}\n{}", archive.display(), checksum.trim_end());
    Ok(())
}

/// `toolcrib 0.1.0` without the name.
fn version(binary: &Path) -> Result<String> {
    let text = process::output(Command::new(binary).arg("--version"))?;
    Ok(text.split_whitespace().nth(1).context("the binary prints no version")?.to_owned())
}

/// The platform that rustc builds for.
fn host() -> Result<String> {
    let text = process::output(Command::new("rustc").arg("-vV"))?;
    let line = text.lines().find_map(|line| line.strip_prefix("host: "));
    Ok(line.context("rustc names no host")?.to_owned())
}

/// A line as `sha256sum --check` reads it.
fn checksum_line(file: &Path) -> Result<String> {
    let bytes = fs::read(file).with_context(|| format!("reading {}", file.display()))?;
    let hash: String = Sha256::digest(&bytes).iter().map(|byte| format!("{byte:02x}")).collect();
    let name = file.file_name().unwrap_or_default().to_string_lossy();
    Ok(format!("{hash}  {name}\n"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn checksums_are_as_sha256sum_writes_them() {
        let file = std::env::temp_dir().join(format!("toolcrib-dist-{}", std::process::id()));
        fs::write(&file, "abc").unwrap();
        let line = checksum_line(&file).unwrap();
        fs::remove_file(&file).unwrap();
        let expected =
            "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad  toolcrib-";
        assert!(line.starts_with(expected) && line.ends_with('\n'), "{line}");
    }

    #[test]
    fn the_host_is_a_platform() {
        assert!(host().unwrap().split('-').count() >= 3);
    }
}
