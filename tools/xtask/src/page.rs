//! The page: built from `ui/` into the crate that embeds it, compared with what is committed, and
//! tested in a browser. It is built in the folder of builds, so that the tree stays clean.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result, bail, ensure};

use crate::flags::flags;
use crate::{process, setup, tree};

/// The bundle, as it is committed.
const DIST: &str = "crates/page/dist";
/// The types of the REST API, generated from its document.
const TYPES: &str = "ui/src/lib/api.gen.ts";
/// What the build reads outside of `ui/`.
const DOCS: [&str; 2] = ["docs/openapi.json", "docs/tour.yaml"];
/// The oldest Node.js that the bundler runs on.
const OLDEST_NODE: u32 = 20;
/// What `ui/` has besides its sources.
const NO_SOURCES: [&str; 2] = ["node_modules", "dist"];

/// Builds the page; `--check` only compares, `--browser` runs the tests in a browser.
pub(crate) fn run(args: &[String]) -> Result<()> {
    let [check, browser] = flags(args, ["--check", "--browser"])?;
    let left_out = match (check, browser) {
        (_, false) => Workshop::open()?.build(!check).map(|()| None),
        (_, true) => try_browser(),
    }?;
    left_out.map_or(Ok(()), |why| bail!("{why}"))
}

/// Whether the committed bundle is what the sources give. The text says why that could not be
/// found out on a machine without Node.js or without network, which is no reason to fail outside of
/// CI.
pub(crate) fn try_check() -> Result<Option<String>> {
    match opened()? {
        Ok(workshop) => workshop.build(false).map(|()| None),
        Err(why) => Ok(Some(why)),
    }
}

/// Runs the tests of the page in Chromium against the built binary; the text as for
/// [`try_check`].
pub(crate) fn try_browser() -> Result<Option<String>> {
    let workshop = match opened()? {
        Ok(workshop) => workshop,
        Err(why) => return Ok(Some(why)),
    };
    let chromium = match setup::chromium() {
        Ok(chromium) => chromium,
        Err(error) => return Ok(Some(format!("there is no Chromium here: {error:#}"))),
    };
    let binary = process::build_binary()?;
    let mut failed = Vec::new();
    for file in browser_tests(&workshop.ui)? {
        let run = || {
            process::run(
                Command::new("node")
                    .args(["--test", "--test-reporter=spec", &file])
                    .current_dir(&workshop.ui)
                    .env("TOOLCRIB_BINARY", &binary)
                    .env("TOOLCRIB_CHROMIUM", &chromium),
            )
        };
        // As with the tests of the crates, a second failure counts: Chromium on two busy cores
        // loses a key or a frame now and then.
        if let Err(error) = run() {
            println!("xtask page: {error:#}; {file} is run once more");
            // The other files run all the same: one failure must not hide the next.
            if run().is_err() {
                failed.push(file);
            }
        }
    }
    ensure!(failed.is_empty(), "failed: {}", failed.join(", "));
    Ok(None)
}

/// The files of the tests, below `ui/`.
fn browser_tests(ui: &Path) -> Result<Vec<String>> {
    let mut found = Vec::new();
    for entry in fs::read_dir(ui.join("tests"))? {
        let name = entry?.file_name().to_string_lossy().into_owned();
        if name.ends_with(".test.mjs") {
            found.push(format!("tests/{name}"));
        }
    }
    found.sort();
    Ok(found)
}

/// The workshop, or why there is none here.
fn opened() -> Result<Result<Workshop, String>> {
    if let Err(error) = setup::for_clients() {
        return Ok(Err(format!("{error:#}")));
    }
    let version = process::output(Command::new("node").arg("--version"))?;
    let major = version.trim().trim_start_matches('v').split('.').next().unwrap_or_default();
    if major.parse::<u32>().is_ok_and(|major| major < OLDEST_NODE) {
        return Ok(Err(format!("it needs Node.js {OLDEST_NODE}, and here is {}", version.trim())));
    }
    match Workshop::open() {
        Ok(workshop) => Ok(Ok(workshop)),
        Err(error) if std::env::var_os("CI").is_none() && !process::works("npm", &["ping"]) => {
            Ok(Err(format!("its packages cannot be installed here: {error:#}")))
        }
        Err(error) => Err(error),
    }
}

/// A copy of the sources with their packages.
struct Workshop {
    ui: PathBuf,
    dist: PathBuf,
}

