//! Packages of the userland: listing, searching, installing and removing them.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use toolcrib_sandbox::userland::{Package, PackageName, Progress, UserlandError};

use super::place::UserlandPlace;
use super::work::UserlandWork;
use crate::error::OpError;

/// Maximum number of packages in one change.
const MOST: usize = 50;

/// Filter of packages.
#[derive(Debug, Clone, Default)]
pub struct ListPackagesRequest {
    /// A word in packages of the mirror; `None` lists the installed packages.
    pub find: Option<String>,
}

/// A package.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[schemars(rename = "Package")]
pub struct PackageReply {
    /// Its name.
    pub name: String,
    /// Its version.
    pub version: String,
    /// Its description; only in a search.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub description: String,
}

/// The action on packages.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum PackageChange {
    /// Installs the packages with their dependencies.
    Install,
    /// Removes the packages, and dependencies that no other package needs.
    Remove,
}

/// A change of packages.
#[derive(Debug, Clone)]
pub struct ChangePackagesRequest {
    /// The action.
    pub change: PackageChange,
    /// Names of the packages.
    pub names: Vec<String>,
}

/// Lists packages.
///
/// # Errors
/// [`OpError::Conflict`] if the userland is not ready, [`OpError::Invalid`] for a word that cannot
/// be part of a name, [`OpError::Unavailable`].
pub async fn list_packages(
    place: &UserlandPlace,
    request: ListPackagesRequest,
) -> Result<Vec<PackageReply>, OpError> {
    let (backend, told) = (place.backend(), |_: Progress| {});
    let packages = place.userland.packages(&backend, &told);
    let found = match request.find.as_deref().map(str::trim).filter(|word| !word.is_empty()) {
        Some(word) => packages.search(&word.parse()?).await?,
        None => packages.list().await?,
    };
    let reply =
        |Package { name, version, description }| PackageReply { name, version, description };
    Ok(found.into_iter().map(reply).collect())
}

/// Starts to install or remove packages in the background.
///
/// # Errors
/// [`OpError::Invalid`] for invalid names, [`OpError::Conflict`] if other work is in progress.
pub fn change_packages(
    place: UserlandPlace,
    work: &UserlandWork,
    request: ChangePackagesRequest,
) -> Result<(), OpError> {
    let ChangePackagesRequest { change, names } = request;
    if names.is_empty() || names.len() > MOST {
        return Err(OpError::Invalid(format!("name from 1 to {MOST} packages")));
    }
    let parsed: Result<Vec<PackageName>, UserlandError> =
        names.iter().map(|name| name.trim().parse()).collect();
    let parsed = parsed?;
    let word = match change {
        PackageChange::Install => "install",
        PackageChange::Remove => "remove",
    };
    let log = work.begin(format!("{word} {}", names.join(" ")))?;
    tokio::spawn(async move {
        let ended = {
            let (backend, told) = (place.backend(), |progress| log.told(progress));
            let packages = place.userland.packages(&backend, &told);
            match change {
                PackageChange::Install => packages.install(&parsed).await,
                PackageChange::Remove => packages.remove(&parsed).await,
            }
        };
        log.end(ended.map_err(OpError::from));
    });
    Ok(())
}
