//! The daemon: whether it answers, and leftovers of one that crashed.

use std::fs;
use std::net::TcpListener;
use std::path::Path;

use toolcrib_server::SOCKET_PATH_BYTES;

use super::Finding;
use crate::config::{self, Env};
use crate::daemon::client::Client;
use crate::daemon::{DaemonPaths, tcp_url};
use crate::output::Failure;

const NAME: &str = "daemon";

pub(super) async fn check(fix: bool) -> Result<Vec<Finding>, Failure> {
    let place = DaemonPaths::current()?;
    let mut found = Vec::new();
    let socket = section().socket.unwrap_or_else(|| place.socket_path());
    if socket.as_os_str().len() > SOCKET_PATH_BYTES {
        let words = format!("the path of the socket is too long: {}", socket.display());
        found.push(
            Finding::warn(NAME, words)
                .with_fix("set a shorter path: `socket` in the section [server]"),
        );
    }
    match Client::connect_own().await {
        Ok(Some(client)) => {
            let at = place.running_address().ok().flatten().as_ref().and_then(tcp_url);
            let at = at.map(|url| format!(" at {url}")).unwrap_or_default();
            let (version, seconds) = (&client.health.version, client.health.up_seconds);
            found.push(Finding::ok(
                NAME,
                format!("version {version} is running{at}, since {seconds} s"),
            ));
        }
        Ok(None) => {
            found.extend(stale_files(&place, fix));
            found.push(port());
        }
        Err(failure) => found.push(Finding::fail(NAME, failure.message)),
    }
    Ok(found)
}

/// Returns files that a crashed daemon left.
fn stale_files(place: &DaemonPaths, fix: bool) -> Vec<Finding> {
    let socket = match place.last_address() {
        Ok(None) => return Vec::new(),
        Ok(Some(address)) => address.unix,
        // A file that cannot be read is treated as missing.
        Err(_) => None,
    };
    let files = [Some(place.address_file()), socket];
    let files: Vec<_> =
        files.into_iter().flatten().filter(|path| path.symlink_metadata().is_ok()).collect();
    let names: Vec<String> = files.iter().map(|path| path.display().to_string()).collect();
    let words = format!("a daemon that crashed left {}", names.join(" and "));
    if !fix {
        return vec![
            Finding::warn(NAME, words)
                .with_fix("the next daemon replaces it; `toolcrib doctor --fix` removes it"),
        ];
    }
    let removed: Result<(), _> =
        files.iter().try_for_each(|path: &std::path::PathBuf| remove(path));
    vec![match removed {
        Ok(()) => Finding::fixed(NAME, format!("{words}; removed")),
        Err(error) => Finding::warn(NAME, format!("{words}, which cannot be removed: {error}")),
    }]
}

fn remove(path: &Path) -> std::io::Result<()> {
    fs::remove_file(path)
}

/// Returns the section with the addresses of a daemon; another check reports an invalid
/// configuration.
fn section() -> config::ServerSection {
    config::load(&Env::from_process(), None).map(|config| config.server).unwrap_or_default()
}

/// Checks whether a daemon could listen.
fn port() -> Finding {
    let section = section();
    if section.tcp == Some(false) {
        return Finding::ok(NAME, "no daemon is running; it would listen on its socket");
    }
    let address = section.listen.unwrap_or(config::DEFAULT_LISTEN);
    match TcpListener::bind(address) {
        Ok(_) => Finding::ok(NAME, format!("no daemon is running; its address {address} is free")),
        Err(error) => Finding::warn(
            NAME,
            format!("no daemon is running, and its address {address} is unavailable: {error}"),
        )
        .with_fix("choose another address: `toolcrib config set server.listen 127.0.0.1:0`"),
    }
}
