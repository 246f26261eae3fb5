//! The example clients: their types are those of the OpenAPI document, they pass the type checkers
//! of their languages, and they run against a real daemon.

use std::fs;
use std::path::Path;
use std::process::Command;

use anyhow::{Context, Result, bail, ensure};

use crate::flags::flags;
use crate::served::{Scratch, Served};
use crate::{process, setup, tree};

const PYTHON_TYPES: &str = "clients/python/toolcrib_types.py";
const TYPESCRIPT_TYPES: &str = "clients/typescript/src/api.gen.ts";

/// Checks the clients and runs them; `--write` writes their types anew before.
pub(crate) fn run(args: &[String]) -> Result<()> {
    let [write] = flags(args, ["--write"])?;
    setup::for_clients()?;
    let scratch = Scratch::new("clients")?;
    types_of_python(&scratch.path, write)?;
    let typescript = typescript(write)?;
    let checker = setup::python("mypy")?;
    let strict = ["--strict", "--cache-dir", "/dev/null", "example.py"];
    process::run(
        Command::new(checker).args(strict).current_dir(tree::root().join("clients/python")),
    )?;
    let binary = process::build_binary()?;
    let model = format!("scripted:{}", tree::root().join("docs/tour.yaml").display());
    for (name, words) in [
        ("python3", vec!["-B".to_owned(), shown(&tree::root().join("clients/python/example.py"))]),
        ("node", vec![shown(&typescript.join("dist/example.js"))]),
    ] {
        let (home, workspace) = (scratch.home().join(name), scratch.workspace().join(name));
        fs::create_dir_all(&workspace)?;
        let served = Served::start(
            &binary,
            &home,
            &workspace,
            &["--model", &model, "--listen", "127.0.0.1:0"],
        )?;
        let said = process::output(
            Command::new(name)
                .args(&words)
                .env("TOOLCRIB_URL", &served.url)
                .env("TOOLCRIB_TOKEN", &served.token),
        )
        .with_context(|| format!("{name} {}", words.join(" ")))?;
        println!("{said}");
        let list = fs::read_to_string(workspace.join("tour/shopping.md")).unwrap_or_default();
        ensure!(list.contains("- bread"), "the run of {name} has not written its list:\n{said}");
        ensure!(said.contains("oats, apples and bread"), "{name} does not say the answer:\n{said}");
    }
    Ok(())
}

fn types_of_python(folder: &Path, write: bool) -> Result<()> {
    let generator = setup::python("datamodel-codegen")?;
    let fresh = folder.join("toolcrib_types.py");
    process::run(
        Command::new(generator)
            .arg("--input")
            .arg(tree::root().join("docs/openapi.json"))
            .args(["--input-file-type", "openapi", "--output-model-type", "typing.TypedDict"])
            .args(["--target-python-version", "3.11", "--disable-timestamp", "--output"])
            .arg(&fresh),
    )?;
    compare(&fresh, PYTHON_TYPES, write)
}

/// Builds the client in the cache folder, so that the tree stays clean; where it is.
fn typescript(write: bool) -> Result<std::path::PathBuf> {
    let folder = tree::target_dir().join("clients-typescript");
    fs::create_dir_all(folder.join("src"))?;
    let source = tree::root().join("clients/typescript");
    for file in ["package.json", "package-lock.json", "tsconfig.json"] {
        fs::copy(source.join(file), folder.join(file))?;
    }
    for entry in fs::read_dir(source.join("src"))? {
        let entry = entry?;
        fs::copy(entry.path(), folder.join("src").join(entry.file_name()))?;
    }
    let npm = |args: &[&str]| process::run(Command::new("npm").args(args).current_dir(&folder));
    npm(&["ci", "--silent", "--no-audit", "--no-fund"])?;
    let document = tree::root().join("docs/openapi.json");
    let fresh = folder.join("src/api.gen.ts");
    npm(&["exec", "--", "openapi-typescript", &shown(&document), "--output", &shown(&fresh)])?;
    compare(&fresh, TYPESCRIPT_TYPES, write)?;
    npm(&["run", "--silent", "build"])?;
    Ok(folder)
}

/// Whether the types in the tree are those of the document.
fn compare(fresh: &Path, kept: &str, write: bool) -> Result<()> {
    let text = fs::read_to_string(fresh)?;
    let path = tree::root().join(kept);
    if write {
        fs::write(&path, &text)?;
    }
    if fs::read_to_string(&path).unwrap_or_default() != text {
        bail!(
            "{kept} is not what docs/openapi.json says; write it anew with `cargo xtask clients --write`"
        );
    }
    Ok(())
}

fn shown(path: &Path) -> String {
    path.display().to_string()
}
