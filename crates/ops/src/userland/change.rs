//! Installs, reinstalls and removes the userland.

use toolcrib_net::HttpClient;
use toolcrib_sandbox::userland::State;

use super::place::UserlandPlace;
use super::work::UserlandWork;
use crate::error::OpError;

/// An installation.
#[derive(Debug, Clone, Default)]
pub struct InstallUserlandRequest {
    /// Whether to replace an installed userland. The home folder of programs stays.
    pub anew: bool,
    /// Mirrors in order of preference; empty selects those of the release.
    pub mirrors: Vec<String>,
}

/// Options of the removal.
#[derive(Debug, Clone, Copy, Default)]
pub struct UninstallUserlandRequest {
    /// Whether to also remove the home folder of programs.
    pub home: bool,
}

/// Starts to install the userland in the background.
///
/// # Errors
/// [`OpError::Conflict`] if other work is in progress.
pub fn install(
    place: UserlandPlace,
    work: &UserlandWork,
    request: InstallUserlandRequest,
) -> Result<(), OpError> {
    let what = if request.anew { "reset" } else { "install" };
    let log = work.begin(what.to_owned())?;
    tokio::spawn(async move {
        let ended = {
            let told = |progress| log.told(progress);
            let userland = place.userland.clone().mirrors(request.mirrors);
            let client = HttpClient::new(place.addresses.clone());
            match userland.install(&client, request.anew, &told).await {
                Ok(_) => {
                    let backend = place.backend();
                    let packages = userland.packages(&backend, &told);
                    let State::Ready(ready) = userland.status().state else {
                        return log.end(Ok(()));
                    };
                    match ready.repositories {
                        Some(_) => Ok(()),
                        None => packages.choose_mirror().await.map(drop),
                    }
                }
                Err(error) => Err(error),
            }
        };
        log.end(ended.map_err(OpError::from));
    });
    Ok(())
}

/// Removes the userland. Returns whether it existed.
///
/// # Errors
/// [`OpError::Conflict`] if work on it is in progress, [`OpError::Unavailable`].
pub async fn uninstall(
    place: UserlandPlace,
    work: &UserlandWork,
    request: UninstallUserlandRequest,
) -> Result<bool, OpError> {
    let log = work.begin("uninstall".to_owned())?;
    let removing = move || place.userland.uninstall(request.home);
    let removed = tokio::task::spawn_blocking(removing).await;
    let removed = removed.map_err(|error| OpError::Internal(error.to_string()))?;
    let removed = removed.map_err(OpError::from);
    log.end(removed.as_ref().map(drop).map_err(|error| OpError::Unavailable(error.to_string())));
    removed
}
