//! Installs the userland, or installs it anew; removes it.

use toolcrib_net::HttpClient;
use toolcrib_sandbox::userland::State;

use super::place::UserlandPlace;
use super::work::UserlandWork;
use crate::error::OpError;

/// An installation.
#[derive(Debug, Clone, Default)]
pub struct InstallUserlandRequest {
    /// Whether one that is ready is replaced. The home folder of programs stays.
    pub anew: bool,
    /// Mirrors in their order; empty = those of the release.
    pub mirrors: Vec<String>,
}

/// What is removed.
#[derive(Debug, Clone, Copy, Default)]
pub struct UninstallUserlandRequest {
    /// Whether the home folder of programs is removed too.
    pub home: bool,
}

/// Begins to install the userland in the background.
///
/// # Errors
/// [`OpError::Conflict`] if something else is being done.
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

/// Removes the userland. Returns whether there was one.
///
/// # Errors
/// [`OpError::Conflict`] if something is being done with it, [`OpError::Unavailable`].
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
