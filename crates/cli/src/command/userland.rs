//! `toolcrib sandbox install|uninstall|packages`: the Linux userland.

use std::sync::Arc;

use serde_json::{Value, json};
use toolcrib_net::{AddressPolicy, HttpClient, SystemResolver};
use toolcrib_ops::userland::ProgressText;
use toolcrib_sandbox::userland::{
    BASIC_PACKAGES, InstallResult, PYTHON_PACKAGES, Package, PackageName, Packages, Progress,
    Release, State, Status, Userland, UserlandError,
};
use toolcrib_sandbox::{Egress, Local};

use super::sandbox;
use crate::clap_args::{
    PackagesCommand, UserlandInstall, UserlandNetworkArgs, UserlandPackages, UserlandUninstall,
};
use crate::config::{self, Env};
use crate::output::{self, Failure};
use crate::{bootstrap, terminal};

const MEBIBYTE: u64 = 1 << 20;

/// Returns the userland of this person.
pub(super) fn find_userland() -> Result<Userland, Failure> {
    let config = config::load(&Env::from_process(), None)?;
    bootstrap::userland(&config).ok_or_else(|| {
        Failure::configuration(
            "there is no home folder to keep a userland in; set TOOLCRIB_HOME to a folder",
        )
    })
}

pub(super) fn install(command: &UserlandInstall, json: bool) -> Result<u8, Failure> {
    let mut userland = find_userland()?;
    if let Some(path) = &command.release {
        let wrong =
            |error: &dyn std::fmt::Display| Failure::usage(format!("{}: {error}", path.display()));
        let text = std::fs::read_to_string(path).map_err(|error| wrong(&error))?;
        userland = userland.release(Release::read(&text).map_err(|error| wrong(&error))?);
    }
    let userland = userland.mirrors(command.mirror.clone());
    let told = progress_printer(json);
    let addresses = addresses(&command.network)?;
    let names = requested_packages(command)?;
    bootstrap::block_on(async {
        let client = HttpClient::new(addresses.clone());
        let installed =
            userland.install(&client, command.reinstall, &told).await.map_err(failure)?;
        let already = matches!(installed, InstallResult::Already(_));
        let backend = backend(addresses);
        let packages = userland.packages(&backend, &told);
        install_packages(&packages, &names, &userland, json).await?;
        let status = userland.status();
        if json {
            let mut document = status_json(&status);
            document["already"] = already.into();
            output::print_json(&document, true)?;
        } else {
            let word = if already { "is there already" } else { "is installed" };
            output::eprint_line(&format!("toolcrib: the userland {word}"));
            output::print_line(&status_text(&status))?;
        }
        Ok(0)
    })
}

/// Returns the requested packages.
fn requested_packages(command: &UserlandInstall) -> Result<Vec<PackageName>, Failure> {
    let basic = BASIC_PACKAGES.iter().filter(|_| command.basic);
    let python = PYTHON_PACKAGES.iter().filter(|_| command.python);
    parse_packages(basic.chain(python))
}

/// Chooses the mirror of packages, and installs some. If no packages were requested, an unavailable
/// list is not a failure, because the system itself is installed.
async fn install_packages(
    packages: &Packages<'_>,
    names: &[PackageName],
    userland: &Userland,
    json: bool,
) -> Result<(), Failure> {
    if !names.is_empty() {
        output::warn(&format!("installing {} packages", names.len()), json);
        return packages.install(names).await.map_err(failure);
    }
    let State::Ready(ready) = userland.status().state else { return Ok(()) };
    if ready.repositories.is_none()
        && let Err(error) = packages.choose_mirror().await
    {
        output::warn(&format!("packages cannot be had yet: {}", failure(error).message), json);
    }
    Ok(())
}

pub(super) fn uninstall(command: &UserlandUninstall, json: bool) -> Result<u8, Failure> {
    let userland = find_userland()?;
    let removed = userland.uninstall(command.home).map_err(failure)?;
    if json {
        output::print_json(&json!({ "removed": removed }), true)?;
    } else {
        let words = if removed { "removed" } else { "there was none" };
        output::eprint_line(&format!("toolcrib: {words}"));
        if !command.home && userland.home().is_dir() {
            let home = userland.home().display();
            output::eprint_line(&format!(
                "toolcrib: the home folder of programs is still there: {home}"
            ));
        }
    }
    Ok(0)
}