impl Workshop {
    fn open() -> Result<Self> {
        setup::for_clients()?;
        let folder = tree::target_dir().join("page");
        let ui = folder.join("ui");
        fs::create_dir_all(folder.join("docs"))?;
        fs::create_dir_all(&ui)?;
        for entry in fs::read_dir(&ui)? {
            let entry = entry?;
            if entry.file_name() != "node_modules" {
                remove(&entry.path())?;
            }
        }
        copy(&tree::root().join("ui"), &ui)?;
        for path in DOCS {
            fs::copy(tree::root().join(path), folder.join(path))?;
        }
        let workshop = Self { ui, dist: folder.join("dist") };
        workshop.install()?;
        Ok(workshop)
    }

    /// Installs the packages of the lock file, unless they are there.
    fn install(&self) -> Result<()> {
        let wanted = fs::read_to_string(self.ui.join("package-lock.json"))?;
        let installed = self.ui.join("node_modules/installed.json");
        if fs::read_to_string(&installed).is_ok_and(|text| text == wanted) {
            return Ok(());
        }
        self.npm(&["ci", "--silent", "--no-audit", "--no-fund"])?;
        fs::write(installed, wanted).context("noting what was installed")
    }

    fn npm(&self, args: &[&str]) -> Result<()> {
        process::run(
            Command::new("npm")
                .args(args)
                .current_dir(&self.ui)
                .env("TOOLCRIB_PAGE_OUT", &self.dist),
        )
    }

    /// Checks the types of the sources, builds them, and writes what came out into the tree, or
    /// compares it.
    fn build(&self, write: bool) -> Result<()> {
        self.npm(&["run", "--silent", "types"])?;
        self.npm(&["run", "--silent", "check"])?;
        self.npm(&["run", "--silent", "build"])?;
        let types = fs::read_to_string(self.ui.join("src/lib/api.gen.ts"))?;
        let committed = tree::root().join(DIST);
        if write {
            fs::write(tree::root().join(TYPES), types)?;
            if committed.exists() {
                fs::remove_dir_all(&committed)?;
            }
            return copy(&self.dist, &committed);
        }
        let mut other = Vec::new();
        if fs::read_to_string(tree::root().join(TYPES)).unwrap_or_default() != types {
            other.push(TYPES.to_owned());
        }
        let (fresh, kept) = (contents(&self.dist)?, contents(&committed)?);
        let names = fresh.keys().chain(kept.keys()).collect::<std::collections::BTreeSet<_>>();
        other.extend(
            names
                .into_iter()
                .filter(|name| fresh.get(*name) != kept.get(*name))
                .map(|name| format!("{DIST}/{name}")),
        );
        if !other.is_empty() {
            bail!(
                "not what the sources of the page give; write it with `cargo xtask page`: {}",
                other.join(", ")
            );
        }
        Ok(())
    }
}

/// Files below a folder, by their path.
fn contents(folder: &Path) -> Result<BTreeMap<String, Vec<u8>>> {
    let mut found = BTreeMap::new();
    for entry in fs::read_dir(folder).with_context(|| format!("reading {}", folder.display()))? {
        let entry = entry?;
        let name = entry.file_name().to_string_lossy().into_owned();
        if entry.file_type()?.is_dir() {
            let below = contents(&entry.path())?;
            found.extend(below.into_iter().map(|(path, text)| (format!("{name}/{path}"), text)));
        } else {
            found.insert(name, fs::read(entry.path())?);
        }
    }
    Ok(found)
}

fn copy(from: &Path, to: &Path) -> Result<()> {
    fs::create_dir_all(to)?;
    for entry in fs::read_dir(from).with_context(|| format!("reading {}", from.display()))? {
        let entry = entry?;
        let (name, path) = (entry.file_name(), entry.path());
        if NO_SOURCES.iter().any(|skipped| name == *skipped) {
            continue;
        }
        if entry.file_type()?.is_dir() {
            copy(&path, &to.join(name))?;
        } else {
            fs::copy(path, to.join(name))?;
        }
    }
    Ok(())
}

fn remove(path: &Path) -> Result<()> {
    let removed = if path.is_dir() { fs::remove_dir_all(path) } else { fs::remove_file(path) };
    removed.with_context(|| format!("removing {}", path.display()))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Names of files come from their content, so that browsers may keep them for good.
    #[test]
    fn the_committed_bundle_is_whole() {
        let dist = contents(&tree::root().join(DIST)).unwrap();
        let html = String::from_utf8(dist["index.html"].clone()).unwrap();
        for part in html.split('"').filter(|part| part.starts_with("/assets/")) {
            assert!(dist.contains_key(part.trim_start_matches('/')), "{part} is missing");
        }
        assert!(dist.keys().any(|name| name.starts_with("assets/") && name.ends_with(".js")));
    }
}
