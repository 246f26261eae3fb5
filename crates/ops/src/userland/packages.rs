//! Packages of the userland: listing, finding, installing, removing.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use toolcrib_sandbox::userland::{Package, PackageName, Progress, UserlandError};

use super::place::UserlandPlace;
use super::work::UserlandWork;
use crate::error::OpError;

/// Most packages of one change.
const MOST: usize = 50;

/// Which packages.
#[derive(Debug, Clone, Default)]
pub struct ListPackagesRequest {
    /// Those of the mirror that have this word; `None` = those that are installed.
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
    /// What it is; only in a search.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub description: String,
}

/// The action on packages.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum PackageChange {
    /// They are installed with their dependencies.
    Install,
    /// They are removed, with what nothing else needs.
    Remove,
}

/// A change of packages.
#[derive(Debug, Clone)]
pub struct ChangePackagesRequest {
    /// The action.
    pub change: PackageChange,
    /// The names.
    pub names: Vec<String>,
}

/// Lists packages.
///
/// # Errors
/// [`OpError::Conflict`] if the userland is not ready, [`OpError::Invalid`] for a word that is no
/// name, [`OpError::Unavailable`].
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

/// Begins to install or remove packages in the background.
///
/// # Errors
/// [`OpError::Invalid`] for names that are none, [`OpError::Conflict`] if something else is being
/// done.
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