pub(super) fn packages(command: &UserlandPackages, json: bool) -> Result<u8, Failure> {
    let userland = find_userland()?;
    let told = progress_printer(json);
    let backend = backend(addresses(&command.network)?);
    bootstrap::block_on(async {
        let packages = userland.packages(&backend, &told);
        let found = match &command.action {
            PackagesCommand::List => packages.list().await.map_err(failure)?,
            PackagesCommand::Search { word } => {
                packages.search(&parse_package(word)?).await.map_err(failure)?
            }
            PackagesCommand::Install { names } => {
                packages.install(&parse_packages(names)?).await.map_err(failure)?;
                return print_changed("installed", names, json);
            }
            PackagesCommand::Remove { names } => {
                packages.remove(&parse_packages(names)?).await.map_err(failure)?;
                return print_changed("removed", names, json);
            }
        };
        if json {
            output::print_json(&json!(found), true)?;
        } else if found.is_empty() {
            output::eprint_line("toolcrib: there is none");
        } else {
            output::print_line(&table(&found))?;
        }
        Ok(0)
    })
}

fn print_changed(word: &str, names: &[String], json: bool) -> Result<u8, Failure> {
    if json {
        output::print_json(&json!({ word: names }), true)?;
    } else {
        output::eprint_line(&format!("toolcrib: {word} {}", names.join(" ")));
    }
    Ok(0)
}

fn table(packages: &[Package]) -> String {
    let width = packages.iter().map(|package| package.name.len()).max().unwrap_or_default();
    let line = |package: &Package| {
        let Package { name, version, description } = package;
        let text = format!("{name:<width$}  {version}  {description}");
        terminal::escape_to_line(text.trim_end())
    };
    packages.iter().map(line).collect::<Vec<_>>().join("\n")
}

fn parse_packages<N: AsRef<str>>(
    names: impl IntoIterator<Item = N>,
) -> Result<Vec<PackageName>, Failure> {
    names.into_iter().map(|name| parse_package(name.as_ref())).collect()
}

fn parse_package(name: &str) -> Result<PackageName, Failure> {
    name.parse().map_err(failure)
}

fn addresses(reach: &UserlandNetworkArgs) -> Result<AddressPolicy, Failure> {
    AddressPolicy::with_allowed(&reach.allow_net).map_err(|error| Failure::usage(error.to_string()))
}

fn backend(addresses: AddressPolicy) -> Local {
    Local::new().egress(Egress::new(addresses, Arc::new(SystemResolver)))
}

/// Prints the progress.
fn progress_printer(json: bool) -> impl Fn(Progress) + Send + Sync {
    let text = ProgressText::default();
    move |progress| {
        if let Some(line) = text.line(progress) {
            output::warn(&terminal::escape_to_line(&line), json);
        }
    }
}

/// Describes the userland in words.
pub(super) fn status_text(status: &Status) -> String {
    let mut text = format!("userland: {}\n", status.state.message());
    if status.at_work {
        text += "  a process is changing it now\n";
    }
    if status.downloaded > 0 {
        text += &format!("  {} MiB of its archive are there\n", status.downloaded / MEBIBYTE);
    }
    if let State::Ready(ready) = &status.state {
        text += &format!("  root           {}\n", status.root.display());
        text += &format!("  home           {}\n", status.home.display());
        let signed = ready.signed_by.as_deref().unwrap_or("no signature was required");
        text += &format!("  from           {}\n  signed by      {signed}\n", ready.mirror);
        let packages = ready.repositories.as_deref().unwrap_or("no mirror was reachable yet");
        text += &format!("  packages from  {packages}\n");
    }
    text
}

/// Returns the userland for programs, in addition to the backends of the sandbox.
pub(super) fn status_json(status: &Status) -> Value {
    let mut document = json!({ "backend": "userland" });
    if let (Value::Object(document), Value::Object(fields)) = (&mut document, json!(status)) {
        document.extend(fields);
    }
    document
}

/// Explains a failure, with advice.
pub(super) fn failure(error: UserlandError) -> Failure {
    match error {
        UserlandError::Sandbox(error) => sandbox::failure(error),
        UserlandError::BadName(_) => Failure::usage(error.to_string()),
        UserlandError::NoMirror { .. } => Failure::run(format!(
            "{error}; look at the network, or name a mirror that can be reached with `toolcrib sandbox install --mirror URL`"
        )),
        UserlandError::Busy => Failure::run(format!("{error}; try again when it is done")),
        error => Failure::run(error.to_string()),
    }
}
